//! [`CallState`]: what the task knows of one call.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::shared::{CallShared, Weighed};
use super::{Durability, NotAccepted, Part, Unstored};
use crate::log::{CallEnd, CallHeader, CallId, LogError, RecordKey, WriterLease};
use crate::message::{Position, Record};

/// Which call, and which of its writers.
pub(super) type Key = (CallId, u32);

pub(super) fn key_of(lease: &WriterLease) -> Key {
    (lease.call_id().clone(), lease.epoch())
}

/// What the task knows of one call: what is still to be written of it, and when the next attempt is due.
pub(super) struct CallState {
    pub lease: WriterLease,
    /// Of its handles what they share with the task. Usually there is one.
    pub handles: Vec<Arc<CallShared>>,
    /// With the number of each part in the order in which all parts of all calls were accepted.
    pub opening: Option<(u64, CallHeader)>,
    pub call_end: Option<(u64, CallEnd)>,
    /// In memory: the newest revision of each message.
    pub waiting: BTreeMap<Position, Waiting>,
    /// In the spool, likewise.
    pub spooled: BTreeMap<Position, Spooled>,
    pub gap: Gap,
    /// Whether an attempt is being made, or what it did is being written down in the spool.
    pub is_busy: bool,
    /// Whether records go before the header, whose last attempt failed.
    pub header_waits: bool,
    pub failures: u32,
    pub due: Option<Instant>,
    pub error: Option<Arc<LogError>>,
    pub erasing: Vec<oneshot::Sender<Result<(), LogError>>>,
}

pub(super) struct Waiting {
    pub number: u64,
    pub record: Record,
    pub bytes: usize,
    /// Whose room it takes.
    pub call: Arc<CallShared>,
    pub place: Place,
    /// Whether this revision is in the commit of the spool that is under way.
    pub is_committing: bool,
}

/// Whether the log lacks a record in front of those that are still to come. Behind it no fence meets a writer that has
/// lost its call: see `dynamodb/resume/mod.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// All is written in its order: the call began here, or was resumed here.
    None,
    /// An earlier life of the process may have left one.
    Unknown,
    /// Something was set aside.
    Left,
}

/// Where a record that waits in memory goes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Log,
    Spool,
}

pub(super) struct Spooled {
    pub number: u64,
    pub key: RecordKey,
}

/// What to do next for a call.
pub(super) enum Step {
    Open(CallHeader),
    Put(Vec<Record>),
    PutSpooled,
    Close(CallEnd),
    Erase,
}

