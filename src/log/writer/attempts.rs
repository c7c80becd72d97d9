//! Starts attempts for calls that are due, and applies their results.

use std::time::Duration;

use tokio::task::{Id, JoinError};

use super::call::{Gap, Key, Waiting};
use super::operation::Attempted;
use super::shared::SizedRecord;
use super::{Durability, Part, WriterTask, error_chain, unpoisoned};
use crate::log::spool::SpoolChange;
use crate::log::{LogError, LogErrorKind, RecordKey};
use crate::message::{MessageId, Record};

/// The longest wait after failures that need an operator.
const MAX_OPERATOR_BACKOFF: Duration = Duration::from_secs(30);
/// The longest wait after failures while a flush is open.
const MAX_FLUSH_BACKOFF: Duration = Duration::from_secs(1);

impl WriterTask {
    /// Starts attempts for the calls that are due, up to the limit of concurrent calls.
    pub(super) fn start_attempts(&mut self) {
        while self.running.len() < self.settings.parallel.max(1) {
            let Some(key) = self.next_due() else { return };
            let is_spool_read = self.is_spool_read(Some(&key.0));
            let held = self.calls.get(&key).and_then(|state| self.held(state));
            if self.close_spans(&key, held.map(|(from, _)| from)) {
                continue;
            }
            let Some(state) = self.calls.get_mut(&key) else { continue };
            let Some(operation) = state.next_operation(self.settings.batch, held.map(|(from, _)| from)) else {
                if !state.is_busy {
                    if let Some((_, left)) = held {
                        self.schedule(&key, left);
                    }
                    self.schedule_renewal(&key);
                }
                continue;
            };
            state.is_busy = true;
            let has_gap = state.gap != Gap::None || !is_spool_read;
            let attempt = self.attempts.clone().run(state.lease.clone(), has_gap, operation);
            let id = self.running.spawn(attempt).id();
            self.keys.insert(id, key);
        }
    }

    /// Applies the result of an attempt.
    pub(super) fn on_attempted(&mut self, joined: Result<(Id, Attempted), JoinError>) {
        let (id, attempted) = match joined {
            Ok((id, attempted)) => (id, Some(attempted)),
            Err(error) => (error.id(), None),
        };
        let Some(key) = self.keys.remove(&id) else { return };
        let Some(state) = self.calls.get_mut(&key) else { return };
        state.is_busy = false;
        match attempted {
            Some(Attempted::Opened(result)) => self.on_opened(&key, result),
            Some(Attempted::Put { records, is_spooled, stored, failed }) => {
                self.on_put(&key, &records, stored, failed);
                if is_spooled {
                    self.hold_until_committed(&key);
                }
            }
            Some(Attempted::Closed(result)) => self.on_closed(&key, result),
            Some(Attempted::Contested(contested)) => self.on_contested(&key, contested),
            Some(Attempted::Renewed(result)) => self.on_renewed(&key, result),
            Some(Attempted::Checked(result)) => self.on_checked(&key, result),
            Some(Attempted::Erased(result)) => self.on_erased(&key, result),
            // The call was erased meanwhile.
            Some(Attempted::Unread(_)) if state.spooled.is_empty() => self.on_success(&key),
            Some(Attempted::Unread(error)) => {
                let operation = format!("reading call {} from the spool", key.0);
                self.on_failure(&key, LogError::backend(operation, LogErrorKind::NeedsOperator, error));
            }
            None => {
                let operation = format!("writing call {}", key.0);
                self.on_failure(&key, LogError::backend(operation, LogErrorKind::NeedsOperator, "the log panicked"));
            }
        }
        self.schedule_renewal(&key);
        self.settle_call(&key);
    }

    fn on_closed(&mut self, key: &Key, result: Result<(), LogError>) {
        match result {
            Err(error) if !error.is_permanent() => return self.on_failure(key, error),
            Err(error) if error.kind() == LogErrorKind::Erased => self.forget(&key.0, &error),
            Err(error) if error.kind() == LogErrorKind::Fenced => return self.hold_contested(key, error),
            Err(error) => {
                self.reject_part(key, Part::CallEnd, &error);
                self.settle_call_end(key);
            }
            Ok(()) => {
                self.settle_call_end(key);
                if let Some(state) = self.calls.get_mut(key) {
                    state.is_closed = true;
                }
            }
        }
        self.on_success(key);
    }

    /// Removes the end from the work of a call, because it is stored or rejected.
    pub(super) fn settle_call_end(&mut self, key: &Key) {
        if let Some((number, _)) = self.calls.get_mut(key).and_then(|state| state.call_end.take()) {
            self.settle_part(number);
            self.queue_change(SpoolChange::Closed(key.0.clone()));
        }
    }

    fn on_put(&mut self, key: &Key, records: &[Record], stored: Vec<MessageId>, failed: Vec<(MessageId, LogError)>) {
        let find = |id: MessageId| records.iter().find(|record| record.id() == id);
        for record in stored.into_iter().filter_map(find) {
            self.on_stored(key, record);
        }
        let split = self.split_refused(key, records, &failed);
        let mut failure = None;
        for (id, error) in failed {
            if error.is_of_one_record()
                && let (Some(record), Some(state)) = (find(id), self.calls.get_mut(key))
            {
                state.unfinished.insert(record.position());
                state.spans.note_written(record.position());
            }
            match error.kind() {
                LogErrorKind::Fenced => return self.hold_contested(key, error),
                LogErrorKind::Erased => {
                    self.forget(&key.0, &error);
                    return self.on_success(key);
                }
                _ if error.is_permanent() => {
                    let record = find(id).filter(|record| !split.iter().any(|span| span.contains(record.position())));
                    if let Some(record) = record {
                        self.reject_record(key, RecordKey::of(record), &error);
                    }
                }
                // Operator errors outrank transient ones.
                _ if failure.as_ref().is_none_or(LogError::is_retryable) => failure = Some(error),
                _ => {}
            }
        }
        match failure {
            Some(error) => self.on_failure(key, error),
            None => self.on_success(key),
        }
    }

