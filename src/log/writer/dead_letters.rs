//! Dead letters: records that the log will never accept, kept in memory or in the spool until an operator takes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::call::{Gap, Key, key_of};
use super::shared::{CallShared, SizedRecord};
use super::{Durability, Part, Unstored, WriterTask, error_chain};
use crate::log::spool::SpoolChange;
use crate::log::{CallId, DeadLetter, LogError, RecordKey};
use crate::message::{MessageId, Position, Record};

pub(super) type DeadLetters = BTreeMap<(CallId, Position, MessageId), Letter>;

/// The maximum number of rejected headers and call ends that are remembered.
const MAX_REJECTED: usize = 1_000;

/// Where a dead letter is kept.
pub(super) enum Letter {
    /// In memory, where it still counts towards the limit of all calls.
    InMemory {
        letter: DeadLetter,
        bytes: usize,
    },
    InSpool {
        revision: u32,
    },
}

impl Letter {
    /// Returns true if the spool keeps this revision or a newer one.
    pub fn is_in_spool(&self, revision: u32) -> bool {
        matches!(self, Self::InSpool { revision: kept } if *kept >= revision)
    }

    fn revision(&self) -> u32 {
        match self {
            Self::InMemory { letter, .. } => letter.record.revision(),
            Self::InSpool { revision } => *revision,
        }
    }
}

impl WriterTask {
    /// Turns a record in memory into a dead letter. One that could not be redacted never reaches the spool.
    pub(super) fn add_dead_letter(
        &mut self,
        call: &Arc<CallShared>,
        SizedRecord { record, bytes }: SizedRecord,
        reason: Box<str>,
        is_unredacted: bool,
    ) {
        self.shared.count(|status| status.queued -= 1);
        if let Some(state) = self.calls.get_mut(&key_of(&call.lease)) {
            state.gap = Gap::Left;
        }
        let (call_id, key) = (call.lease.call_id().clone(), RecordKey::of(&record));
        trace_dead_letter(&call_id, key, &reason);
        let letter = DeadLetter { call_id: call_id.clone(), reason, record, is_unredacted };
        self.shared.release_from_call(call, bytes);
        self.keep(call_id, key, Letter::InMemory { letter, bytes });
    }

    /// Turns a record in the spool into a dead letter.
    pub(super) fn add_dead_letter_in_spool(&mut self, call: &Key, key: RecordKey, reason: Box<str>) {
        self.shared.count(|status| status.spooled -= 1);
        let call_id = call.0.clone();
        trace_dead_letter(&call_id, key, &reason);
        self.queue_change(SpoolChange::DeadLetter { call_id: call_id.clone(), key, reason });
        self.keep(call_id, key, Letter::InSpool { revision: key.revision });
    }

    /// Keeps a dead letter in place of an older revision.
    fn keep(&mut self, call_id: CallId, key: RecordKey, letter: Letter) {
        let is_in_memory = matches!(letter, Letter::InMemory { .. });
        let older = self.dead_letters.insert((call_id.clone(), key.position, key.id), letter);
        self.shared.count(|status| status.dead_letters += 1);
        if let Some(older) = older {
            self.count_removed(&older);
            self.shared.count(|status| status.dropped += 1);
            if let (Letter::InSpool { revision }, true) = (older, is_in_memory) {
                self.queue_change(SpoolChange::Discard(call_id, RecordKey { revision, ..key }));
            }
        }
    }

    /// Drops the dead letter of an older revision, because the log may accept the newer one.
    pub(super) fn supersede_dead_letter(&mut self, call_id: &CallId, record: &Record) {
        if self.dead_letters.is_empty() {
            return;
        }
        let at = (call_id.clone(), record.position(), record.id());
        if self.dead_letters.get(&at).is_none_or(|letter| letter.revision() >= record.revision()) {
            return;
        }
        if let Some(letter) = self.dead_letters.remove(&at) {
            self.count_removed(&letter);
            self.shared.count(|status| status.dropped += 1);
            if let Letter::InSpool { revision } = letter {
                let key = RecordKey { revision, ..RecordKey::of(record) };
                self.queue_change(SpoolChange::Discard(at.0, key));
            }
        }
    }

