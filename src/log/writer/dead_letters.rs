//! The records that the log will never take: kept in memory or in the spool until somebody takes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::call::{Gap, Key, key_of};
use super::shared::{CallShared, Weighed};
use super::{Durability, Part, Unstored, WriterTask, reason_of};
use crate::log::spool::SpoolChange;
use crate::log::{CallId, DeadLetter, LogError, RecordKey, RedactionError};
use crate::message::{MessageId, Position, Record};

/// All that is set aside.
pub(super) type DeadLetters = BTreeMap<(CallId, Position, MessageId), Kept>;

/// Of so many calls whose header or ending was refused that is remembered.
const MAX_REFUSED: usize = 1_000;

/// Where a record is that was set aside.
pub(super) enum Kept {
    /// Here, where it goes on taking its room in the process.
    InMemory { dead_letters: DeadLetter, bytes: usize },
    /// In the spool.
    InSpool { revision: u32 },
}

impl Kept {
    /// Whether the spool has set this revision aside, or a newer one.
    pub fn is_in_spool(&self, of: u32) -> bool {
        matches!(self, Self::InSpool { revision } if *revision >= of)
    }

    fn revision(&self) -> u32 {
        match self {
            Self::InMemory { dead_letters, .. } => dead_letters.record.revision(),
            Self::InSpool { revision } => *revision,
        }
    }
}

impl WriterTask {
    /// Sets a record aside that waits in memory.
    pub(super) fn put_dead_letter(&mut self, call: &Arc<CallShared>, weighed: Weighed, reason: Box<str>) {
        self.keep_in_memory(call, weighed, reason, false);
    }

    /// Sets a record aside that must not be written as it is, for it could not be redacted.
    pub(super) fn put_unredacted_dead_letter(
        &mut self,
        call: &Arc<CallShared>,
        weighed: Weighed,
        error: &RedactionError,
    ) {
        self.supersede_dead_letter(call.lease.call_id(), &weighed.record);
        self.keep_in_memory(call, weighed, reason_of(error), true);
    }

    fn keep_in_memory(
        &mut self,
        call: &Arc<CallShared>,
        Weighed { record, bytes }: Weighed,
        reason: Box<str>,
        is_unredacted: bool,
    ) {
        self.shared.count(|status| status.queued -= 1);
        if let Some(state) = self.calls.get_mut(&key_of(&call.lease)) {
            state.gap = Gap::Left;
        }
        let (call_id, key) = (call.lease.call_id().clone(), RecordKey::of(&record));
        self.say_dead_letters(&call_id, key, &reason);
        let dead_letters = DeadLetter { call_id: call_id.clone(), reason, record, is_unredacted };
        self.shared.keep_of_all(call, bytes);
        self.keep(call_id, key, Kept::InMemory { dead_letters, bytes });
    }

    /// Sets a record aside that is in the spool.
    pub(super) fn dead_letters_in_spool(&mut self, call: &Key, key: RecordKey, reason: Box<str>) {
        self.shared.count(|status| status.spooled -= 1);
        let call_id = call.0.clone();
        self.say_dead_letters(&call_id, key, &reason);
        self.note(SpoolChange::DeadLetter { call_id: call_id.clone(), key, reason });
        self.keep(call_id, key, Kept::InSpool { revision: key.revision });
    }

    fn say_dead_letters(&self, call_id: &CallId, key: RecordKey, reason: &str) {
        let (message, revision) = (key.id, key.revision);
        tracing::error!(?call_id, %message, revision, %reason, "a record is set aside, for the log will never take it");
    }

    /// An older revision that was set aside makes room for the newer one.
    fn keep(&mut self, call_id: CallId, key: RecordKey, kept: Kept) {
        let is_in_memory = matches!(kept, Kept::InMemory { .. });
        let older = self.dead_letters.insert((call_id.clone(), key.position, key.id), kept);
        self.shared.count(|status| status.dead_letters += 1);
        if let Some(older) = older {
            self.dropped(&older);
            self.shared.count(|status| status.replaced += 1);
            if let (Kept::InSpool { revision }, true) = (older, is_in_memory) {
                self.note(SpoolChange::Discard(call_id, RecordKey { revision, ..key }));
            }
        }
    }

    /// A newer revision has come of a record that may have been set aside, and may be taken by the log.
    pub(super) fn supersede_dead_letter(&mut self, call_id: &CallId, record: &Record) {
        if self.dead_letters.is_empty() {
            return;
        }
        let at = (call_id.clone(), record.position(), record.id());
        if self.dead_letters.get(&at).is_none_or(|kept| kept.revision() >= record.revision()) {
            return;
        }
        if let Some(kept) = self.dead_letters.remove(&at) {
            self.superseded(call_id, RecordKey::of(record), &kept);
        }
    }

