//! Forks of a [`Conversation`]: new conversations that share its messages up to a point.

use crate::conversation::Conversation;
use crate::log::CallId;
use crate::manager::{ManagerError, Refusal};
use crate::message::{Contents, ForkedFrom, MessageId, PlainMessage};
use crate::turn::{Core, Host, Manager};

impl Conversation {
    /// Returns a new conversation with all messages up to and including `at`, and with the same configuration.
    /// [`MessagesManager::fork`](crate::MessagesManager::fork) documents what the two conversations share.
    ///
    /// ```
    /// # use verbale::conversation::Conversation;
    /// # use verbale::log::CallId;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let call = Conversation::new(CallId::new("CA1")?);
    /// let asked = call.add_user("Where is my parcel?")?;
    /// call.add_assistant("Which one?")?;
    ///
    /// let other = call.fork_edited(&asked, "Where is my letter?", CallId::new("CA1-2")?)?;
    /// assert_eq!(other.read(|manager| manager.message_count()), 1);
    /// assert_eq!(call.read(|manager| manager.message_count()), 2);
    /// assert_eq!(*other.lineage()[0].conversation, *"CA1");
    /// # Ok(()) }
    /// ```
    ///
    /// The fork has neither a log nor an observer. It shares the memory up to `at`, including that of messages that
    /// left memory. It never runs or [resumes](crate::model::Tool::resume) the tool calls up to `at`. Those without a
    /// result get an error result in the fork at once, because the fork does not learn their outcome.
    ///
    /// Takes the time of [`MessagesManager::fork`](crate::MessagesManager::fork).
    ///
    /// Returns [`ManagerError`] if `at` cannot be the last message of a fork, or if `id` is the id of this conversation.
    pub fn fork(&self, at: &MessageId, id: CallId) -> Result<Self, ManagerError> {
        self.fork_with(id, |manager| manager.fork(at, self.id().as_str()))
    }

    /// Returns a [fork](Self::fork) that ends with `message`, and in which `message` has these new contents.
    ///
    /// Returns [`ManagerError`] if the message cannot be edited, or if `id` is the id of this conversation.
    pub fn fork_edited(
        &self,
        message: &MessageId,
        contents: impl Into<Contents>,
        id: CallId,
    ) -> Result<Self, ManagerError> {
        self.fork_with(id, |manager| manager.edit(message, contents, self.id().as_str()))
    }

    /// Returns the conversations that this one was forked from, the direct source first.
    pub fn lineage(&self) -> Vec<ForkedFrom> {
        self.read(|manager| manager.lineage().into_iter().cloned().collect())
    }

    /// Creates a conversation from a fork of the manager.
    fn fork_with(
        &self,
        id: CallId,
        fork: impl FnOnce(&mut Manager) -> Result<Manager, ManagerError>,
    ) -> Result<Self, ManagerError> {
        // With one id, a log would mix the records of both conversations.
        if id == *self.id() {
            return Err(Refusal::SameConversation.into());
        }
        let state = {
            let mut state = self.state();
            let manager = fork(&mut state.core.manager)?;
            // The last shared message has a mark.
            let is_shared =
                |it: &&PlainMessage| it.metadata().forked_from().is_some_and(|source| source.after.is_some());
            let last = manager.all().rfind(is_shared).map(|shared| shared.position().seq());
            state.fork(manager, last.map_or(0, |last| last + 1))
        };
        let fork = Self::of(id, state);
        fork.with(Core::end_inherited_calls);
        Ok(fork)
    }
}
