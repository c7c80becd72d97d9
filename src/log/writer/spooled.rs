//! Records on their way through the spool, or past it.

use super::call::{Key, Place, Spooled};
use super::{Durability, WriterTask};
use crate::log::RecordKey;
use crate::message::Record;

impl WriterTask {
    /// The spool holds a record.
    pub(super) fn spooled(&mut self, key: &Key, record: &Record) {
        let record_key = RecordKey::of(record);
        let RecordKey { position, id, revision } = record_key;
        if self.shared.acknowledge_at == Durability::Spooled {
            self.acknowledge(key, record);
        }
        let waiting = self.calls.get(key).and_then(|state| state.waiting.get(&position));
        let Some(waiting) = waiting.filter(|waiting| waiting.record.id() == id) else {
            // Its call was over in the meantime, and the record set aside, or forgotten.
            return self.spooled_too_late(&key.0, record_key);
        };
        let is_newest = waiting.record.revision() == revision;
        let mut number = waiting.number;
        if is_newest {
            // It goes on waiting, elsewhere.
            let (bytes, call) = (waiting.bytes, waiting.call.clone());
            self.shared.give_back(&call, bytes);
            self.shared.count(|status| status.queued -= 1);
        } else {
            // A newer one has come, and is to replace it there: until then it counts again.
            self.shared.count(|status| status.replaced -= 1);
            number = self.number();
        }
        self.shared.count(|status| status.spooled += 1);
        let Some(state) = self.calls.get_mut(key) else { return };
        if is_newest {
            state.waiting.remove(&position);
        }
        if let Some(older) = state.spooled.insert(position, Spooled { number, key: record_key }) {
            self.shared.count(|status| status.spooled -= 1);
            self.shared.count(|status| status.replaced += 1);
            // Who waits for the older one waits for what replaced it.
            if let Some(newer) = state.spooled.get_mut(&position) {
                newer.number = older.number;
            }
            self.settle_number(number);
        }
        self.schedule_if_idle(key, self.patience());
    }

    /// Has the records of a call that wait in memory written into the log from there, for the spool does not take them.
    pub(super) fn go_past_the_spool(&mut self, key: &Key) {
        let Some(state) = self.calls.get_mut(key) else { return };
        for waiting in state.waiting.values_mut().filter(|waiting| !waiting.is_committing) {
            waiting.place = Place::Log;
        }
        self.schedule_if_idle(key, self.patience());
    }

    /// A record that was handed over again is in the spool already.
    pub(super) fn acknowledge_if_spooled(&self, key: &Key, record: &Record) {
        let spooled = self.calls.get(key).and_then(|state| state.spooled.get(&record.position()));
        let is_spooled = spooled.is_some_and(|spooled| spooled.key.revision >= record.revision());
        if is_spooled && self.shared.acknowledge_at == Durability::Spooled {
            self.acknowledge(key, record);
        }
    }
}
