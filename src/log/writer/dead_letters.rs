//! Dead letters: records that the log will never accept. They are kept in memory or in the spool until they are retried
//! successfully or discarded. `letters.rs` has the methods of the handle.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::call::{Gap, Key, key_of};
use super::letters::place_is_taken;
use super::shared::{CallShared, Listed, Retry, SizedRecord};
use super::{Durability, Part, Unstored, WriterTask};
use crate::log::spool::SpoolChange;
use crate::log::{CallId, DeadLetter, LogError, LogErrorKind, RecordKey, redact};
use crate::message::{MessageId, Position, Record};

pub(super) type DeadLetters = BTreeMap<(CallId, Position, MessageId), Letter>;

/// Where a dead letter is kept.
pub(super) enum Letter {
    /// In memory, where it still counts towards the limit of all calls.
    InMemory {
        letter: Box<DeadLetter>,
        revision: u32,
        bytes: usize,
        epoch: u32,
        /// True once a commit may have brought it to the spool, too.
        may_be_spooled: bool,
    },
    InSpool {
        revision: u32,
        /// The epoch of the writer that could not store it.
        epoch: u32,
    },
}

impl Letter {
    /// Returns true if the spool has the letter, or may have it.
    pub fn may_be_spooled(&self) -> bool {
        matches!(self, Self::InSpool { .. } | Self::InMemory { may_be_spooled: true, .. })
    }

    pub fn revision(&self) -> u32 {
        match self {
            Self::InMemory { revision, .. } | Self::InSpool { revision, .. } => *revision,
        }
    }

    fn epoch(&self) -> u32 {
        match self {
            Self::InMemory { epoch, .. } | Self::InSpool { epoch, .. } => *epoch,
        }
    }
}

