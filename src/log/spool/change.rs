//! The changes and contents of a spool: [`SpoolChange`], [`SpooledCall`], [`DeadLetter`].

use std::fmt;

use crate::log::{CallEnd, CallHeader, CallId, Span, WriterLease};
use crate::manager::LeftOut;
use crate::message::{MessageId, Position, Record};

/// An idempotent change of a spool.
///
/// The spool holds a call while it has pending work or dead letters, with the lease of the newest epoch.
#[derive(Debug, Clone)]
pub(crate) enum SpoolChange {
    /// The call has to be opened in the log.
    Open(CallHeader),
    /// The log has opened or resumed the call with this lease.
    Opened(WriterLease),
    /// The end of the call has to be stored.
    Close(WriterLease, CallEnd),
    /// The end of the call is stored.
    Closed(CallId),
    /// The log refuses the header of the call, for this reason. The header becomes a dead letter.
    RefuseHeader(CallHeader, Box<str>),
    /// The log refuses the end of the call, for this reason. The end becomes a dead letter.
    RefuseEnd(CallId, Box<str>),
    /// The refused header and the refused end of the call are removed.
    DiscardParts(CallId),
    /// A record has to be stored. It replaces older revisions of its message, including a dead letter. It changes nothing
    /// if the spool has the same or a newer revision.
    Put(WriterLease, Record),
    /// The log stores these messages as one item, so that a later process does the same. It changes nothing if the spool
    /// does not hold the call.
    Span(CallId, Span),
    /// Each of these messages is an item of its own.
    Split(CallId, Span),
    /// A record is stored. The spool removes the record if it still has this revision.
    Stored(CallId, RecordKey),
    /// A record becomes a dead letter if it still has this revision.
    DeadLetter {
        /// The call.
        call_id: CallId,
        /// The record.
        key: RecordKey,
        /// Why the log refuses the record, without the words of a caller.
        reason: Box<str>,
    },
    /// A dead letter is removed if it has this revision.
    Discard(CallId, RecordKey),
    /// The call is erased. No byte of it remains in the file, nor of any freed record.
    Forget(CallId),
}

/// The key of a record: a message at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RecordKey {
    /// The position in the call.
    pub position: Position,
    /// The message. Two messages at one position are both kept; the log decides which of them is right.
    pub id: MessageId,
    /// The revision.
    pub revision: u32,
}

impl RecordKey {
    /// The key of a record.
    pub fn of(record: &Record) -> Self {
        Self { position: record.position(), id: record.id(), revision: record.revision() }
    }
}

/// A call with pending work or dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpooledCall {
    /// The lease of the call's writer.
    pub lease: WriterLease,
    /// The header that has to be stored.
    pub opening: Option<CallHeader>,
    /// The end that has to be stored.
    pub call_end: Option<CallEnd>,
    /// The header that the log refuses, with the reason.
    pub refused_header: Option<(CallHeader, Box<str>)>,
    /// The end that the log refuses, with the reason.
    pub refused_end: Option<(CallEnd, Box<str>)>,
    /// The records that have to be stored, by position, with their size in bytes of JSON.
    pub records: Vec<(RecordKey, u64)>,
    /// The dead letters, by position, with their size in bytes of JSON.
    pub dead_letters: Vec<(RecordKey, u64)>,
    /// The spans whose messages are put together.
    pub spans: Vec<Span>,
}

/// A part of a call that the log refuses for good, or that cannot be redacted, kept with the reason.
///
/// [`LogWriter`](crate::log::LogWriter) can list dead letters, retry them, and discard them.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The call.
    pub call_id: CallId,
    /// Why the part will never be stored.
    pub reason: Box<str>,
    /// The record; `None` if the part is the header or the end of the call. Change it to repair the dead letter.
    pub record: Option<Record>,
    /// The header of the call, if the log refused it. To repair it, [open](crate::log::LogWriter::open) the call with
    /// another one.
    pub header: Option<CallHeader>,
    /// The end of the call, if the log refused it.
    pub call_end: Option<CallEnd>,
    /// True if the record could not be [redacted](crate::log::WriterSettings::with_redactor). It then contains the full
    /// conversation text, must not be stored as it is, and has never left memory.
    pub is_unredacted: bool,
}

impl DeadLetter {
    pub(crate) fn of_record(call_id: CallId, record: Record, reason: Box<str>) -> Self {
        Self { record: Some(record), ..Self::of_call(call_id, reason) }
    }

    pub(crate) fn of_header(header: CallHeader, reason: Box<str>) -> Self {
        let call_id = header.call_id().clone();
        Self { header: Some(header), ..Self::of_call(call_id, reason) }
    }

    pub(crate) fn of_end(call_id: CallId, call_end: CallEnd, reason: Box<str>) -> Self {
        Self { call_end: Some(call_end), ..Self::of_call(call_id, reason) }
    }

    fn of_call(call_id: CallId, reason: Box<str>) -> Self {
        Self { call_id, reason, record: None, header: None, call_end: None, is_unredacted: false }
    }

    /// Returns an entry for the records that a restored conversation lacks, unless `records` has the record.
    pub(crate) fn left_out(&self, records: &[Record]) -> Option<LeftOut> {
        let record = self.record.as_ref()?;
        let has = |other: &Record| other.id() == record.id() && other.revision() >= record.revision();
        let reason = format!("revision {} is a dead letter of this process: {}", record.revision(), self.reason);
        let is_stored = records.iter().any(has);
        (!is_stored).then(|| LeftOut::new(record.position(), Some(record.role()), reason))
    }
}

/// Prints the key and the reason, not the words.
impl fmt::Debug for DeadLetter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeadLetter")
            .field("call_id", &self.call_id)
            .field("reason", &self.reason)
            .field("key", &self.record.as_ref().map(RecordKey::of))
            .field("has_header", &self.header.is_some())
            .field("call_end", &self.call_end)
            .field("is_unredacted", &self.is_unredacted)
            .finish()
    }
}
