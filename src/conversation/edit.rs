//! [`Edit`]: the changes that are allowed at any time.

use super::error::{ConversationError, Problem};
use crate::manager::Entry;
use crate::message::{Attribute, Contents, Draft, MessageError, MessageId, PlainMessage, Timing, Value};
use crate::turn::Manager;

/// The changes that are allowed at any time, even in a live call or a run; see
/// [`Conversation::edit`](super::Conversation::edit).
///
/// Methods that take an id return [`NotFound`](super::ConversationErrorKind::NotFound) if the message is not in memory,
/// and [`Refused`](super::ConversationErrorKind::Refused) if the value is invalid.
#[derive(Debug)]
pub struct Edit<'a> {
    manager: &'a mut Manager,
    /// The `seq` of each message that was opened.
    opened: Vec<u32>,
}

impl<'a> Edit<'a> {
    pub(super) fn new(manager: &'a mut Manager) -> Self {
        Self { manager, opened: Vec::new() }
    }

    /// Returns the `seq` of each message that was opened.
    pub(super) fn opened(self) -> Vec<u32> {
        self.opened
    }

    /// Sets custom data of a message. Returns the previous value.
    pub fn set_data(
        &mut self,
        id: &MessageId,
        key: impl Into<String>,
        value: impl TryInto<Value, Error: Into<MessageError>>,
    ) -> Result<Option<Value>, ConversationError> {
        Ok(self.entry(id)?.set_data(key, value)?)
    }

    /// Adds an attribute, which marks a message. Returns whether the attribute is new.
    pub fn add_attribute(&mut self, id: &MessageId, attribute: Attribute) -> Result<bool, ConversationError> {
        Ok(self.entry(id)?.add_attribute(attribute))
    }

    /// Sets a time of a message, in milliseconds since the Unix epoch. Returns the previous time.
    pub fn set_timing(&mut self, id: &MessageId, timing: Timing, at_ms: i64) -> Result<Option<i64>, ConversationError> {
        Ok(self.entry(id)?.set_timing(timing, at_ms)?)
    }

    /// Adds background for the model, which nobody said, as a user message with the attribute
    /// [`Hardcoded`](Attribute::Hardcoded). The model need not answer it, and the memory takes no facts from it.
    /// Returns the id of the message.
    pub fn add_context(&mut self, contents: impl Into<Contents>) -> Result<MessageId, ConversationError> {
        Ok(self.manager.add(Draft::background(contents))?.id())
    }

    /// Adds system instructions. Requests place them as those of
    /// [`Conversation::add_system`](super::Conversation::add_system). Returns the id of the message.
    pub fn add_system(&mut self, contents: impl Into<Contents>) -> Result<MessageId, ConversationError> {
        Ok(self.manager.add_system(contents)?.id())
    }

    fn entry(&mut self, id: &MessageId) -> Result<Entry<'_, PlainMessage>, ConversationError> {
        let entry = self.manager.entry(id).ok_or(Problem::UnknownMessage { id: *id })?;
        self.opened.push(entry.position().seq());
        Ok(entry)
    }
}
