//! Calls that are over, here: another process goes on with them, or they were erased.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::call::{CallState, Key, key_of};
use super::shared::{CallShared, Erased};
use super::{NotAccepted, WriterTask};
use crate::log::spool::SpoolChange;
use crate::log::{CallId, LogError, WriterLease};

impl WriterTask {
    /// Another process goes on with the call: nothing of it will be taken from here.
    pub(super) fn fence(&mut self, key: &Key, error: LogError) {
        let Some(state) = self.calls.get_mut(key) else { return };
        let error = Arc::new(error);
        state.end(&error);
        for record in state.keys() {
            self.refuse(key, record, &error);
        }
        self.mended(Some(&key.0));
        self.header_is_settled(key);
        self.call_end_is_settled(key);
    }

    /// The call was resumed, here: the log would refuse what is left of its older writers.
    pub(super) fn fence_older(&mut self, (call_id, current): &Key) {
        let older = self.calls.range((call_id.clone(), 0)..(call_id.clone(), *current));
        for key in older.map(|(key, _)| key.clone()).collect::<Vec<Key>>() {
            let (call_id, epoch) = key.clone();
            self.fence(&key, LogError::Fenced { call_id, epoch, current: *current });
            self.settle(&key);
        }
    }

    /// The call was erased, or resumed, here: what another handle of it brings now is refused.
    pub(super) fn refuse_if_over(&mut self, call: &CallShared) {
        let (call_id, epoch) = key_of(&call.lease);
        if self.erased.contains(&call_id) {
            let _ = call.over.set(NotAccepted::Over(Arc::new(LogError::Erased { call_id })));
            return;
        }
        let newer = (call_id.clone(), epoch + 1)..=(call_id.clone(), u32::MAX);
        let newest = self.calls.range(newer).next_back().map(|((_, current), _)| *current);
        if let Some(current) = newest {
            let error = LogError::Fenced { call_id, epoch, current };
            // The first reason stays.
            let _ = call.over.set(NotAccepted::Over(Arc::new(error)));
        }
    }

    /// The call was erased: nothing of it is kept.
    pub(super) fn forget(&mut self, key: &Key, error: LogError) {
        let Some(state) = self.calls.get_mut(key) else { return };
        state.end(&Arc::new(error));
        for record in state.keys() {
            if let Some(waiting) = self.take_waiting(key, record) {
                self.shared.give_back(&waiting.call, waiting.bytes);
                self.shared.count(|status| status.queued -= 1);
                self.shared.count(|status| status.erased += 1);
            }
            if self.take_spooled(key, record) {
                self.shared.count(|status| status.spooled -= 1);
                self.shared.count(|status| status.erased += 1);
            }
        }
        self.header_is_settled(key);
        self.call_end_is_settled(key);
        self.forget_dead_letters(&key.0);
        self.mended(Some(&key.0));
        self.note(SpoolChange::Forget(key.0.clone()));
    }

    /// Has a call erased, once nothing of it is on its way.
    pub(super) fn erase(&mut self, call_id: CallId, reply: oneshot::Sender<Result<(), LogError>>) {
        let epochs = self.calls.keys().filter(|(of, _)| *of == call_id);
        // The newest writer's records are on their way, if any are.
        let key = epochs.max().cloned().unwrap_or_else(|| key_of(&WriterLease::first(call_id.clone())));
        let state = self.calls.entry(key.clone()).or_insert_with(|| CallState::new(WriterLease::first(call_id)));
        state.erasing.push(reply);
        self.schedule(&key, Duration::ZERO);
    }

    pub(super) fn erased(&mut self, key: &Key, result: Result<(), LogError>) {
        let asked = self.calls.get_mut(key).map(|state| std::mem::take(&mut state.erasing)).unwrap_or_default();
        if result.is_ok() {
            self.erased.insert(key.0.clone());
            let epochs: Vec<Key> = self.calls.keys().filter(|(of, _)| *of == key.0).cloned().collect();
            for epoch in epochs {
                self.forget(&epoch, LogError::Erased { call_id: key.0.clone() });
                self.settle(&epoch);
            }
        }
        let call_id = key.0.clone();
        self.answer_when_noted(Erased { call_id, asked, result });
        self.schedule_if_idle(key, self.patience());
    }
}
