//! Where a message stands, and what the layers above read one message at a time, so that no slice is gathered for it.

use super::MessagesManager;
use crate::message::{MessageId, MessageWrapper, Position, ToolCallId, ToolName};

impl<W: MessageWrapper> MessagesManager<W> {
    /// Everything in order, as [`meta_messages`](Self::meta_messages), but never gathered for it.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &W> + ExactSizeIterator + Clone {
        self.list.iter()
    }

    /// One of them, by its place among those in memory.
    pub(crate) fn nth(&self, place: usize) -> Option<&W> {
        self.list.get(self.list.first() + place)
    }

    /// The message at a position; `None` where there is none, or not in memory.
    pub(crate) fn at(&self, position: Position) -> Option<&W> {
        self.list.get(self.index(position)).filter(|wrapper| wrapper.message().position() == position)
    }

    /// The tool that the call with this id asks for, and whether the result is there.
    pub(crate) fn invoked(&self, id: &ToolCallId) -> Option<(&ToolName, bool)> {
        self.calls.get(id).map(|call| (call.name, call.result.is_some()))
    }

    /// The time as this conversation has it, in milliseconds since the epoch.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Where the message with this id is in the list.
    pub(super) fn find(&self, id: &MessageId) -> Option<usize> {
        let place = self.list.iter().rposition(|wrapper| wrapper.id() == *id)?;
        Some(self.list.first() + place)
    }

    /// Where a position is in the list; somewhere else, if it is of another conversation.
    pub(super) fn index(&self, position: Position) -> usize {
        self.index_of(position.seq()) + usize::from(position.summary_number().is_some())
    }

    /// Where message `seq` is in the list.
    pub(super) fn index_of(&self, seq: u32) -> usize {
        seq as usize + self.summaries.partition_point(|after| *after < seq)
    }
}
