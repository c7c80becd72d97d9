//! What the handles and the task share: the way in, and how much of it is taken.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::status::Counters;
use super::{Durability, NotAccepted, Unstored, WhenFull};
use crate::log::{CallHeader, CallId, Claim, Ending, LogError, RecordKey, SetAside};
use crate::manager::Receipt;
use crate::message::Record;

/// What the task is told.
pub(super) enum Order {
    /// A call begins: its header is to be written.
    Open(Arc<CallShared>, CallHeader),
    Records(Arc<CallShared>, Vec<Weighed>),
    Close(Arc<CallShared>, Ending),
    /// The handle of a call is gone.
    Gone(Arc<CallShared>),
    /// To be answered when all that came before is durable, or at the deadline.
    Flush {
        of: Option<CallId>,
        until: Instant,
        reply: oneshot::Sender<Vec<Unstored>>,
    },
    Erase {
        call_id: CallId,
        reply: oneshot::Sender<Result<(), LogError>>,
    },
    TakeSetAside {
        reply: oneshot::Sender<Vec<SetAside>>,
    },
    TakenFromSpool(Vec<(CallId, RecordKey)>),
    Stop,
}

/// An answer that has to wait for something to be written down.
pub(super) struct Reply {
    pub to: oneshot::Sender<Result<(), LogError>>,
    pub result: Result<(), LogError>,
}

impl Reply {
    pub fn send(self) {
        // Whoever asked and is gone can ask again.
        let _ = self.to.send(self.result);
    }
}

/// A record and how much it weighs.
pub(super) struct Weighed {
    pub record: Record,
    pub bytes: usize,
}

/// The way to the task. Bounded by the [`Budget`], in bytes.
pub(super) type Orders = mpsc::UnboundedSender<Order>;

/// What all handles and the task share.
pub(super) struct Shared {
    pub counters: Counters,
    pub budget: Budget,
    pub max_call_bytes: usize,
    pub when_full: WhenFull,
    pub acknowledge_at: Durability,
    /// Told when something that waited in memory is gone.
    pub room: Notify,
}

/// What the handle of a call and the task share.
pub(super) struct CallShared {
    pub claim: Claim,
    pub bytes: AtomicUsize,
    /// What the manager is to be told.
    pub receipts: Mutex<Receipt>,
    /// Why nothing of it is written any more.
    pub over: OnceLock<NotAccepted>,
}

impl CallShared {
    pub fn new(claim: Claim) -> Self {
        Self { claim, bytes: AtomicUsize::new(0), receipts: Mutex::default(), over: OnceLock::new() }
    }
}

/// How many bytes may wait in memory, and how many do.
pub(super) struct Budget {
    max: usize,
    taken: AtomicUsize,
}

impl Budget {
    pub fn new(max: usize) -> Self {
        Self { max, taken: AtomicUsize::new(0) }
    }

    pub fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    /// Takes some, if there is room, or nothing is taken yet: what is larger than all of it goes alone.
    pub fn take(&self, bytes: usize) -> bool {
        let fits = |taken: usize| (taken == 0 || taken + bytes <= self.max).then_some(taken + bytes);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    pub fn take_in_any_case(&self, bytes: usize) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn give_back(&self, bytes: usize) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }
}

impl Shared {
    /// Takes room for a record of a call. Only the call's own handle takes, so that its count does not grow in between.
    pub fn take(&self, call: &CallShared, bytes: usize) -> bool {
        let taken = call.bytes.load(Ordering::Relaxed);
        let fits = (taken == 0 || taken + bytes <= self.max_call_bytes) && self.budget.take(bytes);
        if !fits {
            if self.when_full == WhenFull::KeepPending {
                return false;
            }
            self.budget.take_in_any_case(bytes);
        }
        call.bytes.fetch_add(bytes, Ordering::Relaxed);
        true
    }

    pub fn give_back(&self, call: &CallShared, bytes: usize) {
        call.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.budget.give_back(bytes);
        self.room.notify_waiters();
    }
}
