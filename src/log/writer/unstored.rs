//! [`Unstored`]: a part of a call that a flush did not store.

use std::fmt;

use super::Durability;
use crate::log::{CallId, RecordKey};
use crate::message::MessageId;

pub(super) const NO_ANSWER: &str =
    "the task of the log's writer did not answer by the deadline; check that its runtime is running and not blocked";

/// A part of a call that is accepted but not stored: its header, a record, or its end. `Display` names the part.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unstored {
    /// The call; `None` if the call is not known.
    pub call_id: Option<CallId>,
    /// The message, if the part is a record.
    pub message_id: Option<MessageId>,
    pub(super) part: Part,
    /// How durable the part is so far.
    pub level: Durability,
    /// True if the part is a [dead letter](crate::log::DeadLetter) and is not retried.
    pub is_dead_letter: bool,
    /// Why the last attempt failed; `None` if none has failed, or if only the spool has the reason.
    pub error: Option<Box<str>>,
}

/// A part of a call in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Header,
    Record {
        id: MessageId,
        revision: u32,
    },
    CallEnd,
    /// The parts are unknown, because the writer's task did not answer by the deadline or the spool cannot be read yet.
    /// Any part may be missing.
    Unknown,
}

impl Part {
    pub(super) fn of(key: RecordKey) -> Self {
        Self::Record { id: key.id, revision: key.revision }
    }
}

impl Unstored {
    /// Returns a part that is not a dead letter.
    pub(super) fn new(call_id: Option<CallId>, part: Part, level: Durability) -> Self {
        let message_id = match part {
            Part::Record { id, .. } => Some(id),
            _ => None,
        };
        Self { call_id, message_id, part, level, is_dead_letter: false, error: None }
    }

    /// Returns the result of a flush that the task did not answer by the deadline.
    pub(super) fn unanswered(call_id: Option<CallId>) -> Self {
        Self { error: Some(NO_ANSWER.into()), ..Self::new(call_id, Part::Unknown, Durability::Accepted) }
    }
}

impl fmt::Display for Unstored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Part::Header => f.write_str("the header")?,
            Part::Record { id, revision, .. } => write!(f, "revision {revision} of message {id}")?,
            Part::CallEnd => f.write_str("the end")?,
            Part::Unknown => f.write_str("an unknown part")?,
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

/// Returns an error and its sources in one line.
pub(super) fn error_chain(error: &dyn std::error::Error) -> Box<str> {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text.into()
}
