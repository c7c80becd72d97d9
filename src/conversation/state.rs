//! [`State`]: what a conversation's lock protects, and what follows from each change of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, MutexGuard};

use tokio::runtime::Handle;

use super::config::Config;
use super::metrics::CallMetrics;
use super::registry::{History, Needed};
use super::shared::Conversation;
use super::summaries::Summaries;
use crate::log::{CallId, CallWriter, HandedOver, NotAccepted};
use crate::manager::LastMessage;
use crate::turn::{CallEvent, Core, Host, Manager, Observer, count};

/// What a conversation's lock protects.
pub(super) struct State {
    pub core: Core,
    pub config: Config,
    pub history: History,
    pub summaries: Summaries,
    pub totals: CallMetrics,
    pub attached: Attached,
    pub observer: Option<Arc<dyn Observer>>,
    /// Where tasks are spawned; known once a turn was taken.
    pub runtime: Option<Handle>,
    pub writer: Option<Arc<CallWriter>>,
    /// Why the log takes nothing any more.
    pub not_logged: Option<NotAccepted>,
}

/// Who takes the turns of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attached {
    Nobody,
    Run,
    Call,
}

impl State {
    pub fn new(manager: Manager) -> Self {
        let config = Config::default();
        Self {
            core: Core::new(manager, config.setup(false)),
            config,
            history: History::default(),
            summaries: Summaries::default(),
            totals: CallMetrics::default(),
            attached: Attached::Nobody,
            observer: None,
            runtime: None,
            writer: None,
            not_logged: None,
        }
    }

    pub fn set_config(&mut self, config: Config) {
        self.core.setup = config.setup(self.attached == Attached::Call);
        self.config = config;
    }

    /// What has to stay in memory.
    pub fn needed(&self) -> Needed {
        match self.attached {
            Attached::Call => Needed::ByCall(self.core.ear.oldest_needed()),
            Attached::Nobody | Attached::Run => Needed::ByNobody,
        }
    }

    pub fn attach(&mut self, attached: Attached) {
        self.attached = attached;
        self.core.setup = self.config.setup(attached == Attached::Call);
        self.runtime = Handle::try_current().ok().or(self.runtime.take());
    }

    /// Hands what is new to the log's writer, if something asked for it. What finds no room there comes with the next change.
    fn log(&mut self) {
        if !std::mem::take(&mut self.core.is_to_be_logged) {
            return;
        }
        let Some(writer) = &self.writer else { return };
        let events = &mut self.core.events;
        match writer.submit(&mut self.core.manager, LastMessage::Include) {
            Ok(HandedOver { records, is_full, .. }) => {
                if records > 0 {
                    events.push(CallEvent::Submitted { records: count(records) });
                }
                if is_full {
                    events.push(CallEvent::NotSubmitted);
                }
            }
            Err(error) => {
                if self.not_logged.is_none() {
                    tracing::error!(call_id = ?writer.lease().call_id(), %error, "nothing of the call is logged any more");
                    self.not_logged = Some(error);
                }
                events.push(CallEvent::NotSubmitted);
            }
        }
    }
}

impl Conversation {
    /// Works on the state. Before this returns, what is new goes to the log, what is over the limit leaves memory, and a
    /// summary begins if one is due. Observers are called after the lock is released.
    pub(super) fn with_state<T>(&self, act: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state();
        let State { core, history, .. } = &mut *state;
        history.changing(&core.manager);
        let done = act(&mut state);
        state.log();
        let needed = state.needed();
        let State { core, history, .. } = &mut *state;
        history.changed(&mut core.manager, needed);
        self.begin_summary_if_due(&mut state);
        self.report(state);
        done
    }

    fn report(&self, mut state: MutexGuard<'_, State>) {
        if state.core.events.is_empty() {
            return;
        }
        let events = std::mem::take(&mut state.core.events);
        for event in &events {
            state.totals.note(event);
        }
        let observer = state.observer.clone();
        // Observers may use the conversation.
        drop(state);
        let Some(observer) = observer else { return };
        for event in &events {
            // A faulty observer must not end a turn in the middle.
            if catch_unwind(AssertUnwindSafe(|| observer.observe(event))).is_err() {
                tracing::error!(call_id = ?self.id(), "an observer panicked");
            }
        }
    }
}

impl Host for Conversation {
    fn call_id(&self) -> &CallId {
        self.id()
    }

    fn with<T>(&self, act: impl FnOnce(&mut Core) -> T) -> T {
        self.with_state(|state| act(&mut state.core))
    }
}