    /// Removes a stored revision from memory and spool.
    fn on_stored(&mut self, key: &Key, record: &Record) {
        let RecordKey { position, revision, .. } = RecordKey::of(record);
        if let Some(state) = self.calls.get_mut(key) {
            state.unfinished.remove(&position);
            state.spans.note_written(position);
        }
        if self.shared.acknowledge_at == Durability::Stored {
            self.acknowledge(key, record);
        }
        if let Some(waiting) = self.take_waiting(key, RecordKey::of(record)) {
            self.shared.release(&waiting.call, waiting.bytes);
            self.shared.count(|status| (status.queued, status.stored) = (status.queued - 1, status.stored + 1));
            if self.shared.acknowledge_at == Durability::Spooled {
                // The record bypassed the spool, where it would have been acknowledged.
                self.acknowledge(key, record);
            }
        }
        let spooled = self.calls.get(key).and_then(|state| state.spooled.get(&position)).map(|spooled| spooled.key);
        if let Some(spooled) = spooled.filter(|spooled| spooled.revision <= revision)
            && self.take_spooled(key, spooled)
        {
            self.shared.count(|status| status.spooled -= 1);
            self.queue_change(SpoolChange::Stored(key.0.clone(), RecordKey::of(record)));
            if spooled.revision == revision {
                self.shared.count(|status| status.stored += 1);
            } else {
                // The file may hold either revision, because a commit that reported an error may have succeeded.
                self.shared.count(|status| status.dropped += 1);
                self.queue_change(SpoolChange::Stored(key.0.clone(), spooled));
            }
        }
    }

    /// Adds a record to the receipts of its call's handles.
    pub(super) fn acknowledge(&self, key: &Key, record: &Record) {
        for handle in self.calls.get(key).into_iter().flat_map(|state| &state.handles) {
            unpoisoned(&handle.receipts).add(record);
        }
    }

    /// Removes a record from memory if it still has this revision. The caller releases its bytes.
    pub(super) fn take_waiting(&mut self, key: &Key, record: RecordKey) -> Option<Waiting> {
        let state = self.calls.get_mut(key)?;
        state.waiting.get(&record.position).filter(|waiting| waiting.record.revision() == record.revision)?;
        let waiting = state.remove_waiting(record.position)?;
        self.settle_part(waiting.number);
        Some(waiting)
    }

    /// Removes a spooled record from the call's work if it still has this revision, and returns true if it did.
    pub(super) fn take_spooled(&mut self, key: &Key, record: RecordKey) -> bool {
        let Some(state) = self.calls.get_mut(key) else { return false };
        let found = state.spooled.get(&record.position);
        let is_same = found.is_some_and(|spooled| spooled.key.revision == record.revision);
        if is_same && let Some(spooled) = state.spooled.remove(&record.position) {
            self.settle_part(spooled.number);
        }
        is_same
    }

    /// Turns a record that the log will never accept into a dead letter.
    pub(super) fn reject_record(&mut self, key: &Key, record: RecordKey, error: &LogError) {
        let reason = error_chain(error);
        let Some(state) = self.calls.get_mut(key) else { return };
        // Later records may be stored before a newer revision of this one.
        state.gap = Gap::Left;
        let has_newer = state.has_newer(record);
        if let Some(waiting) = self.take_waiting(key, record) {
            let sized = SizedRecord { record: waiting.record, bytes: waiting.bytes };
            self.add_dead_letter(&waiting.call, sized, reason.clone(), false);
        }
        if self.take_spooled(key, record) {
            if has_newer {
                // The log may accept the newer revision, which replaces this one.
                self.shared.count(|status| (status.spooled, status.dropped) = (status.spooled - 1, status.dropped + 1));
                self.queue_change(SpoolChange::Stored(key.0.clone(), record));
            } else {
                self.add_dead_letter_in_spool(key, record, reason);
            }
        }
    }

    pub(super) fn on_success(&mut self, key: &Key) {
        let held = self.calls.get(key).and_then(|state| self.held(state));
        let Some(state) = self.calls.get_mut(key) else { return };
        (state.failures, state.error) = (0, None);
        let has_backlog = state.has_backlog(self.settings.batch, held.map(|(from, _)| from));
        let has_work = state.has_work();
        self.clear_trouble(Some(&key.0));
        if has_work {
            self.schedule(key, if has_backlog { Duration::ZERO } else { self.wait(key) });
        }
    }

    /// Schedules a retry.
    pub(super) fn on_failure(&mut self, key: &Key, error: LogError) {
        self.shared.count(|status| status.retried += 1);
        let is_flushing = self.is_flushing();
        let Some(state) = self.calls.get_mut(key) else { return };
        state.failures += 1;
        state.error = Some(error.clone());
        let needs_operator = error.kind() == LogErrorKind::NeedsOperator;
        let mut longest = if needs_operator { MAX_OPERATOR_BACKOFF } else { self.settings.max_backoff };
        if is_flushing {
            longest = longest.min(MAX_FLUSH_BACKOFF);
        }
        let wait = self.settings.backoff_after(state.failures, longest);
        state.due = None;
        self.schedule(key, wait);
        if needs_operator {
            self.report_trouble(Some(key.0.clone()), error);
        }
    }
}
