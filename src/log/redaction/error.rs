//! [`RedactionError`]: why a record must not be written.

use std::error::Error;

use crate::message::MessageId;

/// Why a record could not be redacted, and so must not be written. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedactionError {
    /// The redactor gave an error.
    #[error("message {message_id} must not be written: its redactor failed; the source of this error says why")]
    Failed {
        /// The message.
        message_id: MessageId,
        /// The error of the redactor.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The redactor panicked.
    #[error("message {message_id} must not be written: its redactor panicked; give an error in place of a panic")]
    Panicked {
        /// The message.
        message_id: MessageId,
    },
    /// The redactor gave a range that is none of the text.
    #[error(
        "message {message_id} must not be written: its redactor found something at bytes {start}..{end} of a text of \
         {length} bytes; a range lies in the text, on boundaries of characters"
    )]
    NotARange {
        /// The message.
        message_id: MessageId,
        /// Where the range starts.
        start: usize,
        /// Where it ends.
        end: usize,
        /// Bytes of the text.
        length: usize,
    },
    /// One of two values of a map would be lost.
    #[error(
        "message {message_id} must not be written: two keys of a map are the same once they are redacted; let what \
         replaces them differ"
    )]
    SameKeys {
        /// The message.
        message_id: MessageId,
    },
    /// What is left would be read as something else.
    #[error(
        "message {message_id} must not be written: what is left of it does not read back; let no replacement be a key, \
         a type or an attribute of a record, nor replace one"
    )]
    NotARecord {
        /// The message.
        message_id: MessageId,
    },
}
