//! What is changed in a spool, and what is found in it: [`SpoolChange`], [`SpooledCall`], [`DeadLetter`].

use std::fmt;

use crate::log::{CallEnd, CallHeader, CallId, WriterLease};
use crate::message::{MessageId, Position, Record};

/// A change of what a spool holds. Made twice in a row, it is as if made once.
///
/// A call is in the spool while something of it is still to be done, with the claim of the newest epoch.
#[derive(Debug, Clone)]
pub(crate) enum SpoolChange {
    /// The call is still to be opened in the log.
    Open(CallHeader),
    /// The log has opened or resumed it: that is done, and this is the claim.
    Opened(WriterLease),
    /// The call's ending is still to be written.
    Close(WriterLease, CallEnd),
    /// It is written.
    Closed(CallId),
    /// A record is still to be stored. It takes the place of older revisions of its message, of one that was set aside
    /// too; beside the same or a newer revision nothing changes.
    Put(WriterLease, Record),
    /// A record is stored: it goes, if it still has this revision.
    Shipped(CallId, RecordKey),
    /// A record cannot be stored: it is not shipped any more, if it still has this revision, and kept.
    DeadLetter {
        /// The call.
        call_id: CallId,
        /// The record.
        key: RecordKey,
        /// Why; nothing that was said.
        reason: Box<str>,
    },
    /// What was set aside, at this revision, is not needed any more.
    Discard(CallId, RecordKey),
    /// The call is erased: all of it goes, and no byte of it stays in the file, nor of any other that had gone.
    Forget(CallId),
}

/// Which record: a message at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordKey {
    /// Where it stands in its call.
    pub position: Position,
    /// The message. Two of one position are both kept: which of them is right, the log says.
    pub id: MessageId,
    /// Its revision.
    pub revision: u32,
}

impl RecordKey {
    /// The key of a record.
    pub fn of(record: &Record) -> Self {
        Self { position: record.position(), id: record.id(), revision: record.revision() }
    }
}

/// A call of which something is still to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpooledCall {
    /// Who writes it.
    pub lease: WriterLease,
    /// With what it is still to be opened.
    pub opening: Option<CallHeader>,
    /// How it ended, where that is still to be written.
    pub call_end: Option<CallEnd>,
    /// What is still to be stored, by position, with its bytes as JSON.
    pub records: Vec<(RecordKey, u64)>,
    /// What was set aside, likewise.
    pub dead_letters: Vec<(RecordKey, u64)>,
}

/// A record that the log does not take.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The call.
    pub call_id: CallId,
    /// Why the log does not take it.
    pub reason: Box<str>,
    /// The record.
    pub record: Record,
    /// Whether it could not be [redacted](crate::log::WriterSettings::redactor): it holds all that was said, must not be
    /// written as it is, and was in memory only.
    pub is_unredacted: bool,
}

/// Which record and why, not the words.
impl fmt::Debug for DeadLetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetter")
            .field("call_id", &self.call_id)
            .field("reason", &self.reason)
            .field("key", &RecordKey::of(&self.record))
            .field("is_unredacted", &self.is_unredacted)
            .finish()
    }
}
