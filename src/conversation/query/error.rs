//! [`QueryError`]: why a query has no answer.

use crate::log::{CallId, Day, LogError};
use crate::message::MessageError;

/// Why a query has no answer. Never holds what was said, nor the text that was searched for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// A range that ends before it begins.
    #[error("the query's `since` ({since_ms}) is after its `until` ({until_ms}): swap them, or leave one of them out")]
    SinceAfterUntil {
        /// Where the range begins, in milliseconds since the Unix epoch.
        since_ms: i64,
        /// Where it ends.
        until_ms: i64,
    },
    /// A time that is not in milliseconds.
    #[error("the query's `since` or `until` is refused: {0}")]
    Time(#[from] MessageError),
    /// A text that would be found nowhere, or everywhere.
    #[error("the query's text is blank: leave it out, or search for characters that show")]
    BlankText,
    /// A text that is too long to be searched for.
    #[error("the query's text has {bytes} bytes: search for a part of it, of at most {max} bytes")]
    TextTooLong {
        /// Its length.
        bytes: usize,
        /// How long it may be.
        max: usize,
    },
    /// The calls of a day could not be listed.
    #[error("the calls of {day} could not be listed: see the source of this error for what to do, then query again")]
    List {
        /// The day.
        day: Day,
        /// Why.
        source: LogError,
    },
    /// A call could not be read.
    #[error("call {call_id} could not be read: see the source of this error for what to do, then query again")]
    Read {
        /// The call.
        call_id: CallId,
        /// Why.
        source: LogError,
    },
}

impl QueryError {
    /// Whether the same query may succeed later, by itself.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::List { source, .. } | Self::Read { source, .. } if source.is_retryable())
    }
}
