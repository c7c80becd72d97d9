//! [`CallEnd`]: how a call ended, and how much was said.

use std::sync::Arc;

use super::LogError;
use super::call_id::printable;
use crate::manager::MessagesManager;
use crate::message::MessageWrapper;

/// How a call ended, and how much there is of it: whoever reads the call can tell that nothing is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallEnd {
    /// When, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Why, in the words of the service: `hangup`, `transfer`. Nothing that was said.
    pub reason: Arc<str>,
    /// How many messages there are, fakes and supervisor messages among them, summaries not.
    pub messages: u32,
    /// How many summaries.
    pub summaries: u32,
}

impl CallEnd {
    /// A reason has so many bytes at most.
    pub const MAX_REASON_BYTES: usize = 100;

    /// The ending of a call with so many messages and summaries.
    ///
    /// Errors: a reason that is empty, longer than [`MAX_REASON_BYTES`](Self::MAX_REASON_BYTES), or has control or
    /// invisible characters.
    pub fn new(at_ms: i64, reason: impl Into<Arc<str>>, messages: u32, summaries: u32) -> Result<Self, LogError> {
        let rule = "one has 1 to 100 bytes and no control or invisible characters";
        let otherwise = LogError::Invalid { what: "the reason of an ending", reason: rule };
        let reason = printable(reason.into(), Self::MAX_REASON_BYTES, otherwise)?;
        Ok(Self { at_ms, reason, messages, summaries })
    }

    /// The ending of the call that a manager holds, what was pruned from it too. Errors: as [`new`](Self::new).
    pub fn of<W: MessageWrapper>(
        manager: &MessagesManager<W>,
        at_ms: i64,
        reason: impl Into<Arc<str>>,
    ) -> Result<Self, LogError> {
        Self::new(at_ms, reason, manager.message_count(), manager.summary_count())
    }

    /// The `seq` of the last message.
    pub fn last_seq(&self) -> Option<u32> {
        self.messages.checked_sub(1)
    }
}
