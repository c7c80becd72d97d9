//! [`Slots`]: which calls are live, and which ones a task is opening or closing.
//!
//! No lock is held while a session is used or dropped, because a session that ends leaves its slot.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::watch;

use crate::call::session::CallSession;
use crate::conversation::{Conversation, Problem};
use crate::log::{CallId, LogErrorKind};
use crate::turn::Host;

/// The calls of a host, by id.
#[derive(Default)]
pub(super) struct Slots(Mutex<State>);

#[derive(Default)]
struct State {
    is_draining: bool,
    by_id: HashMap<CallId, Slot>,
    /// Closed calls whose tools are still running.
    running_on: HashMap<CallId, Conversation>,
}

enum Slot {
    Live(Arc<CallSession>),
    /// A task is opening or closing the call. The channel closes when the task is finished.
    Busy(watch::Receiver<()>),
}

/// The right to open or close a call. Dropping it frees the slot.
pub(super) struct Claim {
    slots: Arc<Slots>,
    call_id: CallId,
    is_kept: bool,
    /// Dropped after the slot is free, which wakes the waiting tasks.
    _done: watch::Sender<()>,
}

/// A call that a task wants to open.
pub(super) enum Openable {
    Live(Arc<CallSession>),
    Free(Claim),
    Busy(watch::Receiver<()>),
}

/// A call that a task wants to close.
pub(super) enum Closable {
    Live(Arc<CallSession>, Claim),
    Busy(watch::Receiver<()>),
}

impl Slots {
    /// Claims a call that is not live here, or is no longer.
    ///
    /// Returns [`Problem::Draining`] if the host is draining.
    pub fn to_open(self: &Arc<Self>, call_id: &CallId) -> Result<Openable, Problem> {
        let mut ended = None;
        loop {
            let mut state = self.state();
            if state.is_draining {
                return Err(Problem::Draining { call_id: call_id.clone() });
            }
            match state.by_id.get(call_id) {
                Some(Slot::Busy(done)) => return Ok(Openable::Busy(done.clone())),
                Some(Slot::Live(session)) if ended.as_ref().is_none_or(|ended| !Arc::ptr_eq(ended, session)) => {
                    let session = session.clone();
                    drop(state);
                    if is_current(&session) {
                        return Ok(Openable::Live(session));
                    }
                    ended = Some(session);
                }
                // `ended` keeps the session of the slot until the lock is released.
                _ => return Ok(Openable::Free(self.claim(&mut state, call_id))),
            }
        }
    }

    /// Claims a live call. Returns `None` if it is not live.
    pub fn to_close(self: &Arc<Self>, call_id: &CallId) -> Option<Closable> {
        let mut state = self.state();
        match state.by_id.get(call_id)? {
            Slot::Busy(done) => Some(Closable::Busy(done.clone())),
            Slot::Live(session) => {
                let session = session.clone();
                let claim = self.claim(&mut state, call_id);
                Some(Closable::Live(session, claim))
            }
        }
    }

    /// Makes a slot busy. The caller holds the session of the slot, if there is one.
    fn claim(self: &Arc<Self>, state: &mut State, call_id: &CallId) -> Claim {
        let (done, receiver) = watch::channel(());
        state.by_id.insert(call_id.clone(), Slot::Busy(receiver));
        Claim { slots: self.clone(), call_id: call_id.clone(), is_kept: false, _done: done }
    }

    pub fn get(&self, call_id: &CallId) -> Option<Arc<CallSession>> {
        self.state().by_id.get(call_id).and_then(Slot::session)
    }

    pub fn all(&self) -> Vec<Arc<CallSession>> {
        self.state().by_id.values().filter_map(Slot::session).collect()
    }

    /// Refuses new calls from now on. Returns the calls that are live, or being opened or closed.
    pub fn begin_drain(&self) -> Vec<CallId> {
        let mut state = self.state();
        state.is_draining = true;
        state.by_id.keys().cloned().collect()
    }

    /// Takes the conversation of a call that was closed here while its tools ran.
    pub fn take_running_on(&self, call_id: &CallId) -> Option<Conversation> {
        self.state().running_on.remove(call_id)
    }

    /// Removes a session that ended, unless another one has its slot.
    fn leave(&self, call_id: &CallId, session: &Weak<CallSession>, conversation: Option<Conversation>) {
        let mut running_on = std::mem::take(&mut self.state().running_on);
        running_on.extend(conversation.map(|conversation| (call_id.clone(), conversation)));
        running_on.retain(|_, conversation| is_running(conversation));
        let mut state = self.state();
        state.running_on.extend(running_on);
        let is_own = match state.by_id.get(call_id) {
            Some(Slot::Live(live)) => std::ptr::eq(Arc::as_ptr(live), session.as_ptr()),
            _ => false,
        };
        let left = if is_own { state.by_id.remove(call_id) } else { None };
        drop(state);
        drop(left);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn session(&self) -> Option<Arc<CallSession>> {
        match self {
            Self::Live(session) => Some(session.clone()),
            Self::Busy(_) => None,
        }
    }
}

impl Claim {
    /// Ends the claim and puts a live session into the slot. The session leaves the slot when it is closed.
    pub fn keep(mut self, session: &Arc<CallSession>) {
        let (slots, id, weak) = (Arc::downgrade(&self.slots), self.call_id.clone(), Arc::downgrade(session));
        let conversation = session.conversation().downgrade();
        // A session that could not be closed already has it.
        session.leave_host.get_or_init(|| {
            Box::new(move || {
                if let Some(slots) = slots.upgrade() {
                    slots.leave(&id, &weak, conversation.upgrade());
                }
            })
        });
        self.is_kept = true;
        self.slots.state().by_id.insert(self.call_id.clone(), Slot::Live(session.clone()));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_kept {
            self.slots.state().by_id.remove(&self.call_id);
        }
    }
}

/// Returns whether a task of this process runs a tool of the conversation.
fn is_running(conversation: &Conversation) -> bool {
    conversation.with(|core| core.tools_used.is_any_running())
}

/// Returns whether a session can continue: it is not closed, and no other process has taken the call over.
fn is_current(session: &CallSession) -> bool {
    let is_open = session.live(|ear, _| !ear.is_closing).unwrap_or(false);
    is_open && session.conversation().not_logged().is_none_or(|error| error.kind() != LogErrorKind::Fenced)
}
