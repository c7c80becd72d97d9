//! What is found in the spool at the start.

use std::time::Duration;

use super::WriterTask;
use super::aside::Kept;
use super::call::{CallState, Spooled, key_of};
use crate::log::spool::SpooledCall;

impl WriterTask {
    /// What the spool holds of an earlier life of the process.
    pub(super) fn recovered(&mut self, found: Vec<SpooledCall>) {
        if let Some(spooling) = &mut self.spooling {
            spooling.is_known = true;
        }
        for call in found {
            let key = key_of(&call.claim);
            let parts = [call.opening.is_some(), call.ending.is_some()].map(|is_there| is_there.then(|| self.number()));
            let numbers: Vec<u64> = call.records.iter().map(|_| self.number()).collect();
            let state = self.calls.entry(key.clone()).or_insert_with(|| CallState::new(call.claim.clone()));
            let [opening, ending] = parts;
            state.opening = state.opening.take().or(opening.zip(call.opening));
            state.ending = state.ending.take().or(ending.zip(call.ending));
            for ((record, _), number) in call.records.iter().zip(numbers) {
                let spooled = Spooled { number, id: record.id, revision: record.revision };
                state.spooled.insert(record.position, spooled);
            }
            for (record, _) in &call.set_aside {
                let aside = (call.claim.call_id().clone(), record.position, record.id);
                self.set_aside.insert(aside, Kept::InSpool { revision: record.revision });
            }
            self.shared.counters.recovered.add(call.records.len() + call.set_aside.len());
            self.shared.counters.spooled.add(call.records.len());
            self.shared.counters.set_aside.add(call.set_aside.len());
            self.schedule(&key, Duration::ZERO);
            self.settle(&key);
        }
        // It was there before anybody asked.
        for flush in &mut self.flushes {
            flush.up_to = self.last_number;
        }
    }
}
