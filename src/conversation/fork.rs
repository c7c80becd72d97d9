//! Forks of a [`Conversation`]: conversations of their own that share what was said up to a point.

use crate::conversation::Conversation;
use crate::conversation::state::Attached;
use crate::log::CallId;
use crate::manager::ForkError;
use crate::message::{Contents, ForkedFrom, MessageId};
use crate::model::NoResult;
use crate::turn::{Host, Manager};

impl Conversation {
    /// A conversation that holds everything up to message `at`, and goes its own way behind it, under an id of its own.
    /// [`MessagesManager::fork`](crate::MessagesManager::fork) says what both share.
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
    /// A tool that runs for this conversation runs for it alone: its call is marked as unknown in the fork.
    ///
    /// Errors: [`ForkError`].
    pub fn fork(&self, at: &MessageId, id: CallId) -> Result<Self, ForkError> {
        self.check_is_another(&id)?;
        self.beside(id, |manager| manager.fork(at, self.id().as_str()))
    }

    /// A [fork](Self::fork) that goes its own way with message `message`: in its place stands one of the same role with
    /// these contents, and nothing behind it.
    ///
    /// Errors: [`ForkError`].
    pub fn fork_edited(
        &self,
        message: &MessageId,
        contents: impl Into<Contents>,
        id: CallId,
    ) -> Result<Self, ForkError> {
        self.check_is_another(&id)?;
        self.beside(id, |manager| manager.edit(message, contents, self.id().as_str()))
    }

    /// Where this conversation left another, and that one, as a fork of its own, another: the nearest first.
    pub fn lineage(&self) -> Vec<ForkedFrom> {
        self.read(|manager| manager.lineage().into_iter().cloned().collect())
    }

    /// A conversation of its own with a manager that comes from this one's, and with the same configuration.
    fn beside<E>(&self, id: CallId, fork: impl FnOnce(&mut Manager) -> Result<Manager, E>) -> Result<Self, E> {
        let (manager, config, is_live) = {
            let mut state = self.state();
            let manager = fork(&mut state.core.manager)?;
            (manager, state.config.clone(), state.attached != Attached::Nobody)
        };
        let fork = Self::of(id, manager).with_config(config);
        if is_live {
            // The source runs them, and the fork never will.
            fork.with(|core| core.end_open_calls(&NoResult::Forked));
        }
        Ok(fork)
    }

    /// Under one id, a log would take the records of one for newer ones of the other.
    fn check_is_another(&self, id: &CallId) -> Result<(), ForkError> {
        if id == self.id() { Err(ForkError::SameConversation) } else { Ok(()) }
    }
}
