//! What the task does when a call is due, and what it makes of the outcome.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{Id, JoinError};

use super::call::{Gap, Key, Waiting};
use super::operation::Outcome;
use super::shared::Weighed;
use super::{Durability, Part, Trouble, WriterTask, reason_of, unpoisoned};
use crate::log::spool::SpoolChange;
use crate::log::{CallId, LogError, Opening, RecordKey, Remedy};
use crate::message::{MessageId, Record};

/// The longest wait behind a failure while somebody waits for all to be stored.
const MAX_HURRIED_BACKOFF: Duration = Duration::from_secs(1);

impl WriterTask {
    /// Starts what is due, as far as there is room.
    pub(super) fn start_attempts(&mut self) {
        let is_spool_known = self.is_spool_known();
        while self.running.len() < self.settings.parallel.max(1) {
            let Some(key) = self.next_due() else { return };
            let Some(state) = self.calls.get_mut(&key) else { continue };
            if let Some(step) = state.next_step(self.settings.batch) {
                state.is_busy = true;
                let has_gap = state.gap != Gap::None || !is_spool_known;
                let attempt = self.attempts.clone().make(state.lease.clone(), has_gap, step);
                let id = self.running.spawn(attempt).id();
                self.keys.insert(id, key);
            }
        }
    }

    pub(super) fn attempted(&mut self, done: Result<(Id, Outcome), JoinError>) {
        let (id, outcome) = match done {
            Ok((id, outcome)) => (id, Some(outcome)),
            Err(error) => (error.id(), None),
        };
        let Some(key) = self.keys.remove(&id) else { return };
        let Some(state) = self.calls.get_mut(&key) else { return };
        state.is_busy = false;
        let lease = state.lease.clone();
        match outcome {
            Some(Outcome::Opened(result)) => self.opened(&key, result),
            Some(Outcome::Put { records, is_spooled, stored, failed }) => {
                self.put(&key, &records, stored, failed);
                if is_spooled {
                    self.is_busy_until_committed(&key);
                }
            }
            Some(Outcome::Closed(result)) => self.closed(&key, result),
            Some(Outcome::Erased(result)) => self.erased(&key, result),
            Some(Outcome::Unread(error)) => {
                let operation = format!("reading call {} in the spool", lease.call_id());
                self.failed(&key, LogError::backend(operation, Remedy::Operator, error));
            }
            None => {
                let operation = format!("writing call {}", lease.call_id());
                self.failed(&key, LogError::backend(operation, Remedy::Operator, "the log panicked"));
            }
        }
        self.settle(&key);
    }

    fn opened(&mut self, key: &Key, result: Result<Opening, LogError>) {
        match result {
            Err(error) if error.remedy() != Remedy::None => {
                if let Some(state) = self.calls.get_mut(key) {
                    state.header_waits = true;
                }
                return self.failed(key, error);
            }
            Err(error) if error.is_erased() => self.forget(key, error),
            // Another call has this id: nothing of this one may be written there.
            Err(error) if error.is_conflict() => self.fence(key, error),
            Err(error) => {
                self.refuse_part(key, Part::Header, &error);
                self.header_is_settled(key);
            }
            Ok(opening) => {
                self.header_is_settled(key);
                // Nobody has written it before, nor taken it over.
                let state = self.calls.get_mut(key).filter(|state| state.gap == Gap::Unknown);
                if let (Opening::Opened, Some(state)) = (opening, state) {
                    state.gap = Gap::None;
                }
            }
        }
        self.succeeded(key);
    }

    pub(super) fn header_is_settled(&mut self, key: &Key) {
        let opening = self.calls.get_mut(key).and_then(|state| state.opening.take());
        if let Some((number, _)) = opening {
            self.settle_number(number);
            if let Some(lease) = self.calls.get(key).map(|state| state.lease.clone()) {
                self.note(SpoolChange::Opened(lease));
            }
        }
    }

    fn closed(&mut self, key: &Key, result: Result<(), LogError>) {
        match result {
            Err(error) if error.remedy() != Remedy::None => return self.failed(key, error),
            Err(error) if error.is_erased() => self.forget(key, error),
            Err(error) if error.is_fenced() => self.fence(key, error),
            Err(error) => {
                self.refuse_part(key, Part::CallEnd, &error);
                self.call_end_is_settled(key);
            }
            Ok(()) => self.call_end_is_settled(key),
        }
        self.succeeded(key);
    }

    pub(super) fn call_end_is_settled(&mut self, key: &Key) {
        let call_end = self.calls.get_mut(key).and_then(|state| state.call_end.take());
        if let Some((number, _)) = call_end {
            self.settle_number(number);
            self.note(SpoolChange::Closed(key.0.clone()));
        }
    }

    fn put(&mut self, key: &Key, records: &[Record], stored: Vec<MessageId>, failed: Vec<(MessageId, LogError)>) {
        self.shared.count(|status| status.written += stored.len() as u64);
        let find = |id: MessageId| records.iter().find(|record| record.id() == id);
        for id in stored {
            if let Some(record) = find(id) {
                self.stored(key, record);
            }
        }
        let mut again = None;
        for (id, error) in failed {
            match error.remedy() {
                Remedy::None if error.is_fenced() => self.fence(key, error),
                Remedy::None if error.is_erased() => self.forget(key, error),
                Remedy::None => {
                    if let Some(record) = find(id) {
                        self.refuse(key, RecordKey::of(record), &error);
                    }
                }
                // What a person has to mend says more than what passes.
                _ if again.as_ref().is_none_or(LogError::is_retryable) => again = Some(error),
                _ => {}
            }
        }
        match again {
            Some(error) => self.failed(key, error),
            None => self.succeeded(key),
        }
    }

