//! Following a call.

use std::io::{BufRead, BufReader, Read};

use verbale::log::{CallChange, CallEnd, CallId, CallLog, JsonLines};
use verbale::{MessagesManager, PlainMessage};

use crate::{program, run, shown, start, with_calls};

#[tokio::test(start_paused = true)]
async fn ended_call_is_printed_as_shown() {
    let folder = with_calls().await;
    let of = |command: &str| shown(&run(folder.path(), &format!("verbale {command} --log jsonl:calls")));
    let (tail, show) = (of("tail ferry-1"), of("show ferry-1"));
    let messages = show.split_once("\n\n").unwrap().1;
    assert_eq!(tail, format!("call ferry-1\n{messages}call ferry-1 has ended: hangup\n"));
    assert_eq!(
        of("tail nobody"),
        "error: the log has no call nobody; `verbale list` shows those of a day\n(exit status 3)\n"
    );
}

#[tokio::test(start_paused = true)]
async fn live_call_is_followed_to_its_end() {
    let folder = with_calls().await;
    for json in [false, true] {
        let mut tail = program(folder.path(), "verbale tail ferry-3 --log jsonl:calls --every 0.05");
        let mut tail = start(tail.args(json.then_some("--json")));
        let mut out = BufReader::new(tail.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("Good morning") {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0);
        }

        let (log, id) = (JsonLines::new(folder.path().join("calls")), CallId::new("ferry-3").unwrap());
        let call = log.read_call(&id).await.unwrap();
        let lease = call.lease().unwrap();
        let mut manager = MessagesManager::<PlainMessage>::restore(call.records).unwrap();
        let words = if json { "It is gone." } else { "Is the last ferry gone?" };
        if json {
            manager.add_assistant(words).unwrap()
        } else {
            manager.add_user(words).unwrap()
        };
        log.put_record(&lease, manager.records().last().unwrap()).await.unwrap();
        while !line.contains(words) {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0);
        }
        assert_eq!(line.starts_with(r#"{"call":"ferry-3","record":{"#), json, "{line}");
        if json {
            let call_end = CallEnd::of(&manager, 1_760_944_600_000, "hangup").unwrap();
            log.change_call(&id, &CallChange::Close { lease, call_end }).await.unwrap();
            let (mut rest, mut note) = (String::new(), String::new());
            out.read_to_string(&mut rest).unwrap();
            tail.stderr.take().unwrap().read_to_string(&mut note).unwrap();
            assert_eq!((rest.as_str(), note.as_str()), ("", "call ferry-3 has ended: hangup\n"));
            assert!(tail.wait().unwrap().success());
        } else {
            tail.kill().unwrap();
            tail.wait().unwrap();
        }
    }
}
