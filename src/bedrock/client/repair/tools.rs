//! Repairs tools, unpaired tool calls and results, and the blocks beside them.

use std::collections::HashSet;

use aws_sdk_bedrockruntime::operation::converse::ConverseInput;
use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message, Tool};

use super::{Repairs, message, other, placeholder};
use crate::bedrock::flatten::{as_texts, escape_markers, is_of_tool};
use crate::bedrock::validate::{Place, Profile, is_identifier};

/// Keeps the first of several tools with one name.
pub(super) fn remove_duplicates(input: &mut ConverseInput, repairs: &mut Repairs) {
    let Some(config) = &mut input.tool_config else { return };
    let mut names = HashSet::new();
    let tools = config.tools.len();
    config.tools.retain(|tool| !matches!(tool, Tool::ToolSpec(spec) if !names.insert(spec.name.clone())));
    if config.tools.len() < tools {
        repairs.add("toolConfig.tools", "removed tools with the name of another tool");
    }
}

/// Replaces unpaired tool calls and results with texts. Without tools in the request, replaces all of them.
pub(super) fn replace_unpaired(messages: &mut [Message], has_tools: bool, repairs: &mut Repairs) {
    let unpaired = unpaired(messages, has_tools);
    if unpaired.is_empty() {
        return;
    }
    for (m, message) in messages.iter_mut().enumerate() {
        let blocks = std::mem::take(&mut message.content).into_iter().enumerate();
        let repaired = blocks.flat_map(|(c, mut block)| {
            if let ContentBlock::Text(text) = &mut block {
                // The request has texts about tools now, which no caller may imitate.
                escape_markers(text);
            }
            if !unpaired.contains(&(m, c)) {
                return vec![block];
            }
            let what = match (has_tools, &block) {
                (false, _) => "replaced a tool call or result with text, because the request has no tools",
                (true, ContentBlock::ToolUse(_)) => {
                    "replaced a tool call with text, because it is invalid or has no result"
                }
                (true, _) => "replaced a tool result with text, because it answers no call",
            };
            repairs.add(Place::Content(m, c), what);
            as_texts(block)
        });
        message.content = repaired.collect();
    }
}

/// Returns the places of invalid calls, of calls that the next message does not answer, and of results without a call.
fn unpaired(messages: &[Message], has_tools: bool) -> HashSet<(usize, usize)> {
    let mut unpaired = HashSet::new();
    let mut earlier = HashSet::new();
    let mut open: HashSet<&str> = HashSet::new();
    for (m, message) in messages.iter().enumerate() {
        let answers = messages.get(m + 1).map_or(&[][..], |next| &next.content);
        let answered: HashSet<&str> =
            answers.iter().filter_map(|block| Some(block.as_tool_result().ok()?.tool_use_id.as_str())).collect();
        let mut called = HashSet::new();
        let is_user = message.role == ConversationRole::User;
        for (c, block) in message.content.iter().enumerate() {
            let is_paired = match block {
                ContentBlock::ToolUse(call) => {
                    let id = call.tool_use_id.as_str();
                    let is_valid = has_tools && !is_user && is_identifier(id) && is_identifier(&call.name);
                    is_valid && answered.contains(id) && earlier.insert(id) && called.insert(id)
                }
                ContentBlock::ToolResult(result) => is_user && open.remove(result.tool_use_id.as_str()),
                _ => true,
            };
            if !is_paired {
                unpaired.insert((m, c));
            }
        }
        open = called;
    }
    unpaired
}

/// Moves tool results to the start of their message if the model requires it.
pub(super) fn move_results_first(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    if !profile.tool_results_first {
        return;
    }
    for (m, message) in messages.iter_mut().enumerate() {
        if !message.content.is_sorted_by_key(|block| !block.is_tool_result()) {
            message.content.sort_by_key(|block| !block.is_tool_result());
            repairs.add(Place::Message(m), "moved tool results to the start");
        }
    }
}

/// Splits messages with tool blocks and other contents, with a message `...` between them, if the model requires it.
pub(super) fn split_mixed(messages: &mut Vec<Message>, profile: &Profile, repairs: &mut Repairs) {
    if profile.text_beside_tools {
        return;
    }
    let mut split = Vec::with_capacity(messages.len());
    for (m, whole) in std::mem::take(messages).into_iter().enumerate() {
        let (of_tools, others): (Vec<_>, Vec<_>) = whole.content.into_iter().partition(is_of_tool);
        if of_tools.is_empty() || others.iter().all(ContentBlock::is_cache_point) {
            split.push(message(whole.role, of_tools.into_iter().chain(others).collect()));
            continue;
        }
        repairs.add(Place::Message(m), "separated texts from tool calls or results with a message `...`");
        // Results follow directly after their calls.
        let (first, last) = if whole.role == ConversationRole::User { (of_tools, others) } else { (others, of_tools) };
        let between = placeholder(other(&whole.role));
        split.extend([message(whole.role.clone(), first), between, message(whole.role, last)]);
    }
    *messages = split;
}
