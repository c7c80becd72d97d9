//! [`ToolHistory`]: the tool calls of a conversation and their outcomes, so that none is made twice.
//!
//! A summary may omit a tool call, and a barge-in may hide its result, but the model must always know what has acted.
//! Never runs a tool.

mod entry;

use std::collections::HashMap;

pub(crate) use entry::{ToolState, ToolUse};

use crate::message::{Content, Message, Outcome, Role, Timing, ToolCall, ToolCallId, ToolResult, is_blank};
use crate::model::{NOT_RUN, OUTCOME_UNKNOWN};

/// The text before the calls.
///
/// The first line keeps a model from following text inside a call. The next three repeat the system prompt's rules, as a
/// model follows them better next to the data. "notRun" keeps a model from reporting a cancelled call as done.
/// "callerKnows" makes a model report an outcome that the caller missed, for example because of a barge-in.
const PREAMBLE: &str = include_str!("preamble.md");

/// The tool calls of a conversation, oldest first, with their outcomes.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolHistory {
    /// In the order of the calls.
    uses: Vec<ToolUse>,
    /// The index of each call in `uses`.
    index: HashMap<ToolCallId, usize>,
}

/// The maximum number of settled calls in the prompt.
const MAX_SETTLED: usize = 20;
/// The maximum length of a call's arguments in the prompt, and of its outcome, in bytes of JSON.
const MAX_BYTES: usize = 600;

