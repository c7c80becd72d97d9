//! [`Drained`]: what is left over after a host was drained.

use std::fmt;

use crate::call::closing::Closed;
use crate::log::{CallId, Unstored};

/// The result of draining a [`CallHost`](super::CallHost). `Display` writes one line for an operator.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Drained {
    /// The calls that were closed, with their unfinished tools, what the log refused of them, and their metrics.
    pub closed: Vec<(CallId, Closed)>,
    /// The calls that were not closed, because another task was opening or closing them until the end.
    pub left_open: Vec<CallId>,
    /// The changes of all calls of the log's writer that were not stored, and its dead letters.
    pub unstored: Vec<Unstored>,
}

impl Drained {
    /// Returns true if nothing is left: every call is closed, every tool has finished, and everything is stored.
    pub fn is_complete(&self) -> bool {
        self.left_open.is_empty() && self.unstored.is_empty() && self.unfinished_tools() + self.refused() == 0
    }

    fn unfinished_tools(&self) -> usize {
        self.closed.iter().map(|(_, closed)| closed.unfinished_tools.len()).sum()
    }

    fn refused(&self) -> usize {
        self.closed.iter().filter(|(_, closed)| closed.not_accepted.is_some()).count()
    }
}

impl fmt::Display for Drained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.closed.len();
        write!(f, "{count} {} closed", if count == 1 { "call" } else { "calls" })?;
        if self.is_complete() {
            return f.write_str(", everything is stored");
        }
        let left = [
            (self.left_open.len(), "left open"),
            (self.unfinished_tools(), "tool calls without an outcome"),
            (self.unstored.len(), "changes not stored"),
            (self.refused(), "calls refused by the log"),
        ];
        for (count, what) in left.into_iter().filter(|(count, _)| *count > 0) {
            write!(f, ", {count} {what}")?;
        }
        Ok(())
    }
}
