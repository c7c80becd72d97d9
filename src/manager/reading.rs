//! What the layers above read of a conversation one message at a time, where a slice would have to be gathered first.

use super::MessagesManager;
use crate::message::{InvocationId, MessageWrapper, Position, ToolName};

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
    pub(crate) fn invoked(&self, id: &InvocationId) -> Option<(&ToolName, bool)> {
        self.calls.get(id).map(|call| (call.name(), call.result.is_some()))
    }

    /// The time as this conversation has it, in milliseconds since the epoch.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }
}