impl WriterTask {
    /// Turns a record in memory into a dead letter. A record that could not be redacted never reaches the spool.
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
        let letter = DeadLetter { is_unredacted, ..DeadLetter::of_record(call_id.clone(), record, reason) }.into();
        self.shared.release_from_call(call, bytes);
        let (revision, epoch) = (key.revision, call.lease.served());
        self.keep(call_id, key, Letter::InMemory { letter, revision, bytes, epoch, may_be_spooled: false });
        if !is_unredacted {
            self.queue_letter(call.lease.clone(), key, bytes);
        }
    }

    /// Turns a record in the spool into a dead letter.
    pub(super) fn add_dead_letter_in_spool(&mut self, call: &Key, key: RecordKey, reason: Box<str>) {
        self.shared.count(|status| status.spooled -= 1);
        let call_id = call.0.clone();
        trace_dead_letter(&call_id, key, &reason);
        self.queue_change(SpoolChange::DeadLetter { call_id: call_id.clone(), key, reason });
        self.keep(call_id, key, Letter::InSpool { revision: key.revision, epoch: call.1 });
    }

    /// Keeps a dead letter in place of an older revision.
    fn keep(&mut self, call_id: CallId, key: RecordKey, letter: Letter) {
        let is_in_memory = matches!(letter, Letter::InMemory { .. });
        let older = self.dead_letters.insert((call_id.clone(), key.position, key.id), letter);
        self.shared.count(|status| status.dead_letters += 1);
        if let Some(older) = older {
            self.count_removed(&older);
            self.shared.count(|status| status.dropped += 1);
            if older.may_be_spooled() && is_in_memory {
                self.queue_change(SpoolChange::Discard(call_id, RecordKey { revision: older.revision(), ..key }));
            }
        }
    }

    /// Adds a dead letter that was found in the spool, unless a handle has brought a newer revision since.
    pub(super) fn recover_letter(&mut self, call: &Key, found: RecordKey) {
        let at = (call.0.clone(), found.position, found.id);
        if self.dead_letters.get(&at).is_some_and(|letter| letter.revision() >= found.revision) {
            self.shared.count(|status| status.dropped += 1);
            return self.queue_change(SpoolChange::Discard(at.0, found));
        }
        self.keep(at.0, found, Letter::InSpool { revision: found.revision, epoch: call.1 });
        let states = self.calls.range((call.0.clone(), 0)..=(call.0.clone(), u32::MAX));
        let mut waiting = states.filter_map(|(_, state)| state.waiting.get(&found.position));
        let newer = waiting.find(|waiting| waiting.record.id() == found.id).map(|waiting| waiting.record.clone());
        if let Some(newer) = newer {
            self.supersede_dead_letter(&call.0, &newer);
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
            if letter.may_be_spooled() {
                let key = RecordKey { revision: letter.revision(), ..RecordKey::of(record) };
                self.queue_change(SpoolChange::Discard(at.0, key));
            }
        }
    }

    /// Drops the dead letters of an erased call.
    pub(super) fn forget_dead_letters(&mut self, call_id: &CallId) {
        self.rejected.retain(|(_, letter)| letter.call_id != *call_id);
        let all = std::mem::take(&mut self.dead_letters);
        let (gone, kept): (DeadLetters, DeadLetters) = all.into_iter().partition(|((id, ..), _)| id == call_id);
        self.dead_letters = kept;
        for letter in gone.values() {
            self.count_removed(letter);
            self.shared.count(|status| status.dropped += 1);
        }
    }

    /// Sends the dead letters in memory, of one call or of all calls, and the keys of discarded ones that are still in
    /// the spool. Dead letters stay until they are [discarded](Self::discard_letters).
    pub(super) fn send_dead_letters(&self, call_id: Option<&CallId>, reply: oneshot::Sender<Listed>) {
        let in_memory = self.dead_letters.values().filter_map(|letter| match letter {
            Letter::InMemory { letter, .. } => Some(&**letter),
            Letter::InSpool { .. } => None,
        });
        let all = in_memory.chain(self.rejected.iter().map(|(_, letter)| letter));
        let letters = all.filter(|letter| call_id.is_none_or(|call_id| *call_id == letter.call_id));
        // A caller that has gone away can ask again.
        let _ = reply.send((letters.cloned().collect(), self.discarded()));
    }

    /// Removes dead letters. A key of `None` means the header and the end of a call.
    pub(super) fn discard_letters(&mut self, discarded: Vec<(CallId, Option<RecordKey>)>) {
        for (call_id, key) in discarded {
            let Some(key) = key else {
                self.rejected.retain(|(_, letter)| letter.call_id != call_id);
                self.queue_change(SpoolChange::DiscardParts(call_id));
                continue;
            };
            if self.remove_letter(&call_id, key, |revision| revision == key.revision) {
                self.shared.count(|status| status.dropped += 1);
            } else if !self.is_spool_read(Some(&call_id)) {
                self.queue_change(SpoolChange::Discard(call_id, key));
            }
        }
    }

    /// Removes a dead letter if its revision is one of these, and returns `true` if it did.
    fn remove_letter(&mut self, call_id: &CallId, key: RecordKey, is_one: impl Fn(u32) -> bool) -> bool {
        let at = (call_id.clone(), key.position, key.id);
        let Some(letter) = self.dead_letters.get(&at).filter(|letter| is_one(letter.revision())) else { return false };
        let (revision, may_be_spooled) = (letter.revision(), letter.may_be_spooled());
        if let Some(letter) = self.dead_letters.remove(&at) {
            self.count_removed(&letter);
        }
        if may_be_spooled {
            self.queue_change(SpoolChange::Discard(at.0, RecordKey { revision, ..key }));
        }
        true
    }

    /// Returns the redacted record of a dead letter, and the handle and the lease that can store it.
    ///
    /// Returns [`NotOpened`](LogErrorKind::NotOpened) if this process does not write the call, and
    /// [`Refused`](LogErrorKind::Refused) if the record's position is taken or the record cannot be redacted.
    pub(super) fn prepare_retry(&self, call_id: &CallId, record: &Record) -> Result<Retry, LogError> {
        let epochs = self.calls.range((call_id.clone(), 0)..=(call_id.clone(), u32::MAX));
        let newest = epochs.rev().find_map(|(key, state)| Some((key.1, &state.lease, state.handles.last()?)));
        let (epoch, lease, handle) = newest.ok_or_else(|| {
            let text = format!(
                "a dead letter of call {call_id} is not stored, because this process does not write the call; resume \
                 the call, retry, and finish it again if it had ended"
            );
            LogError::new(LogErrorKind::NotOpened, text)
        })?;
        if let Some(refusal) = handle.refusal.get() {
            return Err(refusal.clone());
        }
        let at = (call_id.clone(), record.position(), record.id());
        let is_own = self.dead_letters.get(&at).is_some_and(|letter| letter.epoch() == epoch);
        // The log may store another message of the position in a span, where a put of its own does not find it. A
        // summary of an earlier writer may hide messages that it does not cover.
        let is_free = |there: &Option<MessageId>| there.is_none_or(|id| id == record.id());
        let has_place = record.position().summary_number().is_none()
            && handle.left_out.get(&record.position()).is_some_and(is_free);
        if !is_own && !has_place {
            return Err(place_is_taken(call_id));
        }
        let redactors = &self.settings.redactors;
        let record = if redactors.0.is_empty() { record.clone() } else { redact(record, redactors)? };
        Ok((handle.clone(), lease.clone(), record))
    }

    /// Removes the dead letter of a record that a retry has stored.
    pub(super) fn on_retried(&mut self, call: &CallShared, record: &Record) {
        let key = RecordKey::of(record);
        if self.remove_letter(call.lease.call_id(), key, |revision| revision <= key.revision) {
            self.shared.count(|status| status.stored += 1);
        }
        self.acknowledge(&key_of(&call.lease), record);
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
        let rejected = self.rejected.iter().map(|(part, letter)| Unstored {
            is_dead_letter: true,
            error: Some(letter.reason.clone()),
            ..Unstored::new(Some(letter.call_id.clone()), *part, Durability::Accepted)
        });
        rejected.chain(records)
    }
}

fn trace_dead_letter(call_id: &CallId, key: RecordKey, reason: &str) {
    let (message, revision) = (key.id, key.revision);
    tracing::error!(?call_id, %message, revision, %reason, "the log will never accept this record; it is a dead letter now");
}
