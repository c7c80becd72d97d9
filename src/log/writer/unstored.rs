//! [`Unstored`]: what a flush did not get into the log.

use std::fmt;

use super::Durability;
use crate::log::{CallId, RecordKey};
use crate::message::{MessageId, Position};

/// Why a handle gave up.
pub(super) const NO_ANSWER: &str =
    "the task of the log's writer did not answer by the deadline; check that its runtime is running and not blocked";

/// Something that is accepted and not in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unstored {
    /// The call; `None` where it is not known which.
    pub call_id: Option<CallId>,
    /// What of it.
    pub part: Part,
    /// How far it has come.
    pub level: Durability,
    /// Whether it was set aside, and is not tried any more.
    pub is_dead_letter: bool,
    /// Why the last attempt failed, if there was one.
    pub error: Option<Box<str>>,
}

/// A part of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Part {
    /// Its header.
    Header,
    /// A record.
    Record {
        /// The message.
        id: MessageId,
        /// Where it stands.
        position: Position,
        /// Its revision.
        revision: u32,
    },
    /// How it ended.
    CallEnd,
    /// Whatever the spool holds from an earlier life of the process: it cannot be read yet.
    Spool,
    /// Any part: the writer's task did not answer by the deadline, so it is not known which parts are stored.
    Unknown,
}

impl Part {
    pub(super) fn of(key: RecordKey) -> Self {
        Self::Record { id: key.id, position: key.position, revision: key.revision }
    }
}

impl Unstored {
    /// The task that knows more did not answer by the deadline.
    pub(super) fn unanswered(call_id: Option<CallId>) -> Self {
        let error = Some(NO_ANSWER.into());
        Self { call_id, part: Part::Unknown, level: Durability::Accepted, is_dead_letter: false, error }
    }
}

impl fmt::Display for Unstored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Header => f.write_str("the header")?,
            Part::Record { id, revision, .. } => write!(f, "revision {revision} of message {id}")?,
            Part::CallEnd => f.write_str("the ending")?,
            Part::Spool => f.write_str("what the spool holds")?,
            Part::Unknown => f.write_str("a part")?,
        }
        if let Some(call_id) = &self.call_id {
            write!(f, " of call {call_id}")?;
        }
        f.write_str(" is not stored")?;
        match &self.error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}
