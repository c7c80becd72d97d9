//! Faults: damaged calls, readers that go, logs that cannot be written, interruptions.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use verbale::log::{CallHeader, CallId, CallLog, JsonLines, WriterLease};
use verbale::{MessagesManager, PlainMessage};

use crate::{calls, embedded, program, run, shown, start, with_calls};

/// Damages the header of a call.
fn damage(folder: &TempDir, call: &str) {
    let path = file_of(folder, call);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace(r#""v":1}"#, r#""v":7}"#)).unwrap();
}

fn file_of(folder: &TempDir, call: &str) -> std::path::PathBuf {
    folder.path().join("calls").join(format!("call-{call}.jsonl"))
}

#[tokio::test(start_paused = true)]
async fn damaged_call_hides_no_other_call() {
    let folder = with_calls().await;
    damage(&folder, "ferry-2");
    let run = |command: &str| shown(&run(folder.path(), &format!("verbale {command} --log jsonl:calls")));
    let list = run("list --day 2025-10-20");
    assert!(list.contains("  ferry-1\n") && list.contains("  ferry-3\n"), "{list}");
    assert!(list.contains("not listed: ") && list.contains("call-ferry-2.jsonl"), "{list}");
    assert!(list.ends_with("(exit status 6)\n"), "{list}");
    let check = run("check --day 2025-10-20");
    assert!(
        check.contains("call-ferry-2.jsonl") && check.contains("3 calls checked: 2 problems in 2 calls"),
        "{check}"
    );
    let export = run("export --day 2025-10-20 -o calls.jsonl");
    assert!(export.contains("2 calls written to calls.jsonl\n1 call left out"), "{export}");
    assert!(export.ends_with("(exit status 6)\n"), "{export}");
    assert!(run("tail ferry-1").contains("call ferry-1 has ended"));
}

#[tokio::test(start_paused = true)]
async fn damaged_header_in_a_table_hides_no_other_call() {
    let folder = with_calls().await;
    let (log, client) = embedded(&folder).await;
    client
        .update_item()
        .table_name(log.table())
        .key("pk", aws_sdk_dynamodb::types::AttributeValue::S("CALL#ferry-2".into()))
        .key("sk", aws_sdk_dynamodb::types::AttributeValue::S("CALL".into()))
        .update_expression("SET #attributes = :none")
        .expression_attribute_names("#attributes", "attributes")
        .expression_attribute_values(":none", aws_sdk_dynamodb::types::AttributeValue::S("none".into()))
        .send()
        .await
        .unwrap();
    for limit in [1, 100] {
        let line = format!("verbale list --day 2025-10-20 --limit {limit} --log embedded:db");
        let mut listed = shown(&run(folder.path(), &line));
        while let Some((_, cursor)) = listed.rsplit_once("--after ") {
            let after = cursor.split_whitespace().next().unwrap().to_owned();
            let more = shown(&run(folder.path(), &format!("{line} --after {after}")));
            listed = listed.replace("--after", "AFTER") + &more;
        }
        assert_eq!((listed.matches("  ferry-").count(), listed.matches("not listed: ").count()), (2, 1), "{listed}");
    }
}

#[tokio::test(start_paused = true)]
async fn failed_export_keeps_the_older_file() {
    let folder = with_calls().await;
    fs::write(folder.path().join("out.csv"), "older").unwrap();
    for command in [
        "export ferry-9 --log jsonl:calls",
        "export --day 2025-10-20 --format chat --log jsonl:calls",
        "export --day 2025-10-20 --log embedded:nowhere",
        "report ferry-9 --log jsonl:calls",
    ] {
        let output = run(folder.path(), &format!("verbale {command} -o out.csv"));
        assert!(!output.status.success(), "{command}");
        assert_eq!(fs::read_to_string(folder.path().join("out.csv")).unwrap(), "older", "{command}");
    }
    let files = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 2, "a failed command leaves nothing beside the file");
}

