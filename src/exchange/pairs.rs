//! Tool calls and results whose other half is missing, because a restored conversation lacks some messages.

use std::collections::HashSet;

use super::export::{LossKind, Losses};
use crate::manager::MessagesManager;
use crate::message::{Content, Message, MessageWrapper, ToolCallId};

/// Returns the ids of results without a call before them, and of calls whose result may be in a missing message. An
/// open call that may still get its result is not among them.
pub(super) fn broken<W: MessageWrapper>(manager: &MessagesManager<W>) -> HashSet<ToolCallId> {
    // All messages that were ever accepted have complete pairs, or open calls.
    let Some(last_missing) = manager.missing().last() else { return HashSet::new() };
    let (mut calls, mut answered, mut broken) = (Vec::new(), HashSet::new(), HashSet::new());
    let mut made = HashSet::new();
    for message in manager.all().map(W::message) {
        for content in message.contents() {
            match content {
                Content::ToolCall(call) => {
                    made.insert(call.id());
                    calls.push((message.position().seq(), call.id()));
                }
                Content::ToolResult(result) if made.contains(result.tool_call_id()) => {
                    answered.insert(result.tool_call_id());
                }
                Content::ToolResult(result) => drop(broken.insert(result.tool_call_id().clone())),
                _ => {}
            }
        }
    }
    let is_lost = |(seq, id): &(u32, &ToolCallId)| *seq < last_missing && !answered.contains(*id);
    broken.extend(calls.into_iter().filter(is_lost).map(|(_, id)| id.clone()));
    broken
}

/// Returns whether a content is half of a broken pair.
pub(super) fn is_broken(broken: &HashSet<ToolCallId>, content: &Content) -> bool {
    let id = content.as_tool_call().map(|call| call.id());
    id.or_else(|| Some(content.as_result()?.tool_call_id())).is_some_and(|id| broken.contains(id))
}

/// Notes the broken pairs that a window leaves out.
pub(super) fn note_broken<W: MessageWrapper>(manager: &MessagesManager<W>, losses: &mut Losses) {
    let broken = broken(manager);
    let has_broken = |message: &&Message| message.contents().iter().any(|content| is_broken(&broken, content));
    for message in manager.uncovered().map(W::message).filter(has_broken) {
        losses.set_message(message.id());
        losses.note(LossKind::ToolCall);
    }
}
