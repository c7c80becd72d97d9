//! [`LogError`]: why a log could not do what it was asked.

use std::error::Error;
use std::fmt;

use super::CallId;
use crate::message::{MessageId, Position};

/// Why a log could not do what it was asked: which call, what to do. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The call was erased, and stays so.
    #[error("call {call_id} was erased; nothing of it is written any more: drop what is still to be logged of it")]
    Erased {
        /// The call.
        call_id: CallId,
    },
    /// Another writer goes on with the call.
    #[error(
        "call {call_id} is written by its writer {current} now, and this is writer {epoch}; nothing was written: \
         another process has resumed the call, stop logging it here"
    )]
    Fenced {
        /// The call.
        call_id: CallId,
        /// The epoch of who was refused.
        epoch: u32,
        /// The epoch that the call has now.
        current: u32,
    },
    /// The call is under a legal hold.
    #[error("call {call_id} is under a legal hold; nothing was erased: release it first, if that is allowed")]
    Held {
        /// The call.
        call_id: CallId,
    },
    /// The call is not there to be changed: it was never opened, or has expired.
    #[error("call {call_id} was never opened, or has expired; nothing was changed: open it first")]
    NotOpened {
        /// The call.
        call_id: CallId,
    },
    /// Another message stands where this one belongs.
    #[error(
        "{} of call {call_id} is message {found} in the log, not {id}; nothing was written: two writers log this \
         call, stop one and restore the call from the log",
        place(position)
    )]
    OtherMessage {
        /// The call.
        call_id: CallId,
        /// Where both belong.
        position: Position,
        /// The message that was to be written.
        id: MessageId,
        /// The message that is there.
        found: MessageId,
    },
    /// The same message at the same revision with other contents.
    #[error(
        "{} of call {call_id}, message {id}, is in the log with other contents at the same revision {revision}; \
         nothing was written: two writers log this call, stop one and restore the call from the log",
        place(position)
    )]
    OtherContents {
        /// The call.
        call_id: CallId,
        /// Where it stands.
        position: Position,
        /// The message.
        id: MessageId,
        /// The revision that both have.
        revision: u32,
    },
    /// The call was opened with another start, tenant or expiry.
    #[error(
        "call {call_id} was opened with another start, tenant or expiry; nothing was written: give each call an id of \
         its own"
    )]
    OtherHeader {
        /// The call.
        call_id: CallId,
    },
    /// A call id, start or tenant that a header cannot hold, or a text that is not a day or a cursor.
    #[error("not {what}: {reason}")]
    Invalid {
        /// What it was to be.
        what: &'static str,
        /// What it should be.
        reason: &'static str,
    },
    /// A backend failed.
    #[error("{operation} failed; the source of this error says why{remedy}")]
    Backend {
        /// What was to be done, and to which call.
        operation: Box<str>,
        /// What to do about it.
        remedy: Remedy,
        /// The error of the backend.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// What to do about an error of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Do the same again, later: it may pass by itself.
    Retry,
    /// A person has to mend something around the log (a table that is missing, a permission, credentials, a full
    /// disk); then the same succeeds.
    Operator,
    /// The same will never succeed.
    None,
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Retry => "; do it again",
            Self::Operator => "; mend that, then do it again",
            Self::None => "",
        })
    }
}

fn place(position: &Position) -> String {
    match position.summary_number() {
        None => format!("message {}", position.seq()),
        Some(number) => format!("summary {number}"),
    }
}

impl LogError {
    /// That a backend failed at something. `operation` names the call, and `source` says nothing of what was said.
    pub fn backend(
        operation: impl Into<Box<str>>,
        remedy: Remedy,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Backend { operation: operation.into(), remedy, source: source.into() }
    }

    /// What to do about it.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Backend { remedy, .. } => *remedy,
            _ => Remedy::None,
        }
    }

    /// Whether the same may succeed later, by itself. Doing again what failed is always safe.
    pub fn is_retryable(&self) -> bool {
        self.remedy() == Remedy::Retry
    }

    /// Whether the log holds something else than this writer believes: two writers log one call.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::OtherMessage { .. } | Self::OtherContents { .. } | Self::OtherHeader { .. })
    }

    /// Whether the other records of the call would meet it as well.
    pub(crate) fn is_of_all_records(&self) -> bool {
        self.remedy() != Remedy::None || self.is_fenced() || self.is_erased()
    }

    /// Whether another writer goes on with the call.
    pub fn is_fenced(&self) -> bool {
        matches!(self, Self::Fenced { .. })
    }

    /// Whether the call was erased.
    pub fn is_erased(&self) -> bool {
        matches!(self, Self::Erased { .. })
    }
}
