//! [`ExchangeError`]: why a text cannot be imported, and where it is wrong. Never holds a word of the text.

use crate::manager::ManagerError;
use crate::message::MessageError;

/// The reason why a text cannot be imported, and the place in the text.
///
/// `Display` names the path, such as `$.messages[3].content`, and the line and the column, which count from 1. In JSON
/// Lines, the path starts at the line. The error quotes nothing from the text, not even an unknown key, because the
/// text may be private.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct ExchangeError {
    place: String,
    kind: ErrorKind,
    reason: String,
    #[source]
    cause: Option<ManagerError>,
}

impl ExchangeError {
    /// Returns an error about the value at `path`, which starts at `line` and `column`.
    pub(super) fn new(path: &str, (line, column): (usize, usize), problem: Problem) -> Self {
        let Problem { kind, reason, cause } = problem;
        Self { place: format!("{path} (line {line}, column {column})"), kind, reason, cause }
    }

    /// Returns the kind of problem.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

/// The kinds of problems that make an import fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is larger than [`ImportOptions::with_max_bytes`](super::ImportOptions::with_max_bytes) allows.
    TooLarge,
    /// The text is not UTF-8, not JSON, or not of the format.
    Malformed,
    /// The text holds something that a conversation cannot keep. Remove it and import again.
    NotKept,
    /// The conversation refuses a message. [`source`](std::error::Error::source) is the [`ManagerError`].
    Refused,
}

/// A problem whose place is not known yet.
#[derive(Debug)]
pub(super) struct Problem {
    pub kind: ErrorKind,
    reason: String,
    cause: Option<ManagerError>,
}

impl Problem {
    pub fn new(kind: ErrorKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), cause: None }
    }

    pub fn malformed(reason: impl Into<String>) -> Self {
        Self::new(ErrorKind::Malformed, reason)
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

    /// The value of an unknown key would be lost. Known are `known`.
    pub fn unknown_key(known: &str) -> Self {
        Self::new(ErrorKind::NotKept, format!("an unknown key cannot be kept; remove it (known keys: {known})"))
    }

    pub fn not_kept(thing: &str) -> Self {
        Self::new(ErrorKind::NotKept, format!("{thing} cannot be kept; remove it"))
    }
}

impl From<MessageError> for Problem {
    fn from(error: MessageError) -> Self {
        Self::malformed(error.to_string())
    }
}

impl From<ManagerError> for Problem {
    fn from(cause: ManagerError) -> Self {
        Self { kind: ErrorKind::Refused, reason: "the conversation refuses the message".to_owned(), cause: Some(cause) }
    }
}
