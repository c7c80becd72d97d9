//! [`Conversation`]: a manager that many tasks share.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::registry::{ConversationMetadata, History, HistoryLimit};
use crate::clock::{Clock, IdSource};
use crate::log::CallId;
use crate::manager::MessagesManager;
use crate::message::PlainMessage;

/// A conversation that many tasks share. Clones are the same conversation.
///
/// Nothing in it waits while it is changed or read, and it knows no other conversation.
#[derive(Clone)]
pub struct Conversation(Arc<Shared>);

struct Shared {
    id: CallId,
    state: Mutex<State>,
}

struct State {
    manager: MessagesManager<PlainMessage>,
    history: History,
}

impl Conversation {
    /// An empty conversation, with the time and the randomness of the machine.
    pub fn new(id: CallId) -> Self {
        Self::of(id, MessagesManager::new())
    }

    /// An empty conversation, with its time and ids from elsewhere.
    pub fn with_clock(id: CallId, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        Self::of(id, MessagesManager::with_clock(clock, ids))
    }

    /// The conversation of a manager, such as a [restored](MessagesManager::restore) one.
    pub fn of(id: CallId, manager: MessagesManager<PlainMessage>) -> Self {
        Self(Arc::new(Shared { id, state: Mutex::new(State { manager, history: History::default() }) }))
    }

    /// Its id, under which a log keeps it.
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    /// What is read of it at one moment.
    pub fn read<T>(&self, read: impl FnOnce(&MessagesManager<PlainMessage>) -> T) -> T {
        read(&self.state().manager)
    }

    /// What is changed in it at one moment.
    pub fn change<T>(&self, change: impl FnOnce(&mut MessagesManager<PlainMessage>) -> T) -> T {
        let State { manager, history } = &mut *self.state();
        history.changing(manager);
        let changed = change(manager);
        history.changed(manager);
        changed
    }

    /// What is known of it as a whole, with what has left memory.
    pub fn metadata(&self) -> ConversationMetadata {
        self.with_history(|history, manager| history.metadata(self.id(), manager))
    }

    pub(super) fn limit_history(&self, limit: HistoryLimit) {
        self.with_history(|history, manager| history.limit(limit, manager));
    }

    pub(super) fn with_history<T>(
        &self,
        look: impl FnOnce(&mut History, &mut MessagesManager<PlainMessage>) -> T,
    ) -> T {
        let State { manager, history } = &mut *self.state();
        look(history, manager)
    }

    /// A conversation of its own with a manager that comes from this one's; all else it takes over.
    pub(super) fn beside<E>(
        &self,
        id: CallId,
        fork: impl FnOnce(&mut MessagesManager<PlainMessage>) -> Result<MessagesManager<PlainMessage>, E>,
    ) -> Result<Self, E> {
        let mut state = self.state();
        let state = State { manager: fork(&mut state.manager)?, history: History::default() };
        Ok(Self(Arc::new(Shared { id, state: Mutex::new(state) })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Which one, and how many messages it has.
impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").field("id", self.id()).field("manager", &self.state().manager).finish()
    }
}
