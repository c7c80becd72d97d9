//! The state that handles and task share: the command channel, the memory budget, the counters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::time::Instant;

use super::call::Gap;
use super::spans::Spans;
use super::status::{Counters, Status};
use super::{Durability, Part, Unstored, unpoisoned};
use crate::log::redaction::Redactors;
use crate::log::{CallEnd, CallHeader, CallId, DeadLetter, LogError, RecordKey, WriterLease};
use crate::manager::Receipt;
use crate::message::{MessageId, Position, Record};

/// A command from a handle to the task.
pub(super) enum Command {
    /// A handle of a call exists.
    Begin(Arc<CallShared>),
    /// The header of a call has to be stored.
    Open(Arc<CallShared>, CallHeader),
    /// Records to store. An empty list reports that the reply of the call has ended.
    Records(Arc<CallShared>, Vec<SizedRecord>),
    Close(Arc<CallShared>, CallEnd),
    /// A closed call continues.
    Reopen(Arc<CallShared>),
    /// The handle of a call was dropped.
    Dropped(Arc<CallShared>),
    /// Answered when everything that was accepted before is stored, or at the deadline.
    Flush {
        call_id: Option<CallId>,
        deadline: Instant,
        reply: oneshot::Sender<Vec<Unstored>>,
    },
    Erase {
        call_id: CallId,
        reply: oneshot::Sender<Result<(), LogError>>,
    },
    /// The log says that the call is erased.
    Forget(CallId),
    /// Answered with the dead letters in memory, of one call or of all calls.
    ReadDeadLetters {
        call_id: Option<CallId>,
        reply: oneshot::Sender<Listed>,
    },
    /// Dead letters are removed; `None` is the header and the end of a call.
    Discard(Vec<(CallId, Option<RecordKey>)>),
    /// Answered with the redacted record of a dead letter, and the handle and the lease that can store it.
    PrepareRetry {
        call_id: CallId,
        record: Record,
        reply: oneshot::Sender<Result<Retry, LogError>>,
    },
    /// The record of a dead letter is stored.
    Retried(Arc<CallShared>, Record),
    /// Ends the task at the deadline, or earlier if everything is stored. The sender is dropped with the task.
    Stop {
        deadline: Instant,
        ended: oneshot::Sender<Vec<Unstored>>,
    },
}

/// The dead letters in memory, and the keys of discarded ones that are still in the spool; a key of `None` means the
/// header and the end of a call.
pub(super) type Listed = (Vec<DeadLetter>, BTreeSet<(CallId, Option<RecordKey>)>);

/// The redacted record of a dead letter, and the handle and the lease that can store it.
pub(super) type Retry = (Arc<CallShared>, WriterLease, Record);

