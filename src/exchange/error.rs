//! [`ExchangeError`]: why a text is no conversation of a format, and where.

use std::error::Error;
use std::fmt;

use crate::manager::ManagerError;
use crate::message::MessageError;

/// Why a text is no conversation of a format: what is wrong, and where. Holds no word of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeError {
    place: Place,
    problem: Problem,
}

impl ExchangeError {
    pub(super) fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }

    /// Returns where the text is wrong.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Returns what is wrong.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }
}

impl fmt::Display for ExchangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl Error for ExchangeError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

/// A place in a text: its path, such as `$.messages[3].content`, its line and its column.
///
/// The path never holds a key that the format does not know: such a key may be a caller's word.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The path from the whole text, `$`, inwards; in JSON Lines from the whole line.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The character of the line, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (line {}, column {})", self.path, self.line, self.column)
    }
}

/// The problem of an imported text. Holds no word of the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// The text is larger than the limit.
    #[error("the text has {bytes} bytes, more than {max}; split it, or raise `ImportOptions::with_max_bytes`")]
    TooLarge {
        /// The size of the text in bytes.
        bytes: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// The bytes are not UTF-8.
    #[error("the text is not UTF-8")]
    NotUtf8,
    /// The text is not JSON.
    #[error("the text is not JSON: {reason}")]
    NotJson {
        /// The rule of JSON that is broken.
        reason: String,
    },
    /// The value is of another kind.
    #[error("{expected} belongs here, not {found}")]
    WrongKind {
        /// The kind of value that the format has here.
        expected: String,
        /// The kind of value that is here.
        found: &'static str,
    },
    /// A key that the format demands is missing.
    #[error("the key `{key}` is missing")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// The value of an unknown key would be lost.
    #[error("a key is not known here, and its value would be lost; known are {known}")]
    UnknownKey {
        /// The known keys.
        known: String,
    },
    /// Of two values under one key one would be lost.
    #[error("a key appears twice in one object")]
    RepeatedKey,
    /// A `role`, `type`, `format` or the like is not known.
    #[error("this name is not known here; known are {known}")]
    UnknownName {
        /// The known names.
        known: String,
    },
    /// The value does not have the form that the format demands, or no message can hold it.
    #[error("{reason}")]
    Invalid {
        /// The rule that is broken.
        reason: String,
    },
    /// The conversation refuses the message.
    #[error("the conversation refuses the message")]
    Refused(#[from] ManagerError),
}

impl Problem {
    pub(super) fn invalid(reason: impl Into<String>) -> Self {
        Self::Invalid { reason: reason.into() }
    }

    /// The value has no place in a conversation.
    pub(super) fn not_kept(what: &str) -> Self {
        Self::Invalid { reason: format!("{what} cannot be kept; take it out first") }
    }
}

impl From<MessageError> for Problem {
    fn from(error: MessageError) -> Self {
        Self::invalid(error.to_string())
    }
}
