//! Forks of a [`Core`]: which part of the memory a fork shares with its source.

use super::core::{Core, Manager};
use super::setup::Setup;
use crate::message::{Message, MessageWrapper, PlainMessage, ToolCall, ToolCallId};
use crate::model::NoResult;

impl Core {
    /// Returns the core of a fork, whose manager shares the messages before `seq`. Copies nothing of their memory.
    pub fn fork(&mut self, manager: Manager, setup: Setup, seq: u32) -> Self {
        self.refresh();
        let first = |manager: &Manager| manager.all().next().map(PlainMessage::message).map(Message::id);
        let seq = if first(&manager) == first(&self.manager) { seq } else { 0 };
        let has_result = |id: &ToolCallId| manager.is_answered_before(id, seq);
        let tools_used = self.tools_used.fork(seq, has_result);
        let mut fork = Self::of(manager, setup, tools_used, &self.news);
        fork.facts = self.facts.fork(seq);
        fork.covered = self.covered.fork(seq.min(fork.first_uncovered()));
        fork.estimator = self.estimator.clone();
        fork.stable_system = self.stable_system;
        fork.added_from(seq);
        fork
    }

    /// Ends the calls that a fork shares with its source and that have no result, because only the source gets their
    /// results.
    pub fn end_inherited_calls(&mut self) {
        self.refresh();
        let is_open = |id: &&ToolCallId| self.manager.invoked(id).is_some_and(|(_, is_answered)| !is_answered);
        let open = self.tools_used.inherited().filter(is_open);
        let open: Vec<ToolCall> = open.filter_map(|id| self.manager.tool_call(id).cloned()).collect();
        for call in open {
            self.end_call(&call, &NoResult::Forked);
        }
    }
}
