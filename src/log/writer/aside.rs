//! The records that the log will never take: kept in memory or in the spool until somebody takes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::call::Key;
use super::shared::{CallShared, Weighed};
use super::{Durability, Part, Unstored, WriterTask};
use crate::log::spool::SpoolChange;
use crate::log::{CallId, RecordKey, SetAside};
use crate::message::{MessageId, Position, Record};

/// All that is set aside.
pub(super) type AllAside = BTreeMap<(CallId, Position, MessageId), Kept>;

/// Where a record is that was set aside.
pub(super) enum Kept {
    /// Here, where it goes on taking its room.
    InMemory { set_aside: SetAside, bytes: usize, call: Arc<CallShared> },
    /// In the spool.
    InSpool { revision: u32 },
}

impl Kept {
    fn revision(&self) -> u32 {
        match self {
            Self::InMemory { set_aside, .. } => set_aside.record.revision(),
            Self::InSpool { revision } => *revision,
        }
    }
}

impl WriterTask {
    /// Sets a record aside that waits in memory.
    pub(super) fn put_aside(&mut self, call: &Arc<CallShared>, weighed: Weighed, reason: Box<str>) {
        self.shared.counters.queued.subtract(1);
        let (call_id, key) = (call.claim.call_id().clone(), RecordKey::of(&weighed.record));
        self.say_aside(&call_id, key, &reason);
        let set_aside = SetAside { call_id: call_id.clone(), record: weighed.record, reason };
        self.keep(call_id, key, Kept::InMemory { set_aside, bytes: weighed.bytes, call: call.clone() });
    }

    /// Sets a record aside that is in the spool.
    pub(super) fn set_aside_in_spool(&mut self, call: &Key, key: RecordKey, reason: Box<str>) {
        self.shared.counters.spooled.subtract(1);
        let call_id = call.0.clone();
        self.say_aside(&call_id, key, &reason);
        self.note(SpoolChange::SetAside { call_id: call_id.clone(), key, reason });
        self.keep(call_id, key, Kept::InSpool { revision: key.revision });
    }

    fn say_aside(&self, call_id: &CallId, key: RecordKey, reason: &str) {
        let (message, revision) = (key.id, key.revision);
        tracing::error!(?call_id, %message, revision, %reason, "a record is set aside, for the log will never take it");
    }

    /// An older revision that was set aside makes room for the newer one.
    fn keep(&mut self, call_id: CallId, key: RecordKey, kept: Kept) {
        let is_in_memory = matches!(kept, Kept::InMemory { .. });
        let older = self.set_aside.insert((call_id.clone(), key.position, key.id), kept);
        self.shared.counters.set_aside.add(1);
        if let Some(older) = older {
            self.dropped(&older);
            self.shared.counters.replaced.add(1);
            if let (Kept::InSpool { revision }, true) = (older, is_in_memory) {
                self.note(SpoolChange::Discard(call_id, RecordKey { revision, ..key }));
            }
        }
    }

    /// Whether the spool has set this revision of a record aside, or a newer one.
    pub(super) fn is_aside_in_spool(&self, call_id: &CallId, record: &Record) -> bool {
        let kept = self.set_aside.get(&(call_id.clone(), record.position(), record.id()));
        kept.is_some_and(|kept| matches!(kept, Kept::InSpool { revision } if *revision >= record.revision()))
    }

    /// A newer revision has come of a record that may have been set aside, and may be taken by the log.
    pub(super) fn supersede_aside(&mut self, call_id: &CallId, record: &Record) {
        if self.set_aside.is_empty() {
            return;
        }
        let at = (call_id.clone(), record.position(), record.id());
        if self.set_aside.get(&at).is_none_or(|kept| kept.revision() >= record.revision()) {
            return;
        }
        if let Some(kept) = self.set_aside.remove(&at) {
            self.dropped(&kept);
            self.shared.counters.replaced.add(1);
            if let Kept::InSpool { revision } = kept {
                let key = RecordKey { revision, ..RecordKey::of(record) };
                self.note(SpoolChange::Discard(call_id.clone(), key));
            }
        }
    }

    /// Forgets what was set aside of an erased call.
    pub(super) fn forget_aside(&mut self, call_id: &CallId) {
        let all = std::mem::take(&mut self.set_aside);
        let (gone, kept): (AllAside, AllAside) = all.into_iter().partition(|((of, ..), _)| of == call_id);
        self.set_aside = kept;
        for kept in gone.values() {
            self.dropped(kept);
            self.shared.counters.erased.add(1);
        }
    }

    /// Gives out what was set aside in memory.
    pub(super) fn give_aside(&mut self, reply: oneshot::Sender<Vec<SetAside>>) {
        let all = std::mem::take(&mut self.set_aside);
        let mut taken = Vec::new();
        for (at, kept) in all {
            if let Kept::InMemory { set_aside, .. } = &kept {
                taken.push(set_aside.clone());
                self.dropped(&kept);
                self.shared.counters.taken.add(1);
            } else {
                self.set_aside.insert(at, kept);
            }
        }
        // Whoever asked and is gone has lost them: as any answer that is not waited for.
        let _ = reply.send(taken);
    }

    /// What was set aside in the spool was given out from there.
    pub(super) fn taken_from_spool(&mut self, taken: Vec<(CallId, RecordKey)>) {
        for (call_id, key) in taken {
            let at = (call_id.clone(), key.position, key.id);
            let is_it = self
                .set_aside
                .get(&at)
                .is_some_and(|kept| matches!(kept, Kept::InSpool { revision } if *revision == key.revision));
            if is_it && let Some(kept) = self.set_aside.remove(&at) {
                self.dropped(&kept);
                self.shared.counters.taken.add(1);
                self.note(SpoolChange::Discard(call_id, key));
            }
        }
    }

    fn dropped(&self, kept: &Kept) {
        self.shared.counters.set_aside.subtract(1);
        if let Kept::InMemory { bytes, call, .. } = kept {
            self.shared.give_back(call, *bytes);
        }
    }

    pub(super) fn unstored_aside(&self) -> impl Iterator<Item = Unstored> {
        self.set_aside.iter().map(|((call_id, position, id), kept)| {
            let part = Part::Record { id: *id, position: *position, revision: kept.revision() };
            let (level, error) = match kept {
                Kept::InMemory { set_aside, .. } => (Durability::Accepted, Some(set_aside.reason.clone())),
                Kept::InSpool { .. } => (Durability::Spooled, None),
            };
            Unstored { call_id: call_id.clone(), part, level, is_set_aside: true, error }
        })
    }
}
