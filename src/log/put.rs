//! What became of records that were put: [`Put`], [`Stored`], [`PutError`].

use std::fmt;

use super::LogError;
use crate::message::MessageId;

/// What became of a record; in each case the log holds it, or what came after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// It is there now.
    Written,
    /// It was there: an earlier try had arrived.
    AlreadyThere,
    /// A newer revision of the message was there, and stays.
    NewerKept,
}

/// A record that the log holds: acknowledge this revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stored {
    /// The message.
    pub id: MessageId,
    /// The revision that was put.
    pub revision: u32,
    /// What became of it.
    pub put: Put,
}

impl Stored {
    /// That `revision` of message `id` was put, and what became of it.
    pub fn new(id: MessageId, revision: u32, put: Put) -> Self {
        Self { id, revision, put }
    }
}

/// Not all records are in the log.
#[derive(Debug)]
#[non_exhaustive]
pub struct PutError {
    /// What the log holds: acknowledge these, and no others.
    pub stored: Vec<Stored>,
    /// What it does not hold, and why. Of one whose error [is retryable](LogError::is_retryable) it may be unknown,
    /// as after a time-out.
    pub failed: Vec<(MessageId, LogError)>,
    /// How many records behind the last failed one were not tried.
    pub untried: usize,
}

impl PutError {
    /// That records failed; `failed` is not empty.
    pub fn new(stored: Vec<Stored>, failed: Vec<(MessageId, LogError)>, untried: usize) -> Self {
        Self { stored, failed, untried }
    }

    /// Whether the same records may all be stored later.
    pub fn is_retryable(&self) -> bool {
        self.failed.iter().all(|(_, error)| error.is_retryable())
    }
}

impl fmt::Display for PutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stored, failed) = (self.stored.len(), self.failed.len());
        write!(f, "{stored} records are stored, {failed} failed, {} were not tried", self.untried)
    }
}

impl std::error::Error for PutError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failed.first().map(|(_, error)| error as _)
    }
}
