//! [`Conversation`]: a manager that many tasks share, with how it is run and where it is logged.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::config::{Config, Models, Setting};
use super::error::{PromptError, RunError};
use super::prompt::Prompt;
use super::registry::{ConversationMetadata, History, HistoryLimit};
use super::run::Run;
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::log::{CallId, CallWriter, NotAccepted};
use crate::manager::{MessagesManager, Tail};
use crate::message::{Draft, MessageId, PlainMessage};

/// A conversation that many tasks share. Clones are the same conversation.
///
/// It owns the messages, the [configuration](Config) with its tools, and the way into the log. Nothing in it waits while
/// it is changed or read, and it knows no other conversation.
#[derive(Clone)]
pub struct Conversation(Arc<Shared>);

struct Shared {
    id: CallId,
    state: Mutex<State>,
}

struct State {
    manager: MessagesManager<PlainMessage>,
    history: History,
    config: Config,
    is_running: bool,
    writer: Option<Arc<CallWriter>>,
    /// Why the log takes nothing any more.
    not_logged: Option<NotAccepted>,
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
        let (config, is_running, writer, not_logged) = (Config::default(), false, None, None);
        let history = History::default();
        let state = State { manager, history, config, is_running, writer, not_logged };
        Self(Arc::new(Shared { id, state: Mutex::new(state) }))
    }

    /// An empty conversation with an id that no other has.
    #[expect(clippy::expect_used, reason = "a message id is 26 letters and digits")]
    pub(super) fn unnamed(models: Models) -> Self {
        let id = MessageId::from(SystemIds.next_id(SystemClock.now_ms())).to_string();
        Self::new(CallId::new(id).expect("26 letters and digits")).with_config(Config::new(models))
    }

    /// The same conversation, which from now on is run like this.
    #[must_use]
    pub fn with_config(self, config: Config) -> Self {
        self.state().config = config;
        self
    }

    /// Hands what it holds, and from now on all that changes in it, to the writer of a log, without waiting. What finds no
    /// room there comes with the next change. A writer in the place of another one is also given what that was not known
    /// to have written. What has left memory before is not in its log, from which the conversation is not
    /// [restored](MessagesManager::restore) without it. [`finish`](Self::finish) writes down how it ended.
    pub fn log(&self, writer: impl Into<Arc<CallWriter>>) {
        let mut state = self.state();
        state.history.keep_unlogged();
        state.change(|state| {
            (state.writer, state.not_logged) = (Some(writer.into()), None);
            // Another writer may have stopped with it.
            state.manager.take_back();
        });
    }

    /// Why nothing of it is logged any more, where that is so.
    pub fn not_logged(&self) -> Option<NotAccepted> {
        self.state().not_logged.clone()
    }

    pub(super) fn writer(&self) -> Option<Arc<CallWriter>> {
        self.state().writer.clone()
    }

    /// Its id, under which a log keeps it.
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    /// How it is run now.
    pub fn config(&self) -> Config {
        self.state().config.clone()
    }

    /// What is read of it at one moment. Everyone else waits for `read`, which must not use the conversation itself.
    pub fn read<T>(&self, read: impl FnOnce(&MessagesManager<PlainMessage>) -> T) -> T {
        read(&self.state().manager)
    }

    /// What is changed in it at one moment. Everyone else waits for `change`, which must not use the conversation itself,
    /// nor drop a [`Run`] of it.
    pub fn change<T>(&self, change: impl FnOnce(&mut MessagesManager<PlainMessage>) -> T) -> T {
        self.state().change(|state| change(&mut state.manager))
    }

    /// An empty prompt to it: what is to be said next. It can be taken and applied while the conversation is run; the model
    /// gets it with the next request.
    #[must_use]
    pub fn continuation(&self) -> Prompt {
        Prompt::to(self.clone())
    }

    /// Asks the model, and runs the tools that it calls, until it has said its final text. See [`Run`].
    ///
    /// One run at a time: while another one goes on, all that this one gives is
    /// [`AlreadyRunning`](RunError::AlreadyRunning).
    pub fn run(&self) -> Run {
        Run::begin(self).unwrap_or_else(Run::failed)
    }

    /// Adds these messages and changes the configuration, or does nothing of it.
    pub(super) fn apply(&self, drafts: Vec<Draft>, settings: Vec<Setting>) -> Result<(), PromptError> {
        self.state().change(|state| {
            let config = state.config.with(settings)?;
            state.manager.add_all(drafts).map_err(|(index, source)| PromptError::Message { index, source })?;
            state.config = config;
            Ok(())
        })
    }

    /// Takes the conversation for a run. Errors: it is taken.
    pub(super) fn begin_run(&self) -> Result<Running, RunError> {
        if std::mem::replace(&mut self.state().is_running, true) {
            return Err(RunError::AlreadyRunning);
        }
        Ok(Running(self.clone()))
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
        let State { manager, history, .. } = &mut *self.state();
        look(history, manager)
    }

    /// A conversation of its own with a manager that comes from this one's; all else it takes over.
    pub(super) fn beside<E>(
        &self,
        id: CallId,
        fork: impl FnOnce(&mut MessagesManager<PlainMessage>) -> Result<MessagesManager<PlainMessage>, E>,
    ) -> Result<Self, E> {
        let mut state = self.state();
        let manager = fork(&mut state.manager)?;
        Ok(Self::of(id, manager).with_config(state.config.clone()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// What was changed goes to the log, and what the log has may leave memory.
    fn change<T>(&mut self, change: impl FnOnce(&mut Self) -> T) -> T {
        self.history.changing(&self.manager);
        let changed = change(self);
        self.hand_over();
        self.history.changed(&mut self.manager);
        changed
    }

    fn hand_over(&mut self) {
        let Some(writer) = &self.writer else { return };
        if let Err(error) = writer.hand_over(&mut self.manager, Tail::Include)
            && self.not_logged.is_none()
        {
            tracing::error!(call_id = ?writer.claim().call_id(), %error, "nothing of the conversation is logged any more");
            self.not_logged = Some(error);
        }
    }
}

/// A conversation that is being run, until this is dropped.
pub(super) struct Running(Conversation);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.state().is_running = false;
    }
}

/// Which one, and how many messages it has.
impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Conversation")
            .field("id", self.id())
            .field("manager", &state.manager)
            .field("config", &state.config)
            .field("is_running", &state.is_running)
            .finish_non_exhaustive()
    }
}
