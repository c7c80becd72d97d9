//! [`CallChange`]: a change of a call as a whole. [`LoggedCall`]: what a log returns for a call.

use super::{CallEnd, CallHeader, Span, TenureChange, WriterLease};
use crate::contents::Problem;
use crate::manager::{Expected, LeftOut, MessagesManager};
use crate::message::{MessageWrapper, Record};

/// A change of a call as a whole. Every change can be repeated after an error, also by another process at the same
/// time. A repeated change has no further effect.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallChange {
    /// A step of a takeover that [`LogWriter::resume`](super::LogWriter::resume) makes: commit, fence, serve, give up,
    /// renew, or take the call back. Each step is one atomic change of the header; [`CallHeader::changed`] has its rules.
    /// Committing raises the epoch of the call, and serving removes its end.
    Takeover(TenureChange),
    /// The call has ended. If a call is closed several times, the log keeps the end that counts the most messages and
    /// summaries, and the first of equal ones, until the call is resumed.
    Close {
        /// The lease of the writer that ends the call.
        lease: WriterLease,
        /// How the call ended.
        call_end: CallEnd,
    },
    /// The call is put under a legal hold: it neither expires nor can be erased until it is [released](Self::Release).
    Hold,
    /// The hold ends. The call expires at its original time and can be erased.
    Release,
}

/// The header and records that a log holds of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedCall {
    /// The header; `None` if the call was never opened.
    pub header: Option<CallHeader>,
    /// The records in the order of the conversation. Each summary follows the last message that it covers.
    pub records: Vec<Record>,
    /// The contents that could not be loaded, each with the message that refers to it. Everything else is complete. Only
    /// a log that [offloads](super::Offloading) has problems.
    pub problems: Vec<Problem>,
    /// The records that are stored but cannot be read. [`restore`](Self::restore) also finds those that are missing, and
    /// [`MessagesManager::left_out`](crate::MessagesManager::left_out) has all of them.
    pub left_out: Vec<LeftOut>,
    /// How the call had ended when it was read or resumed. Resuming a call removes the end from its header.
    pub ended: Option<CallEnd>,
    /// The stored spans whose messages were read, sorted. A change of one of their messages goes to its span.
    pub(crate) spans: Vec<Span>,
}

impl LoggedCall {
    /// Creates a call without problems, with the end of its header.
    pub fn new(header: Option<CallHeader>, records: Vec<Record>) -> Self {
        let ended = header.as_ref().and_then(CallHeader::call_end).cloned();
        Self { header, records, problems: Vec::new(), left_out: Vec::new(), ended, spans: Vec::new() }
    }

    /// Restores the conversation from the available records, as [`MessagesManager::restore`] does from all of them.
    /// Records that are missing, cannot be read or do not fit the others are [left out](MessagesManager::left_out), and
    /// so are messages that only the end of the call counts.
    pub fn restore<W: MessageWrapper>(self) -> MessagesManager<W> {
        let (messages, summaries) = self.ended.map_or((0, 0), |ended| (ended.messages, ended.summaries));
        let expected = Expected { left_out: self.left_out, messages, summaries };
        MessagesManager::restore_available(self.records, expected)
    }

    /// Returns true if the call is unknown or expired.
    pub fn is_empty(&self) -> bool {
        self.header.is_none() && self.records.is_empty()
    }

    /// The lease of the writer that opened or last resumed the call; `None` if it was never opened.
    pub fn lease(&self) -> Option<WriterLease> {
        self.header.as_ref().map(WriterLease::from)
    }
}
