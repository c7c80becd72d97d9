//! Checks that the prompt lists the tool calls that left the window.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use verbale::call::CallSession;
use verbale::testing::ReceivedRequest;

use crate::airline::SUMMARY;
use crate::recording::{Call, Recording};

/// The maximum number of finished tool calls in a prompt. The newest ones are kept.
const MAX_LISTED: usize = 20;

/// Checks each request: every earlier tool call is in the messages with its result, or in the system prompt with its
/// outcome. Returns the number of the latter.
pub fn check(recording: &Recording, call: &CallSession, requests: &[Arc<ReceivedRequest>]) -> usize {
    let ids = ids(call);
    assert_eq!(ids.len(), recording.calls().count(), "{}", recording.name);
    let made: Vec<(&String, &Call)> = ids.iter().zip(recording.calls()).collect();
    let mut calls_before = 0;
    let mut checked = 0;
    for (request, answer) in requests.iter().zip(recording.answers()) {
        let place = || format!("{}, request {}", recording.name, request.number());
        let shown = shown(request);
        let hidden: Vec<_> = made[..calls_before].iter().filter(|(id, _)| !shown.contains(id.as_str())).collect();
        let listed = listed(request);
        let newest = &hidden[hidden.len().saturating_sub(MAX_LISTED)..];
        for (id, call) in newest {
            let line = listed.get(id.as_str()).unwrap_or_else(|| panic!("{}: nothing about {id}", place()));
            check_line(line, call, &place());
        }
        assert!(hidden.is_empty() || record(request).contains(SUMMARY), "{}", place());
        checked += newest.len();
        calls_before += answer.calls.len();
    }
    checked
}

/// Returns the ids of the tool calls in order. Each is unique and has a result.
fn ids(call: &CallSession) -> Vec<String> {
    call.conversation().read(|manager| {
        let contents = || manager.meta_messages().iter().flat_map(|message| message.contents().iter());
        let calls: Vec<_> =
            contents().filter_map(|content| content.as_tool_call()).map(|call| call.id().to_string()).collect();
        let results: Vec<_> = contents()
            .filter_map(|content| content.as_result())
            .map(|result| result.tool_call_id().to_string())
            .collect();
        assert_eq!(calls, results);
        assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len());
        calls
    })
}

/// Returns the ids of the tool calls in the messages. Each has a result.
fn shown(request: &ReceivedRequest) -> BTreeSet<&str> {
    let blocks = || request.input().messages().iter().flat_map(|message| &message.content);
    let calls = blocks().filter_map(|block| block.as_tool_use().ok()).map(|call| call.tool_use_id.as_str()).collect();
    let results: BTreeSet<&str> =
        blocks().filter_map(|block| block.as_tool_result().ok()).map(|result| result.tool_use_id.as_str()).collect();
    assert_eq!(results, calls);
    results
}

/// Returns the memory in the system prompt, unescaped.
fn record(request: &ReceivedRequest) -> String {
    let texts: Vec<&String> = request.input().system().iter().filter_map(|block| block.as_text().ok()).collect();
    // It follows the instructions and the tool rule.
    let record = texts.get(2).map(|record| record.as_str()).unwrap_or_default();
    record.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
}

/// Returns the lines about tool calls, by id.
fn listed(request: &ReceivedRequest) -> BTreeMap<String, Json> {
    let record = record(request);
    let lines = record.lines().filter(|line| line.starts_with(r#"{"id":"#));
    let lines = lines.map(|line| serde_json::from_str::<Json>(line).unwrap());
    lines.map(|line| (line["id"].as_str().unwrap().to_owned(), line)).collect()
}

fn check_line(line: &Json, call: &Call, place: &str) {
    // Tools of this process fail with a type, external ones without.
    let (state, outcomes) = match call.has_failed() {
        true => {
            ("failed", vec![json!({"message": call.result}), json!({"message": call.result, "type": "ToolFailed"})])
        }
        false => ("succeeded", vec![json!([call.result])]),
    };
    assert_eq!((&line["tool"], &line["state"]), (&json!(call.tool), &json!(state)), "{place}: {line}");
    assert!(is_bounded(&line["arguments"], &call.arguments), "{place}: {line}");
    assert!(outcomes.iter().any(|outcome| is_bounded(&line["outcome"], outcome)), "{place}: {line}");
}

/// Returns whether a value is the expected JSON, or its beginning with a note of its length.
fn is_bounded(value: &Json, expected: &Json) -> bool {
    let all = expected.to_string();
    match value.as_str().and_then(|text| text.strip_suffix(&format!("… ({} bytes in all)", all.len()))) {
        Some(beginning) => all.starts_with(beginning) && beginning.len() > 200,
        None => value == expected,
    }
}
