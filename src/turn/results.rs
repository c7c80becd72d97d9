//! Adds the results of tools to the conversation.

use std::borrow::Cow;

use super::core::{Core, since};
use super::ear::Ear;
use super::event::{CallEvent, ToolOutcome};
use super::limit::bounded;
use crate::manager::{ManagerError, Refusal};
use crate::memory::ToolUse;
use crate::message::{Content, ToolCall, ToolCallId, ToolResult};
use crate::model::NoResult;

/// The reason why a tool result was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResultRefused {
    /// The conversation has no such tool call.
    #[error("the conversation has no such tool call; make the result with the call's `success` or `failure`")]
    UnknownCall,
    /// The tool call has a result already.
    #[error("the tool call has a result already; drop the later one")]
    SecondResult,
    /// The result names another tool than the call.
    #[error("the result names another tool than the call; make it with the call's `success` or `failure`")]
    OtherTool,
}

impl Core {
    /// Adds the result of a tool call, at any time after the call.
    pub fn add_result(&mut self, result: &ToolResult) -> Result<(), ResultRefused> {
        self.with_ear(|ear, core| core.add_result_for(result, ear))
    }

    pub(super) fn add_result_for(&mut self, result: &ToolResult, ear: &mut dyn Ear) -> Result<(), ResultRefused> {
        let now_ms = self.now_ms();
        let mut result = bounded(result, self.setup.max_result_bytes, self.setup.contents.is_some());
        let id = result.tool_call_id().clone();
        let content = Content::from(result.as_ref().clone());
        let is_known = self.manager.invoked(&id).is_some();
        match self.manager.add_user(content.clone()) {
            Ok(entry) => ear.added(None, &entry, &[content]),
            Err(ManagerError(Refusal::SecondResult { .. })) => {
                if !self.replaces_unknown(&result) {
                    return Err(ResultRefused::SecondResult);
                }
                let room = self.manager.room_beside_result(&id).min(self.setup.max_result_bytes);
                let late = bounded(&result, room, self.setup.contents.is_some()).into_owned().with_late_ms(now_ms);
                if let Some(message) = self.manager.replace_result(&late) {
                    ear.added(None, message, &[late.clone().into()]);
                }
                result = Cow::Owned(late);
            }
            Err(_) if is_known => return Err(ResultRefused::OtherTool),
            Err(_) => return Err(ResultRefused::UnknownCall),
        }
        self.tools_used.add_result(&result, now_ms, self.manager.next_seq());
        let called_ms = self.tools_used.get(&id).map_or(now_ms, |used| used.called_at_ms());
        let outcome = ToolOutcome::from(&*result);
        self.note_news(&id, outcome);
        self.events.push(CallEvent::ToolFinished { id, outcome, after_ms: since(called_ms, now_ms) });
        // The tool may have acted, so its result must not stay in memory only.
        self.is_to_be_logged = true;
        self.is_to_be_stored |= self.setup.tools.get(result.name()).is_some_and(|tool| tool.acting.may_act());
        self.results.notify_waiters();
        Ok(())
    }

    /// Returns whether a second result replaces an unknown outcome.
    fn replaces_unknown(&self, result: &ToolResult) -> bool {
        let was_unknown = |known: &ToolResult| ToolOutcome::from(known) == ToolOutcome::Unknown;
        self.manager
            .result_of(result.tool_call_id())
            .is_some_and(|known| was_unknown(known) && known.name() == result.name())
            && ToolOutcome::from(result) != ToolOutcome::Unknown
    }

    /// Notes a result that no turn waits for, so that the assistant can report it without being asked.
    fn note_news(&mut self, id: &ToolCallId, outcome: ToolOutcome) {
        let is_awaited = self.turn.as_ref().is_some_and(|turn| turn.awaits.contains(id));
        let says_something = matches!(outcome, ToolOutcome::Succeeded | ToolOutcome::Failed);
        if !is_awaited && says_something && !self.news.contains(id) {
            self.news.push(id.clone());
            if self.turn.is_none() {
                self.events.push(CallEvent::ResultReady { id: id.clone() });
            }
        }
    }

    /// Notes that the caller may not have heard the outcomes of these calls. The outcome of an act is reported again,
    /// even if the caller stays silent.
    pub fn note_untold(&mut self, ids: &[ToolCallId]) {
        for id in ids {
            let Some(used) = self.tools_used.get(id) else { continue };
            let is_untold = used.act().is_some() && used.state().reported() == Some(false);
            if is_untold && !self.news.contains(id) {
                self.news.push(id.clone());
            }
        }
    }

    /// Adds an error result to a call, unless it has a result.
    pub(super) fn end_call(&mut self, call: &ToolCall, reason: &NoResult) {
        // The call is in the conversation, so only a second result is refused.
        let _ = self.add_result(&reason.of(call));
    }

    /// Returns the acts whose outcome the caller does not know, oldest first.
    pub fn untold_acts(&mut self) -> Vec<ToolCall> {
        self.refresh();
        self.tools_used.unreported().filter_map(ToolUse::act).cloned().collect()
    }

    /// Returns the tool calls without a result, in order.
    pub fn open_calls(&self) -> Vec<ToolCall> {
        let open = self.manager.open_tool_calls();
        if open.is_empty() {
            return Vec::new();
        }
        let all = self.manager.all().flat_map(|wrapper| wrapper.contents());
        all.filter_map(Content::as_tool_call).filter(|call| open.contains(&call.id())).cloned().collect()
    }

    /// Ends all calls without a result.
    pub fn end_open_calls(&mut self, reason: &NoResult) {
        for call in self.open_calls() {
            self.end_call(&call, reason);
        }
    }
}
