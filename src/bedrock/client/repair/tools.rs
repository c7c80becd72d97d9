//! Repairs unpaired tool calls and results, and the blocks beside them.

use std::collections::HashSet;

use std::borrow::Cow;

use aws_sdk_bedrockruntime::types::{
    ContentBlock, ConversationRole, ImageBlock, Message, ToolResultBlock, ToolResultContentBlock, ToolResultStatus,
};

use super::{Repairs, message, other, placeholder};
use crate::bedrock::flatten::{as_texts, escape_markers, is_of_tool};
use crate::bedrock::identifier::Characters;
use crate::bedrock::profile::Profile;
use crate::bedrock::validate::Place;

/// Renames the ids and names that the model refuses, a call and its result alike.
pub(super) fn rename(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        for (c, block) in message.content.iter_mut().enumerate() {
            let (is_id_renamed, is_name_renamed) = match block {
                ContentBlock::ToolUse(call) => {
                    (rename_as(&mut call.tool_use_id, profile.ids), rename_as(&mut call.name, Characters::Narrow))
                }
                ContentBlock::ToolResult(result) => (rename_as(&mut result.tool_use_id, profile.ids), false),
                _ => (false, false),
            };
            if is_id_renamed {
                repairs.add(Place::Content(m, c), "renamed the id of a tool call, because the model refuses it");
            }
            if is_name_renamed {
                repairs.add(Place::Content(m, c), "renamed the tool of a call, because Bedrock refuses the name");
            }
        }
    }
}

fn rename_as(text: &mut String, characters: Characters) -> bool {
    let Cow::Owned(renamed) = characters.rename(text) else { return false };
    *text = renamed;
    true
}

/// Removes the status of results and moves their images after all results, if the model refuses them.
pub(super) fn simplify_results(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    for (m, message) in messages.iter_mut().enumerate() {
        let mut images = Vec::new();
        for (c, block) in message.content.iter_mut().enumerate() {
            let ContentBlock::ToolResult(result) = block else { continue };
            if !profile.result_status && result.status.is_some() {
                remove_status(result);
                repairs.add(Place::Content(m, c), "removed the status of a tool result, which the model refuses");
            }
            if !profile.result_images && result.content.iter().any(ToolResultContentBlock::is_image) {
                images.extend(take_images(result));
                repairs.add(
                    Place::Content(m, c),
                    "moved the images of a tool result after it, because the model refuses them in it",
                );
            }
        }
        message.content.extend(images.into_iter().map(ContentBlock::Image));
    }
}

/// Removes the status. The text of a failed result still shows that the tool failed.
fn remove_status(result: &mut ToolResultBlock) {
    if result.status.take() == Some(ToolResultStatus::Error) {
        result.content.insert(0, ToolResultContentBlock::Text("The tool failed:".to_owned()));
    }
}

fn take_images(result: &mut ToolResultBlock) -> Vec<ImageBlock> {
    let mut images = Vec::new();
    let mut kept = Vec::with_capacity(result.content.len());
    for part in std::mem::take(&mut result.content) {
        match part {
            ToolResultContentBlock::Image(image) => images.push(image),
            part => kept.push(part),
        }
    }
    if kept.is_empty() {
        kept.push(ToolResultContentBlock::Text("[image: see after the results]".to_owned()));
    }
    result.content = kept;
    images
}

/// Moves tool calls to the end of their message if the model requires it.
pub(super) fn move_calls_last(messages: &mut [Message], profile: &Profile, repairs: &mut Repairs) {
    if !profile.tool_calls_last {
        return;
    }
    for (m, message) in messages.iter_mut().enumerate() {
        let mut after_call = message.content.iter().skip_while(|block| !block.is_tool_use());
        if after_call.any(|block| !block.is_tool_use() && !block.is_cache_point()) {
            message.content.sort_by_key(ContentBlock::is_tool_use);
            repairs.add(Place::Message(m), "moved tool calls after the other contents");
        }
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
                // The request now has texts about tools, which no caller may imitate.
                escape_markers(text);
            }
            if !unpaired.contains(&(m, c)) {
                return vec![block];
            }
            let what = match (has_tools, &block) {
                (false, _) => "replaced a tool call or result with text, because the request has no tools",
                (true, ContentBlock::ToolUse(_)) => "replaced a tool call with text, because it has no result",
                (true, _) => "replaced a tool result with text, because it answers no call",
            };
            repairs.add(Place::Content(m, c), what);
            as_texts(block)
        });
        message.content = repaired.collect();
    }
}

/// Returns the places of calls of the user, of calls that the next message does not answer, and of results without a
/// call.
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
                    has_tools && !is_user && answered.contains(id) && earlier.insert(id) && called.insert(id)
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
