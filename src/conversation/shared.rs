//! [`Conversation`]: the messages of one call, its configuration, and its log, under one lock.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::config::{Config, Models};
use super::edit::Edit;
use super::error::{ConversationError, Problem};
use super::metrics::CallMetrics;
use super::prompt::Prompt;
use super::registry::{ConversationMetadata, History, HistoryLimit};
use super::run::Run;
use super::state::{Attached, State};
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::log::{CallId, CallWriter, LogError};
use crate::manager::MessagesManager;
use crate::memory::Fact;
use crate::message::{Contents, MessageId, PlainMessage, Role, ToolCall, ToolResult};
use crate::turn::{Core, Host, Observer};

/// A conversation that many tasks share. Clones are the same conversation.
///
/// It owns the messages, the [configuration](Config) with its tools, the memory, and the handle for logging. Its turns
/// belong to one [run](Self::run) or one live call ([`CallSession`](crate::call::CallSession)) at a time. Only
/// [`finish`](Self::finish) and [`whole`](Self::whole) wait, for the log. Conversations do not affect each other.
#[derive(Clone)]
pub struct Conversation(Arc<Shared>);

/// A handle that does not keep its conversation alive.
#[derive(Clone)]
pub(crate) struct WeakConversation(Weak<Shared>);

struct Shared {
    id: CallId,
    state: Mutex<State>,
}

impl Conversation {
    /// Creates an empty conversation, with the system's clock and random ids.
    pub fn new(id: CallId) -> Self {
        Self::from_manager(id, MessagesManager::new())
    }

    /// Creates the conversation of a manager, such as a [restored](MessagesManager::restore) one, or one with a
    /// [clock](MessagesManager::with_clock) of its own.
    pub fn from_manager(id: CallId, manager: MessagesManager<PlainMessage>) -> Self {
        Self::of(id, State::new(manager))
    }

    pub(super) fn of(id: CallId, state: State) -> Self {
        Self(Arc::new(Shared { id, state: Mutex::new(state) }))
    }

    /// Creates an empty conversation with a unique id.
    pub(crate) fn unnamed(config: Config) -> Self {
        Self::unnamed_of(MessagesManager::new()).with_config(config)
    }

    /// Creates the conversation of a manager, with a unique id.
    #[expect(clippy::expect_used, reason = "a message id is 26 letters and digits")]
    pub(crate) fn unnamed_of(manager: MessagesManager<PlainMessage>) -> Self {
        let id = MessageId::from(SystemIds.next_id(SystemClock.now_ms())).to_string();
        Self::from_manager(CallId::new(id).expect("26 letters and digits"), manager)
    }

    /// Replaces the whole configuration of this conversation, and so of all clones. It takes effect with the next
    /// request.
    #[must_use]
    pub fn with_config(self, config: Config) -> Self {
        self.with_state(|state| state.set_config(config));
        self
    }

    /// Sets the observer, in place of an earlier one. It gets each event after the conversation's lock is released.
    #[must_use]
    pub fn with_observer(self, observer: impl Observer + 'static) -> Self {
        self.observe(Arc::new(observer));
        self
    }

    /// Submits the messages, and from now on every change, to the writer of a log. Never waits.
    ///
    /// A change for which the writer has no room is submitted again with the next change. A new writer also gets the
    /// changes that the previous writer did not acknowledge. Messages that left memory earlier are not submitted. A log
    /// without them cannot [restore](MessagesManager::restore) the conversation. [`finish`](Self::finish) logs the end.
    ///
    /// Within a tokio runtime, the observer gets a [`LogLevel`](crate::turn::CallEvent::LogLevel) whenever the
    /// durability changes.
    pub fn log(&self, writer: impl Into<Arc<CallWriter>>) {
        let writer = writer.into();
        self.observe_level(&writer);
        self.with_state(|state| {
            state.history.keep_unlogged();
            (state.core.writer, state.not_logged) = (Some(writer), None);
            // The previous writer may have stopped before it stored them.
            state.core.manager.take_back();
            state.core.is_to_be_logged = true;
        });
    }

    /// Returns why the log accepts nothing more of the conversation: another process owns the call, or the call was
    /// erased. Returns `None` as long as no change was refused.
    pub fn not_logged(&self) -> Option<LogError> {
        self.state().not_logged.clone()
    }

    /// Returns the id, which is also the id of the call in a log.
    pub fn id(&self) -> &CallId {
        &self.0.id
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.state().core.now_ms()
    }

    /// Returns a copy of the configuration.
    pub fn config(&self) -> Config {
        self.state().config.clone()
    }

    /// Calls `read` with the messages, under the conversation's lock, and returns its result. Using the conversation
    /// inside `read` deadlocks.
    pub fn read<T>(&self, read: impl FnOnce(&MessagesManager<PlainMessage>) -> T) -> T {
        read(&self.state().core.manager)
    }