impl ToolHistory {
    /// Adds the calls of a restored conversation. A call without a result is [`Unknown`](ToolState::Unknown), because its
    /// process is gone.
    ///
    /// An outcome counts as reported if an assistant message follows that was heard at least in part.
    #[must_use]
    pub fn with_messages<'a>(mut self, messages: impl IntoIterator<Item = &'a Message>) -> Self {
        for message in messages {
            let at_ms = message.metadata().timing(Timing::Creation).unwrap_or_default();
            if is_heard(message) {
                let known = self.uses.iter_mut().filter(|used| used.late_ms().is_none_or(|late_ms| late_ms <= at_ms));
                known.for_each(ToolUse::mark_reported);
            }
            for content in message.contents().iter() {
                match content {
                    Content::ToolCall(tool_call) => self.add_call(tool_call, at_ms),
                    Content::ToolResult(result) => self.add_result(result),
                    _ => {}
                }
            }
        }
        self.uses.iter_mut().for_each(ToolUse::mark_unknown);
        self
    }

    /// Rebuilds the history from edited messages. Keeps which outcomes were reported and which calls are running.
    pub fn rebuild<'a>(&mut self, messages: impl IntoIterator<Item = &'a Message>) {
        let before = std::mem::replace(self, Self::default().with_messages(messages));
        for known in before.uses {
            if let Some(used) = self.get_mut(known.id()) {
                used.set_running(known.is_running());
                match known.state() {
                    ToolState::Running if used.state() == ToolState::Unknown => *used = known,
                    state if state.reported() == Some(true) => used.mark_reported(),
                    _ => {}
                }
            }
        }
    }

    /// Adds a call made at `at_ms` milliseconds since the Unix epoch. A known call stays as it is.
    pub fn add_call(&mut self, tool_call: &ToolCall, at_ms: i64) {
        if self.index.contains_key(tool_call.id()) {
            return;
        }
        self.index.insert(tool_call.id().clone(), self.uses.len());
        self.uses.push(ToolUse::new(tool_call, at_ms, MAX_BYTES));
    }

    /// Adds the outcome of a call. The first known outcome stays.
    pub fn add_result(&mut self, result: &ToolResult) {
        let Some(used) = self.get_mut(result.tool_call_id()) else { return };
        if !matches!(used.state(), ToolState::Running | ToolState::Unknown) {
            return;
        }
        match result.outcome() {
            Outcome::Failure(error) if error.error_type() == Some(OUTCOME_UNKNOWN) => used.mark_unknown(),
            Outcome::Failure(error) if error.error_type() == Some(NOT_RUN) => used.mark_not_run(),
            _ => used.finish(result, MAX_BYTES),
        }
    }

    /// Notes whether a task of this process runs the tool of a call.
    pub fn set_running(&mut self, id: &ToolCallId, is_running: bool) {
        if let Some(used) = self.get_mut(id) {
            used.set_running(is_running);
        }
    }

    /// Returns whether a task of this process runs any tool.
    pub fn is_any_running(&self) -> bool {
        self.uses.iter().any(ToolUse::is_running)
    }

    /// Returns the calls whose tool a task of this process runs.
    pub fn running(&self) -> Vec<ToolCallId> {
        self.uses.iter().filter(|used| used.is_running()).map(|used| used.id().clone()).collect()
    }

    /// Returns whether an earlier attempt at the act of a call stands against running it. `is_same` decides whether an
    /// earlier call attempts the same act.
    pub fn attempt(&self, call: &ToolCallId, is_same: impl Fn(&ToolCall) -> bool) -> Attempt {
        let index = self.index.get(call).copied().unwrap_or(self.uses.len());
        let earlier = self.uses.get(..index).unwrap_or_default();
        let key = |used: &ToolUse| used.act().and_then(ToolCall::idempotency_key).map(str::to_owned);
        let Some(last) = earlier.iter().rev().find(|used| used.act().is_some_and(&is_same)) else {
            return Attempt::First;
        };
        let (key, same) = (key(last), earlier.iter().filter(|used| key(used) == key(last)));
        let Some(key) = key else { return Attempt::First };
        let mut attempt = Attempt::NotRun(key.clone());
        for used in same {
            let found = match used.state() {
                _ if used.is_running() => Attempt::Running(key.clone()),
                ToolState::Running => Attempt::Running(key.clone()),
                ToolState::Unknown => Attempt::Unknown(key.clone()),
                ToolState::Succeeded { reported: false } => Attempt::Untold(key.clone(), used.id().clone()),
                ToolState::Succeeded { reported: true } | ToolState::Failed { .. } => Attempt::First,
                ToolState::NotRun => continue,
            };
            if found.rank() > attempt.rank() {
                attempt = found;
            }
        }
        attempt
    }

    /// Returns the calls with an idempotency key whose outcome is unknown, and which no task of this process runs.
    pub fn lost(&self) -> Vec<ToolCall> {
        let lost = self.uses.iter().filter(|used| used.state() == ToolState::Unknown && !used.is_running());
        lost.filter_map(ToolUse::act).cloned().collect()
    }

    /// Notes that the caller knows the outcome of a call.
    pub fn mark_reported(&mut self, id: &ToolCallId) {
        if let Some(used) = self.get_mut(id) {
            used.mark_reported();
        }
    }

    /// Returns a call by its id.
    pub fn get(&self, id: &ToolCallId) -> Option<&ToolUse> {
        self.uses.get(*self.index.get(id)?)
    }

    /// Iterates over the calls whose outcome the caller does not know yet, oldest first.
    pub fn unreported(&self) -> impl Iterator<Item = &ToolUse> {
        self.uses.iter().filter(|used| used.state().reported() == Some(false))
    }

    /// Writes the calls as text for the prompt, or returns `None` if there are none to list.
    ///
    /// Lists every call that is running, unknown or unreported, and the newest of the other calls that the window does not
    /// show. Nothing that callers or tools say can look like another line. The same state gives the same text, so a
    /// provider can cache it.
    pub fn prompt(&self, is_visible: &dyn Fn(&ToolCallId) -> bool) -> Option<String> {
        let is_hidden = |used: &&ToolUse| !used.state().is_open() && !is_visible(used.id());
        let mut left_out = self.uses.iter().filter(is_hidden).count().saturating_sub(MAX_SETTLED);
        let mut lines = Vec::new();
        if left_out > 0 {
            lines.push(format!("{{\"olderCallsNotShown\":{left_out}}}"));
        }
        for used in &self.uses {
            if used.state().is_open() {
                lines.push(used.line());
            } else if is_hidden(&used) {
                if left_out > 0 {
                    left_out -= 1;
                } else {
                    lines.push(used.line());
                }
            }
        }
        (!lines.is_empty()).then(|| PREAMBLE.to_owned() + &lines.join("\n"))
    }

    fn get_mut(&mut self, id: &ToolCallId) -> Option<&mut ToolUse> {
        self.uses.get_mut(*self.index.get(id)?)
    }
}

/// The earlier attempts at an act, as far as they matter for another one. Holds the idempotency key that they share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// There is none, or it is settled and the caller may want the act again.
    First,
    /// None of them has run.
    NotRun(String),
    /// One succeeded, and the caller does not know yet.
    Untold(String, ToolCallId),
    /// The outcome of one is unknown.
    Unknown(String),
    /// One is running.
    Running(String),
}

impl Attempt {
    /// A higher rank matters more.
    fn rank(&self) -> u8 {
        match self {
            Self::NotRun(_) => 0,
            Self::First => 1,
            Self::Untold(..) => 2,
            Self::Unknown(_) => 3,
            Self::Running(_) => 4,
        }
    }
}

/// Returns `true` if the caller heard any text of the message, other than a fixed sentence, which reports no outcome.
fn is_heard(message: &Message) -> bool {
    message.role() == Role::Assistant
        && !message.is_fake()
        && !message.is_fixed()
        && message.heard_contents().texts().any(|text| !is_blank(text))
}

#[cfg(test)]
mod tests;
