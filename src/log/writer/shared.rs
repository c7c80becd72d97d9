//! What the handles and the task share: the way in, and how much of it is taken.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::Instant;

use super::call::Gap;
use super::status::{Counters, Status};
use super::{Durability, NotAccepted, Part, Unstored, WhenFull, unpoisoned};
use crate::log::{CallEnd, CallHeader, CallId, DeadLetter, LogError, RecordKey, Remedy, WriterLease};
use crate::manager::Receipt;
use crate::message::Record;

/// What the task is told.
pub(super) enum Order {
    /// There is a handle of a call.
    Begin(Arc<CallShared>),
    /// The header of a call is to be written.
    Open(Arc<CallShared>, CallHeader),
    Records(Arc<CallShared>, Vec<Weighed>),
    Close(Arc<CallShared>, CallEnd),
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
    /// What is set aside in memory is to be shown. It stays there until it is known to be taken.
    ReadDeadLetters {
        reply: oneshot::Sender<Vec<DeadLetter>>,
    },
    Taken(Vec<(CallId, RecordKey)>),
    Stop,
}

impl Order {
    /// What would have been written.
    pub fn unstored(&self) -> Vec<Unstored> {
        let part = |call: &CallShared, part| Unstored {
            call_id: Some(call.lease.call_id().clone()),
            part,
            level: Durability::Accepted,
            is_dead_letter: false,
            error: None,
        };
        match self {
            Self::Open(call, _) => vec![part(call, Part::Header)],
            Self::Close(call, _) => vec![part(call, Part::CallEnd)],
            Self::Records(call, records) => {
                let key = |weighed: &Weighed| Part::of(RecordKey::of(&weighed.record));
                records.iter().map(|weighed| part(call, key(weighed))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// What came of erasing a call, for those who asked: it waits for the spool to forget it too.
pub(super) struct Erased {
    pub call_id: CallId,
    pub asked: Vec<oneshot::Sender<Result<(), LogError>>>,
    pub result: Result<(), LogError>,
}

impl Erased {
    /// Answers the first with the result, and the others with one like it.
    pub fn answer(self) {
        let mut result = Some(self.result);
        let is_ok = matches!(result, Some(Ok(())));
        for to in self.asked {
            let again = || {
                let what = format!("erasing call {}", self.call_id);
                if is_ok { Ok(()) } else { Err(LogError::backend(what, Remedy::Retry, "it failed for another one")) }
            };
            // Whoever asked and is gone can ask again.
            let _ = to.send(result.take().unwrap_or_else(again));
        }
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
    /// What was not stored when the task ended.
    pub left: OnceLock<Vec<Unstored>>,
    /// Told when something that waited in memory is gone.
    pub room: Notify,
}

/// What the handle of a call and the task share.
pub(super) struct CallShared {
    pub lease: WriterLease,
    /// Whether the log lacks something of the call.
    pub gap: Gap,
    pub bytes: AtomicUsize,
    /// What the manager is to be told.
    pub receipts: Mutex<Receipt>,
    /// Why nothing of it is written any more.
    pub over: OnceLock<NotAccepted>,
}

impl CallShared {
    pub fn new(lease: WriterLease, gap: Gap) -> Self {
        Self { lease, gap, bytes: AtomicUsize::new(0), receipts: Mutex::default(), over: OnceLock::new() }
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
    pub fn count(&self, change: impl FnOnce(&mut Status)) {
        change(&mut unpoisoned(&self.counters.status));
    }

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
        self.keep_of_all(call, bytes);
        self.give_back_of_all(bytes);
    }

    /// What is set aside is not in the way of its call, but takes its room in the process on.
    pub fn keep_of_all(&self, call: &CallShared, bytes: usize) {
        call.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.room.notify_waiters();
    }

    pub fn give_back_of_all(&self, bytes: usize) {
        self.budget.give_back(bytes);
        self.room.notify_waiters();
    }
}
