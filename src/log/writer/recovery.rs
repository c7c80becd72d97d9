//! Recovery of the records that an earlier process left in the spool.

use std::time::Duration;

use super::call::{CallState, Gap, Spooled, key_of};
use super::{Part, WriterTask};
use crate::log::DeadLetter;
use crate::log::spool::SpooledCall;

impl WriterTask {
    /// Adds calls that were found in the spool.
    pub(super) fn recover(&mut self, found: Vec<SpooledCall>) {
        for call in found {
            let key = key_of(&call.lease);
            let state = self.calls.entry(key.clone()).or_insert_with(|| CallState::new(call.lease.clone()).into());
            // Dead letters may have been taken out, which leaves a gap.
            state.gap = Gap::Left;
            // A header or end from a handle is newer.
            let opening = call.opening.filter(|_| state.opening.is_none());
            let call_end = call.call_end.filter(|_| state.call_end.is_none());
            let numbers: Vec<u64> = call.records.iter().map(|_| self.add_part()).collect();
            let opening = opening.map(|header| (self.add_part(), header.into()));
            let call_end = call_end.map(|call_end| (self.add_part(), call_end));
            if let Some(state) = self.calls.get_mut(&key) {
                state.opening = opening.or(state.opening.take());
                state.call_end = call_end.or(state.call_end.take());
                for ((key, bytes), number) in call.records.iter().zip(numbers) {
                    let bytes = usize::try_from(*bytes).unwrap_or(usize::MAX);
                    state.spooled.insert(key.position, Spooled { number, key: *key, bytes });
                }
                for span in &call.spans {
                    state.spans.restore(*span);
                }
                // Every other request of the call tells as well.
                state.may_be_erased = !state.has_work();
            }
            let (records, dead_letters) = (call.records.len() as u64, call.dead_letters.len() as u64);
            self.shared.count(|status| {
                status.recovered += records + dead_letters;
                status.spooled += records;
            });
            for (letter, _) in call.dead_letters {
                self.recover_letter(&key, letter);
            }
            let header = call.refused_header.map(|(header, reason)| DeadLetter::of_header(header, reason));
            self.recover_rejected(Part::Header, header);
            let call_end = call.refused_end.map(|(end, reason)| DeadLetter::of_end(key.0.clone(), end, reason));
            self.recover_rejected(Part::CallEnd, call_end);
            self.schedule(&key, Duration::ZERO);
            self.settle_call(&key);
        }
        // Every flush is newer than the recovered parts, so it waits for them.
        for flush in &mut self.flushes {
            flush.up_to = self.last_number;
        }
    }
}
