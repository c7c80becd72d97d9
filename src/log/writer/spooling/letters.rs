//! Dead letters in memory on their way to the spool, so that they outlive the process.

use super::Spooling;
use crate::log::spool::SpoolChange;
use crate::log::writer::WriterTask;
use crate::log::writer::dead_letters::Letter;
use crate::log::{CallId, RecordKey, WriterLease};

/// A dead letter to bring to the spool, with its size.
pub(super) struct Queued {
    lease: WriterLease,
    key: RecordKey,
    bytes: usize,
}

impl Spooling {
    /// Returns true if the spool has room for one of the queued dead letters. The others wait in memory.
    pub(super) fn has_letters(&self) -> bool {
        self.letters.iter().any(|queued| self.spool.has_room_for(queued.bytes as u64))
    }
}

impl WriterTask {
    /// Adds a dead letter in memory to the next commit.
    pub(in crate::log::writer) fn queue_letter(&mut self, lease: WriterLease, key: RecordKey, bytes: usize) {
        if let Some(spooling) = &mut self.spooling {
            spooling.letters.push(Queued { lease, key, bytes });
        }
    }

    /// Takes the queued dead letters for which the spool has room, and returns them with the changes that bring them there.
    pub(super) fn take_letters(&mut self, bytes: &mut u64) -> (Vec<Queued>, Vec<SpoolChange>) {
        let (mut taken, mut changes) = (Vec::new(), Vec::new());
        let Some(spooling) = &mut self.spooling else { return (taken, changes) };
        for queued in std::mem::take(&mut spooling.letters) {
            let call_id = queued.lease.call_id().clone();
            let at = (call_id.clone(), queued.key.position, queued.key.id);
            let found = self.dead_letters.get_mut(&at).filter(|letter| letter.revision() == queued.key.revision);
            // It may be discarded, or have reached the spool with a commit that was under way.
            let Some(Letter::InMemory { letter, may_be_spooled, .. }) = found else { continue };
            let Some(record) = &letter.record else { continue };
            if !spooling.spool.has_room_for(*bytes + queued.bytes as u64) {
                spooling.letters.push(queued);
                continue;
            }
            *bytes += queued.bytes as u64;
            *may_be_spooled = true;
            changes.push(SpoolChange::Put(queued.lease.clone(), record.clone()));
            changes.push(SpoolChange::DeadLetter { call_id, key: queued.key, reason: letter.reason.clone() });
            taken.push(queued);
        }
        (taken, changes)
    }

    /// Removes dead letters from memory, after the commit that brought them to the spool.
    pub(super) fn on_letters_spooled(&mut self, letters: Vec<Queued>) {
        for Queued { lease, key, .. } in letters {
            self.move_to_spool(lease.call_id(), key);
        }
    }

    /// Handles a record that was committed to the spool after its call was fenced or erased. If it is a dead letter in
    /// memory by now, the spool keeps it; otherwise the spool removes it.
    pub(in crate::log::writer) fn on_spooled_late(&mut self, call_id: &CallId, key: RecordKey) {
        let change = match self.move_to_spool(call_id, key) {
            Some(reason) => SpoolChange::DeadLetter { call_id: call_id.clone(), key, reason },
            None => SpoolChange::Stored(call_id.clone(), key),
        };
        self.queue_change(change);
    }

    /// Removes a dead letter from memory, because the spool has it. Returns its reason.
    fn move_to_spool(&mut self, call_id: &CallId, key: RecordKey) -> Option<Box<str>> {
        let letter = self.dead_letters.get_mut(&(call_id.clone(), key.position, key.id))?;
        let Letter::InMemory { letter: kept, revision, epoch, bytes, .. } = letter else { return None };
        if *revision != key.revision {
            return None;
        }
        let (reason, bytes) = (kept.reason.clone(), *bytes);
        *letter = Letter::InSpool { revision: key.revision, epoch: *epoch };
        self.shared.release_from_process(bytes);
        Some(reason)
    }
}
