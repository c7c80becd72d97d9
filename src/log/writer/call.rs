//! [`CallState`]: the task's state of one call.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::shared::{CallShared, SizedRecord};
use super::spans::Spans;
use super::{Durability, Part, Unstored};
use crate::log::silence::Watch;
use crate::log::{CallEnd, CallHeader, CallId, LogError, RecordKey, WriterLease};
use crate::message::{Position, Record, Role};

/// A call and the epoch at which its writer began to serve.
pub(super) type Key = (CallId, u32);

pub(super) fn key_of(lease: &WriterLease) -> Key {
    (lease.call_id().clone(), lease.served())
}

/// The task's state of one call: the parts to store, and when the next attempt is due.
///
/// Each part has a number, in the order in which the task accepted the parts of all calls.
pub(super) struct CallState {
    pub lease: WriterLease,
    /// The live handles of the call, usually one.
    pub handles: Vec<Arc<CallShared>>,
    // Boxed, because it is stored soon, and a call has this state until its end.
    pub opening: Option<(u64, Box<CallHeader>)>,
    pub call_end: Option<(u64, CallEnd)>,
    /// The newest revision of each message that waits in memory.
    pub waiting: BTreeMap<Position, Waiting>,
    /// The newest revision of each message that waits in the spool.
    pub spooled: BTreeMap<Position, Spooled>,
    /// The records that the log has without some of their contents. They are retried after all others.
    pub unfinished: BTreeSet<Position>,
    pub spans: Spans,
    pub gap: Gap,
    /// True while an attempt runs, or while its result is being written to the spool.
    pub is_busy: bool,
    /// True while another process may be taking the call over. Its records are held until the header shows which
    /// process writes it.
    pub is_contested: bool,
    pub watch: Option<Watch>,
    /// When the lease is due for renewal.
    pub renew_at: Option<Instant>,
    /// True once the end of the call is stored.
    pub is_closed: bool,
    /// True until the header was read, for a call of which the spool had only dead letters: another process may have
    /// erased it.
    pub may_be_erased: bool,
    pub failures: u32,
    pub due: Option<Instant>,
    pub error: Option<LogError>,
    pub erase_replies: Vec<oneshot::Sender<Result<(), LogError>>>,
}

pub(super) struct Waiting {
    pub number: u64,
    pub record: Record,
    pub bytes: usize,
    /// The handle whose limit the bytes count towards.
    pub call: Arc<CallShared>,
    pub route: Route,
    /// True if the current commit of the spool contains this revision.
    pub is_committing: bool,
}

/// Whether the log may lack an earlier record of the call. No fence protects positions after a missing record from a
/// writer that has lost its call: see `dynamodb/resume/mod.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// The call was opened or resumed here, and everything was written in order.
    None,
    /// An earlier process or handle may have left a gap.
    Unknown,
    /// A record became a dead letter.
    Left,
}

/// The next destination of a record in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Route {
    Log,
    Spool,
}

pub(super) struct Spooled {
    pub number: u64,
    pub key: RecordKey,
    pub bytes: usize,
}

/// The result of adding a record to a call.
pub(super) enum Arrival {
    New,
    /// The record replaces an older revision, which counted this many bytes towards a handle's limit.
    Replaces(Arc<CallShared>, usize),
    /// The same or a newer revision waits already.
    Known,
    /// Another message waits at the same position.
    Conflict(LogError),
}

impl CallState {
    pub fn new(lease: WriterLease) -> Self {
        Self {
            lease,
            handles: Vec::new(),
            opening: None,
            call_end: None,
            waiting: BTreeMap::new(),
            spooled: BTreeMap::new(),
            unfinished: BTreeSet::new(),
            spans: Spans::default(),
            gap: Gap::Unknown,
            is_busy: false,
            is_contested: false,
            watch: None,
            renew_at: None,
            is_closed: false,
            may_be_erased: false,
            failures: 0,
            due: None,
            error: None,
            erase_replies: Vec::new(),
        }
    }

    pub fn add_handle(&mut self, handle: &Arc<CallShared>) {
        if !self.handles.iter().any(|known| Arc::ptr_eq(known, handle)) {
            self.handles.push(handle.clone());
            self.spans.merge(handle.spans.clone());
            // A later handle may know an expiry that an earlier one did not, or the reverse.
            let call_id = handle.lease.call_id().clone();
            let expires_at_s = handle.lease.expires_at_s().or(self.lease.expires_at_s());
            let epoch = self.lease.epoch().max(handle.lease.epoch());
            self.lease = WriterLease::restored(call_id, epoch, handle.lease.served(), expires_at_s);
        }
        if self.gap == Gap::Unknown {
            self.gap = handle.gap;
        }
    }

