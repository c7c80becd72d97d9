//! Exchange of conversations.

use std::error::Error;

use super::*;
use crate::clock::SequentialIds;
use crate::message::{Attribute, Invocation, Value};

type Manager = MessagesManager<PlainMessage>;

const LINES: &str = r#"{"role": "supervisor", "content": {"type": "text", "text": "Be brief."}, "timestamp": "2025-11-18T10:29:59Z"}
{"role": "user", "content": {"type": "text", "text": "Explain \"photosynthesis\"."}, "timestamp": "2025-11-18T10:30:00Z"}
{"role": "assistant", "content": {"type": "text", "text": "Light,\nwater, air."}, "timestamp": "2025-11-18T10:30:15.250Z"}
{"role": "user", "content": {"content_id":"sha256:abc123","mime_type":"image/png","type":"image"}, "timestamp": "2025-11-18T10:30:20Z"}
"#;

fn imported(lines: &str) -> Result<Vec<Record>, TranscriptError> {
    import(lines.as_bytes(), Arc::new(SequentialIds::default()))
}

#[test]
fn a_conversation_goes_in_and_comes_out() {
    let records = imported(LINES).unwrap();
    assert_eq!(export(&records).unwrap(), LINES);
    let manager = Manager::restore(records).unwrap();
    assert_eq!(manager.meta_messages().len(), 4);
    assert_eq!(manager.messages().count(), 3);
}

#[test]
fn what_follows_in_one_role_is_one_message() {
    let lines = LINES.replace("assistant", "user").replace("supervisor", "assistant");
    let records = imported(&format!("\n{lines}\n\n")).unwrap();
    let roles: Vec<Role> = records.iter().map(|record| record.role()).collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    assert!(records[0].is_fake());
    let merges = records[2].metadata().attributes().filter(|attribute| *attribute == Attribute::Merged);
    assert_eq!((records[2].contents().len(), merges.count()), (3, 2));
    let again = export(&records).unwrap();
    assert_eq!(again.lines().count(), 4);
    let contents = |records: &[Record]| records.iter().map(|record| record.contents().clone()).collect::<Vec<_>>();
    assert_eq!(contents(&imported(&again).unwrap()), contents(&records));
}

#[test]
fn the_seed_s_moments_with_an_offset_are_read() {
    let line =
        r#"{"role":"user","content":{"type":"text","text":"Hi"},"timestamp":"2025-11-18T12:30:00.123456+02:00"}"#;
    let record = imported(line).unwrap().remove(0);
    assert_eq!(record.metadata().timing(Timing::Creation), Some(1_763_461_800_123));
}

#[test]
fn an_error_names_the_line_and_quotes_nothing() {
    let good = LINES.lines().next().unwrap();
    for (bad, message) in [
        (
            r#"{"role": "user", "content": "secret", "timestamp": "2025-11-18T10:30:00Z"}"#,
            "line 2 is not a message: it is a JSON object with `role`, `content` (an object with a `type`) and `timestamp`",
        ),
        (
            r#"{"role": "secret", "content": {"type": "text", "text": "secret"}, "timestamp": "2025-11-18T10:30:00Z"}"#,
            "line 2 is not a message: `role` is user, assistant or supervisor; others cannot be imported",
        ),
        (
            r#"{"role": "user", "content": {"type": "text", "text": "secret"}, "timestamp": "secret"}"#,
            "line 2 is not a message: `timestamp` is as 2025-11-18T10:30:00Z",
        ),
        (
            r#"{"role": "user", "content": {"type": "text", "text": "", "content_id": "sha256:secret"}, "timestamp": "2025-11-18T10:30:00Z"}"#,
            "line 2 is not a message: its text is in a content store, or missing; put it in the line as `text`",
        ),
        (
            r#"{"role": "user", "content": {"type": "secret"}, "timestamp": "2025-11-18T10:30:00Z"}"#,
            "line 2 is not a message: `content.type` is text, image, audio or video",
        ),
        (
            r#"{"role": "user", "content": {"type": "text", "text": " "}, "timestamp": "2025-11-18T10:30:00Z"}"#,
            "the message of line 2 cannot be added",
        ),
    ] {
        let error = imported(&format!("{good}\n{bad}\n")).unwrap_err();
        assert_eq!(error.to_string(), message);
        let all = format!("{error:?} {:?}", error.source());
        assert!(!all.contains("secret"), "{all}");
    }
    let error = import(&b"\xff\n"[..], Arc::new(SequentialIds::default())).unwrap_err();
    assert_eq!(error.to_string(), "line 1 cannot be read");
}

#[test]
fn what_the_format_cannot_say_is_an_error() {
    let mut manager = Manager::new();
    manager.add_user("Move my booking").unwrap();
    let id = manager.add_assistant(Invocation::new("c1", "find", Value::Null).unwrap()).unwrap().id();
    let error = export(&manager.records()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("message {id} has a tool call, which this format cannot say; export it as records")
    );
}