impl Command {
    /// Returns the parts that the command would have stored.
    pub fn unstored(&self) -> Vec<Unstored> {
        let part =
            |call: &CallShared, part| Unstored::new(Some(call.lease.call_id().clone()), part, Durability::Accepted);
        match self {
            Self::Open(call, _) => vec![part(call, Part::Header)],
            Self::Close(call, _) => vec![part(call, Part::CallEnd)],
            Self::Records(call, records) => {
                records.iter().map(|sized| part(call, Part::of(RecordKey::of(&sized.record)))).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The result of an erasure. It is sent once the spool has removed the call as well.
pub(super) struct Erased {
    pub call_id: CallId,
    pub replies: Vec<oneshot::Sender<Result<(), LogError>>>,
    pub result: Result<(), LogError>,
}

impl Erased {
    pub fn send(self) {
        for reply in self.replies {
            // A caller that has gone away can erase again.
            let _ = reply.send(self.result.clone());
        }
    }
}

/// A record and the bytes that it takes of the budget.
pub(super) struct SizedRecord {
    pub record: Record,
    pub bytes: usize,
}

/// The channel to the task. The [`Budget`] bounds it, in bytes.
pub(super) type Commands = mpsc::UnboundedSender<Command>;

/// The state that all handles and the task share.
pub(super) struct Shared {
    pub counters: Counters,
    pub budget: Budget,
    pub max_call_bytes: usize,
    pub acknowledge_at: Durability,
    pub redactors: Redactors,
    /// The parts that were not stored when the task ended.
    pub leftovers: OnceLock<Vec<Unstored>>,
    /// Notified when memory is released.
    pub room: Notify,
}

/// The state that the handle of a call and the task share.
pub(super) struct CallShared {
    pub lease: WriterLease,
    pub gap: Gap,
    /// The positions of the records that the call was resumed without, and the message that the log has there.
    pub left_out: BTreeMap<Position, Option<MessageId>>,
    pub bytes: AtomicUsize,
    /// The changes that the manager has to mark as logged.
    pub receipts: Mutex<Receipt>,
    /// Why the call accepts no more changes. The first reason is kept.
    pub refusal: OnceLock<LogError>,
    pub level: Mutex<Level>,
    /// The submissions that the task has not received.
    pub submitted: AtomicUsize,
    /// The first message of the reply that is being generated or played. This message and later ones will change again.
    pub open_from: Mutex<Option<Position>>,
    /// The spans that the call was resumed with.
    pub spans: Spans,
}

/// The level of a call's least durable record.
pub(super) struct Level {
    now: Durability,
    /// Few calls have somebody who waits for changes.
    changes: Option<watch::Sender<Durability>>,
}

impl CallShared {
    pub fn new(lease: WriterLease, gap: Gap) -> Self {
        let (left_out, bytes, receipts, refusal, submitted, open_from, spans) = Default::default();
        let level = Level { now: Durability::Stored, changes: None }.into();
        Self { lease, gap, left_out, bytes, receipts, refusal, level, submitted, open_from, spans }
    }

    /// Notes that records are on their way to the task, so that nobody takes its earlier level for theirs.
    pub fn begin_submission(&self) {
        self.submitted.fetch_add(1, Ordering::SeqCst);
        self.publish_level(Durability::Accepted);
    }

    /// Notes that the task has the records.
    pub fn end_submission(&self) {
        self.submitted.fetch_sub(1, Ordering::SeqCst);
    }

    /// Publishes the level of the records that the task has.
    pub fn publish_level(&self, level: Durability) {
        let mut known = unpoisoned(&self.level);
        // Refused records are stored nowhere, although nothing waits.
        let is_open = self.submitted.load(Ordering::SeqCst) > 0 || self.refusal.get().is_some();
        let level = if is_open { Durability::Accepted } else { level };
        let has_changed = std::mem::replace(&mut known.now, level) != level;
        if let Some(changes) = known.changes.as_ref().filter(|_| has_changed) {
            changes.send_replace(level);
        }
    }

    /// Returns the level of the call's least durable record.
    pub fn level(&self) -> Durability {
        unpoisoned(&self.level).now
    }

    /// Returns the changes of the level.
    pub fn level_changes(&self) -> watch::Receiver<Durability> {
        let mut level = unpoisoned(&self.level);
        let now = level.now;
        level.changes.get_or_insert_with(|| watch::Sender::new(now)).subscribe()
    }
}

/// The bytes that may wait in memory for all calls, and the bytes that do.
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

    /// Reserves bytes if they fit. An empty budget accepts any size, so that an oversized record is not stuck.
    fn reserve(&self, bytes: usize) -> bool {
        let fits = |taken: usize| (taken == 0 || taken + bytes <= self.max).then_some(taken + bytes);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }
}

impl Shared {
    pub fn count(&self, change: impl FnOnce(&mut Status)) {
        change(&mut unpoisoned(&self.counters.status));
    }

    /// Reserves bytes for a record of a call, and returns false if they do not fit. Only the call's own handle
    /// reserves, so the count of the call does not grow between the check and the reservation.
    pub fn reserve(&self, call: &CallShared, bytes: usize) -> bool {
        let taken = call.bytes.load(Ordering::Relaxed);
        let fits = (taken == 0 || taken + bytes <= self.max_call_bytes) && self.budget.reserve(bytes);
        if fits {
            call.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
        fits
    }

    pub fn release(&self, call: &CallShared, bytes: usize) {
        self.release_from_call(call, bytes);
        self.release_from_process(bytes);
    }

    /// Releases bytes of the call's limit only. A dead letter does not block its call, but still takes memory.
    pub fn release_from_call(&self, call: &CallShared, bytes: usize) {
        call.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.room.notify_waiters();
    }

    pub fn release_from_process(&self, bytes: usize) {
        self.budget.taken.fetch_sub(bytes, Ordering::Relaxed);
        self.room.notify_waiters();
    }
}
