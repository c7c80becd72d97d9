//! [`ExchangeError`]: why a text cannot be imported, and where it is wrong. Never quotes the text.

use crate::manager::ManagerError;
use crate::message::MessageError;

/// The reason why a text cannot be imported, and the place in the text.
///
/// `Display` names the path, such as `$.messages[3].content`, and the line and the column, which count from 1. In JSON
/// Lines, the path starts at the line. The error quotes nothing from the text, not even an unknown key, because the
/// text may be private. Its source is the [`ManagerError`] if the conversation refuses a message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct ExchangeError {
    place: String,
    reason: String,
    #[source]
    cause: Option<ManagerError>,
}

impl ExchangeError {
    /// Returns an error about the value at `path`, which starts at `line` and `column`.
    pub(super) fn new(path: &str, (line, column): (usize, usize), problem: Problem) -> Self {
        let Problem { reason, cause, .. } = problem;
        Self { place: format!("{path} (line {line}, column {column})"), reason, cause }
    }
}

/// A problem whose place is not known yet.
#[derive(Debug)]
pub(super) struct Problem {
    /// Whether the last key of the path is unknown. The path omits such a key, because it may be private.
    pub is_unknown_key: bool,
    reason: String,
    cause: Option<ManagerError>,
}

impl Problem {
    pub fn malformed(reason: impl Into<String>) -> Self {
        Self { is_unknown_key: false, reason: reason.into(), cause: None }
    }

    pub fn wrong_kind(expected: &str, found: &str) -> Self {
        Self::malformed(format!("expected {expected}, found {found}"))
    }

    pub fn missing_key(key: &str) -> Self {
        Self::malformed(format!("the key `{key}` is missing"))
    }

    pub fn repeated_key() -> Self {
        Self::malformed("a key appears twice in one object")
    }

    pub fn unknown_name(known: &str) -> Self {
        Self::malformed(format!("the name is unknown; use one of {known}"))
    }

    /// A key that is not among `known`. Its value would be lost.
    pub fn unknown_key(known: &str) -> Self {
        Self {
            is_unknown_key: true,
            ..Self::malformed(format!("an unknown key cannot be kept; remove it (known keys: {known})"))
        }
    }

    pub fn not_kept(thing: &str) -> Self {
        Self::malformed(format!("{thing} cannot be kept; remove it"))
    }
}

impl From<MessageError> for Problem {
    fn from(error: MessageError) -> Self {
        Self::malformed(error.to_string())
    }
}

impl From<ManagerError> for Problem {
    fn from(cause: ManagerError) -> Self {
        Self { cause: Some(cause), ..Self::malformed("the conversation refuses the message") }
    }
}
