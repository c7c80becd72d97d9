//! [`LeftOut`]: a record that a restored conversation lacks. [`Holes`]: the numbers of the missing messages.

use std::fmt;

use super::MessagesManager;
use crate::message::{MessageWrapper, Position, Role};

/// A record that a restored conversation lacks.
///
/// A message that was left out keeps its number, and the conversation continues after it. The model does not get the
/// message. The window has a fake user message (`...`) in its place only where two assistant messages would follow each
/// other, or where an assistant message would open the window.
///
/// `Display` names the record and has the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The position of the record. For a summary without a record in the log, this is its number and the `seq` of
    /// the summary before it.
    pub position: Position,
    /// The role, if it is known.
    pub(crate) role: Option<Role>,
    /// Why the record is not in the list, and where it is if that is known. Never contains the words of a caller.
    pub reason: Box<str>,
}

impl LeftOut {
    pub(crate) fn new(position: Position, role: Option<Role>, reason: impl Into<Box<str>>) -> Self {
        Self { position, role, reason: reason.into() }
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position.summary_number() {
            None => write!(f, "message {}: {}", self.position.seq(), self.reason),
            Some(number) => write!(f, "summary {number}: {}", self.reason),
        }
    }
}

/// The messages and summaries that the list lacks. Empty if the conversation was restored with all its records.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Holes {
    pub left_out: Vec<LeftOut>,
    /// The numbers of the missing messages, ascending.
    seqs: Vec<u32>,
    /// The number of missing summaries.
    pub summaries: u32,
}

impl Holes {
    pub const NONE: Self = Self { left_out: Vec::new(), seqs: Vec::new(), summaries: 0 };

    /// Returns the number of missing messages.
    #[inline]
    pub fn messages(&self) -> usize {
        self.seqs.len()
    }

    /// Returns the number of missing messages before message `seq`.
    #[inline]
    pub fn before(&self, seq: u32) -> usize {
        if self.seqs.is_empty() { 0 } else { self.seqs.partition_point(|missing| *missing < seq) }
    }

    /// Returns `true` if a message is missing between these two.
    #[inline]
    pub fn is_between(&self, earlier: u32, later: u32) -> bool {
        self.before(later) > self.before(earlier)
    }

    /// Adds message `seq`, which follows all others.
    pub fn push(&mut self, seq: u32) {
        self.seqs.push(seq);
    }

    /// Returns the holes up to message `seq`, for a fork.
    pub fn up_to(&self, seq: u32) -> Self {
        let shared = self.left_out.iter().filter(|left_out| left_out.position.seq() <= seq);
        let summaries = shared.clone().filter(|left_out| left_out.position.summary_number().is_some()).count();
        Self {
            left_out: shared.cloned().collect(),
            seqs: self.seqs.iter().copied().take_while(|missing| *missing <= seq).collect(),
            summaries: summaries as u32,
        }
    }
}

impl<W: MessageWrapper> MessagesManager<W> {
    #[inline]
    pub(super) fn holes(&self) -> &Holes {
        &self.rare.holes
    }

    /// Iterates over the numbers of the missing messages, in order.
    pub(crate) fn missing(&self) -> impl Iterator<Item = u32> {
        self.holes().seqs.iter().copied()
    }

    /// Returns the records that could not be restored, in order. Empty if the conversation was restored with all its
    /// records.
    ///
    /// An entry may also name a newer, missing revision of a message in the list, or a second message that claims the
    /// position of one in the list. The list does not change if such a record is stored later; the next process that
    /// restores the conversation gets it.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.holes().left_out
    }
}