    /// Remembers that the log rejected the header or end of a call. Flushes report it until the dead letters are read.
    pub(super) fn reject_part(&mut self, key: &Key, part: Part, error: &LogError) {
        let (call_id, reason) = (key.0.clone(), error_chain(error));
        tracing::error!(?call_id, ?part, %reason, "the log rejects a part of a call; the part is not stored");
        self.rejected.retain(|rejected| rejected.call_id.as_ref() != Some(&call_id) || rejected.part != part);
        if self.rejected.len() == MAX_REJECTED {
            self.rejected.pop_front();
        }
        let unstored = Unstored::new(Some(call_id), part, Durability::Accepted);
        self.rejected.push_back(Unstored { is_dead_letter: true, error: Some(reason), ..unstored });
    }

    /// Drops the dead letters of an erased call.
    pub(super) fn forget_dead_letters(&mut self, call_id: &CallId) {
        let all = std::mem::take(&mut self.dead_letters);
        let (gone, kept): (DeadLetters, DeadLetters) = all.into_iter().partition(|((id, ..), _)| id == call_id);
        self.dead_letters = kept;
        for letter in gone.values() {
            self.count_removed(letter);
            self.shared.count(|status| status.dropped += 1);
        }
    }

    /// Handles a record that was committed to the spool after its call was fenced or erased. If it is a dead letter in
    /// memory by now, the spool keeps it; otherwise the spool removes it.
    pub(super) fn on_spooled_late(&mut self, call_id: &CallId, key: RecordKey) {
        let at = (call_id.clone(), key.position, key.id);
        let reason = match self.dead_letters.get(&at) {
            Some(Letter::InMemory { letter, .. }) if RecordKey::of(&letter.record) == key => letter.reason.clone(),
            _ => return self.queue_change(SpoolChange::Stored(call_id.clone(), key)),
        };
        self.queue_change(SpoolChange::DeadLetter { call_id: call_id.clone(), key, reason });
        if let Some(in_memory) = self.dead_letters.insert(at, Letter::InSpool { revision: key.revision }) {
            self.count_removed(&in_memory);
            self.shared.count(|status| status.dead_letters += 1);
        }
    }

    /// Sends the dead letters in memory. They stay there until [`remove_dead_letters`](Self::remove_dead_letters).
    pub(super) fn send_dead_letters(&mut self, reply: oneshot::Sender<Vec<DeadLetter>>) {
        self.rejected.clear();
        let letters = self.dead_letters.values().filter_map(|letter| match letter {
            Letter::InMemory { letter, .. } => Some(letter.clone()),
            Letter::InSpool { .. } => None,
        });
        // A caller that has gone away can ask again.
        let _ = reply.send(letters.collect());
    }

    /// Removes dead letters that were taken.
    pub(super) fn remove_dead_letters(&mut self, taken: Vec<(CallId, RecordKey)>) {
        for (call_id, key) in taken {
            let at = (call_id.clone(), key.position, key.id);
            let is_same = self.dead_letters.get(&at).is_some_and(|letter| letter.revision() == key.revision);
            if is_same && let Some(letter) = self.dead_letters.remove(&at) {
                self.count_removed(&letter);
                self.shared.count(|status| status.dropped += 1);
                if let Letter::InSpool { .. } = letter {
                    self.queue_change(SpoolChange::Discard(call_id, key));
                }
            }
        }
    }

    fn count_removed(&self, letter: &Letter) {
        self.shared.count(|status| status.dead_letters -= 1);
        if let Letter::InMemory { bytes, .. } = letter {
            self.shared.release_from_process(*bytes);
        }
    }

    pub(super) fn unstored_dead_letters(&self) -> impl Iterator<Item = Unstored> {
        let records = self.dead_letters.iter().map(|((call_id, _, id), letter)| {
            let part = Part::Record { id: *id, revision: letter.revision() };
            let (level, error) = match letter {
                Letter::InMemory { letter, .. } => (Durability::Accepted, Some(letter.reason.clone())),
                Letter::InSpool { .. } => (Durability::Spooled, None),
            };
            Unstored { is_dead_letter: true, error, ..Unstored::new(Some(call_id.clone()), part, level) }
        });
        self.rejected.iter().cloned().chain(records)
    }
}

fn trace_dead_letter(call_id: &CallId, key: RecordKey, reason: &str) {
    let (message, revision) = (key.id, key.revision);
    tracing::error!(?call_id, %message, revision, %reason, "the log will never accept this record; it is a dead letter now");
}
