//! [`ExchangeError`]: why a text is no conversation of a format, and where.

use std::error::Error;
use std::fmt;

use super::path::Place;
use crate::manager::ManagerError;
use crate::message::MessageError;

/// Why a text is no conversation of a format: what is wrong, and where. Never holds what was said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExchangeError {
    place: Place,
    problem: Problem,
}

impl ExchangeError {
    pub(super) fn new(place: Place, problem: Problem) -> Self {
        Self { place, problem }
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// What is wrong.
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

/// What is wrong with a text that is to be imported. Never holds what was said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// Bytes that are no text.
    #[error("this is not UTF-8")]
    NotUtf8,
    /// Not JSON.
    #[error("this is not JSON: {expected} belongs here")]
    NotJson {
        /// What JSON wants here.
        expected: &'static str,
    },
    /// Lists and objects in each other.
    #[error("lists and objects nest more than {max} deep")]
    TooDeep {
        /// How deep they may.
        max: usize,
    },
    /// Small values in such numbers that they would fill the memory.
    #[error("what comes up to here takes more than 4 times the memory of the text: too dense for a conversation")]
    TooDense,
    /// A value of another kind.
    #[error("{expected} belongs here, not {found}")]
    WrongKind {
        /// What the format has here.
        expected: &'static str,
        /// What is here.
        found: &'static str,
    },
    /// A key that the format demands.
    #[error("the key `{key}` is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A key whose value would be lost.
    #[error("a key is not known, and what it says would be lost; known are {}", known.join(", "))]
    UnknownKey {
        /// The keys that are known here.
        known: &'static [&'static str],
    },
    /// Of two values under one key one would be lost.
    #[error("a key stands twice in one object")]
    RepeatedKey,
    /// A `role`, a `type` or the like that is not known.
    #[error("this {what} is not known; known are {known}")]
    UnknownType {
        /// What it is the name of.
        what: &'static str,
        /// Those that are known.
        known: &'static str,
    },
    /// A version of the format that is not known.
    #[error("this version of the format is not known; known are {known}")]
    UnknownVersion {
        /// Those that are known.
        known: &'static str,
    },
    /// A value that does not have the form that the format demands.
    #[error("{reason}")]
    Invalid {
        /// What form it has.
        reason: &'static str,
    },
    /// What a conversation here has no place for.
    #[error("{what} cannot be kept; take it out first")]
    NotKept {
        /// What it is.
        what: &'static str,
    },
    /// A value that no message can hold.
    #[error("no message can hold this")]
    Content(#[from] MessageError),
    /// A message that cannot stand where it stands.
    #[error("the conversation refuses the message")]
    Refused(#[from] ManagerError),
}
