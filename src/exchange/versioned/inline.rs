//! The results that are written in the items of their calls.

use std::collections::HashMap;

use crate::manager::MessagesManager;
use crate::message::{Content, MessageWrapper, Role, ToolCallId, ToolResult};

/// Returns the results that open the user message directly after their calls, in the order of the calls. An import puts
/// results there if they are beside their calls.
pub(super) fn results<W: MessageWrapper>(manager: &MessagesManager<W>) -> HashMap<&ToolCallId, &ToolResult> {
    let mut inline = HashMap::new();
    // The calls of the assistant's last message, and the first of them that may still be answered inline.
    let mut asked: Vec<&ToolCallId> = Vec::new();
    let mut from = 0;
    let mut last = None;
    for message in manager.all().map(W::message).filter(|message| !message.is_fake()) {
        let role = message.role();
        let heard = message.heard_contents();
        if role == Role::Summary || heard.iter().all(|content| content.is_blank() || is_unknown(content)) {
            continue;
        }
        if last.replace(role) != Some(role) && role != Role::User {
            (asked, from) = (Vec::new(), 0);
        }
        // Barge-in cuts only texts, never calls or results.
        for content in message.contents() {
            match content {
                Content::ToolCall(tool_call) => asked.push(tool_call.id()),
                Content::ToolResult(result) => {
                    let left = asked.get(from..).unwrap_or_default();
                    match left.iter().position(|id| *id == result.tool_call_id()) {
                        Some(at) => {
                            inline.insert(result.tool_call_id(), &**result);
                            from += at + 1;
                        }
                        None => from = asked.len(),
                    }
                }
                _ if role == Role::User && !is_unknown(content) => from = asked.len(),
                _ => {}
            }
        }
    }
    inline
}

fn is_unknown(content: &Content) -> bool {
    matches!(content, Content::Unknown(_))
}
