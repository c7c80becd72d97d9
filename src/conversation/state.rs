//! [`State`]: the data under a conversation's lock, and the actions that follow each change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};

use tokio::runtime::Handle;
use tokio::time::{Instant, timeout_at};

use super::config::Config;
use super::metrics::CallMetrics;
use super::registry::{History, Needed};
use super::shared::Conversation;
use super::summaries::Summaries;
use crate::log::{CallId, CallWriter, Durability, LogError, Submitted};
use crate::manager::LastMessage;
use crate::memory::ToolUse;
use crate::message::{Content, MessageId, PlainMessage, Position, ToolName};
use crate::model::Tool;
use crate::turn::{CallEvent, Core, Host, Manager, Observer, count};

/// The data under a conversation's lock.
pub(super) struct State {
    pub core: Core,
    pub config: Config,
    pub history: History,
    pub summaries: Summaries,
    pub metrics: CallMetrics,
    pub attached: Attached,
    observer: Option<Arc<dyn Observer>>,
    /// Events that the observer gets next, in their order.
    unobserved: Vec<CallEvent>,
    /// The runtime for tasks; known after the first turn.
    pub runtime: Option<Handle>,
    /// The reason why the log refuses further changes.
    pub not_logged: Option<LogError>,
    /// The first message that the writer treats as part of a reply that is being generated or played.
    open_from: Option<Position>,
}

/// The owner of a conversation's turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attached {
    Nobody,
    Run,
    Call,
}

impl State {
    pub fn new(manager: Manager) -> Self {
        let config = Config::default();
        Self::of(Core::new(manager, config.setup(false)), config, History::default())
    }

    /// Returns the state of a fork, whose manager shares the messages before `seq`. Copies nothing of them.
    pub fn fork(&mut self, manager: Manager, seq: u32) -> Self {
        let core = self.core.fork(manager, self.config.setup(false), seq);
        Self::of(core, self.config.clone(), self.history.fork())
    }

    fn of(core: Core, config: Config, history: History) -> Self {
        Self {
            core,
            config,
            history,
            summaries: Summaries::default(),
            metrics: CallMetrics::default(),
            attached: Attached::Nobody,
            observer: None,
            unobserved: Vec::new(),
            runtime: None,
            not_logged: None,
            open_from: None,
        }
    }

    pub fn set_config(&mut self, config: Config) {
        self.core.setup = config.setup(self.attached == Attached::Call);
        self.config = config;
    }

    /// Returns the messages that must stay in memory.
    pub fn needed(&self) -> Needed {
        if !self.history.is_limited() && !self.releases() {
            return Needed::default();
        }
        let Core { manager, tools_used, setup, ear, .. } = &self.core;
        // A result can replace an unknown outcome only in memory. The service may still report the result of an
        // external tool.
        let is_external = |name: &ToolName| setup.tools.get(name).is_some_and(Tool::is_external);
        let may_arrive = |used: &&ToolUse| used.act().is_some() || is_external(used.tool());
        let unknown = tools_used.unknown().filter(may_arrive).map(|used| used.id().clone());
        let awaited = tools_used.running().into_iter().chain(unknown);
        let awaited = awaited.filter_map(|id| manager.newest_from_result(&id));
        let playing = ear.oldest_unsettled().and_then(|id| manager.newest_from(id));
        Needed { by_call: self.attached == Attached::Call, newest: awaited.chain(playing).max().unwrap_or_default() }
    }

    /// Returns whether messages leave memory once a summary covers them and the log has them.
    fn releases(&self) -> bool {
        self.core.writer.is_some() && !self.config.keeps_all_messages()
    }

    /// Prunes messages over the limit, and those that may be released.
    fn prune(&mut self) {
        let (needed, releases) = (self.needed(), self.releases());
        let Some(limit) = self.history.prunable(&self.core.manager, needed, releases) else { return };
        let first = self.core.manager.first_kept(limit.messages, limit.which);
        self.core.remember(first);
        self.history.prune(&mut self.core.manager, limit);
        self.core.released();
    }

    pub fn attach(&mut self, attached: Attached) {
        self.attached = attached;
        self.core.setup = self.config.setup(attached == Attached::Call);
        self.runtime = Handle::try_current().ok().or(self.runtime.take());
    }

    /// Submits the changes to the log's writer, if logging is due. A change for which the writer has no room is
    /// submitted again with the next change.
    fn log(&mut self) {
        let is_due = std::mem::take(&mut self.core.is_to_be_logged);
        let Some(writer) = self.core.writer.clone() else { return };
        let open_from = self.core.open_from();
        let has_ended = std::mem::replace(&mut self.open_from, open_from) != open_from && self.not_logged.is_none();
        if !is_due && !has_ended {
            return;
        }
        let events = &mut self.core.events;
        match writer.submit_open(&mut self.core.manager, open_from) {
            Ok(Submitted { records, is_full, .. }) => {
                if records > 0 || is_full {
                    events.push(CallEvent::Submitted { records: count(records), is_complete: !is_full });
                }
                if std::mem::take(&mut self.core.is_to_be_stored) {
                    writer.store_soon();
                }
            }
            Err(error) => {
                if self.not_logged.is_none() {
                    tracing::error!(call_id = ?writer.lease().call_id(), %error, "the log accepts nothing more of the call; the conversation continues in memory only");
                    self.not_logged = Some(error);
                }
                events.push(CallEvent::Submitted { records: 0, is_complete: false });
            }
        }
    }
}

