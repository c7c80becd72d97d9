//! [`QueryProblem`]: the reason why a query failed.

use crate::log::{CallId, Day, LogError};
use crate::message::MessageError;

/// The reason why a query failed. The text contains neither messages nor the text of the query.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueryProblem {
    #[error("the query's `since` ({since_ms}) is after its `until` ({until_ms}); swap them, or leave one of them out")]
    SinceAfterUntil { since_ms: i64, until_ms: i64 },
    #[error("the query's `since` or `until` is refused: {0}")]
    Time(#[from] MessageError),
    #[error("the query's text is blank; leave it out, or search for visible characters")]
    BlankText,
    #[error("the query's text has {bytes} bytes; search for a part of it, of at most {max} bytes")]
    TextTooLong { bytes: usize, max: usize },
    #[error("cannot list the calls{}; the source of this error has the reason; fix it, then query again", day.map(|day| format!(" of {day}")).unwrap_or_default())]
    List { day: Option<Day>, source: LogError },
    #[error("cannot read call {call_id}; the source of this error has the reason; fix it, then query again")]
    Read { call_id: CallId, source: LogError },
}

impl QueryProblem {
    /// Returns the error of the log, if a log failed.
    pub fn log_error(&self) -> Option<&LogError> {
        match self {
            Self::List { source, .. } | Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}
