//! The memory as text: what a request says of the turns that its messages no longer show.

use super::ToolHistory;
use crate::message::{Message, Text, ToolCallId};

/// The rule for the calls that the memory lists. The memory is data, which a model does not obey, so the rule is part of
/// the system prompt.
pub(crate) const TOOL_RULE: &str = "Never make a tool call again that the record of this call lists as made, unless the caller asks for it \
anew; one that is listed as running will still come back, and one that is listed as unknown may have acted: check, or ask \
the caller, before it is made again.";

/// Builds the memory: the summary, a note on what was left out behind it, and the tool calls that the window does not
/// show. `None` if there is nothing to say.
///
/// `is_visible` says whether the window shows a call with its result.
pub(crate) fn prompt(
    summary: Option<&Message>,
    left_out: usize,
    tools: &ToolHistory,
    is_visible: &dyn Fn(&ToolCallId) -> bool,
) -> Option<Text> {
    let summary = summary.map(|summary| summary.contents().texts().map(Text::as_str).collect::<Vec<_>>().join("\n"));
    let gap = (left_out > 0)
        .then(|| format!("Between this record and the messages below, {left_out} messages are left out."));
    let parts: Vec<String> = summary.into_iter().chain(gap).chain(tools.prompt(is_visible)).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n").into())
}
