//! The position and the revision of a message.

use std::num::NonZeroU32;

use super::Metadata;
use crate::message::Position;

impl Metadata {
    /// Returns the metadata of a message at another position.
    #[inline]
    pub(in crate::message) fn at(self, position: Position) -> Self {
        // A conversation has at most 9,999 summaries.
        let number = position.summary_number().map_or(0, NonZeroU32::get);
        Self { seq: position.seq(), summary: u16::try_from(number).unwrap_or(u16::MAX), ..self }
    }

    #[inline]
    pub(in crate::message) fn position(&self) -> Position {
        match NonZeroU32::new(self.summary.into()) {
            None => Position::message(self.seq),
            Some(number) => Position::summary(self.seq, number),
        }
    }

    #[inline]
    pub(in crate::message) fn revision(&self) -> u32 {
        self.more.as_ref().map_or(1, |more| more.edits.saturating_add(1))
    }

    pub(in crate::message) fn set_revision(&mut self, revision: NonZeroU32) {
        if revision.get() != self.revision() {
            self.more().edits = revision.get() - 1;
        }
    }
}
