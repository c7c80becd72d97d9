//! Reads single messages by index, position or id, so that the layers above need no slice of the whole list.

use super::MessagesManager;
use super::add::MAX_MERGED_BYTES;
use crate::message::{
    Content, Message, MessageId, MessageWrapper, Position, Role, ToolCall, ToolCallId, ToolName, ToolResult,
};

impl<W: MessageWrapper> MessagesManager<W> {
    /// Iterates over [`meta_messages`](Self::meta_messages) without copying the list.
    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &W> + ExactSizeIterator + Clone {
        self.list.iter()
    }

    /// Iterates over the messages in memory from this `seq` on. Takes no time for those before.
    pub(crate) fn since(&self, seq: u32) -> impl Iterator<Item = &W> {
        self.list.range(self.index_of(seq)..self.list.end())
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

    /// Returns whether the call with this id has a result before message `seq`.
    pub(crate) fn is_answered_before(&self, id: &ToolCallId, seq: u32) -> bool {
        self.calls.get(id).and_then(|call| call.result).is_some_and(|result| result < seq)
    }

    /// Returns whether the message with this call has left memory.
    pub(crate) fn has_left(&self, id: &ToolCallId) -> bool {
        self.calls.get(id).is_some_and(|call| self.list.get(self.index_of(call.made)).is_none())
    }

    /// Returns the call with this id if it is in memory.
    pub(crate) fn tool_call(&self, id: &ToolCallId) -> Option<&ToolCall> {
        let message = self.list.get(self.index_of(self.calls.get(id)?.made))?.message();
        message.contents().iter().filter_map(Content::as_tool_call).find(|call| call.id() == id)
    }

    /// Returns the result of the call with this id if it is in memory.
    pub(crate) fn result_of(&self, id: &ToolCallId) -> Option<&ToolResult> {
        let message = self.list.get(self.index_of(self.calls.get(id)?.result?))?.message();
        message.contents().iter().filter_map(Content::as_result).find(|result| result.tool_call_id() == id)
    }

    /// Returns the position after the last message of the user in memory.
    pub(crate) fn after_last_user(&self) -> Position {
        let last = self.list.iter().rfind(|wrapper| wrapper.role() == Role::User);
        Position::message(last.map_or(0, |wrapper| wrapper.position().seq() + 1))
    }

    /// Returns the number of messages from the one with this id to the last one, or `None` if it is not in memory.
    pub(crate) fn newest_from(&self, id: MessageId) -> Option<usize> {
        Some(self.list.end() - self.find(&id)?)
    }

    /// Returns the number of messages from the one with the result of a call to the last one, or `None` if it is not in
    /// memory.
    pub(crate) fn newest_from_result(&self, id: &ToolCallId) -> Option<usize> {
        let index = self.index_of(self.calls.get(id)?.result?);
        self.list.get(index).map(|_| self.list.end() - index)
    }

    /// Replaces the result of a call, and returns the message that holds it, or `None` if it is not in memory.
    pub(crate) fn replace_result(&mut self, result: &ToolResult) -> Option<&Message> {
        self.result_of(result.tool_call_id())?;
        let index = self.index_of(self.calls.get(result.tool_call_id())?.result?);
        self.change(index, |message| message.replace_result(result));
        self.list.get(index).map(W::message)
    }

    /// Returns how much larger the message with the result of a call may become, in bytes, so that it can be logged.
    pub(crate) fn room_beside_result(&self, id: &ToolCallId) -> usize {
        let index = self.calls.get(id).and_then(|call| call.result).map(|seq| self.index_of(seq));
        let message = index.and_then(|index| self.list.get(index)).map(W::message);
        message.map_or(0, |message| MAX_MERGED_BYTES.saturating_sub(message.record_bytes()))
    }

    /// Returns the time of this conversation's clock, in milliseconds since the Unix epoch.
    pub(crate) fn now_ms(&self) -> i64 {
        self.sources.clock.now_ms()
    }

    /// Returns the index of the message with this id.
    pub(super) fn find(&self, id: &MessageId) -> Option<usize> {
        let place = self.list.iter().rposition(|wrapper| wrapper.id() == *id)?;
        Some(self.list.first() + place)
    }

    /// Returns the index of message `seq`.
    #[inline]
    pub(super) fn index_of(&self, seq: u32) -> usize {
        self.index(Position::message(seq))
    }

    /// Returns the index of a position. That of a pruned message is before the list. A position of another conversation
    /// gives an unrelated index.
    #[inline]
    pub(super) fn index(&self, position: Position) -> usize {
        match self.last_summary().map(|summary| summary.message().position()) {
            Some(last) if position <= last => self.search(position),
            // Every summary is before it.
            _ => position.seq() as usize - self.holes().before(position.seq()) + self.summaries as usize,
        }
    }

    /// Returns the index of a position that the newest summary covers.
    fn search(&self, position: Position) -> usize {
        let first = self.list.first();
        let is_pruned = self.list.get(first).is_some_and(|oldest| position < oldest.message().position());
        match first.checked_sub(1) {
            Some(before) if is_pruned => before,
            _ => self.list.partition_point(|wrapper| wrapper.message().position() < position),
        }
    }
}
