//! The parsers' results and error messages.

use std::path::PathBuf;

use proptest::prelude::*;
use verbale::message::ToolError;

use super::*;

fn parsed(text: &str) -> Result<Vec<Event>, String> {
    Script::parse(Path::new("call.json"), text.as_bytes())
        .map(|script| script.events)
        .map_err(|error| error.to_string())
}

/// Returns a line of the segments format.
fn segment(role: &str, start_ms: i64, duration_ms: i64, text: &str, asr: &str) -> String {
    serde_json::json!({
        "role": role, "start_timestamp_ms": start_ms, "duration_ms": duration_ms, "text": text, "asr": asr,
    })
    .to_string()
}

fn caller(start_ms: i64, end_ms: i64, text: &str) -> Event {
    Event { start_ms, end_ms, kind: EventKind::Caller(text.into()) }
}

fn agent(start_ms: i64, end_ms: i64, text: &str, played_ms: Option<u64>) -> Event {
    Event { start_ms, end_ms, kind: EventKind::Agent { text: Some(text.into()), calls: Vec::new(), played_ms } }
}

fn tool_call(id: &str) -> ToolCall {
    ToolCall::new(id, "find", serde_json::from_str::<verbale::Value>(r#"{"nr": 7}"#).unwrap()).unwrap()
}

/// Returns a chat with one message on each line, from line 2.
fn chat(messages: &[&str]) -> String {
    format!("{{\"messages\": [\n{}\n]}}", messages.join(",\n"))
}

const CALL_A: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"find","arguments":"{\"nr\": 7}"}}]}"#;
const RESULT_A: &str = r#"{"role":"tool","tool_call_id":"a","content":"{\"nr\":  7}"}"#;

#[test]
fn builtin_call_shows_typical_events() {
    let script = Script::builtin().unwrap();
    assert_eq!((script.call_id.as_str(), script.events.len()), ("builtin", 19));
    assert!(matches!(script.events.first().unwrap().kind, EventKind::Agent { .. }));
    let is_caller = |event: &Event| matches!(event.kind, EventKind::Caller(_));
    assert!(script.events.windows(2).any(|pair| pair.iter().all(is_caller)), "two segments that merge");
    let cut = |event: &Event| matches!(event.kind, EventKind::Agent { played_ms: Some(1..), .. });
    assert_eq!(script.events.iter().filter(|event| cut(event)).count(), 1);
}

#[test]
fn segments_are_sorted_by_start() {
    let text = [
        segment("agent", 5_000, 1_000, "And you?", ""),
        String::new(),
        segment("caller", 1_000, 500, "[noise] hi <unk>", "hi"),
        segment("agent", 2_000, 0, "Hello!", "yellow"),
        segment("caller", 5_000, 10, "Too", ""),
    ];
    assert_eq!(
        parsed(&text.join("\r\n")),
        Ok(vec![
            caller(1_000, 1_500, "[noise] hi <unk>"),
            agent(2_000, 2_000, "Hello!", None),
            agent(5_000, 6_000, "And you?", Some(0)),
            caller(5_000, 5_010, "Too"),
        ])
    );
}

#[test]
fn segment_without_words_is_no_message() {
    for text in ["[noise]", "<unk> [laughter]", "[unintelligible] ...", "–"] {
        assert_eq!(parsed(&segment("caller", 0, 1, text, "okay")), Ok(vec![]), "{text}");
    }
}

#[test]
fn recognized_text_is_used_only_without_corrected_text() {
    assert_eq!(parsed(&segment("caller", 0, 1, "", "mm hmm")), Ok(vec![caller(0, 1, "mm hmm")]));
    assert_eq!(parsed(&segment("caller", 0, 1, " ", "[noise]")), Ok(vec![]));
    let without_asr = r#"{"role":"caller","start_timestamp_ms":0,"duration_ms":1,"text":"yes"}"#;
    assert_eq!(parsed(without_asr), Ok(vec![caller(0, 1, "yes")]));
}

#[test]
fn first_words_during_an_agent_segment_interrupt() {
    let text = [
        segment("agent", 0, 1_000, "one", ""),
        segment("caller", 1_000, 100, "at its end", ""),
        segment("agent", 2_000, 1_000, "two", ""),
        segment("agent", 2_500, 100, "[noise]", ""),
        segment("caller", 2_600, 100, "[noise]", ""),
        segment("caller", 2_700, 100, "wait", ""),
        segment("caller", 2_900, 100, "please", ""),
    ];
    assert_eq!(
        parsed(&text.join("\n")),
        Ok(vec![
            agent(0, 1_000, "one", None),
            caller(1_000, 1_100, "at its end"),
            agent(2_000, 3_000, "two", Some(700)),
            caller(2_700, 2_800, "wait"),
            caller(2_900, 3_000, "please"),
        ])
    );
}