#[tokio::test(start_paused = true)]
async fn exported_file_replaces_the_one_that_a_link_names() {
    let folder = with_calls().await;
    let at = |name: &str| folder.path().join(name);
    fs::write(at("real.csv"), "older").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("real.csv", at("link.csv")).unwrap();
    let line = "verbale export ferry-1 --format csv --log jsonl:calls -o";
    assert!(run(folder.path(), &format!("{line} link.csv")).status.success());
    assert!(fs::symlink_metadata(at("link.csv")).unwrap().is_symlink());
    assert!(fs::read_to_string(at("real.csv")).unwrap().starts_with("call,seq,id,"));
    assert!(run(folder.path(), &format!("{line} /dev/null")).status.success());
}

/// The output of `export` has every byte of what was said, and that of `show` none that a terminal obeys.
#[tokio::test(start_paused = true)]
async fn only_exports_have_control_characters() {
    let folder = tempfile::tempdir().unwrap();
    let words = "=1+1\r\nred \u{1b}[31m, then \u{202e}back\u{2066}, \u{9b}5m, \u{7f}, \"quoted\"";
    let log = std::sync::Arc::new(JsonLines::new(folder.path().join("calls")));
    calls::play_turns(log, "hostile", 1, words).await;
    let of = |command: &str| run(folder.path(), &format!("verbale {command} hostile --log jsonl:calls")).stdout;
    let said = |text: &[u8]| {
        let mut csv = csv::Reader::from_reader(text);
        let rows: Vec<csv::StringRecord> = csv.records().map(Result::unwrap).collect();
        rows.iter().find(|row| &row[3] == "user" && !row[7].is_empty()).unwrap()[7].to_owned()
    };
    assert_eq!(said(&of("export --format csv")), words);
    run(folder.path(), "verbale export hostile --format csv --log jsonl:calls -o calls.csv");
    assert_eq!(fs::read(folder.path().join("calls.csv")).unwrap(), of("export --format csv"));
    for command in ["show", "why", "check", "tail", "list --day 2025-10-20 --outcome"] {
        let output = run(folder.path(), &format!("verbale {command} hostile --log jsonl:calls"));
        let shown = shown(&output);
        let harmful = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{2066}".contains(c);
        assert!(!shown.contains(harmful), "{command}: {shown:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn csv_without_rows_has_its_columns() {
    let folder = with_calls().await;
    let output = run(folder.path(), "verbale export --day 2024-01-01 --format csv --log jsonl:calls");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, "call,seq,id,role,at_ms,start_ms,end_ms,text,heard,is_interrupted,tools\n");
}

/// `verbale tail | head`.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn tail_ends_with_its_reader() {
    let folder = with_calls().await;
    let mut tail = start(&mut program(folder.path(), "verbale tail ferry-3 --log jsonl:calls --every 0.05"));
    let mut out = BufReader::new(tail.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    drop(out);
    assert!(tail.wait().unwrap().success());
}

#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn interrupted_command_says_so() {
    let folder = with_calls().await;
    let mut tail = start(&mut program(folder.path(), "verbale tail ferry-3 --log jsonl:calls --every 0.05"));
    let mut out = BufReader::new(tail.stdout.take().unwrap());
    out.read_line(&mut String::new()).unwrap();
    assert!(Command::new("kill").args(["-INT", &tail.id().to_string()]).status().unwrap().success());
    assert_eq!(tail.wait().unwrap().code(), Some(130));
    let mut error = String::new();
    tail.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert_eq!(error, "error: interrupted\n");
}

