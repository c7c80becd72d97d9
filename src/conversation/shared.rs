//! [`Conversation`]: the messages of one call, how it takes its turns, and where it is logged.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::config::{Config, Models};
use super::edit::{Edit, EditError};
use super::metrics::CallMetrics;
use super::prompt::Prompt;
use super::registry::{ConversationMetadata, History, HistoryLimit};
use super::run::Run;
use super::state::{Attached, State};
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::log::{CallId, CallWriter, LogError};
use crate::manager::MessagesManager;
use crate::message::{Contents, MessageId, PlainMessage, Role, ToolCall, ToolName, ToolResult};
use crate::model::Tool;
use crate::turn::{Host, Observer, ResultRefused};

/// A conversation that many tasks share. Clones are the same conversation.
///
/// It owns the messages, the [configuration](Config) with its tools, the memory, and the handle for logging. A
/// [run](Self::run) or a live call ([`CallSession`](crate::call::CallSession)) takes its turns, one at a time. No method but
/// [`finish`](Self::finish) waits, and a conversation knows no other.
#[derive(Clone)]
pub struct Conversation(Arc<Shared>);

/// A conversation that may be gone.
#[derive(Clone)]
pub(crate) struct WeakConversation(Weak<Shared>);

struct Shared {
    id: CallId,
    state: Mutex<State>,
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
        Self(Arc::new(Shared { id, state: Mutex::new(State::new(manager)) }))
    }

    /// An empty conversation with an id that no other has.
    pub(crate) fn unnamed(config: Config) -> Self {
        Self::unnamed_of(MessagesManager::new()).with_config(config)
    }

    /// The conversation of a manager, with an id that no other has.
    #[expect(clippy::expect_used, reason = "a message id is 26 letters and digits")]
    pub(crate) fn unnamed_of(manager: MessagesManager<PlainMessage>) -> Self {
        let id = MessageId::from(SystemIds.next_id(SystemClock.now_ms())).to_string();
        Self::of(CallId::new(id).expect("26 letters and digits"), manager)
    }

    /// Sets how the conversation takes its turns from now on.
    #[must_use]
    pub fn with_config(self, config: Config) -> Self {
        self.set_config(config);
        self
    }

    /// Sets how the conversation takes its turns: from the next request on.
    pub fn set_config(&self, config: Config) {
        self.with_state(|state| state.set_config(config));
    }

    /// Sets who is told what happens. The observer is called after each change, without the conversation's lock.
    #[must_use]
    pub fn with_observer(self, observer: impl Observer + 'static) -> Self {
        self.state().observer = Some(Arc::new(observer));
        self
    }

    /// Adds a tool, in place of one with its name: from the next request on.
    pub fn add_tool(&self, tool: Tool) {
        self.with_state(|state| state.set_config(state.config.clone().with_tool(tool)));
    }

    /// Withdraws a tool: from the next request on. A call of it that runs comes to its end.
    pub fn remove_tool(&self, name: &ToolName) {
        self.with_state(|state| state.set_config(state.config.clone().without_tool(name)));
    }

    /// Hands what it holds, and from now on all that changes in it, to the writer of a log, without waiting. What finds no
    /// room there comes with the next change. A writer in place of another one is also given what the first was not known
    /// to have written. What has left memory before is not in its log, from which the conversation is not
    /// [restored](MessagesManager::restore) without it. [`finish`](Self::finish) logs how it ended.
    pub fn log(&self, writer: impl Into<Arc<CallWriter>>) {
        self.with_state(|state| {
            state.history.keep_unlogged();
            (state.writer, state.not_logged) = (Some(writer.into()), None);
            // Another writer may have stopped with it.
            state.core.manager.take_back();
            state.core.changed();
        });
    }

    /// Why the log takes nothing more of the conversation, if so: another process owns it, or it was erased.
    pub fn not_logged(&self) -> Option<LogError> {
        self.state().not_logged.clone()
    }

    /// Its id, under which a log keeps it.
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    /// The time of the conversation, in milliseconds since the Unix epoch.
    pub fn now_ms(&self) -> i64 {
        self.state().core.now_ms()
    }

    /// How it takes its turns now.
    pub fn config(&self) -> Config {
        self.state().config.clone()
    }

    /// Reads the messages at one moment. Using the conversation inside `read` deadlocks.
    pub fn read<T>(&self, read: impl FnOnce(&MessagesManager<PlainMessage>) -> T) -> T {
        read(&self.state().core.manager)
    }

    /// Changes the messages at one moment. Using the conversation inside `change`, or dropping a [`Run`] of it, deadlocks.
    ///
    /// Returns [`EditError::InCall`] or [`EditError::InRun`] while a live call or a run takes its turns: they refer to
    /// messages by id and by offset. Then [`edit`](Self::edit) changes what may change.
    pub fn change<T>(&self, change: impl FnOnce(&mut MessagesManager<PlainMessage>) -> T) -> Result<T, EditError> {
        self.with_state(|state| {
            match state.attached {
                Attached::Nobody => {}
                Attached::Run => return Err(EditError::InRun),
                Attached::Call => return Err(EditError::InCall),
            }
            let changed = change(&mut state.core.manager);
            state.core.changed();
            Ok(changed)
        })
    }

    /// Changes what may change at any time, in a live call and in a run too: data, marks and times of messages, system
    /// messages, and context. Using the conversation inside `edit` deadlocks.
    pub fn edit<T>(&self, edit: impl FnOnce(&mut Edit<'_>) -> T) -> T {
        self.with(|core| {
            let edited = edit(&mut Edit::new(&mut core.manager));
            core.changed();
            edited
        })
    }

    /// Adds what the user said. Returns the id of the message that holds it.
    ///
    /// Returns [`EditError::InCall`] in a live call, which has [`caller_said`](crate::call::CallSession::caller_said), and
    /// [`EditError::Manager`] if the manager refuses it.
    pub fn add_user(&self, contents: impl Into<Contents>) -> Result<MessageId, EditError> {
        self.add(Role::User, contents.into())
    }

    /// Adds what the assistant said. Returns the id of the message that holds it.
    ///
    /// Errors: as [`add_user`](Self::add_user); a live call has [`say`](crate::call::CallSession::say).
    pub fn add_assistant(&self, contents: impl Into<Contents>) -> Result<MessageId, EditError> {
        self.add(Role::Assistant, contents.into())
    }

    /// Adds system instructions, in a live call too. Returns the id of their message.
    ///
    /// Errors: as [`Edit::add_system`].
    pub fn add_system(&self, contents: impl Into<Contents>) -> Result<MessageId, EditError> {
        self.edit(|edit| edit.add_system(contents))
    }

    fn add(&self, role: Role, contents: Contents) -> Result<MessageId, EditError> {
        self.with_state(|state| {
            if state.attached == Attached::Call {
                return Err(EditError::InCall);
            }
            let id = state.core.manager.add_message(role, contents)?.id();
            state.core.changed();
            Ok(id)
        })
    }

    /// Reports the result of an [external tool](Tool::external).
    ///
    /// Returns [`ResultRefused`] for a call that is not known, or has a result.
    pub fn tool_result(&self, result: &ToolResult) -> Result<(), ResultRefused> {
        self.with(|core| core.add_result(result))
    }

    /// The tool calls without a result, in order.
    pub fn open_tool_calls(&self) -> Vec<ToolCall> {
        self.state().core.open_calls()
    }

    /// An empty prompt to it: what is to be said next. It can be applied while a run or a live call takes its turns; the
    /// model gets it with the next request.
    #[must_use]
    pub fn continuation(&self) -> Prompt {
        Prompt::to(self.clone())
    }

    /// Asks the model, and runs the tools that it calls, until it has said its final text. See [`Run`].
    ///
    /// One run at a time: while another run or a live call takes the turns, the run gives an error.
    pub fn run(&self) -> Run {
        Run::begin(self).unwrap_or_else(Run::failed)
    }

    /// What is known of it as a whole, with what has left memory.
    pub fn metadata(&self) -> ConversationMetadata {
        self.with_history(|history, manager| history.metadata(self.id(), manager))
    }

    /// Its turns, tools, summaries and tokens so far.
    pub fn totals(&self) -> CallMetrics {
        self.state().totals.clone()
    }

    pub(super) fn limit_history(&self, limit: HistoryLimit) {
        let mut state = self.state();
        let needed = state.needed();
        let State { core, history, .. } = &mut *state;
        history.limit(limit, &mut core.manager, needed);
    }

    pub(super) fn with_history<T>(
        &self,
        look: impl FnOnce(&mut History, &mut MessagesManager<PlainMessage>) -> T,
    ) -> T {
        let State { core, history, .. } = &mut *self.state();
        look(history, &mut core.manager)
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn downgrade(&self) -> WeakConversation {
        WeakConversation(Arc::downgrade(&self.0))
    }
}

impl WeakConversation {
    pub fn upgrade(&self) -> Option<Conversation> {
        self.0.upgrade().map(Conversation)
    }
}

/// The id, and how many messages it has.
impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Conversation")
            .field("id", self.id())
            .field("manager", &state.core.manager)
            .field("config", &state.config)
            .field("attached", &state.attached)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WeakConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakConversation")
    }
}

/// The models of a service that has one.
pub(crate) fn one_model(model: impl crate::model::Model + 'static) -> Models {
    Models::default().with("default", "default", model)
}