    fn superseded(&mut self, call_id: &CallId, by: RecordKey, kept: &Kept) {
        self.dropped(kept);
        self.shared.count(|status| status.replaced += 1);
        if let Kept::InSpool { revision } = kept {
            let key = RecordKey { revision: *revision, ..by };
            self.note(SpoolChange::Discard(call_id.clone(), key));
        }
    }

    /// The log refuses the header or the ending of a call. A flush tells so, until somebody takes what is set aside.
    pub(super) fn refuse_part(&mut self, key: &Key, part: Part, error: &LogError) {
        let (call_id, reason) = (key.0.clone(), reason_of(error));
        tracing::error!(?call_id, ?part, %reason, "a part of a call is not written, for the log refuses it");
        self.refused.retain(|refused| refused.call_id.as_ref() != Some(&call_id) || refused.part != part);
        if self.refused.len() == MAX_REFUSED {
            self.refused.pop_front();
        }
        let (level, error) = (Durability::Accepted, Some(reason));
        self.refused.push_back(Unstored { call_id: Some(call_id), part, level, is_dead_letter: true, error });
    }

    /// Forgets what was set aside of an erased call.
    pub(super) fn forget_dead_letters(&mut self, call_id: &CallId) {
        let all = std::mem::take(&mut self.dead_letters);
        let (gone, kept): (DeadLetters, DeadLetters) = all.into_iter().partition(|((of, ..), _)| of == call_id);
        self.dead_letters = kept;
        for kept in gone.values() {
            self.dropped(kept);
            self.shared.count(|status| status.erased += 1);
        }
    }

    /// The spool has a record that was set aside meanwhile: there it is kept, as what was spooled has to be.
    pub(super) fn spooled_too_late(&mut self, call_id: &CallId, key: RecordKey) {
        let at = (call_id.clone(), key.position, key.id);
        let reason = match self.dead_letters.get(&at) {
            Some(Kept::InMemory { dead_letters, .. }) if RecordKey::of(&dead_letters.record) == key => {
                dead_letters.reason.clone()
            }
            _ => return self.note(SpoolChange::Shipped(call_id.clone(), key)),
        };
        self.note(SpoolChange::DeadLetter { call_id: call_id.clone(), key, reason });
        if let Some(in_memory) = self.dead_letters.insert(at, Kept::InSpool { revision: key.revision }) {
            self.dropped(&in_memory);
            self.shared.count(|status| status.dead_letters += 1);
        }
    }

    /// Shows what was set aside in memory; it stays there until it is [taken](Self::taken).
    pub(super) fn give_dead_letters(&mut self, reply: oneshot::Sender<Vec<DeadLetter>>) {
        self.refused.clear();
        let shown = self.dead_letters.values().filter_map(|kept| match kept {
            Kept::InMemory { dead_letters, .. } => Some(dead_letters.clone()),
            Kept::InSpool { .. } => None,
        });
        // Whoever asked and is gone can ask again.
        let _ = reply.send(shown.collect());
    }

    /// What was set aside was given out.
    pub(super) fn taken(&mut self, taken: Vec<(CallId, RecordKey)>) {
        for (call_id, key) in taken {
            let at = (call_id.clone(), key.position, key.id);
            let is_it = self.dead_letters.get(&at).is_some_and(|kept| kept.revision() == key.revision);
            if is_it && let Some(kept) = self.dead_letters.remove(&at) {
                self.dropped(&kept);
                self.shared.count(|status| status.taken += 1);
                if let Kept::InSpool { .. } = kept {
                    self.note(SpoolChange::Discard(call_id, key));
                }
            }
        }
    }

    fn dropped(&self, kept: &Kept) {
        self.shared.count(|status| status.dead_letters -= 1);
        if let Kept::InMemory { bytes, .. } = kept {
            self.shared.give_back_of_all(*bytes);
        }
    }

    pub(super) fn unstored_dead_letters(&self) -> impl Iterator<Item = Unstored> {
        let records = self.dead_letters.iter().map(|((call_id, position, id), kept)| {
            let part = Part::Record { id: *id, position: *position, revision: kept.revision() };
            let (level, error) = match kept {
                Kept::InMemory { dead_letters, .. } => (Durability::Accepted, Some(dead_letters.reason.clone())),
                Kept::InSpool { .. } => (Durability::Spooled, None),
            };
            Unstored { call_id: Some(call_id.clone()), part, level, is_dead_letter: true, error }
        });
        self.refused.iter().cloned().chain(records)
    }
}
