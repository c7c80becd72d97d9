//! JSON Lines of role, content and time.

use std::error::Error;
use std::sync::Arc;

use proptest::prelude::*;
use verbale::clock::SequentialIds;
use verbale::exchange::{ExchangeError, Lost, Problem, json_lines};
use verbale::message::{Document, InvocationError, MessageError, Source};
use verbale::{Attribute, Content, Contents, Invocation, ManagerError, PlainMessage, Record, Role, Timing, Value};

use crate::random::{Manager, conversation, said, said_at};

const LINES: &str = r#"{"role":"supervisor","content":{"type":"text","text":"Be brief."},"timestamp":"2025-11-18T10:29:59Z"}
{"role":"user","content":{"type":"text","text":"Explain \"photosynthesis\"."},"timestamp":"2025-11-18T10:30:00Z"}
{"role":"assistant","content":{"type":"text","text":"Light,\nwater, air."},"timestamp":"2025-11-18T10:30:15.250Z"}
{"role":"user","content":{"type":"image","content_id":"sha256:abc123","mime_type":"image/png"},"timestamp":"2025-11-18T10:30:20Z"}
"#;

fn imported(lines: &str) -> Result<Manager, ExchangeError> {
    json_lines::import_with_ids::<PlainMessage>(lines, Arc::new(SequentialIds::default()))
}

fn exported(manager: &Manager) -> String {
    json_lines::export(manager).text
}

fn creation(record: &Record) -> i64 {
    record.metadata().timing(Timing::Creation).unwrap()
}

#[test]
fn a_conversation_goes_in_and_comes_out() {
    let manager = imported(LINES).unwrap();
    assert_eq!(exported(&manager), LINES);
    assert_eq!(manager.meta_messages().len(), 4);
    assert_eq!(manager.messages().count(), 3);
    assert_eq!(creation(&manager.records()[2]), 1_763_461_815_250);
}

#[test]
fn what_follows_in_one_role_is_one_message() {
    let lines = LINES.replace("assistant", "user").replace("supervisor", "assistant");
    let manager = imported(&format!("\n{lines}\r\n\n")).unwrap();
    let records = manager.records();
    let roles: Vec<Role> = records.iter().map(|record| record.role()).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    assert!(records[0].is_fake());
    let merges = records[2].metadata().attributes().filter(|attribute| *attribute == Attribute::Merged);
    assert_eq!((records[2].contents().len(), merges.count()), (3, 2));
    let again = exported(&manager);
    assert_eq!(again.lines().count(), 4);
    assert_eq!(said(&imported(&again).unwrap().records()), said(&records));
}

