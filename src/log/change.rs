//! [`CallChange`]: what can be changed of a call as a whole. [`LoggedCall`]: what is read of it.

use super::{CallEnd, CallHeader, WriterLease};
use crate::contents::Problem;
use crate::message::Record;

/// A change of a call as a whole. Each can be made again: after an error, and by two at once.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallChange {
    /// Another writer goes on with the call: its epoch is raised, and it has not ended. Once this is done, whoever has
    /// an older epoch is fenced.
    Resume,
    /// The call has ended. The first ending stays, until the call is resumed.
    Close {
        /// Whose right it is to say so.
        lease: WriterLease,
        /// How it ended.
        call_end: CallEnd,
    },
    /// The call is kept until it is [released](Self::Release): it neither expires, nor can it be erased.
    Hold,
    /// A hold ends: the call expires when it was to, and can be erased.
    Release,
}

/// What a log holds of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LoggedCall {
    /// Its header, where it was opened.
    pub header: Option<CallHeader>,
    /// Its records in the order of its list, each summary behind the last message that it covers.
    pub records: Vec<Record>,
    /// The contents that could not be loaded, each with the message that refers to it: all that is missing of the call.
    /// Only a log that [offloads](super::Offloading) has any.
    pub problems: Vec<Problem>,
}

impl LoggedCall {
    /// What is read of a call with this header and these records.
    pub fn new(header: Option<CallHeader>, records: Vec<Record>) -> Self {
        Self { header, records, problems: Vec::new() }
    }

    /// Whether there is nothing: the log has never heard of it, or it was erased, or it has expired.
    pub fn is_empty(&self) -> bool {
        self.header.is_none() && self.records.is_empty()
    }

    /// The claim of whoever opened or resumed it last. `None` where it was never opened.
    pub fn lease(&self) -> Option<WriterLease> {
        self.header.as_ref().map(WriterLease::of)
    }
}
