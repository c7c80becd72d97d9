//! Forks of a [`Conversation`]: new conversations that share its messages up to a point.

use crate::conversation::Conversation;
use crate::conversation::state::Attached;
use crate::log::CallId;
use crate::manager::ForkError;
use crate::message::{Contents, ForkedFrom, MessageId};
use crate::model::NoResult;
use crate::turn::{Host, Manager};

impl Conversation {
    /// Returns a new conversation with all messages up to and including `at`, and with the same configuration.
    /// [`MessagesManager::fork`](crate::MessagesManager::fork) documents what both share.
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
    /// The fork has neither a log nor an observer. The result of a tool that is running goes only to this conversation;
    /// in the fork, the tool call gets an error result, because its outcome is unknown there.
    ///
    /// Returns [`ForkError`] if `at` cannot be the last message of a fork, or if `id` is the id of this conversation.
    pub fn fork(&self, at: &MessageId, id: CallId) -> Result<Self, ForkError> {
        self.check_id(&id)?;
        self.fork_with(id, |manager| manager.fork(at, self.id().as_str()))
    }

    /// Returns a [fork](Self::fork) that ends with `message`, and in which `message` has these new contents.
    ///
    /// Returns [`ForkError`] if the message cannot be edited, or if `id` is the id of this conversation.
    pub fn fork_edited(
        &self,
        message: &MessageId,
        contents: impl Into<Contents>,
        id: CallId,
    ) -> Result<Self, ForkError> {
        self.check_id(&id)?;
        self.fork_with(id, |manager| manager.edit(message, contents, self.id().as_str()))
    }

    /// Returns the conversations that this one was forked from, the nearest first.
    pub fn lineage(&self) -> Vec<ForkedFrom> {
        self.read(|manager| manager.lineage().into_iter().cloned().collect())
    }

    /// Creates a conversation from a fork of the manager, with the same configuration.
    fn fork_with<E>(&self, id: CallId, fork: impl FnOnce(&mut Manager) -> Result<Manager, E>) -> Result<Self, E> {
        let (manager, config, is_live) = {
            let mut state = self.state();
            let manager = fork(&mut state.core.manager)?;
            (
                manager,
                state.config.clone(),
                state.attached != Attached::Nobody || state.core.tools_used.is_any_running(),
            )
        };
        let fork = Self::from_manager(id, manager).with_config(config);
        fork.with(|core| {
            // Only the source gets the results of tools, and looks up what became of them.
            core.inherited.clear();
            if is_live {
                core.end_open_calls(&NoResult::Forked);
            }
        });
        Ok(fork)
    }

    /// Refuses the same id, because a log would mix up the records of the two.
    fn check_id(&self, id: &CallId) -> Result<(), ForkError> {
        if id == self.id() { Err(ForkError::SameConversation) } else { Ok(()) }
    }
}
