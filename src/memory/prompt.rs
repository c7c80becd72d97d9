//! Writes the memory as text for a request.

use super::ToolHistory;
use crate::message::{Message, Text, ToolCallId};

/// The rules for the tool calls that the memory lists.
///
/// They are part of the system prompt, because models do not follow instructions inside the memory, which is data. Each
/// rule prevents one failure:
///
/// - The first: a model that no longer sees a call in its window makes it again, such as a second booking.
/// - "running": a model that waits for a result repeats the call, or reports a failure.
/// - "unknown": a lost result does not mean that nothing happened.
pub(crate) const TOOL_RULE: &str = include_str!("tool_rule.md").trim_ascii_end();

/// The user message of a request that no words of the caller caused.
///
/// It says that the caller said nothing, or the model answers the caller's last words again. The result itself is in the
/// window or in the memory.
pub(crate) const LATE_RESULT: &str = include_str!("late_result.md").trim_ascii_end();

/// Builds the memory: the summary, a note about messages left out after it, and the tool calls that the window does not
/// show. Returns `None` if all of them are empty.
///
/// `is_visible` returns `true` if the window shows a call with its result.
pub(crate) fn prompt(
    summary: Option<&Message>,
    left_out: usize,
    tools: &ToolHistory,
    is_visible: &dyn Fn(&ToolCallId) -> bool,
) -> Option<Text> {
    let summary = summary.map(|summary| summary.contents().texts().map(Text::as_str).collect::<Vec<_>>().join("\n"));
    let gap =
        (left_out > 0).then(|| format!("{left_out} messages between this record and the messages below are left out."));
    let parts: Vec<String> = summary.into_iter().chain(gap).chain(tools.prompt(is_visible)).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_rule_is_one_rule_per_line() {
        insta::assert_snapshot!(TOOL_RULE, @r#"
        The record of the call lists the tool calls that were already made. Rules for listed calls:
        - Make a listed call again only if the caller asks for it again.
        - "running": wait. Its result will arrive.
        - "unknown": it may have acted. Check its effect, or ask the caller, before you make it again.
        "#);
    }

    #[test]
    fn late_result_asks_to_tell_the_caller() {
        insta::assert_snapshot!(LATE_RESULT, @"(The caller said nothing. The result of an earlier tool call has arrived. Tell the caller its outcome.)");
    }

    #[test]
    fn memory_joins_summary_gap_and_tools() {
        let none = ToolHistory::default();
        assert_eq!(prompt(None, 0, &none, &|_| false), None);
        let gap = prompt(None, 3, &none, &|_| false).unwrap();
        assert_eq!(gap.as_str(), "3 messages between this record and the messages below are left out.");
    }
}