    /// Calls `change` with the messages, under the conversation's lock, and returns its result. Using the conversation
    /// inside `change`, or dropping a [`Run`] of it there, deadlocks.
    ///
    /// Returns [`InUse`](super::ConversationErrorKind::InUse) if a live call or a run owns the turns, because both
    /// refer to messages by id and offset. [`edit`](Self::edit) is allowed even then.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut MessagesManager<PlainMessage>) -> T,
    ) -> Result<T, ConversationError> {
        self.with_state(|state| {
            match state.attached {
                Attached::Nobody => {}
                Attached::Run => {
                    let advice = "use `add_user` or `edit`, or wait for the run to end";
                    return Err(Problem::InRun { advice }.into());
                }
                Attached::Call => return Err(Problem::IN_CALL.into()),
            }
            state.history.update(&state.core.manager);
            let changed = change(&mut state.core.manager);
            state.core.changed();
            Ok(changed)
        })
    }

    /// Makes changes that are allowed at any time, even in a live call or a run: data, marks and times of messages, system
    /// messages, and context. Using the conversation inside `edit` deadlocks. Costs time in proportion to the changes.
    pub fn edit<T>(&self, edit: impl FnOnce(&mut Edit<'_>) -> T) -> T {
        self.with(|core| {
            let next = core.manager.next_seq();
            let mut changes = Edit::new(&mut core.manager);
            let edited = edit(&mut changes);
            let opened = changes.opened();
            core.edited(&opened, next);
            edited
        })
    }

    /// Adds a user message. Returns its id, or the id of the message with which it was merged.
    ///
    /// Returns [`InUse`](super::ConversationErrorKind::InUse) in a live call, which uses
    /// [`caller_said`](crate::call::CallSession::caller_said), and [`Refused`](super::ConversationErrorKind::Refused)
    /// if the manager refuses the message.
    pub fn add_user(&self, contents: impl Into<Contents>) -> Result<MessageId, ConversationError> {
        self.add(Role::User, contents.into())
    }

    /// Adds an assistant message. Returns its id, or the id of the message with which it was merged.
    ///
    /// Returns the errors of [`add_user`](Self::add_user). A live call uses [`say`](crate::call::CallSession::say).
    pub fn add_assistant(&self, contents: impl Into<Contents>) -> Result<MessageId, ConversationError> {
        self.add(Role::Assistant, contents.into())
    }

    /// Adds system instructions, in a live call too. Returns the id of their message.
    ///
    /// Requests place them after the instructions of the first request, so that the provider's prompt cache stays
    /// valid.
    ///
    /// Returns [`Refused`](super::ConversationErrorKind::Refused) if the manager refuses the message.
    pub fn add_system(&self, contents: impl Into<Contents>) -> Result<MessageId, ConversationError> {
        self.add(Role::System, contents.into())
    }

    fn add(&self, role: Role, contents: Contents) -> Result<MessageId, ConversationError> {
        self.with_state(|state| {
            if state.attached == Attached::Call && role != Role::System {
                return Err(Problem::IN_CALL.into());
            }
            let last = state.core.last_seq();
            let id = state.core.manager.add_message(role, contents)?.id();
            state.core.added_from(last);
            Ok(id)
        })
    }

    /// Reports the result of an [external tool](crate::model::Tool::external).
    ///
    /// Returns [`Refused`](super::ConversationErrorKind::Refused) if the call is unknown, has a result, or is a call of
    /// another tool.
    pub fn tool_result(&self, result: &ToolResult) -> Result<(), ConversationError> {
        Ok(self.with(|core| core.add_result(result))?)
    }

    /// Returns the tool calls without a result, in order.
    pub fn open_tool_calls(&self) -> Vec<ToolCall> {
        self.state().core.open_calls()
    }

    /// Returns the facts from words of the caller and the assistant, oldest first, and then those from tools. Values
    /// that a correction replaced are left out. A slot has several values if none of them corrects another.
    ///
    /// Covers the messages in memory, and those that left it after a request. The facts together are about as long as
    /// the memory can show: the latest, the most repeated and the caller's stay longest. Searches the last messages
    /// again, which takes time in proportion to their length.
    pub fn facts(&self) -> Vec<Fact> {
        self.with(Core::all_facts)
    }

    /// Returns an empty prompt for this conversation. Applying it while a run or a live call owns the turns is allowed;
    /// it takes effect with the next request.
    #[must_use]
    pub fn continuation(&self) -> Prompt {
        Prompt::to(self.clone())
    }

    /// Starts a [`Run`], which calls the model and the tools that the model asks for, until the final text.
    ///
    /// If another run or a live call owns the turns, the first item of the run is an error.
    pub fn run(&self) -> Run {
        Run::begin(self).unwrap_or_else(|problem| Run::failed(problem.into()))
    }

    /// Returns the metadata of the conversation, which include messages that have left memory.
    pub fn metadata(&self) -> ConversationMetadata {
        self.with_history(|history, manager| history.metadata(self.id(), manager))
    }

    /// Returns the metrics of the conversation so far: turns, tools, summaries and tokens.
    pub fn metrics(&self) -> CallMetrics {
        self.state().metrics.clone()
    }

    pub(super) fn limit_history(&self, limit: HistoryLimit) {
        self.with_state(|state| state.history.limit(limit));
    }

    pub(super) fn with_history<T>(
        &self,
        work: impl FnOnce(&mut History, &mut MessagesManager<PlainMessage>) -> T,
    ) -> T {
        let State { core, history, .. } = &mut *self.state();
        work(history, &mut core.manager)
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

/// Prints the id and the number of messages.
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

/// Returns the models of a service with one model.
pub(crate) fn one_model(model: impl crate::model::Model + 'static) -> Models {
    Models::default().with("default", "default", model)
}
