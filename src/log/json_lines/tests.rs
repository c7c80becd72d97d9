//! Files: torn lines, foreign lines, permissions. `tests/call_log/` tests the contract of logs.

use std::fs::File;
use std::task::{Context, Poll, Waker};

use serde_json::json;

use super::*;
use crate::log::{CallEnd, LogErrorKind, Nonce, Tenant, TenureStep};
use crate::message::Position;

fn ready<T>(mut future: std::pin::Pin<Box<dyn Future<Output = T> + Send + '_>>) -> T {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("it blocks and is ready in the first poll"),
    }
}

fn message(seq: u32, revision: u32) -> Record {
    serde_json::from_value(json!({
        "id": crate::MessageId::from(u128::from(seq)).to_string(), "seq": seq, "revision": revision,
        "message": {"role": "user", "contents": ["the caller's words"]}, "metadata": {"timing": {"creation": 5}},
    }))
    .unwrap()
}

fn call() -> CallId {
    CallId::new("CA1").unwrap()
}

fn put(log: &JsonLines, records: &[Record]) -> Vec<Put> {
    records.iter().map(|record| ready(log.put_record(&call().into(), record)).unwrap()).collect()
}

fn read(log: &JsonLines) -> Vec<Record> {
    ready(log.read_call(&call())).unwrap().records
}

#[test]
fn file_contains_the_written_lines() {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(crate::clock::ManualClock::new(1_744_815_823_058));
    let log = JsonLines::new(directory.path().join("log")).with_clock(clock);
    let header = CallHeader::new(call(), 7).unwrap().with_tenant(Tenant::new("A bank").unwrap());
    ready(log.open_call(&header)).unwrap();
    put(&log, &[message(0, 1), message(0, 1), message(0, 2)]);
    let text = fs::read_to_string(log.path(&call())).unwrap();
    let record = |revision| serde_json::to_string(&message(0, revision)).unwrap();
    let head = r#"{"call":{"id":"CA1","started":7,"tenant":"A bank"},"v":1}"#;
    assert_eq!(text, format!("{head}\n{}\n{}\n", record(1), record(2)));

    ready(log.erase_call(&call())).unwrap();
    assert_eq!(fs::read_to_string(log.path(&call())).unwrap(), "{\"erased\":\"2025-04-16\",\"id\":\"CA1\"}\n");
}

#[test]
fn last_header_counts_and_minimal_headers_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path());
    let old = "{\"call\":{\"id\":\"CA1\",\"started\":7},\"v\":1}\n";
    fs::write(log.path(&call()), old).unwrap();
    let opened = CallHeader::new(call(), 7).unwrap();
    assert_eq!(ready(log.open_call(&opened)).unwrap(), Put::Kept);
    let mut taken = opened.clone();
    for (step, nonce) in [(TenureStep::Commit, Nonce(1)), (TenureStep::Serve, Nonce(2))] {
        let step = CallChange::Takeover(taken.tenure().change(step, nonce));
        taken = ready(log.change_call(&call(), &step)).unwrap();
    }
    let lease = WriterLease::from(&taken);
    let call_end = CallEnd::new(9, "hangup", 2, 1).unwrap();
    for change in [CallChange::Close { lease, call_end }, CallChange::Hold, CallChange::Hold] {
        ready(log.change_call(&call(), &change)).unwrap();
    }
    let header = |state: &str| format!("{{\"call\":{{\"id\":\"CA1\",\"started\":7,\"epoch\":2{state}}},\"v\":1}}\n");
    let ended = r#","ended":{"at":9,"reason":"hangup","messages":2,"summaries":1}"#;
    let of_nonce = |nonce: &str, state: &str| header(&format!(",\"nonce\":\"{nonce}\"{state}"));
    let held = format!("{ended},\"held\":true");
    let taking = header(",\"fenced\":1,\"nonce\":\"1\",\"taking\":true");
    let expected = [old.to_owned(), taking, of_nonce("2", ""), of_nonce("3", ended), of_nonce("4", &held)];
    assert_eq!(fs::read_to_string(log.path(&call())).unwrap(), expected.concat());

    let listed = ready(log.list_calls(&CallQuery::of_day(opened.day()))).unwrap().calls;
    assert_eq!(listed, [ready(log.read_call(&call())).unwrap().header.unwrap()]);
    assert!(listed[0].is_held() && listed[0].epoch() == 2 && listed[0].call_end().is_some());
}