    pub fn add_record(&mut self, number: u64, sized: &SizedRecord, call: &Arc<CallShared>, route: Route) -> Arrival {
        let record = &sized.record;
        if record.role() == Role::User && !record.is_fake() {
            self.spans.note_caller();
        }
        let (position, id, revision) = (record.position(), record.id(), record.revision());
        let in_spool = self.spooled.get(&position).map(|spooled| (spooled.key.id, spooled.key.revision));
        let in_memory = self.waiting.get(&position).map(|waiting| (waiting.record.id(), waiting.record.revision()));
        for (found, found_revision) in in_spool.into_iter().chain(in_memory) {
            if found != id {
                return Arrival::Conflict(LogError::other_message(self.lease.call_id(), position, id, found));
            }
            if found_revision >= revision {
                return Arrival::Known;
            }
        }
        // While one record of the call bypasses the spool, all do, so that they stay in order.
        let bypasses = self.waiting.values().any(|waiting| waiting.route == Route::Log);
        let route = if bypasses { Route::Log } else { route };
        let (record, bytes, call) = (record.clone(), sized.bytes, call.clone());
        let waiting = Waiting { number, record, bytes, call, route, is_committing: false };
        match self.waiting.insert(position, waiting) {
            None => Arrival::New,
            Some(older) => {
                // Flushes that wait for the older revision now wait for the newer one.
                if let Some(newer) = self.waiting.get_mut(&position) {
                    newer.number = older.number;
                }
                Arrival::Replaces(older.call, older.bytes)
            }
        }
    }

    /// Removes a record from memory.
    pub fn remove_waiting(&mut self, position: Position) -> Option<Waiting> {
        let waiting = self.waiting.remove(&position);
        if self.waiting.is_empty() {
            // An emptied map keeps room for 11 records.
            self.waiting = BTreeMap::new();
        }
        waiting
    }

    /// Returns true if no work is left and no handle can bring more.
    pub fn is_done(&self) -> bool {
        self.handles.is_empty() && !self.has_work() && !self.is_busy
    }

    pub fn has_work(&self) -> bool {
        self.opening.is_some()
            || self.call_end.is_some()
            || !self.erase_replies.is_empty()
            || !self.waiting.is_empty()
            || !self.spooled.is_empty()
            || self.may_be_erased
    }

    /// Publishes the level of the least durable record to the handles.
    pub fn publish_level(&self) {
        let level = match (self.waiting.is_empty(), self.spooled.is_empty()) {
            (false, _) => Durability::Accepted,
            (true, false) => Durability::Spooled,
            (true, true) => Durability::Stored,
        };
        for handle in &self.handles {
            handle.publish_level(level);
        }
    }

    /// The keys of all waiting records. If a message waits in spool and memory, its older revision comes first.
    pub fn keys(&self) -> Vec<RecordKey> {
        let waiting = self.waiting.values().map(|waiting| RecordKey::of(&waiting.record));
        self.spooled.values().map(|spooled| spooled.key).chain(waiting).collect()
    }

    /// Makes all handles refuse further changes.
    pub fn refuse_changes(&self, error: &LogError) {
        for handle in &self.handles {
            let _ = handle.refusal.set(error.clone());
        }
    }

    /// Returns true if a newer revision of the message waits.
    pub fn has_newer(&self, key: RecordKey) -> bool {
        let in_memory = self.waiting.get(&key.position).map(|waiting| waiting.record.revision());
        let in_spool = self.spooled.get(&key.position).map(|spooled| spooled.key.revision);
        in_memory.max(in_spool).is_some_and(|revision| revision > key.revision)
    }

    /// Returns the parts up to a number that are not stored.
    pub fn unstored(&self, up_to: u64) -> impl Iterator<Item = Unstored> {
        let spooled = self.spooled.values().map(|it| (it.number, Part::of(it.key), Durability::Spooled));
        let waiting = self.waiting.values().map(|it| (it.number, RecordKey::of(&it.record)));
        let waiting = waiting.map(|(number, key)| (number, Part::of(key), Durability::Accepted));
        let opening = self.opening.iter().map(|(number, _)| (*number, Part::Header, Durability::Accepted));
        let call_end = self.call_end.iter().map(|(number, _)| (*number, Part::CallEnd, Durability::Accepted));
        let parts = opening.chain(spooled).chain(waiting).chain(call_end).filter(move |(number, ..)| *number <= up_to);
        parts.map(move |(_, part, level)| Unstored {
            error: self.error.as_ref().map(|error| super::error_chain(error)),
            ..Unstored::new(Some(self.lease.call_id().clone()), part, level)
        })
    }
}
