//! Records that were spooled, and records that bypass the spool.

use super::call::{Key, Route, Spooled};
use super::call_writer::size_of;
use super::{Durability, WriterTask};
use crate::log::RecordKey;
use crate::message::Record;

impl WriterTask {
    /// Moves a record from memory to the spool, after its commit.
    pub(super) fn on_spooled(&mut self, key: &Key, record: &Record) {
        let record_key = RecordKey::of(record);
        let RecordKey { position, id, revision } = record_key;
        if self.shared.acknowledge_at == Durability::Spooled {
            self.acknowledge(key, record);
        }
        let waiting = self.calls.get(key).and_then(|state| state.waiting.get(&position));
        let Some(waiting) = waiting.filter(|waiting| waiting.record.id() == id) else {
            // The call was fenced or erased during the commit.
            return self.on_spooled_late(&key.0, record_key);
        };
        let is_newest = waiting.record.revision() == revision;
        let (mut number, bytes) = (waiting.number, size_of(record));
        if is_newest {
            let (bytes, call) = (waiting.bytes, waiting.call.clone());
            self.shared.release(&call, bytes);
            self.shared.count(|status| status.queued -= 1);
        } else {
            // A newer revision arrived during the commit. The spooled revision counts again until the newer one
            // replaces it.
            self.shared.count(|status| status.dropped -= 1);
            number = self.add_part();
        }
        self.shared.count(|status| status.spooled += 1);
        let Some(state) = self.calls.get_mut(key) else { return };
        if is_newest {
            state.remove_waiting(position);
        }
        if let Some(older) = state.spooled.insert(position, Spooled { number, key: record_key, bytes }) {
            self.shared.count(|status| (status.spooled, status.dropped) = (status.spooled - 1, status.dropped + 1));
            // Flushes that wait for the older revision now wait for the newer one.
            if let Some(newer) = state.spooled.get_mut(&position) {
                newer.number = older.number;
            }
            self.settle_part(number);
        }
        self.schedule_work(key);
        self.settle_call(key);
    }

    /// Writes the waiting records of a call straight to the log, because the spool does not accept them.
    pub(super) fn bypass_spool(&mut self, key: &Key) {
        let Some(state) = self.calls.get_mut(key) else { return };
        for waiting in state.waiting.values_mut().filter(|waiting| !waiting.is_committing) {
            waiting.route = Route::Log;
        }
        self.schedule_if_idle(key, self.linger());
    }

    /// Acknowledges a record that was submitted again after it was spooled.
    pub(super) fn acknowledge_if_spooled(&self, key: &Key, record: &Record) {
        let spooled = self.calls.get(key).and_then(|state| state.spooled.get(&record.position()));
        let is_spooled = spooled.is_some_and(|spooled| spooled.key.revision >= record.revision());
        if is_spooled && self.shared.acknowledge_at == Durability::Spooled {
            self.acknowledge(key, record);
        }
    }
}
