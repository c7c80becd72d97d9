//! JSON Lines of role, content and time.

use std::error::Error;

use proptest::prelude::*;
use verbale::exchange::{ExchangeError, export_json_lines, import_json_lines};
use verbale::message::{Draft, Media, MediaKind, Source, ToolError};
use verbale::{Attribute, Content, Contents, MessageWrapper, PlainMessage, Record, Role, Timing, ToolCall, Value};

use super::loss;

use crate::formats::{clock, ids, options, without_ids};
use crate::random::{Manager, conversation, parts, said};

const LINES: &str = r#"{"role":"supervisor","content":{"type":"text","text":"Be brief."},"timestamp":"2025-11-18T10:29:59Z"}
{"role":"user","content":{"type":"text","text":"Explain \"photosynthesis\"."},"timestamp":"2025-11-18T10:30:00Z"}
{"role":"assistant","content":{"type":"text","text":"Light,\nwater, air."},"timestamp":"2025-11-18T10:30:15.250Z"}
{"role":"user","content":{"type":"image","content_id":"sha256:abc123","mime_type":"image/png"},"timestamp":"2025-11-18T10:30:20Z"}
"#;

fn imported(lines: &str) -> Result<Manager, ExchangeError> {
    import_json_lines::<PlainMessage>(lines, &options())
}

fn exported(manager: &Manager) -> String {
    export_json_lines(manager).text
}

fn creation(record: &Record) -> i64 {
    record.metadata().timing(Timing::Creation).unwrap()
}

#[test]
fn conversation_round_trips() {
    let manager = imported(LINES).unwrap();
    assert_eq!(without_ids(&exported(&manager)), LINES);
    assert_eq!(manager.meta_messages().len(), 4);
    assert_eq!(manager.messages().count(), 3);
    assert_eq!(creation(&manager.records()[2]), 1_763_461_815_250);
}

