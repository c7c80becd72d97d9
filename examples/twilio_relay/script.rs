//! The model that answers offline: a few fixed replies, chosen by a word of the caller.

use std::time::Duration;

use aws_sdk_bedrockruntime::types::{ContentBlock, ToolResultBlock, ToolResultContentBlock, ToolResultStatus};
use serde_json::json;
use verbale::MessageId;
use verbale::clock::{Clock, IdSource, SystemClock, SystemIds};
use verbale::testing::{ReceivedRequest, ScriptedReply};

const CONDITIONS: &str = "\
There are five conditions. First, please be at the pier twenty minutes before the ferry leaves, because the gate closes \
ten minutes before. Second, each traveller takes one suitcase along, and a bicycle costs four euros. Third, dogs stay on \
deck and on a lead. Fourth, you can move a booking until the evening before, and we do not charge for it. Fifth, if the \
wind keeps us in the harbour, you travel on the next day or get your money back.";

/// Slower than most models, so that an interruption stops a reply that is still being generated.
const BETWEEN_WORDS: Duration = Duration::from_millis(300);

/// Returns the reply to a request.
pub fn answer(request: &ReceivedRequest) -> ScriptedReply {
    if !request.is_streaming() {
        return ScriptedReply::text("The caller asked about the ferry.");
    }
    let mut last = request.input().messages().last().into_iter().flat_map(|message| message.content.iter().rev());
    match last.find(|block| matches!(block, ContentBlock::Text(_) | ContentBlock::ToolResult(_))) {
        Some(ContentBlock::ToolResult(result)) => ScriptedReply::text(report_of(result)),
        Some(ContentBlock::Text(words)) => answer_to(&words.to_lowercase(), request),
        _ => ScriptedReply::text("Yes?"),
    }
}

fn answer_to(words: &str, request: &ReceivedRequest) -> ScriptedReply {
    let has = |word| words.contains(word);
    if has("when") {
        let reply = ScriptedReply::text("One moment, I am looking it up. ");
        reply.tool_call(new_id(), "timetable", json!({"day": "Saturday"}))
    } else if has("book it") {
        let reply = ScriptedReply::text("I am booking it now. ");
        reply.tool_call(new_id(), "book", json!({"day": "Saturday", "time": "ten thirty"}))
    } else if has("conditions") {
        ScriptedReply::text(CONDITIONS).between_events(BETWEEN_WORDS)
    } else if has("bye") {
        ScriptedReply::text("Thank you for your call. Goodbye.")
    } else {
        // Without words of the caller, the session asks because a result came late.
        let mut results = request.input().messages().iter().rev().flat_map(|message| message.content.iter().rev());
        match results.find_map(|block| block.as_tool_result().ok()) {
            Some(result) if has("result") => ScriptedReply::text(report_of(result)),
            _ => ScriptedReply::text("I am here. You can ask when the ferry leaves, or book a place."),
        }
    }
}

/// Returns a sentence about the result of a tool.
fn report_of(result: &ToolResultBlock) -> String {
    let text = result.content.iter().find_map(|content| match content {
        ToolResultContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    match text {
        Some(text) if result.status != Some(ToolResultStatus::Error) => format!("{text} Is there anything else?"),
        _ => "I do not know yet whether that worked. I am looking it up.".to_owned(),
    }
}

/// A process that continues a call must not use an id of the one before again.
fn new_id() -> String {
    MessageId::from(SystemIds.next_id(SystemClock.now_ms())).to_string()
}
