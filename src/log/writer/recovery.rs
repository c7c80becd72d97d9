//! What is found in the spool at the start.

use std::time::Duration;

use super::WriterTask;
use super::call::{CallState, Gap, Spooled, key_of};
use super::dead_letters::Kept;
use crate::log::spool::SpooledCall;

impl WriterTask {
    /// What the spool holds of an earlier life of the process.
    pub(super) fn recovered(&mut self, found: Vec<SpooledCall>) {
        if let Some(spooling) = &mut self.spooling {
            spooling.is_known = true;
        }
        for call in found {
            let key = key_of(&call.lease);
            let numbers: Vec<u64> = call.records.iter().map(|_| self.number()).collect();
            let [opening, call_end] = [self.number(), self.number()];
            let state = self.calls.entry(key.clone()).or_insert_with(|| CallState::new(call.lease.clone()));
            // Of what was set aside, some may be taken, and be found no more.
            state.gap = Gap::Left;
            // What a handle has brought in the meantime is newer.
            let is_opening = state.opening.is_none() && call.opening.is_some();
            let is_call_end = state.call_end.is_none() && call.call_end.is_some();
            if is_opening {
                state.opening = call.opening.map(|header| (opening, header));
            }
            if is_call_end {
                state.call_end = call.call_end.map(|how| (call_end, how));
            }
            for ((key, _), number) in call.records.iter().zip(numbers) {
                state.spooled.insert(key.position, Spooled { number, key: *key });
            }
            for (number, is_used) in [(opening, is_opening), (call_end, is_call_end)] {
                if !is_used {
                    self.settle_number(number);
                }
            }
            for (record, _) in &call.dead_letters {
                let aside = (call.lease.call_id().clone(), record.position, record.id);
                self.dead_letters.insert(aside, Kept::InSpool { revision: record.revision });
            }
            self.shared.count(|status| status.recovered += (call.records.len() + call.dead_letters.len()) as u64);
            self.shared.count(|status| status.spooled += call.records.len() as u64);
            self.shared.count(|status| status.dead_letters += call.dead_letters.len() as u64);
            self.schedule(&key, Duration::ZERO);
            self.settle(&key);
        }
        // It was there before anybody asked.
        for flush in &mut self.flushes {
            flush.up_to = self.last_number;
        }
    }
}