    /// The log holds a record: this revision of it.
    fn stored(&mut self, key: &Key, record: &Record) {
        let RecordKey { position, revision, .. } = RecordKey::of(record);
        if self.shared.acknowledge_at == Durability::Stored {
            self.acknowledge(key, record);
        }
        if let Some(waiting) = self.take_waiting(key, RecordKey::of(record)) {
            self.shared.give_back(&waiting.call, waiting.bytes);
            self.shared.count(|status| status.queued -= 1);
            self.shared.count(|status| status.stored += 1);
            if self.shared.acknowledge_at == Durability::Spooled {
                // It went past the spool.
                self.acknowledge(key, record);
            }
        }
        let spooled = self.calls.get(key).and_then(|state| state.spooled.get(&position)).map(|spooled| spooled.key);
        if let Some(spooled) = spooled.filter(|spooled| spooled.revision <= revision)
            && self.take_spooled(key, spooled)
        {
            self.shared.count(|status| status.spooled -= 1);
            self.note(SpoolChange::Shipped(key.0.clone(), RecordKey::of(record)));
            if spooled.revision == revision {
                self.shared.count(|status| status.stored += 1);
            } else {
                // The spool has it still, or, where a commit failed and was done, the newer one.
                self.shared.count(|status| status.replaced += 1);
                self.note(SpoolChange::Shipped(key.0.clone(), spooled));
            }
        }
    }

    pub(super) fn acknowledge(&self, key: &Key, record: &Record) {
        for handle in self.calls.get(key).into_iter().flat_map(|state| &state.handles) {
            unpoisoned(&handle.receipts).add(record);
        }
    }

    /// Removes a record from memory, if it is still this revision. Its room is still to be given back.
    pub(super) fn take_waiting(&mut self, key: &Key, record: RecordKey) -> Option<Waiting> {
        let state = self.calls.get_mut(key)?;
        state.waiting.get(&record.position).filter(|waiting| waiting.record.revision() == record.revision)?;
        let waiting = state.waiting.remove(&record.position)?;
        self.settle_number(waiting.number);
        Some(waiting)
    }

    /// Forgets that a record is in the spool, if it is still this revision.
    pub(super) fn take_spooled(&mut self, key: &Key, record: RecordKey) -> bool {
        let Some(state) = self.calls.get_mut(key) else { return false };
        let found = state.spooled.get(&record.position);
        let is_it = found.is_some_and(|spooled| spooled.key.revision == record.revision);
        if is_it && let Some(spooled) = state.spooled.remove(&record.position) {
            self.settle_number(spooled.number);
        }
        is_it
    }

    /// The log will never take a record.
    pub(super) fn refuse(&mut self, key: &Key, record: RecordKey, error: &LogError) {
        let reason = reason_of(error);
        let Some(state) = self.calls.get_mut(key) else { return };
        // Where a newer one is still to come, too: others may go first.
        state.gap = Gap::Left;
        let has_newer = state.has_newer(record);
        if let Some(waiting) = self.take_waiting(key, record) {
            let weighed = Weighed { record: waiting.record, bytes: waiting.bytes };
            self.put_dead_letter(&waiting.call, weighed, reason.clone());
        }
        if self.take_spooled(key, record) {
            if has_newer {
                // The newer one may be taken, and takes its place.
                self.shared.count(|status| status.spooled -= 1);
                self.shared.count(|status| status.replaced += 1);
                self.note(SpoolChange::Shipped(key.0.clone(), record));
            } else {
                self.dead_letters_in_spool(key, record, reason);
            }
        }
    }

    fn succeeded(&mut self, key: &Key) {
        let patience = self.patience();
        let Some(state) = self.calls.get_mut(key) else { return };
        (state.failures, state.error) = (0, None);
        let has_old_work = !state.spooled.is_empty() || state.waiting.len() > self.settings.batch;
        let has_work = state.has_work();
        self.mended(Some(&key.0));
        if has_work {
            self.schedule(key, if has_old_work { Duration::ZERO } else { patience });
        }
    }

    fn failed(&mut self, key: &Key, error: LogError) {
        self.shared.count(|status| status.retried += 1);
        let is_hurried = self.is_hurried();
        let Some(state) = self.calls.get_mut(key) else { return };
        let (remedy, error) = (error.remedy(), Arc::new(error));
        state.failures += 1;
        state.error = Some(error.clone());
        let mut max = self.settings.max_backoff;
        if remedy == Remedy::Operator {
            max = self.settings.max_operator_backoff;
        }
        if is_hurried {
            max = max.min(MAX_HURRIED_BACKOFF);
        }
        let wait = self.settings.wait_after(state.failures, max);
        state.due = None;
        self.schedule(key, wait);
        if remedy == Remedy::Operator {
            self.trouble(Trouble::of_call(key.0.clone(), error));
        }
    }

    /// Says aloud that a person has to mend something; once, until it is mended.
    pub(super) fn trouble(&self, trouble: Trouble) {
        let mut all = unpoisoned(&self.shared.counters.trouble);
        if all.is_empty() {
            let reason = reason_of(&*trouble.error);
            tracing::error!(%reason, "the log cannot be written until somebody mends this; nothing is lost, and it goes on by itself");
        }
        all.insert(trouble.call_id.clone(), trouble);
    }

    /// What kept a call from being written, or the spool, does not any more.
    pub(super) fn mended(&self, call_id: Option<&CallId>) {
        let mut all = unpoisoned(&self.shared.counters.trouble);
        if all.remove(&call_id.cloned()).is_some() && all.is_empty() {
            tracing::info!("what kept the log from being written is mended");
        }
    }
}
