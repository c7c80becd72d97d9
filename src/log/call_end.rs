//! [`CallEnd`]: how a call ended, and how many records it has.

use std::sync::Arc;

use super::LogError;
use super::call_id::printable;
use crate::manager::MessagesManager;
use crate::message::{MessageWrapper, check_ms};

/// How a call ended, and how many records it has, so that a reader can check that none is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallEnd {
    /// When the call ended, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Why the call ended, as the service calls it: `hangup`, `transfer`. Must not contain the words of a caller.
    pub reason: Arc<str>,
    /// The number of messages, including fake and system messages, without summaries.
    pub messages: u32,
    /// The number of summaries.
    pub summaries: u32,
}

impl CallEnd {
    const MAX_REASON_BYTES: usize = 100;

    /// Creates the end of a call with this many messages and summaries. Errors are those of [`of`](Self::of).
    pub(crate) fn new(
        at_ms: i64,
        reason: impl Into<Arc<str>>,
        messages: u32,
        summaries: u32,
    ) -> Result<Self, LogError> {
        check_ms(at_ms).map_err(|error| LogError::invalid("the end of a call", &error.to_string()))?;
        let rule = "it has 1 to 100 bytes and no control or invisible characters";
        let reason = printable(reason.into(), Self::MAX_REASON_BYTES, "the reason of a call's end", rule)?;
        Ok(Self { at_ms, reason, messages, summaries })
    }

    /// Creates the end of a call with the counts of its manager. Pruned messages count, too.
    ///
    /// Returns [`Invalid`](super::LogErrorKind::Invalid) if `at_ms` is probably in seconds, from 100 million to below 100
    /// billion, or if the reason is empty, longer than 100 bytes, or has control or invisible characters.
    pub fn of<W: MessageWrapper>(
        manager: &MessagesManager<W>,
        at_ms: i64,
        reason: impl Into<Arc<str>>,
    ) -> Result<Self, LogError> {
        Self::new(at_ms, reason, manager.message_count(), manager.summary_count())
    }

    /// Returns true if this end counts messages or summaries that came after the other end.
    pub(crate) fn counts_more_than(&self, other: &Self) -> bool {
        (self.messages, self.summaries) > (other.messages, other.summaries)
    }

    /// The `seq` of the last message; `None` if the call has no messages.
    pub(crate) fn last_seq(&self) -> Option<u32> {
        self.messages.checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{CallHeader, CallId, LogErrorKind};

    #[test]
    fn start_and_end_in_seconds_are_refused() {
        let start = CallHeader::new(CallId::new("CA1").unwrap(), 1_744_815_823).unwrap_err();
        let end = CallEnd::new(1_744_815_823, "hangup", 0, 0).unwrap_err();
        let advice =
            "1744815823 is a time in seconds, and milliseconds since the Unix epoch are needed; multiply by 1000";
        assert_eq!(start.to_string(), format!("not the start of a call: {advice}"));
        assert_eq!(end.to_string(), format!("not the end of a call: {advice}"));
        assert_eq!((start.kind(), end.kind()), (LogErrorKind::Invalid, LogErrorKind::Invalid));
    }
}