#[tokio::test(start_paused = true)]
async fn erasing_needs_a_call_and_can_be_repeated() {
    let folder = with_calls().await;
    embedded(&folder).await;
    let line = |id: &str, log: &str| format!("verbale erase {id} --yes --log {log}");
    for log in ["jsonl:calls", "embedded:db"] {
        let unknown = shown(&run(folder.path(), &line("nobody", log)));
        assert!(unknown.contains("the log has no call nobody") && unknown.ends_with("(exit status 3)\n"), "{unknown}");
        assert!(run(folder.path(), &line("ferry-1", log)).status.success());
        let again = shown(&run(folder.path(), &line("ferry-1", log)));
        assert_eq!(again, "erased what an earlier erasure has left of call ferry-1\n");
    }
    damage(&folder, "ferry-2");
    let damaged = shown(&run(folder.path(), &line("ferry-2", "jsonl:calls")));
    assert_eq!(damaged, "erased call ferry-2, which cannot be read\n");
    let log = JsonLines::new(folder.path().join("calls"));
    assert!(log.read_call(&CallId::new("ferry-2").unwrap()).await.is_err());
}

/// The database of another user: SQLite writes even to read.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn database_that_cannot_be_written_is_access_denied() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;

    let folder = with_calls().await;
    embedded(&folder).await;
    let permit = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let is_root = folder.path().metadata().unwrap().uid() == 0;
    permit(folder.path(), 0o755);
    let db = folder.path().join("db");
    permit(&db, 0o555);
    let mut command = program(folder.path(), "verbale list --day 2025-10-20 --log embedded:db");
    if is_root {
        command.uid(65534);
    }
    let output = start(&mut command).wait_with_output().unwrap();
    permit(&db, 0o755);
    let error = shown(&output);
    assert!(error.contains("access denied: the database in db and its directory cannot be written"), "{error}");
    assert_eq!(output.status.code(), Some(4));
}

/// A client that cannot send a request has it in its error.
#[test]
fn errors_do_not_show_requests() {
    let folder = tempfile::tempdir().unwrap();
    let mut show = program(folder.path(), "verbale show CA1 --log dynamodb://calls --region eu-west-1");
    show.envs([("AWS_ENDPOINT_URL", "nowhere"), ("AWS_ACCESS_KEY_ID", "a"), ("AWS_SECRET_ACCESS_KEY", "b")]);
    let output = start(&mut show).wait_with_output().unwrap();
    let error = shown(&output);
    assert!(error.contains("endpoint must contain scheme") && !error.contains("KeyConditionExpression"), "{error}");
    let output = run(folder.path(), "verbale show CA1 --log dynamodb://calls --endpoint nowhere");
    assert!(shown(&output).contains("expected http://HOST[:PORT]"));
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn missing_credentials_are_access_denied() {
    let folder = tempfile::tempdir().unwrap();
    let mut show = program(folder.path(), "verbale show CA1 --log dynamodb://calls --region eu-west-1");
    show.env_clear().envs([("AWS_EC2_METADATA_DISABLED", "true"), ("HOME", "/nowhere")]);
    let output = start(&mut show).wait_with_output().unwrap();
    let error = shown(&output);
    assert!(error.contains("no credentials found"), "{error}");
    assert_eq!(output.status.code(), Some(4), "{error}");
}

#[tokio::test(start_paused = true)]
async fn slow_tools_are_causes() {
    let folder = tempfile::tempdir().unwrap();
    let log = std::sync::Arc::new(JsonLines::new(folder.path().join("calls")));
    calls::play_turns(log, "slow", 1, "the slow one").await;
    let why = shown(&run(folder.path(), "verbale why slow --log jsonl:calls"));
    assert!(why.contains("the tool seats took 4.0 s\n         make the tool faster"), "{why}");
}

/// An interruption leaves a command's work undone or done.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn interrupted_change_can_be_repeated() {
    let folder = with_calls().await;
    let run = |line: &str| shown(&run(folder.path(), &format!("verbale {line}")));
    run("export ferry-1 --format records -o ferry-1.jsonl --log jsonl:calls");
    for line in [
        "export --day 2025-10-20 --format csv -o calls.csv --log jsonl:calls",
        "export ferry-1 --format chat -o chat.json --log jsonl:calls",
        "import ferry-1.jsonl --call copied --log jsonl:copies",
        "report --day 2025-10-20 -o pages --log jsonl:calls",
        "erase ferry-1 --yes --log jsonl:calls",
    ] {
        let mut command = start(&mut program(folder.path(), &format!("verbale {line}")));
        // The process may have ended.
        let _ = Command::new("kill").args(["-INT", &command.id().to_string()]).stderr(Stdio::null()).status();
        let interrupted = command.wait().unwrap().success();
        let again = run(line);
        let is_done =
            again.contains("choose another id") || again.contains("has no call") || again.contains("earlier erasure");
        assert!(!again.contains("(exit status ") || (interrupted && is_done), "{line}: {again}");
    }
    assert!(run("check copied --log jsonl:copies").contains("1 call checked"));
    assert!(run("show ferry-1 --log jsonl:calls").contains("was erased"));
    assert_eq!(fs::read_to_string(folder.path().join("calls.csv")).unwrap().matches("ferry-3,").count(), 2);
}

