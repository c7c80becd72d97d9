//! Reads single messages by index, position or id, so that the layers above need no slice of the whole list.

use super::MessagesManager;
use crate::message::{MessageId, MessageWrapper, Position, ToolCallId, ToolName};

impl<W: MessageWrapper> MessagesManager<W> {
    /// Iterates over [`meta_messages`](Self::meta_messages) without copying the list.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &W> + ExactSizeIterator + Clone {
        self.list.iter()
    }

    /// Returns the message at this place among those in memory.
    pub(crate) fn nth(&self, place: usize) -> Option<&W> {
        self.list.get(self.list.first() + place)
    }

    /// Returns the message at a position if it is in memory.
    pub(crate) fn at(&self, position: Position) -> Option<&W> {
        self.list.get(self.index(position)).filter(|wrapper| wrapper.message().position() == position)
    }

    /// Returns the tool of the call with this id, and whether the call has a result.
    pub(crate) fn invoked(&self, id: &ToolCallId) -> Option<(&ToolName, bool)> {
        self.calls.get(id).map(|call| (call.name, call.result.is_some()))
    }

    /// Returns the time of this conversation's clock, in milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Returns the index of the message with this id.
    pub(super) fn find(&self, id: &MessageId) -> Option<usize> {
        let place = self.list.iter().rposition(|wrapper| wrapper.id() == *id)?;
        Some(self.list.first() + place)
    }

    /// Returns the index of a position. A position of another conversation gives an unrelated index.
    pub(super) fn index(&self, position: Position) -> usize {
        self.index_of(position.seq()) + usize::from(position.summary_number().is_some())
    }

    /// Returns the index of message `seq`.
    pub(super) fn index_of(&self, seq: u32) -> usize {
        seq as usize + self.summaries.partition_point(|after| *after < seq)
    }
}
