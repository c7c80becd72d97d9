//! What the model is told of the tool calls that its window does not show any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value as Json, json};
use verbale::MessageWrapper;
use verbale::call::CallSession;
use verbale::testing::ReceivedRequest;

use crate::airline::SUMMARY;
use crate::recording::{Call, Recording};

/// As many of the calls that are settled stand in a prompt, the newest ones.
const MOST: usize = 20;

/// Holds each request against the calls that were made before it: each is in the messages with its result, or in the
/// system prompt with its outcome. Gives how many of the latter there were.
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
        let told = told(request);
        let newest = &hidden[hidden.len().saturating_sub(MOST)..];
        for (id, call) in newest {
            let line = told.get(id.as_str()).unwrap_or_else(|| panic!("{}: nothing about {id}", place()));
            check_line(line, call, &place());
        }
        assert!(hidden.is_empty() || record(request).contains(SUMMARY), "{}", place());
        checked += newest.len();
        calls_before += answer.calls.len();
    }
    checked
}

/// The ids of the calls in the conversation, in their order: each once, and each with a result.
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

/// The ids of the calls that stand in the messages, each with its result behind it.
fn shown(request: &ReceivedRequest) -> BTreeSet<&str> {
    let blocks = || request.messages().iter().flat_map(|message| &message.content);
    let calls = blocks().filter_map(|block| block.as_tool_use().ok()).map(|call| call.tool_use_id.as_str()).collect();
    let results: BTreeSet<&str> =
        blocks().filter_map(|block| block.as_tool_result().ok()).map(|result| result.tool_use_id.as_str()).collect();
    assert_eq!(results, calls);
    results
}

/// What the system prompt holds behind the instructions, unescaped.
fn record(request: &ReceivedRequest) -> String {
    let texts: Vec<&String> = request.system().iter().filter_map(|block| block.as_text().ok()).collect();
    // The instructions and the rule for tools come before it.
    let record = texts.get(2).map(|record| record.as_str()).unwrap_or_default();
    record.replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")
}

/// The lines about calls, by id.
fn told(request: &ReceivedRequest) -> BTreeMap<String, Json> {
    let record = record(request);
    let lines = record.lines().filter(|line| line.starts_with(r#"{"id":"#));
    let lines = lines.map(|line| serde_json::from_str::<Json>(line).unwrap());
    lines.map(|line| (line["id"].as_str().unwrap().to_owned(), line)).collect()
}

fn check_line(line: &Json, call: &Call, place: &str) {
    // A tool that runs here fails with a type, one of the service's without.
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

/// Whether it is all of the expected JSON, or its beginning as a text with how long it is.
fn is_bounded(told: &Json, expected: &Json) -> bool {
    let all = expected.to_string();
    match told.as_str().and_then(|told| told.strip_suffix(&format!("… ({} bytes in all)", all.len()))) {
        Some(beginning) => all.starts_with(beginning) && beginning.len() > 200,
        None => told == expected,
    }
}
