//! [`Attempt`]: what earlier attempts at an act mean for a new one.

use super::{ToolHistory, ToolState, ToolUse};
use crate::message::{ToolCall, ToolCallId};

/// The earlier attempts at an act, as far as they matter for a new one. Holds the idempotency key that they share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// There is no earlier attempt, or it is settled and the caller may want the act again.
    First,
    /// The last of them failed, so the act is still wanted.
    Failed(String),
    /// None of them has run.
    NotRun(String),
    /// One succeeded, and the caller does not know the outcome yet.
    Untold(String, ToolCallId),
    /// The outcome of one is unknown.
    Unknown(String),
    /// One is running.
    Running(String),
}

impl Attempt {
    /// Returns the rank; a higher rank decides. Of attempts with the same rank, the later one decides.
    fn rank(&self) -> u8 {
        match self {
            Self::NotRun(_) | Self::Failed(_) | Self::First => 0,
            Self::Untold(..) => 1,
            Self::Unknown(_) => 2,
            Self::Running(_) => 3,
        }
    }
}

impl ToolHistory {
    /// Returns what the earlier attempts at the act of a call mean for running it. `is_same` decides whether an earlier
    /// call attempts the same act.
    pub fn attempt(&self, call: &ToolCallId, is_same: impl Fn(&ToolCall) -> bool) -> Attempt {
        let end = self.place(call).unwrap_or(self.uses.end());
        let same = self.uses.range(0..end).filter(|used| used.act().is_some_and(&is_same));
        let attempts = same.filter_map(ToolUse::key).map(|key| self.attempt_with(key, end));
        attempts
            .reduce(|first, later| if later.rank() < first.rank() { first } else { later })
            .unwrap_or(Attempt::First)
    }

    /// Returns the state of the attempts with one key before a place. They have at most one effect, so a known outcome
    /// applies to all of them.
    fn attempt_with(&self, key: &str, end: usize) -> Attempt {
        let uses = || self.uses.indexed(0..end).filter(|(_, used)| used.key() == Some(key));
        let any = |is_it: fn(ToolState) -> bool| uses().any(|(_, used)| is_it(used.state()));
        if uses().any(|(place, used)| self.running.contains(&place) || used.state() == ToolState::Running) {
            return Attempt::Running(key.to_owned());
        }
        if any(|state| state == ToolState::Succeeded { reported: true }) {
            return Attempt::First;
        }
        if let Some((_, used)) = uses().find(|(_, used)| matches!(used.state(), ToolState::Succeeded { .. })) {
            return Attempt::Untold(key.to_owned(), used.id().clone());
        }
        if any(|state| state == ToolState::Unknown) {
            return Attempt::Unknown(key.to_owned());
        }
        if any(|state| matches!(state, ToolState::Failed { .. })) {
            return Attempt::Failed(key.to_owned());
        }
        Attempt::NotRun(key.to_owned())
    }
}