impl Conversation {
    /// Submits all changes to the log's writer. Returns `false` if it had no room for some.
    fn submit_all(&self) -> bool {
        self.with(|core| core.is_to_be_logged = true);
        self.read(|manager| manager.new_changes(LastMessage::Include).is_empty())
    }

    /// Works on the state. Before it returns, it submits changes to the log, prunes messages over the limit, and starts
    /// a summary if one is due. It calls observers after it releases the lock.
    pub(super) fn with_state<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        state.history.before_change();
        let result = act(&mut state);
        state.log();
        state.prune();
        self.start_due_summary(&mut state);
        self.report(state);
        result
    }

    /// Returns how durable everything is that was submitted to the log until now, if the conversation is logged.
    ///
    /// An observer learns of changes by [`LogLevel`](crate::turn::CallEvent::LogLevel). When it runs, more may have been
    /// submitted: who tells others that something is stored asks here first. A call that another process has taken over
    /// is never [`Stored`](Durability::Stored) again.
    pub fn log_level(&self) -> Option<Durability> {
        self.state().core.log_level()
    }

    /// Sets the observer.
    pub(super) fn observe(&self, observer: Arc<dyn Observer>) {
        let mut state = self.state();
        let is_first = state.observer.replace(observer).is_none();
        let writer = state.core.writer.clone().filter(|_| is_first);
        drop(state);
        writer.iter().for_each(|writer| self.observe_level(writer));
    }

    /// Reports each change of the level of the writer's records to the observer, if there is one, until the writer is
    /// dropped.
    pub(super) fn observe_level(&self, writer: &CallWriter) {
        let (Ok(runtime), true) = (Handle::try_current(), self.state().observer.is_some()) else { return };
        let (mut level, conversation) = (writer.level_changes(), self.downgrade());
        runtime.spawn(async move {
            while level.changed().await.is_ok() {
                let durability = *level.borrow_and_update();
                let Some(conversation) = conversation.upgrade() else { return };
                conversation.with(|core| core.events.push(CallEvent::LogLevel { durability }));
            }
        });
    }

    /// Passes the new events on to the observer, in their order: whoever calls it also passes on what comes meanwhile,
    /// from other threads or from the observer itself.
    fn report<'a>(&'a self, mut state: MutexGuard<'a, State>) {
        if state.core.events.is_empty() {
            return;
        }
        let State { core, metrics, observer, unobserved, .. } = &mut *state;
        core.events.iter().for_each(|event| metrics.record(event));
        let Some(observer) = observer.clone() else {
            // A process has many calls, and few of them have events at the same time.
            core.events = Vec::new();
            return;
        };
        unobserved.append(&mut core.events);
        if core.is_observed {
            return;
        }
        state.core.is_observed = true;
        while !state.unobserved.is_empty() {
            let events = std::mem::take(&mut state.unobserved);
            // An observer may use the conversation.
            drop(state);
            for event in &events {
                // A faulty observer must not abort a turn.
                if catch_unwind(AssertUnwindSafe(|| observer.observe(self.id(), event))).is_err() {
                    tracing::error!(call_id = ?self.id(), "an observer panicked; the conversation continues");
                }
            }
            state = self.state();
        }
        state.core.is_observed = false;
        state.core.results.notify_waiters();
    }
}

impl Host for Conversation {
    fn call_id(&self) -> &CallId {
        self.id()
    }

    fn is_logged(&self) -> bool {
        self.state().core.writer.is_some()
    }

    async fn stored(&self, by: Instant) -> bool {
        let Some(writer) = self.writer() else { return false };
        loop {
            // Registered before the attempt, so that room freed in between is not missed.
            let room = writer.room();
            if self.submit_all() {
                break;
            }
            if self.state().not_logged.is_some() || timeout_at(by, room).await.is_err() {
                return false;
            }
        }
        let unstored = writer.flush(by.saturating_duration_since(Instant::now())).await;
        // The records of an erased call are dropped, so none of them is unstored.
        if writer.is_refused() {
            return false;
        }
        // A dead letter of an earlier message does not delay a tool, but one with the tool's call does.
        self.read(|manager| {
            let open = manager.open_tool_calls();
            let has_open_call = |message: &PlainMessage| {
                message.contents().iter().filter_map(Content::as_tool_call).any(|call| open.contains(&call.id()))
            };
            let is_of_the_past = |id: MessageId| !manager.get(&id).is_some_and(has_open_call);
            unstored.iter().all(|part| part.is_dead_letter && part.message_id.is_some_and(is_of_the_past))
        })
    }

    fn with<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        self.with_state(|state| act(&mut state.core))
    }
}
