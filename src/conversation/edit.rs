//! [`Edit`]: what may change in a conversation at any time.

use crate::manager::{Entry, ManagerError};
use crate::message::{Attribute, Contents, IntoValue, MessageError, MessageId, PlainMessage, Role, Timing, Value};
use crate::turn::Manager;

/// What may change in a conversation at any time, in a live call and in a run too; made by
/// [`Conversation::edit`](super::Conversation::edit).
#[derive(Debug)]
pub struct Edit<'a> {
    manager: &'a mut Manager,
}

/// Why a conversation was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A live call takes the turns of the conversation.
    #[error("the conversation is in a live call; report what happens to its session, or use `edit`")]
    InCall,
    /// A run takes the turns of the conversation.
    #[error("the conversation is being run; use `add_user` or `edit`, or wait for the run to end")]
    InRun,
    /// There is no such message in memory.
    #[error("there is no message {id} in memory; check the id, or raise the history limit")]
    UnknownMessage {
        /// The id.
        id: MessageId,
    },
    /// The value or the moment is refused.
    #[error(transparent)]
    Value(#[from] MessageError),
    /// The manager refuses the message.
    #[error(transparent)]
    Manager(#[from] ManagerError),
}

impl<'a> Edit<'a> {
    pub(super) fn new(manager: &'a mut Manager) -> Self {
        Self { manager }
    }

    /// The messages as they are.
    pub fn manager(&self) -> &Manager {
        self.manager
    }

    /// Sets custom data of a message. Returns the value that it replaces.
    pub fn set_data(
        &mut self,
        id: &MessageId,
        key: impl Into<String>,
        value: impl IntoValue,
    ) -> Result<Option<Value>, EditError> {
        Ok(self.entry(id)?.set_data(key, value)?)
    }

    /// Removes custom data of a message, and returns it.
    pub fn remove_data(&mut self, id: &MessageId, key: &str) -> Result<Option<Value>, EditError> {
        Ok(self.entry(id)?.remove_data(key))
    }

    /// Marks a message. Returns whether the mark is new.
    pub fn add_attribute(&mut self, id: &MessageId, attribute: Attribute) -> Result<bool, EditError> {
        Ok(self.entry(id)?.add_attribute(attribute))
    }

    /// Sets when something happened to a message, in milliseconds since the Unix epoch. Returns the moment that it replaces.
    pub fn set_timing(&mut self, id: &MessageId, timing: Timing, at_ms: i64) -> Result<Option<i64>, EditError> {
        Ok(self.entry(id)?.set_timing(timing, at_ms)?)
    }

    /// Adds system instructions. In a prompt they follow those that were there at the first request, so that a provider's
    /// cache keeps these. Returns the id of their message.
    pub fn add_system(&mut self, contents: impl Into<Contents>) -> Result<MessageId, EditError> {
        Ok(self.manager.add_system(contents)?.id())
    }

    /// Adds a user message that nobody said: what the model should know to answer. Returns the id of the message.
    pub fn add_context(&mut self, contents: impl Into<Contents>) -> Result<MessageId, EditError> {
        Ok(self.manager.add_apart(Role::User, contents)?.id())
    }

    fn entry(&mut self, id: &MessageId) -> Result<Entry<'_, PlainMessage>, EditError> {
        self.manager.entry(id).ok_or(EditError::UnknownMessage { id: *id })
    }
}
