//! The results of tools, on their way into the conversation.

use super::core::{Core, since};
use super::ear::Ear;
use super::event::{CallEvent, ToolOutcome};
use crate::manager::ManagerError;
use crate::message::{Content, MessageWrapper, PlainMessage, ToolCall, ToolCallId, ToolResult};
use crate::model::{OUTCOME_UNKNOWN, failed};

/// Why the result of a tool was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ResultRefused {
    /// The conversation has no such call.
    #[error("there is no such tool call in the conversation; make the result with the call's `success` or `failure`")]
    UnknownCall,
    /// The call has a result already.
    #[error("the tool call has a result already; drop the later one")]
    SecondResult,
    /// The result is of another tool than the call.
    #[error("the result is of another tool than the call; make it with the call's `success` or `failure`")]
    OtherTool,
}

impl Core {
    /// Adds what came of a tool call, from wherever it ran, and whatever the conversation has come to meanwhile.
    pub fn add_result(&mut self, result: &ToolResult) -> Result<(), ResultRefused> {
        self.with_ear(|ear, core| core.add_result_for(result, ear))
    }

    pub(super) fn add_result_for(&mut self, result: &ToolResult, ear: &mut dyn Ear) -> Result<(), ResultRefused> {
        let now_ms = self.now_ms();
        let content = Content::from(result.clone());
        let is_known = self.manager.invoked(result.tool_call_id()).is_some();
        match self.manager.add_user(content.clone()) {
            Ok(entry) => ear.added(None, entry.message(), &[content]),
            Err(ManagerError::SecondResult { .. }) => return Err(ResultRefused::SecondResult),
            Err(_) if is_known => return Err(ResultRefused::OtherTool),
            Err(_) => return Err(ResultRefused::UnknownCall),
        }
        self.tools_used.add_result(result);
        let id = result.tool_call_id().clone();
        let called_ms = self.tools_used.get(&id).map_or(now_ms, |used| used.called_at_ms());
        let outcome = ToolOutcome::from(result);
        self.events.push(CallEvent::ToolFinished { id, outcome, after_ms: since(called_ms, now_ms) });
        // A tool that has acted must not be in memory alone.
        self.is_to_be_logged = true;
        self.results.notify_waiters();
        Ok(())
    }

    /// Adds an error result of this type, unless the call has a result.
    pub fn fail_call(&mut self, call: &ToolCall, kind: &str, message: &str) {
        // The call is in the conversation, so only a second result is refused.
        let _ = self.add_result(&failed(call, kind, message));
    }

    /// The calls without a result, in order.
    pub fn open_calls(&self) -> Vec<ToolCall> {
        let open = self.manager.open_tool_calls();
        if open.is_empty() {
            return Vec::new();
        }
        let all = self.manager.all().flat_map(|wrapper| PlainMessage::contents(wrapper).iter());
        all.filter_map(Content::as_tool_call).filter(|call| open.contains(&call.id())).cloned().collect()
    }

    /// Whether one of these calls has no result.
    pub(super) fn has_open(&self, ids: &[ToolCallId]) -> bool {
        ids.iter().any(|id| self.manager.invoked(id).is_some_and(|(_, is_answered)| !is_answered))
    }

    /// Ends the calls without a result: it is not known what they did.
    pub fn end_open_calls(&mut self, message: &str) {
        for call in self.open_calls() {
            self.fail_call(&call, OUTCOME_UNKNOWN, message);
        }
    }
}
