//! [`RedactionError`]: why a record must not be written.

use std::error::Error;

use crate::message::MessageId;

/// Why a record could not be redacted and so must not be written. Never contains the words of a caller.
#[derive(Debug, thiserror::Error)]
#[error("message {message_id} must not be written: {reason}")]
pub struct RedactionError {
    message_id: MessageId,
    reason: Reason,
    source: Option<Box<dyn Error + Send + Sync>>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Reason {
    #[error("its redactor failed; the source of this error says why")]
    Failed,
    #[error("its redactor panicked; return an error instead of panicking")]
    Panicked,
    #[error(
        "its redactor returned the range {start}..{end} for a text of {length} bytes; return ranges within the text, on \
         boundaries of characters"
    )]
    NotARange { start: usize, end: usize, length: usize },
    #[error("two keys of a map are equal after redaction; use replacements that keep keys distinct")]
    SameKeys,
    #[error(
        "the redacted record cannot be read back; do not replace keys, types or attributes of a record, and do not use \
         them as replacements"
    )]
    NotARecord,
}

impl Reason {
    pub fn of(self, message_id: MessageId) -> RedactionError {
        RedactionError { message_id, reason: self, source: None }
    }
}

impl RedactionError {
    pub(super) fn failed(message_id: MessageId, source: Box<dyn Error + Send + Sync>) -> Self {
        Self { message_id, reason: Reason::Failed, source: Some(source) }
    }
}