#[test]
fn merged_parts_keep_id_time_and_confidence() {
    let clock = clock();
    let mut manager = Manager::new().with_clock(clock.clone(), ids());
    let said = |text: &str, id: &str| Draft::new(Role::User, text).with_id(id.parse().unwrap());
    let image = Media::new(MediaKind::Image, Source::Url("https://example.com/a.png".into()));
    manager.add_system(["Be brief.", "Be kind."]).unwrap();
    let first = said("Hi, there", "01JRZJ166J2WRMF990535EVSQS").with_confidence(0.93.try_into().unwrap()).unwrap();
    manager.add(first).unwrap();
    clock.advance(99_000);
    manager.add(said("are you there?", "01JRZM27Q82WRMF990535EVSQT")).unwrap();
    clock.advance(250);
    let exact = "0.12345678901234567890123456789".parse().unwrap();
    let look = Draft::new(Role::User, [Content::from("Look"), image.into()]).with_confidence(exact).unwrap();
    manager.add(look).unwrap();
    manager.add_assistant("Yes.").unwrap();
    let export = export_json_lines(&manager);
    assert_eq!(export.losses, []);
    insta::assert_snapshot!(export.text, @r#"
    {"role":"supervisor","content":[{"type":"text","text":"Be brief."},{"type":"text","text":"Be kind."}],"timestamp":"2025-04-16T15:03:43.058Z","message_id":"00000000000000000000000000"}
    {"role":"user","content":{"type":"text","text":"Hi, there"},"timestamp":"2025-04-16T15:03:43.058Z","message_id":"01JRZJ166J2WRMF990535EVSQS","confidence":0.93}
    {"role":"user","content":{"type":"text","text":"are you there?"},"timestamp":"2025-04-16T15:05:22.058Z","message_id":"01JRZM27Q82WRMF990535EVSQT"}
    {"role":"user","content":{"type":"text","text":"Look"},"timestamp":"2025-04-16T15:05:22.308Z","message_id":"00000000000000000000000001","confidence":0.12345678901234567890123456789}
    {"role":"user","content":{"type":"image","url":"https://example.com/a.png"},"timestamp":"2025-04-16T15:05:22.308Z","message_id":"00000000000000000000000001","confidence":0.12345678901234567890123456789}
    {"role":"assistant","content":{"type":"text","text":"Yes."},"timestamp":"2025-04-16T15:05:22.308Z","message_id":"00000000000000000000000002"}
    "#);
    let again = imported(&export.text).unwrap();
    let parts: Vec<usize> = again.meta_messages().iter().map(|message| message.message().parts().len()).collect();
    assert_eq!(parts, [1, 3, 1]);
    assert!(again == manager, "{again}");
}

#[test]
fn lines_of_one_id_must_agree() {
    let line = |id: &str, more: &str| {
        format!(r#"{{"role":"user","content":{{"type":"text","text":"secret"}},"message_id":"{id}",{more}}}"#)
    };
    const ID: &str = "01JRZJ166J2WRMF990535EVSQS";
    const AT: &str = r#""timestamp":"2025-11-18T10:30:00Z""#;
    let first = line(ID, AT);
    let errors: Vec<String> = [
        first.replace(":00Z", ":01Z"),
        first.replace("user", "assistant"),
        line(ID, &format!(r#"{AT},"confidence":0.5"#)),
        format!("{}\n{first}", line("01JRZM27Q82WRMF990535EVSQT", AT)),
        line("m-1", AT),
        line("01JRZM27Q82WRMF990535EVSQT", &format!(r#"{AT},"confidence":93"#)),
        line("01JRZM27Q82WRMF990535EVSQT", &format!(r#"{AT},"confidence":"0.5""#)),
    ]
    .iter()
    .map(|bad| imported(&format!("{first}\n{bad}\n")).unwrap_err().to_string())
    .collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    $ (line 2, column 1): lines with one `message_id` must have the same speaker, `timestamp` and `confidence`
    $ (line 2, column 1): lines with one `message_id` must have the same speaker, `timestamp` and `confidence`
    $ (line 2, column 1): lines with one `message_id` must have the same speaker, `timestamp` and `confidence`
    $ (line 3, column 1): the conversation refuses the message
    $.message_id (line 2, column 75): a message id is a ULID: 26 characters of Crockford's base 32
    $.confidence (line 2, column 148): a confidence is a decimal number from 0 to 1; divide a percentage by 100
    $.confidence (line 2, column 148): expected a number, found a string
    ");
}

#[test]
fn consecutive_lines_of_one_role_are_merged() {
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
fn assistant_line_without_content_adds_nothing() {
    let lines = r#"
{"role": "user", "content": {"type": "text", "text": "What's the weather in SF?"}, "timestamp": "2025-11-18T10:30:00Z"}
{"role": "assistant", "timestamp": "2025-11-18T10:30:01Z"}
{"role": "invocation", "identifier": "call_123", "name": "get_weather", "arguments": {"location": "San Francisco, CA"}, "timestamp": "2025-11-18T10:30:02Z"}
{"role": "result", "invocation_id": "call_123", "content": {"type": "text", "text": "{\"temp\": 62}"}, "error": null, "timestamp": "2025-11-18T10:30:03Z"}
{"role": "assistant", "content": {"type": "text", "text": "It is 62°F."}, "timestamp": "2025-11-18T10:30:15Z"}
"#;
    let manager = imported(lines).unwrap();
    let location = Value::map([("location", "San Francisco, CA")]).unwrap();
    let call = ToolCall::new("call_123", "get_weather", location).unwrap();
    let expected: Vec<(Role, Contents)> = vec![
        (Role::User, "What's the weather in SF?".into()),
        (Role::Assistant, call.clone().into()),
        (Role::User, call.success([r#"{"temp": 62}"#]).into()),
        (Role::Assistant, "It is 62°F.".into()),
    ];
    assert_eq!(said(&manager.records()), expected);
    let again = exported(&manager);
    assert_eq!(
        without_ids(&again).lines().nth(1),
        Some(
            r#"{"role":"invocation","identifier":"call_123","name":"get_weather","arguments":{"location":"San Francisco, CA"},"timestamp":"2025-11-18T10:30:02Z"}"#
        )
    );
    assert_eq!(exported(&imported(&again).unwrap()), again);
}

#[test]
fn documents_results_and_instructions_are_written_as_lines() {
    let mut manager = imported(LINES).unwrap();
    let text =
        Media::new(MediaKind::Document, Source::Bytes("Be kind.".as_bytes().into())).with_mime_type("text/plain");
    let kept = Media::new(MediaKind::Document, Source::ContentId("sha256:ab".into())).with_mime_type("text/markdown");
    let scan = Media::new(MediaKind::Document, Source::Bytes(vec![255, 0].into()))
        .with_label("Scan")
        .with_mime_type("application/pdf");
    manager.add_user([Content::from(text.with_label("Terms")), kept.into(), scan.clone().into()]).unwrap();
    let [find, pay] = ["find", "pay"].map(|tool| ToolCall::new(tool, tool, Value::Null).unwrap());
    manager.add_assistant([Content::from(scan), find.clone().into(), pay.clone().into()]).unwrap();
    let error = ToolError::new("no answer").with_type("Timeout").with_retryable(false);
    manager.add_user([Content::from(pay.failure(error)), find.success([Value::from(1), "two".into()]).into()]).unwrap();
    manager.add_system(["One.", "Two."]).unwrap();
    let export = export_json_lines(&manager);
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
fn times_with_an_offset_are_read() {
    let line =
        r#"{"role":"user","content":{"type":"text","text":"Hi"},"timestamp":"2025-11-18T12:30:00.123456+02:00"}"#;
    assert_eq!(creation(&imported(line).unwrap().records()[0]), 1_763_461_800_123);
}

#[test]
fn errors_name_line_and_path_and_quote_nothing() {
    const AT: &str = r#","timestamp":"2025-11-18T10:30:00Z"}"#;
    let mut errors = Vec::new();
    for bad in [
        r#"{"role":"user","content":"secret""#,
        r#"{"role":"secret","content":{"type":"text","text":"secret"}"#,
        r#"{"role":["secret"],"content":{"type":"text","text":"secret"}"#,
        r#"{"content":{"type":"text","text":"secret"}"#,
        r#"{"role":"user""#,
        r#"{"role":"user","content":{"type":"text"}"#,
        r#"{"role":"user","content":{"type":"text","text":7}"#,
        r#"{"role":"user","content":{"type":"secret"}"#,
        r#"{"role":"user","content":{"type":"text","text":" "}"#,
        r#"{"role":"user","speaker":"secret","content":{"type":"text","text":"secret"}"#,
        r#"{"role":"user","role":"secret","content":{"type":"text","text":"secret"}"#,
        r#"{"role":"user","content":{"type":"text","text":"\ud800 secret"}"#,
        r#"{"role":"document","title":"secret""#,
        r#"{"role":"invocation","name":"f","arguments":{}"#,
        r#"{"role":"invocation","identifier":"a","arguments":{}"#,
        r#"{"role":"invocation","identifier":"a","name":"f""#,
        r#"{"role":"invocation","identifier":"secret id","name":"f","arguments":{}"#,
        r#"{"role":"invocation","identifier":"a","name":"f","arguments":{"secret":1,"secret":2}"#,
        r#"{"role":"result","invocation_id":"a","content":[]"#,
        r#"{"role":"result","invocation_id":"known""#,
        r#"{"role":"result","invocation_id":"known","content":{"type":"image","url":"secret"},"error":"no""#,
        r#"{"role":"result","invocation_id":"known","retryable":true"#,
    ] {
        let call = r#"{"role":"invocation","identifier":"known","name":"f","arguments":{},"timestamp":"2025-11-18T10:30:00Z"}"#;
        errors.push(imported(&format!("{call}\n\n{bad}{AT}\n")).unwrap_err());
    }
    let said = r#"{"role":"user","content":{"type":"text","text":"secret"}"#;
    for line in [format!("{said}}}"), format!(r#"{said},"timestamp":"secret"}}"#), format!("{said}{AT} secret")] {
        errors.push(imported(&line).unwrap_err());
    }
    errors.push(import_json_lines::<PlainMessage>(b"\n\xff\n", &options()).unwrap_err());
    let all: String = errors.iter().map(|error| format!("{error:?} {:?}", error.source())).collect();
    assert!(!all.contains("secret"), "{all}");
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    $.content (line 3, column 26): expected an object, found a string
    $.role (line 3, column 16): the name is unknown; use one of `user`, `assistant`, `supervisor`, `system`, `document`, `invocation`, `result`
    $.role (line 3, column 9): expected a string, found a list
    $ (line 3, column 78): the key `role` is missing
    $ (line 3, column 1): the key `content` is missing
    $.content (line 3, column 26): the key `text` is missing
    $.content.text (line 3, column 48): expected a string, found a number
    $.content.type (line 3, column 41): the name is unknown; use one of `text`, `image`, `audio`, `video`, `document`, `json`
    $ (line 3, column 1): the conversation refuses the message
    $ (line 3, column 1): an unknown key cannot be kept; remove it (known keys: role, content, timestamp, message_id, confidence)
    $ (line 3, column 21): a key appears twice in one object
    $.content.text (line 3, column 55): the text is not JSON: unexpected end of hex escape
    $ (line 3, column 1): the key `content` is missing
    $ (line 3, column 1): the key `identifier` is missing
    $ (line 3, column 1): the key `name` is missing
    $ (line 3, column 1): the key `arguments` is missing
    $.identifier (line 3, column 45): a tool call id has 1 to 64 characters of [a-zA-Z0-9_.:-]; this one has 9 bytes
    $.arguments (line 3, column 62): a key appears twice in one object
    $ (line 3, column 1): no tool call with this id precedes the result
    $ (line 3, column 1): the key `content` is missing
    $ (line 3, column 1): media or a document beside an error cannot be kept; remove it
    $ (line 3, column 1): the key `error` is missing
    $ (line 1, column 57): the key `timestamp` is missing
    $.timestamp (line 1, column 78): expected a time in RFC 3339, such as 2025-11-18T10:30:00Z
    $ (line 1, column 94): the text is not JSON: trailing characters
    $ (line 2, column 1): the text is not UTF-8
    ");
}

#[test]
fn repeated_error_text_is_kept_once() {
    let lines = r#"{"role":"invocation","identifier":"a","name":"f","arguments":{},"timestamp":"2025-11-18T10:30:00Z"}
{"role":"result","invocation_id":"a","content":{"type":"text","text":"no answer"},"error":"no answer","timestamp":"2025-11-18T10:30:00Z"}"#;
    let manager = imported(lines).unwrap();
    let call = ToolCall::new("a", "f", Value::map::<&str, Value>([]).unwrap()).unwrap();
    let failed = call.failure(ToolError::new("no answer"));
    assert_eq!(*manager.records()[2].contents(), Contents::from(failed));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_conversation_round_trips(records in conversation(true)) {
        let manager = Manager::restore(records.clone()).unwrap();
        let export = export_json_lines(&manager);
        for (_, loss) in &export.losses {
            prop_assert!([loss::SUMMARY, loss::UNHEARD].contains(loss), "{loss}");
        }
        let again = imported(&export.text).unwrap();
        prop_assert_eq!(parts(&again), parts(&manager), "{}", export.text);
        // A fake gets a new id.
        let has_fake = records.iter().any(|record| record.is_fake());
        if export.losses.is_empty() && !has_fake && records.iter().all(|record| record.heard().is_none()) {
            prop_assert!(again == manager, "{}", export.text);
        }
        let second = export_json_lines(&again);
        let third = export_json_lines(&imported(&second.text).unwrap());
        prop_assert_eq!(second, third);
    }
}