#[test]
fn chat_gets_a_steady_clock() {
    let text = chat(&[
        r#"{"role":"system","content":"You book ferries."}"#,
        r#"{"role":"user","content":"Is there a ferry"}"#,
        CALL_A,
        RESULT_A,
        r#"{"role":"assistant","content":"Yes."}"#,
        r#"{"role":"user","content":" "}"#,
    ]);
    let start = 1_735_722_000_000;
    let event = |start_ms, end_ms, kind| Event { start_ms: start + start_ms, end_ms: start + end_ms, kind };
    assert_eq!(
        parsed(&text),
        Ok(vec![
            event(0, 250, EventKind::System("You book ferries.".into())),
            event(750, 2_350, EventKind::Caller("Is there a ferry".into())),
            event(2_850, 3_100, EventKind::Agent { text: None, calls: vec![tool_call("a")], played_ms: None }),
            event(3_600, 3_850, EventKind::ToolResult(tool_call("a").success([r#"{"nr":  7}"#]))),
            agent(start + 4_350, start + 4_750, "Yes.", None),
        ])
    );
}

#[test]
fn results_are_kept_exactly_and_errors_are_failures() {
    let outcome = |content: &str| {
        let result = serde_json::json!({"role": "tool", "tool_call_id": "a", "content": content}).to_string();
        match parsed(&chat(&[CALL_A, &result])).unwrap().pop().unwrap().kind {
            EventKind::ToolResult(result) => result.outcome().clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(outcome("Errors: none "), Ok(vec!["Errors: none ".into()]));
    assert_eq!(outcome(""), Ok(vec![]));
    let error = ToolError::new("Error: not enough seats");
    assert_eq!(outcome("Error: not enough seats"), Err(error));
}

#[test]
fn id_may_be_reused_after_its_result() {
    assert_eq!(parsed(&chat(&[CALL_A, RESULT_A, CALL_A])).map(|events| events.len()), Ok(3));
}

#[test]
fn file_without_words_is_a_call() {
    for text in [&segment("agent", 0, 1, "[noise]", ""), r#"{"messages": []}"#] {
        assert_eq!(parsed(text), Ok(vec![]));
    }
}

#[test]
fn call_is_named_after_its_file() {
    assert_eq!(call_id(Path::new("/calls/task-00.json")), "task-00");
    assert_eq!(call_id(Path::new("an é call.v2.jsonl")), "an---call.v2");
}

#[test]
fn recorded_calls_are_read() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let mut cut = Vec::new();
    let mut read = 0;
    for folder in ["harper-valley", "tau-airline"] {
        let Ok(files) = std::fs::read_dir(data.join(folder)) else {
            println!("skipped: there is no {folder} in {}", data.display());
            return;
        };
        let calls = files.map(|file| file.unwrap().path()).filter(|path| is_call(path));
        for path in calls {
            let script = Script::read(&path).unwrap_or_else(|error| panic!("{error}"));
            read += 1;
            assert!(script.events.len() > 5, "{}", path.display());
            assert!(script.events.is_sorted_by_key(|event| event.start_ms), "{}", path.display());
            cut.extend(script.events.iter().filter_map(|event| match event.kind {
                EventKind::Agent { played_ms: Some(played_ms), .. } => Some((script.call_id.clone(), played_ms)),
                _ => None,
            }));
        }
    }
    assert_eq!(read, 28);
    // By the README of the data, only two of the overlaps have words.
    assert_eq!(cut, [("0f8c2e76e42f44ad".to_owned(), 1_800), ("0f8c2e76e42f44ad".to_owned(), 400)]);
}

fn is_call(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("jsonl" | "json")) && path.file_name().is_some_and(|name| name != "index.json")
}

#[test]
fn bad_file_is_reported_by_line_and_reason() {
    let good = segment("agent", 0, 1_000, "Hello!", "");
    let segments = |line: &str| format!("{good}\n{line}\n{good}\n");
    let start = i64::MAX.to_string();
    let with = |from: &str, to: &str| segments(&good.replace(from, to));
    let call = |from: &str, to: &str| chat(&[CALL_A.replace(from, to).as_str()]);
    let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let arguments = |json: &str| serde_json::to_string(json).unwrap();
    const ARGUMENTS: &str = r#""{\"nr\": 7}""#;
    for (text, expected) in [
        ("", "1: the file is empty"),
        (" \n\n", "1: the file is empty"),
        ("\nhello there", "2: neither of the two formats: "),
        ("[]", "1: neither of the two formats: "),
        (r#"{"task": 1}"#, "1: neither of the two formats: "),
        (r#"{"messages": {}}"#, "1: `messages` is not a list of objects"),
        ("{\"messages\": [\n1]}", "2: `messages` is not a list of objects"),
        ("{\"messages\": [\n", "1: not valid JSON: EOF while parsing a list"),
        ("{\"messages\": []}\n}", "2: not valid JSON: trailing characters"),
        (&good.replace('}', ""), "1: not valid JSON: EOF while parsing an object"),
        (&segments("{"), "2: not valid JSON: EOF while parsing an object"),
        (&segments("7"), "2: not a JSON object"),
        (&with("agent", "model"), "2: `role` is none of `agent`, `caller`"),
        (&with("text", "words"), "2: `text` is missing"),
        (&with("\"Hello!\"", "7"), "2: `text` is not a text"),
        (
            &with("Hello!", &"x".repeat(300_001)),
            "2: `text` is longer than 300,000 bytes, which is too long for the log",
        ),
        (&with("1000", "-1"), "2: `duration_ms` is negative"),
        (&with("1000", "1.5"), "2: `duration_ms` is not a whole number of ms, of 64 bits"),
        (&with("1000", "99999999999999999999"), "2: `duration_ms` is not a whole number of ms, of 64 bits"),
        (&with(":0", ":null"), "2: `start_timestamp_ms` is not a whole number of ms, of 64 bits"),
        (&with(":0", ":-5"), "2: the time is not within"),
        (&with(":0", &format!(":{start}")), "2: the time is not within"),
        (&with("\"Hello!\"", &deep(1_000)), "2: not valid JSON: recursion limit exceeded"),
        (&chat(&[r#"{"role":"wizard","content":"x"}"#]), "2: message 1: `role` is none of `system`, `user`, "),
        (&chat(&[r#"{"content":"x"}"#]), "2: message 1: `role` is missing"),
        (&chat(&[CALL_A, "{\"role\":\"user\"\n}"]), "4: message 2: `content` is missing"),
        (&chat(&[r#"{"role":"user","content":["x"]}"#]), "2: message 1: `content` is not a text"),
        (&chat(&[r#"{"role":"user","content":"x"#]), "2: not valid JSON: control character"),
        (&chat(&[RESULT_A]), "2: message 1: the `tool_call_id` of this result belongs to no earlier call"),
        (&chat(&[CALL_A, RESULT_A, RESULT_A]), "4: message 3: the tool call of this result already has a result"),
        (
            &chat(&[CALL_A, CALL_A]),
            "3: message 2: the `id` of this tool call belongs to an earlier call without a result",
        ),
        (&call("\"function\":{", "\"f\":{"), "2: message 1: `function` is missing"),
        (&call("\"a\"", "\"not an id\""), "2: message 1: a tool call id has 1 to 64 characters"),
        (&call(ARGUMENTS, r#""{""#), "2: message 1: `arguments` is not valid JSON: EOF while parsing an object"),
        (&call(ARGUMENTS, r#""7""#), "2: message 1: `arguments` is JSON but not an object"),
        (&call(ARGUMENTS, "{}"), "2: message 1: `arguments` is not a text"),
        (
            &call(ARGUMENTS, &arguments(&format!(r#"{{"a": {}}}"#, deep(40)))),
            "2: message 1: lists and maps nest at most 32 deep",
        ),
        (
            &call(ARGUMENTS, &arguments(&format!(r#"{{"a": {}}}"#, deep(1_000)))),
            "2: message 1: `arguments` is not valid JSON: recursion limit exceeded",
        ),
    ] {
        let error = parsed(text).expect_err(text);
        assert!(error.starts_with(&format!("call.json:{expected}")), "{error}\n{text}");
        assert!(!error.contains('\n') && !error.contains("Hello"), "{error}");
    }
}

#[test]
fn unreadable_file_is_reported_on_one_line() {
    let error = |path: &Path| Script::read(path).unwrap_err().to_string();
    let folder = tempfile::tempdir().unwrap();
    assert!(error(folder.path()).starts_with(&format!("{}: cannot be read: ", folder.path().display())));
    assert!(error(Path::new("no/such\nfile")).starts_with("no/such\\nfile: cannot be read: "));
    let latin = Script::parse(Path::new("a"), b"{\n\xe9").unwrap_err();
    assert_eq!(latin.to_string(), "a:2: not UTF-8 text");
}

fn some_file() -> impl Strategy<Value = String> {
    let segments = [segment("agent", 0, 9_000, "SECRET hello", ""), segment("caller", 5_000, 9, "SECRET", "SECRET")];
    let messages =
        ["{\"role\":\"user\",\"content\":\"SECRET\"}", CALL_A, RESULT_A].map(|text| text.replace('7', "\"SECRET\""));
    let chat = chat(&messages.each_ref().map(String::as_str));
    prop_oneof![Just(segments.join("\n")), Just(chat)]
}

proptest! {
    /// A damaged file is read, or refused on one line that quotes none of it.
    #[test]
    fn damaged_file_is_read_or_refused(
        file in some_file(),
        from in any::<prop::sample::Index>(),
        length in 0..40_usize,
        instead in prop_oneof!["", "\"SECRET\"", "null", "-1", "[{]}:,\"", "\\PC{0,9}"],
    ) {
        let from = from.index(file.len());
        let damaged = format!("{}{instead}{}", &file[..from], &file[(from + length).min(file.len())..]);
        if let Err(error) = parsed(&damaged) {
            prop_assert!(!error.contains("SECRET") && !error.contains('\n'), "{error}");
            prop_assert!(error.starts_with("call.json:"), "{error}");
        }
    }
}