#[test]
fn held_call_with_an_unreadable_file_is_kept() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path());
    let text = "{\"call\":{\"id\":\"CA1\",\"started\":7,\"held\":true},\"v\":1}\nwhat is that?\n";
    fs::write(log.path(&call()), text).unwrap();
    assert_eq!(ready(log.erase_call(&call())).unwrap_err().kind(), LogErrorKind::Held);
    assert_eq!(fs::read_to_string(log.path(&call())).unwrap(), text);
}

#[test]
fn call_that_an_older_version_erased_stays_erased() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path());
    put(&log, &[message(0, 1)]);
    fs::write(log.path(&call()), "{\"erased\":true}\n").unwrap();
    assert_eq!(ready(log.read_call(&call())).unwrap_err().kind(), LogErrorKind::Erased);
    let late = ready(log.put_record(&call().into(), &message(1, 1)));
    assert_eq!(late.unwrap_err().kind(), LogErrorKind::Erased);
    assert_eq!(ready(log.sweep(Day::of_ms(0))).unwrap(), []);
}

#[test]
fn torn_line_is_ignored_and_repaired_by_the_next_write() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path()).with_fsync(true);
    put(&log, &[message(0, 1)]);
    let whole = fs::read(log.path(&call())).unwrap();
    put(&log, &[message(1, 1)]);
    let both = fs::read(log.path(&call())).unwrap();
    for torn in whole.len()..both.len() {
        fs::write(log.path(&call()), &both[..torn]).unwrap();
        assert_eq!(read(&log), [message(0, 1)], "{torn}");
        assert_eq!(put(&log, &[message(1, 1)]), [Put::Written], "{torn}");
        assert_eq!(fs::read(log.path(&call())).unwrap(), both, "{torn}");
    }
}

fn write(log: &JsonLines, lines: &[&str]) -> String {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(log.path(&call()), &text).unwrap();
    text
}

#[test]
fn unreadable_header_is_named_and_not_quoted() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path());
    put(&log, &[message(0, 1)]);
    let record = serde_json::to_string(&message(0, 1)).unwrap();
    let header = "the header of this call in a known version";
    let [good, other, later] = [("CA1", 1), ("CA2", 1), ("CA1", 2)]
        .map(|(id, version)| format!("{{\"call\":{{\"id\":\"{id}\",\"started\":7}},\"v\":{version}}}"));
    for (lines, number, what) in [
        (vec![record.as_str(), other.as_str()], 2, header),
        (vec![&good, &record, &later, &record], 3, header),
        // Nothing of such a file can be read, so it may be the file of an erased call.
        (vec!["{\"erasd\":\"2025-04-16\",\"id\":\"the caller's words\"}"], 1, "a record"),
        (vec![""], 1, "a record"),
    ] {
        let text = write(&log, &lines);
        let error = ready(log.read_call(&call())).unwrap_err();
        assert!(!error.is_retryable());
        assert_eq!(
            error.to_string(),
            "reading call CA1 in its file failed; the source of this error says why; fix the cause, then retry"
        );
        let source = std::error::Error::source(&error).unwrap().to_string();
        let expected = format!("line {number} is not {what}; check the file, another program may have written it");
        assert_eq!(source, expected);
        assert!(ready(log.put_record(&call().into(), &message(1, 1))).is_err());
        assert_eq!(fs::read_to_string(log.path(&call())).unwrap(), text, "nothing was written");
    }
    // A later header replaces it.
    write(&log, &[&other, &record, &later, &good]);
    assert_eq!((ready(log.read_call(&call())).unwrap().header.unwrap().started_ms(), read(&log).len()), (7, 1));

    write(&log, &[&other]);
    ready(log.erase_call(&call())).unwrap();
    assert_eq!(ready(log.read_call(&call())).unwrap_err().kind(), LogErrorKind::Erased);
}