/// What becomes of a record that comes in.
pub(super) enum Arrival {
    /// It waits.
    New,
    /// It waits in place of an older revision, which took so many bytes of a call.
    Replaces(Arc<CallShared>, usize),
    /// The same or a newer revision waits already.
    Known,
    /// Another message waits in its place.
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
            gap: Gap::Unknown,
            is_busy: false,
            header_waits: false,
            failures: 0,
            due: None,
            error: None,
            erasing: Vec::new(),
        }
    }

    pub fn know(&mut self, handle: &Arc<CallShared>) {
        if !self.handles.iter().any(|known| Arc::ptr_eq(known, handle)) {
            self.handles.push(handle.clone());
            // What it was opened with may have come later than the first handle.
            self.lease = handle.lease.clone();
        }
        if self.gap == Gap::Unknown {
            self.gap = handle.gap;
        }
    }

    /// Takes a record in.
    pub fn arrive(&mut self, number: u64, weighed: &Weighed, call: &Arc<CallShared>, place: Place) -> Arrival {
        let record = &weighed.record;
        let (position, id, revision) = (record.position(), record.id(), record.revision());
        let of_spool = self.spooled.get(&position).map(|spooled| (spooled.key.id, spooled.key.revision));
        let of_memory = self.waiting.get(&position).map(|waiting| (waiting.record.id(), waiting.record.revision()));
        for (found, found_revision) in of_spool.into_iter().chain(of_memory) {
            if found != id {
                let call_id = self.lease.call_id().clone();
                return Arrival::Conflict(LogError::OtherMessage { call_id, position, id, found });
            }
            if found_revision >= revision {
                return Arrival::Known;
            }
        }
        // Once records of a call go past the spool, all do, until there are none: so that they stay in their order.
        let goes_past = self.waiting.values().any(|waiting| waiting.place == Place::Log);
        let place = if goes_past { Place::Log } else { place };
        let waiting = Waiting {
            number,
            record: record.clone(),
            bytes: weighed.bytes,
            call: call.clone(),
            place,
            is_committing: false,
        };
        match self.waiting.insert(position, waiting) {
            None => Arrival::New,
            Some(older) => {
                // What waited for it still does, with the newer revision.
                if let Some(newer) = self.waiting.get_mut(&position) {
                    newer.number = older.number;
                }
                Arrival::Replaces(older.call, older.bytes)
            }
        }
    }

    /// What to do next, if anything can be done.
    pub fn next_step(&mut self, batch: usize) -> Option<Step> {
        if self.is_busy {
            return None;
        }
        if !self.erasing.is_empty() {
            return Some(Step::Erase);
        }
        let opening = self.opening.as_ref().map(|(_, header)| Step::Open(header.clone()));
        if opening.is_some() && !self.header_waits {
            return opening;
        }
        self.header_waits = false;
        if !self.spooled.is_empty() {
            return Some(Step::PutSpooled);
        }
        // What is on its way to the spool came first, and goes to the log first.
        let is_spooling = self.waiting.values().any(|waiting| waiting.place == Place::Spool);
        if !is_spooling && !self.waiting.is_empty() {
            let ready = self.waiting.values().take(batch.max(1));
            return Some(Step::Put(ready.map(|waiting| waiting.record.clone()).collect()));
        }
        let call_end = self.call_end.as_ref().filter(|_| self.waiting.is_empty());
        opening.or_else(|| call_end.map(|(_, call_end)| Step::Close(call_end.clone())))
    }

    /// Whether nothing is left to do for it, and nobody will bring more.
    pub fn is_done(&self) -> bool {
        self.handles.is_empty() && !self.has_work() && !self.is_busy
    }

    pub fn has_work(&self) -> bool {
        self.opening.is_some()
            || self.call_end.is_some()
            || !self.erasing.is_empty()
            || !self.waiting.is_empty()
            || !self.spooled.is_empty()
    }

    /// The records that wait, in the spool and in memory: of a message that waits in both, the older revision first.
    pub fn keys(&self) -> Vec<RecordKey> {
        let waiting = self.waiting.values().map(|waiting| RecordKey::of(&waiting.record));
        self.spooled.values().map(|spooled| spooled.key).chain(waiting).collect()
    }

    /// Refuses all that is still to come.
    pub fn end(&self, error: &Arc<LogError>) {
        for handle in &self.handles {
            // The first reason stays.
            let _ = handle.over.set(NotAccepted::Over(error.clone()));
        }
    }

    /// Whether a newer revision of a message waits, or is in the spool.
    pub fn has_newer(&self, key: RecordKey) -> bool {
        let of_memory = self.waiting.get(&key.position).map(|waiting| waiting.record.revision());
        let of_spool = self.spooled.get(&key.position).map(|spooled| spooled.key.revision);
        of_memory.max(of_spool).is_some_and(|revision| revision > key.revision)
    }

    /// What was accepted up to a number, and is not stored.
    pub fn unstored(&self, up_to: u64) -> impl Iterator<Item = Unstored> {
        let part = |part, level| Unstored {
            call_id: Some(self.lease.call_id().clone()),
            part,
            level,
            is_dead_letter: false,
            error: self.error.as_deref().map(|error| super::reason_of(error)),
        };
        let is_before = move |number: &u64| *number <= up_to;
        let opening = self.opening.iter().filter(move |(number, _)| is_before(number));
        let opening = opening.map(move |_| part(Part::Header, Durability::Accepted));
        let spooled = self.spooled.values().filter(move |spooled| is_before(&spooled.number));
        let spooled = spooled.map(move |spooled| part(Part::of(spooled.key), Durability::Spooled));
        let waiting = self.waiting.values().filter(move |waiting| is_before(&waiting.number));
        let waiting = waiting.map(move |waiting| part(Part::of(RecordKey::of(&waiting.record)), Durability::Accepted));
        let call_end = self.call_end.iter().filter(move |(number, _)| is_before(number));
        let call_end = call_end.map(move |_| part(Part::CallEnd, Durability::Accepted));
        opening.chain(spooled).chain(waiting).chain(call_end)
    }
}