#[test]
fn the_document_s_tool_call_reads_with_an_assistant_that_says_nothing() {
    let lines = r#"
{"role": "user", "content": {"type": "text", "text": "What's the weather in SF?"}, "timestamp": "2025-11-18T10:30:00Z"}
{"role": "assistant", "timestamp": "2025-11-18T10:30:01Z"}
{"role": "invocation", "identifier": "call_123", "name": "get_weather", "arguments": {"location": "San Francisco, CA"}, "timestamp": "2025-11-18T10:30:02Z"}
{"role": "result", "invocation_id": "call_123", "content": {"type": "text", "text": "{\"temp\": 62}"}, "error": null, "timestamp": "2025-11-18T10:30:03Z"}
{"role": "assistant", "content": {"type": "text", "text": "It is 62°F."}, "timestamp": "2025-11-18T10:30:15Z"}
"#;
    let manager = imported(lines).unwrap();
    let location = Value::map([("location", "San Francisco, CA")]).unwrap();
    let call = Invocation::new("call_123", "get_weather", location).unwrap();
    let expected: Vec<(Role, Contents)> = vec![
        (Role::User, "What's the weather in SF?".into()),
        (Role::Assistant, call.clone().into()),
        (Role::User, call.success([r#"{"temp": 62}"#]).into()),
        (Role::Assistant, "It is 62°F.".into()),
    ];
    assert_eq!(said(&manager.records()), expected);
    let again = exported(&manager);
    assert_eq!(
        again.lines().nth(1),
        Some(
            r#"{"role":"invocation","identifier":"call_123","name":"get_weather","arguments":{"location":"San Francisco, CA"},"timestamp":"2025-11-18T10:30:02Z"}"#
        )
    );
    assert_eq!(exported(&imported(&again).unwrap()), again);
}

#[test]
fn documents_results_and_instructions_in_parts_have_their_lines() {
    let mut manager = imported(LINES).unwrap();
    let text = Document::new(Source::Bytes("Be kind.".as_bytes().into())).with_mime_type("text/plain");
    let kept = Document::new(Source::ContentId("sha256:ab".into())).with_mime_type("text/markdown");
    let scan = Document::new(Source::Bytes(vec![255, 0].into())).with_title("Scan").with_mime_type("application/pdf");
    manager.add_user([Content::from(text.with_title("Terms")), kept.into(), scan.clone().into()]).unwrap();
    let [find, pay] = ["find", "pay"].map(|tool| Invocation::new(tool, tool, Value::Null).unwrap());
    manager.add_assistant([Content::from(scan), find.clone().into(), pay.clone().into()]).unwrap();
    let error = InvocationError::new("no answer").unwrap().with_type("Timeout").with_retryable(false);
    manager.add_user([Content::from(pay.failure(error)), find.success([Value::from(1), "two".into()]).into()]).unwrap();
    manager.add_supervisor(["One.", "Two."]).unwrap();
    let export = json_lines::export(&manager);
    assert_eq!(export.losses, []);
    let lines: Vec<&str> =
        export.text.lines().skip(4).map(|line| line.split(",\"timestamp\"").next().unwrap()).collect();
    assert_eq!(
        lines,
        [
            r#"{"role":"document","title":"Terms","content":{"type":"text","text":"Be kind."}"#,
            r#"{"role":"document","content":{"type":"text","content_id":"sha256:ab","mime_type":"text/markdown"}"#,
            r#"{"role":"document","title":"Scan","content":{"type":"document","data":"/wA=","mime_type":"application/pdf"}"#,
            r#"{"role":"assistant","content":{"type":"document","data":"/wA=","mime_type":"application/pdf","title":"Scan"}"#,
            r#"{"role":"invocation","identifier":"find","name":"find","arguments":null"#,
            r#"{"role":"invocation","identifier":"pay","name":"pay","arguments":null"#,
            r#"{"role":"result","invocation_id":"pay","error":"no answer","error_type":"Timeout","retryable":false"#,
            r#"{"role":"result","invocation_id":"find","content":[{"type":"json","json":1},{"type":"json","json":"two"}]"#,
            r#"{"role":"supervisor","content":[{"type":"text","text":"One."},{"type":"text","text":"Two."}]"#,
        ]
    );
    assert_eq!(said(&imported(&export.text).unwrap().records()), said(&manager.records()));
}

#[test]
fn moments_with_an_offset_are_read() {
    let line =
        r#"{"role":"user","content":{"type":"text","text":"Hi"},"timestamp":"2025-11-18T12:30:00.123456+02:00"}"#;
    assert_eq!(creation(&imported(line).unwrap().records()[0]), 1_763_461_800_123);
}

#[test]
fn an_error_names_the_line_and_quotes_nothing() {
    const AT: &str = r#","timestamp":"2025-11-18T10:30:00Z"}"#;
    let invalid = |reason| Problem::Invalid { reason };
    let known_roles = "user, assistant, supervisor, document, invocation, result";
    let no_store = "the text is in a content store; put it in its place, as `text`";
    for (bad, path, problem) in [
        (
            r#"{"role":"user","content":"secret""#,
            "$.content",
            Problem::WrongKind { expected: "an object", found: "a string" },
        ),
        (
            r#"{"role":"secret","content":{"type":"text","text":"secret"}"#,
            "$.role",
            Problem::UnknownType { what: "role", known: known_roles },
        ),
        (r#"{"content":{"type":"text","text":"secret"}"#, "$", Problem::MissingKey { key: "role" }),
        (r#"{"role":"user""#, "$", Problem::MissingKey { key: "content" }),
        (r#"{"role":"user","content":{"type":"text"}"#, "$.content", Problem::MissingKey { key: "text" }),
        (
            r#"{"role":"user","content":{"type":"text","text":"","content_id":"sha256:secret"}"#,
            "$.content.content_id",
            invalid(no_store),
        ),
        (
            r#"{"role":"user","content":{"type":"text","text":"secret","mime_type":"text/html"}"#,
            "$.content.mime_type",
            Problem::NotKept { what: "a MIME type of a text" },
        ),
        (
            r#"{"role":"user","content":{"type":"secret"}"#,
            "$.content.type",
            Problem::UnknownType { what: "type", known: "text, image, audio, video, document" },
        ),
        (r#"{"role":"user","content":{"type":"text","text":" "}"#, "$", Problem::Refused(ManagerError::Blank)),
        (
            r#"{"role":"user","speaker":"secret","content":{"type":"text","text":"secret"}"#,
            "$",
            Problem::UnknownKey { known: &["role", "content", "timestamp"] },
        ),
        (r#"{"role":"document","title":"secret""#, "$", Problem::MissingKey { key: "content" }),
        (r#"{"role":"invocation","name":"f","arguments":{}"#, "$", Problem::MissingKey { key: "identifier" }),
        (r#"{"role":"invocation","identifier":"a","arguments":{}"#, "$", Problem::MissingKey { key: "name" }),
        (r#"{"role":"invocation","identifier":"a","name":"f""#, "$", Problem::MissingKey { key: "arguments" }),
        (
            r#"{"role":"invocation","identifier":"secret id","name":"f","arguments":{}"#,
            "$.identifier",
            Problem::Content(MessageError::InvalidInvocationId { length: 9 }),
        ),
        (
            r#"{"role":"result","invocation_id":"a","content":[]"#,
            "$",
            invalid("this answers a tool call that does not stand before it"),
        ),
        (r#"{"role":"result","invocation_id":"known""#, "$", Problem::MissingKey { key: "content" }),
        (
            r#"{"role":"result","invocation_id":"known","content":{"type":"text","text":"secret"},"error":"no""#,
            "$",
            Problem::NotKept { what: "a content beside an error" },
        ),
        (r#"{"role":"result","invocation_id":"known","retryable":true"#, "$", Problem::MissingKey { key: "error" }),
    ] {
        let call = r#"{"role":"invocation","identifier":"known","name":"f","arguments":{},"timestamp":"2025-11-18T10:30:00Z"}"#;
        let error = imported(&format!("{call}\n\n{bad}{AT}\n")).unwrap_err();
        let place = error.place();
        assert_eq!((place.line, place.path.as_str(), error.problem()), (3, path, &problem), "{bad}");
        let all = format!("{error} {error:?} {:?}", error.source());
        assert!(!all.contains("secret"), "{all}");
    }
    let said = r#"{"role":"user","content":{"type":"text","text":"secret"}"#;
    let reason = "a moment as in RFC 3339 belongs here, such as 2025-11-18T10:30:00Z";
    for (line, path, problem) in [
        (format!("{said}}}"), "$", Problem::MissingKey { key: "timestamp" }),
        (format!(r#"{said},"timestamp":"secret"}}"#), "$.timestamp", invalid(reason)),
        (format!("{said}{AT} secret"), "$", Problem::NotJson { expected: "the end of the text" }),
    ] {
        let error = imported(&line).unwrap_err();
        assert_eq!((error.place().path.as_str(), error.problem()), (path, &problem), "{line}");
    }
    let error = json_lines::import::<PlainMessage>(b"\n\xff\n").unwrap_err();
    assert_eq!(error.to_string(), "$ (line 2, column 1): this is not UTF-8");
}

#[test]
fn a_failed_result_may_say_its_error_twice() {
    let lines = r#"{"role":"invocation","identifier":"a","name":"f","arguments":{},"timestamp":"2025-11-18T10:30:00Z"}
{"role":"result","invocation_id":"a","content":{"type":"text","text":"no answer"},"error":"no answer","timestamp":"2025-11-18T10:30:00Z"}"#;
    let manager = imported(lines).unwrap();
    let call = Invocation::new("a", "f", Value::map::<&str, Value>([]).unwrap()).unwrap();
    let failed = call.failure(InvocationError::new("no answer").unwrap());
    assert_eq!(*manager.records()[2].contents(), Contents::from(failed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_conversation_comes_back_and_stays(records in conversation(true)) {
        let manager = Manager::restore(records.clone()).unwrap();
        let export = json_lines::export(&manager);
        for loss in &export.losses {
            prop_assert!(matches!(loss.what, Lost::Summary | Lost::Unheard), "{loss}");
        }
        let again = imported(&export.text).unwrap();
        prop_assert_eq!(said_at(&again.records()), said_at(&records), "{}", export.text);
        let second = json_lines::export(&again);
        let third = json_lines::export(&imported(&second.text).unwrap());
        prop_assert_eq!(second, third);
    }
}