/// Whatever byte of a file is damaged, the other lines are read.
#[test]
fn damaged_record_is_left_out_and_the_others_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path());
    let record = |seq, revision| serde_json::to_string(&message(seq, revision)).unwrap();
    put(&log, &[message(0, 1)]);
    let damaged = |text: &str, with: &str| record(1, 2).replace(text, with);
    for (bad, position, is_left_out) in [
        (damaged("caller's", "caller's\""), 1, true),
        (damaged("\"message\":{", "\"message\":["), 1, true),
        // An older revision than the readable one does not count as missing.
        (record(0, 1).replace("timing", "tim\"ing"), 0, false),
        (record(0, 2).replace("timing", "tim\"ing"), 0, true),
        // A line without its position is the record that is missing between the others.
        (damaged("\"seq\":1,", "\"seq\":1x,"), 1, true),
        ("the caller's words".to_owned(), 1, true),
        (String::new(), 1, true),
    ] {
        let text = write(&log, &[&record(0, 1), &bad, &record(2, 1)]);
        let logged = ready(log.read_call(&call())).unwrap();
        assert_eq!(logged.records, [message(0, 1), message(2, 1)], "{bad}");
        let left_out: Vec<_> = logged.left_out.iter().map(|left_out| left_out.position).collect();
        assert_eq!(left_out, if is_left_out { vec![Position::message(position)] } else { vec![] }, "{bad}");
        for left_out in &logged.left_out {
            let reason = "line 2 of the call's file is not a record; another program may have written it";
            assert_eq!(&*left_out.reason, reason, "{bad}");
        }
        // The call continues, and the record can be stored again.
        assert_eq!(put(&log, &[message(3, 1), message(1, 2)]), [Put::Written, Put::Written], "{bad}");
        assert_eq!(read(&log).len(), 4);
        assert!(fs::read_to_string(log.path(&call())).unwrap().starts_with(&text), "nothing was removed");
    }
    let torn = format!("{}\n{}\n{}", record(0, 1), &record(1, 1)[..40], &record(2, 1)[..40]);
    fs::write(log.path(&call()), torn).unwrap();
    let logged = ready(log.read_call(&call())).unwrap();
    assert_eq!((logged.records.len(), logged.left_out.len()), (1, 1), "the torn line is none");
}

#[test]
fn damaged_summary_is_left_out_as_one() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path());
    put(&log, &[message(0, 1)]);
    let summary = r#"{"id":"01JRZJ1675E4S7Y4ZD7RNWNXWB","after":1,"summary":1,"revision":1,"message":{"role":"#;
    write(&log, &[&serde_json::to_string(&message(0, 1)).unwrap(), summary]);
    let left_out = ready(log.read_call(&call())).unwrap().left_out;
    assert_eq!(left_out[0].position, Position::summary(1, std::num::NonZeroU32::MIN));
    assert_eq!((left_out.len(), left_out[0].role), (1, Some(crate::Role::Summary)));
}

#[test]
fn locked_file_is_a_retryable_error() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path());
    put(&log, &[message(0, 1)]);
    let other = File::open(log.path(&call())).unwrap();
    other.lock().unwrap();
    assert!(ready(log.put_record(&call().into(), &message(1, 1))).unwrap_err().is_retryable());
    assert!(ready(log.erase_call(&call())).unwrap_err().is_retryable());
    assert_eq!(read(&log), [message(0, 1)]);
    other.unlock().unwrap();
    assert_eq!(put(&log, &[message(1, 1)]), [Put::Written]);
}

#[cfg(unix)]
#[test]
fn files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;

    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path().join("log"));
    put(&log, &[message(0, 1)]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&log.path(&call())), mode(&directory.path().join("log"))), (0o600, 0o700));
}

#[test]
fn newest_revision_counts_in_any_line_order() {
    let directory = tempfile::tempdir().unwrap();
    let log = JsonLines::new(directory.path());
    put(&log, &[message(1, 1)]);
    let lines = [message(0, 3), message(0, 1), message(0, 2)].map(|record| serde_json::to_string(&record).unwrap());
    fs::write(log.path(&call()), lines.join("\n") + "\n").unwrap();
    assert_eq!(read(&log), [message(0, 3)]);
    assert_eq!(put(&log, &[message(0, 2)]), [Put::Kept]);
}
