//! The messages that a summary covers.

use super::{Empty, Metadata};
use crate::message::MessageId;

/// The first message that a summary covers, and the summary before it. The last one follows from its position.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Covered {
    from: Option<u32>,
    previous_summary: Option<MessageId>,
}

impl Empty for Covered {
    const EMPTY: &'static Self = &Self { from: None, previous_summary: None };
}

impl Metadata {
    /// The `seq` of the first message that a summary covers. Its [`Position`](crate::message::Position) has the last.
    pub(crate) fn covers_from(&self) -> Option<u32> {
        self.more.as_ref()?.covered.from
    }

    /// Returns the id of the summary that this summary replaces, if any.
    pub(crate) fn previous_summary(&self) -> Option<MessageId> {
        self.more.as_ref()?.covered.previous_summary
    }

    pub(crate) fn set_covers_from(&mut self, seq: u32) {
        self.more().covered.from = Some(seq);
    }

    pub(crate) fn set_previous_summary(&mut self, id: MessageId) {
        self.more().covered.previous_summary = Some(id);
    }
}
