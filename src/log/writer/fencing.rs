//! Calls that accept no more changes here: another process has taken them over, or they were erased.

use std::time::Duration;

use tokio::sync::oneshot;

use super::WriterTask;
use super::call::{CallState, Key, key_of};
use super::shared::{CallShared, Erased};
use crate::log::spool::SpoolChange;
use crate::log::{CallId, LogError, LogErrorKind, WriterLease};

impl WriterTask {
    /// Ends logging of a call that another process writes. Its parts that are not stored become dead letters.
    pub(super) fn fence(&mut self, key: &Key, error: LogError) {
        let Some(state) = self.calls.get_mut(key) else { return };
        state.refuse_changes(&error);
        for record in state.keys() {
            self.reject_record(key, record, &error);
        }
        self.clear_trouble(Some(&key.0));
        self.reject_parts(key, &error);
    }

    /// Fences the older epochs of a call that was resumed here, because the log would refuse their records.
    pub(super) fn fence_older(&mut self, (call_id, current): &Key) {
        let older = self.calls.range((call_id.clone(), 0)..(call_id.clone(), *current));
        for key in older.map(|(key, _)| key.clone()).collect::<Vec<Key>>() {
            self.fence(&key, LogError::fenced(call_id, key.1, *current));
            self.settle_call(&key);
        }
    }

    /// Makes a new handle refuse changes if its call was erased or resumed here.
    pub(super) fn refuse_stale_handle(&mut self, call: &CallShared) {
        let (call_id, epoch) = key_of(&call.lease);
        if self.erased.contains(&call_id) {
            let _ = call.refusal.set(LogError::erased(&call_id));
            return;
        }
        let newer = (call_id.clone(), epoch + 1)..=(call_id.clone(), u32::MAX);
        if let Some(((_, current), _)) = self.calls.range(newer).next_back() {
            let _ = call.refusal.set(LogError::fenced(&call_id, epoch, *current));
        }
    }

    /// Drops all parts and dead letters of an erased call, of all its epochs, in the spool as well.
    pub(super) fn forget(&mut self, call_id: &CallId, error: &LogError) {
        self.erased.insert(call_id.clone());
        let epochs = self.calls.range((call_id.clone(), 0)..=(call_id.clone(), u32::MAX));
        for key in epochs.map(|(key, _)| key.clone()).collect::<Vec<Key>>() {
            self.forget_epoch(&key, error);
            self.settle_call(&key);
        }
        self.forget_dead_letters(call_id);
        self.clear_trouble(Some(call_id));
        self.queue_change(SpoolChange::Forget(call_id.clone()));
    }

    fn forget_epoch(&mut self, key: &Key, error: &LogError) {
        let Some(state) = self.calls.get_mut(key) else { return };
        state.may_be_erased = false;
        state.refuse_changes(error);
        let (call_id, records) = (&key.0, state.keys().len());
        if records > 0 {
            tracing::warn!(?call_id, records, "a call was erased, and its records that are not stored are dropped");
        }
        for record in state.keys() {
            if let Some(waiting) = self.take_waiting(key, record) {
                self.shared.release(&waiting.call, waiting.bytes);
                self.shared.count(|status| (status.queued, status.dropped) = (status.queued - 1, status.dropped + 1));
            }
            if self.take_spooled(key, record) {
                self.shared.count(|status| (status.spooled, status.dropped) = (status.spooled - 1, status.dropped + 1));
            }
        }
        self.settle_header(key);
        self.settle_call_end(key);
    }

    /// Forgets a call of which only dead letters are left, if it is erased.
    pub(super) fn on_checked(&mut self, key: &Key, result: Result<(), LogError>) {
        match result {
            Err(error) if !error.is_permanent() => return self.on_failure(key, error),
            Err(error) if error.kind() == LogErrorKind::Erased => self.forget(&key.0, &error),
            _ => {}
        }
        if let Some(state) = self.calls.get_mut(key) {
            state.may_be_erased = false;
        }
        self.on_success(key);
    }

    /// Schedules the erasure of a call. It runs after the current attempt for the call.
    pub(super) fn erase(&mut self, call_id: CallId, reply: oneshot::Sender<Result<(), LogError>>) {
        // Only the newest epoch can have an attempt under way.
        let newest = self.calls.keys().filter(|(id, _)| *id == call_id).max().cloned();
        let key = newest.unwrap_or_else(|| key_of(&WriterLease::from(call_id.clone())));
        let state = self.calls.entry(key.clone()).or_insert_with(|| CallState::new(WriterLease::from(call_id)).into());
        state.erase_replies.push(reply);
        self.schedule(&key, Duration::ZERO);
    }

    pub(super) fn on_erased(&mut self, key: &Key, result: Result<(), LogError>) {
        let replies = self.calls.get_mut(key).map(|state| std::mem::take(&mut state.erase_replies)).unwrap_or_default();
        let call_id = key.0.clone();
        if result.is_ok() {
            self.forget(&call_id, &LogError::erased(&call_id));
        }
        self.reply_after_commit(Erased { call_id, replies, result });
        self.schedule_if_idle(key, self.linger());
    }
}
