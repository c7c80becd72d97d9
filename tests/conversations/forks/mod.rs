//! Forks and pruning: rule by rule, over random families of forks, and in the log.

mod family;
#[allow(dead_code, reason = "shared with the invariants, which use all of it")]
#[path = "../../invariants/history.rs"]
mod history;
mod log;
mod pruning;
mod rules;

use history::Manager;
use verbale::log::CallEnd;
use verbale::{Content, Message, MessageId, MessageWrapper, ToolCall, Value};

fn window(manager: &Manager) -> Vec<Message> {
    manager.messages().map(|message| message.message().clone()).collect()
}

/// Formats each message of the list as `user: a + call call_1`.
fn list(manager: &Manager) -> Vec<String> {
    manager.meta_messages().iter().map(|message| shown(message.message())).collect()
}

fn shown(message: &Message) -> String {
    let content = |content: &Content| match content {
        Content::Text(text) => text.as_str().to_owned(),
        Content::ToolCall(tool_call) => format!("call {}", tool_call.id()),
        Content::ToolResult(result) => format!("result {}", result.tool_call_id()),
        other => format!("{other:?}"),
    };
    let contents: Vec<String> = message.contents().iter().map(content).collect();
    format!("{}: {}", message.role(), contents.join(" + "))
}

/// Returns the id of the message at this place in the list.
fn id(manager: &Manager, place: usize) -> MessageId {
    manager.meta_messages()[place].id()
}

fn summarize(manager: &mut Manager, text: &str) {
    let summarizing = manager.summarizing().unwrap();
    manager.add_summary(text, &summarizing).unwrap();
}

/// Returns the number of summaries ever added.
fn summaries(manager: &Manager) -> u32 {
    CallEnd::of(manager, 0, "hangup").unwrap().summaries
}

fn tool_call(id: &str) -> ToolCall {
    ToolCall::new(id, "lookup", Value::Null).unwrap()
}