/// The memory has no room for all values, so the first ones are gone.
#[tokio::test(start_paused = true)]
async fn value_that_was_said_again_is_a_cause() {
    let folder = tempfile::tempdir().unwrap();
    let log = std::sync::Arc::new(JsonLines::new(folder.path().join("calls")));
    let line = |turn: usize| {
        let codes: Vec<String> = (1..=8).map(|code| format!("KX{}{code}-B", 100 + turn)).collect();
        format!("My booking numbers are {}.", codes.join(", "))
    };
    let lines: Vec<String> = (0..90).map(line).chain([line(0)]).collect();
    calls::play_lines(log, "lost", &lines).await;
    let why = shown(&run(folder.path(), "verbale why lost --log jsonl:calls"));
    assert!(why.contains("the caller said a value again, which the prompt had no more since turn "), "{why}");
    assert!(!why.contains("KX100"), "{why}");
}

/// The limit of a file's size kills the export, as `kill -9` would.
#[cfg(unix)]
#[tokio::test(start_paused = true)]
async fn killed_export_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let log = JsonLines::new(folder.path().join("calls"));
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("Two seats.").unwrap();
    let records = manager.records();
    for number in 0..1_100 {
        let id = CallId::new(format!("ferry-{number}")).unwrap();
        let header = CallHeader::new(id, calls::START_MS + number).unwrap();
        log.open_call(&header).await.unwrap();
        log.put_record(&WriterLease::from(&header), &records[0]).await.unwrap();
    }
    let at = |name: &str| folder.path().join(name);
    let line = "verbale export --day 2025-10-20 --format csv --log jsonl:calls -o";
    assert!(run(folder.path(), &format!("{line} whole.csv")).status.success());
    let whole = fs::read(at("whole.csv")).unwrap();

    fs::write(at("out.csv"), "older").unwrap();
    let blocks = (whole.len() - 4_096) / 512;
    let script = format!("ulimit -f {blocks}; exec {} {}", env!("CARGO_BIN_EXE_verbale"), &line[8..]);
    let mut killed = Command::new("dash");
    killed.args(["-c", &format!("{script} out.csv")]).current_dir(folder.path());
    let killed = start(&mut killed).wait_with_output().unwrap();
    assert_eq!(killed.status.code(), None, "{}", shown(&killed));
    assert_eq!(fs::read(at("out.csv")).unwrap(), b"older");

    let other = shown(&run(folder.path(), &format!("{} out.csv --resume", line.replace("csv --log", "rows --log"))));
    assert!(other.contains("of another export") && other.ends_with("(exit status 2)\n"), "{other}");
    let resumed = shown(&run(folder.path(), &format!("{line} out.csv --resume")));
    assert_eq!(resumed, "1100 calls written to out.csv\n");
    assert!(fs::read(at("out.csv")).unwrap() == whole, "the resumed export is the whole one");
    let again = shown(&run(folder.path(), &format!("{line} out.csv --resume")));
    assert!(again.contains("there is no out.csv.resume to go on from"), "{again}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3, "nothing is left beside the files");
}
