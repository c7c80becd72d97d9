//! Checks that the prompt lists the tool calls that left the window.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use verbale::call::CallSession;
use verbale::testing::ReceivedRequest;

use crate::airline::SUMMARY;
use crate::recording::{Call, Recording};

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
        for (id, call) in &hidden {
            let number = 1 + made.iter().position(|(known, _)| known == id).unwrap();
            let line = listed.get(&number).unwrap_or_else(|| panic!("{}: nothing about call {number}", place()));
            check_line(line, number, call, &place());
        }
        assert!(hidden.is_empty() || record(request).contains(SUMMARY), "{}", place());
        checked += hidden.len();
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

/// Returns the lines about tool calls, by number.
fn listed(request: &ReceivedRequest) -> BTreeMap<usize, String> {
    let record = record(request);
    let lines = record.lines().filter_map(|line| line.strip_prefix('#'));
    lines.map(|line| (line.split(' ').next().unwrap().parse().unwrap(), format!("#{line}"))).collect()
}

/// Checks that a line has the tool, the state, and the ids among the arguments.
fn check_line(line: &str, number: usize, call: &Call, place: &str) {
    let state = if call.has_failed() { "failed" } else { "succeeded" };
    assert!(line.starts_with(&format!("#{number} {} {state}", call.tool)), "{place}: {line}");
    let arguments = call.arguments.as_object().unwrap();
    for id in arguments.iter().filter(|(key, _)| key.ends_with("_id")).filter_map(|(_, value)| value.as_str()) {
        assert!(line.contains(id), "{place}: {line} lacks {id}");
    }
}
