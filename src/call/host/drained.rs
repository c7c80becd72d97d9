//! [`Drained`]: what is left over after a host was drained.

use std::fmt;

use crate::call::closing::Closed;
use crate::log::{CallId, LogError, Unstored};
use crate::message::ToolCallId;

/// The result of draining a [`CallHost`](super::CallHost). `Display` writes one line for an operator.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Drained {
    /// The number of calls that were closed.
    pub closed: usize,
    /// The calls that were not closed, because another task was opening or closing them until the end.
    pub left_open: Vec<CallId>,
    /// The tool calls that still ran or had no result. Their outcome is logged as unknown.
    pub unfinished_tools: Vec<(CallId, ToolCallId)>,
    /// The changes of all calls of the log's writer that were not stored, and its dead letters.
    pub unstored: Vec<Unstored>,
    /// The calls whose last changes the log's writer refused, for example because another process has taken a call over.
    pub not_accepted: Vec<(CallId, LogError)>,
}

impl Drained {
    /// Returns true if nothing is left: every call is closed, every tool has finished, and everything is stored.
    pub fn is_complete(&self) -> bool {
        self.left_open.is_empty()
            && self.unfinished_tools.is_empty()
            && self.unstored.is_empty()
            && self.not_accepted.is_empty()
    }

    /// Adds a call; `None` if its owner closed it meanwhile.
    pub(super) fn add(&mut self, call_id: &CallId, closed: Option<Closed>) {
        let Some(closed) = closed else { return };
        self.closed += 1;
        self.unfinished_tools.extend(closed.unfinished_tools.into_iter().map(|tool| (call_id.clone(), tool)));
        self.not_accepted.extend(closed.not_accepted.map(|error| (call_id.clone(), error)));
    }
}

impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} closed", self.closed, if self.closed == 1 { "call" } else { "calls" })?;
        if self.is_complete() {
            return f.write_str(", everything is stored");
        }
        let left = [
            (self.left_open.len(), "left open"),
            (self.unfinished_tools.len(), "tool calls without an outcome"),
            (self.unstored.len(), "changes not stored"),
            (self.not_accepted.len(), "calls refused by the log"),
        ];
        for (count, what) in left.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}
