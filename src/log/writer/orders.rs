//! What the task is told by its handles.

use std::sync::Arc;
use std::time::Duration;

use super::call::{Arrival, CallState, Place, key_of};
use super::flush::Flush;
use super::shared::{CallShared, Order, Weighed};
use super::spooling::Spooling;
use super::{NotAccepted, WriterTask, reason_of};
use crate::log::redact;
use crate::log::spool::SpoolChange;

impl WriterTask {
    pub(super) fn take(&mut self, order: Order) {
        match order {
            Order::Begin(call) => {
                self.state(&call);
            }
            Order::Open(call, header) => {
                let number = self.number();
                let state = self.state(&call);
                if let Some((older, _)) = state.opening.replace((number, header.clone())) {
                    self.settle_number(older);
                }
                self.note(SpoolChange::Open(header));
                self.schedule(&key_of(&call.lease), Duration::ZERO);
            }
            Order::Records(call, records) => {
                self.state(&call);
                for weighed in records {
                    self.arrive(&call, weighed);
                }
                self.schedule_if_idle(&key_of(&call.lease), self.patience());
            }
            Order::Close(call, call_end) => {
                let number = self.number();
                let state = self.state(&call);
                if let Some((older, _)) = state.call_end.replace((number, call_end.clone())) {
                    self.settle_number(older);
                }
                self.note(SpoolChange::Close(call.lease.clone(), call_end));
                self.schedule_if_idle(&key_of(&call.lease), self.patience());
            }
            Order::Gone(call) => {
                let key = key_of(&call.lease);
                if let Some(state) = self.calls.get_mut(&key) {
                    state.handles.retain(|handle| !Arc::ptr_eq(handle, &call));
                    self.settle(&key);
                }
            }
            Order::Flush { of, until, reply } => {
                self.hurry(of.as_ref());
                self.flushes.push(Flush { of, up_to: self.last_number, until, reply });
            }
            Order::Erase { call_id, reply } => self.erase(call_id, reply),
            Order::ReadDeadLetters { reply } => self.give_dead_letters(reply),
            Order::Taken(taken) => self.taken(taken),
            Order::Stop => {}
        }
    }

    fn state(&mut self, call: &Arc<CallShared>) -> &mut CallState {
        let key = key_of(&call.lease);
        if !self.calls.contains_key(&key) {
            self.fence_older(&key);
        }
        self.refuse_if_over(call);
        let state = self.calls.entry(key).or_insert_with(|| CallState::new(call.lease.clone()));
        state.know(call);
        state
    }

    fn arrive(&mut self, call: &Arc<CallShared>, mut weighed: Weighed) {
        let key = key_of(&call.lease);
        // It was handed over before its call was over.
        let over = call.over.get();
        if matches!(over, Some(NotAccepted::Over(error)) if error.is_erased()) {
            self.shared.count(|status| status.queued -= 1);
            self.shared.count(|status| status.erased += 1);
            return self.shared.give_back(call, weighed.bytes);
        }
        let redacted = self.settings.redactor.as_deref().map(|redactor| redact(&weighed.record, redactor));
        match redacted.transpose() {
            Ok(redacted) => weighed.record = redacted.unwrap_or(weighed.record),
            Err(error) => return self.put_unredacted_dead_letter(call, weighed, &error),
        }
        if let Some(over) = over {
            let reason = reason_of(over);
            return self.put_dead_letter(call, weighed, reason);
        }
        self.supersede_dead_letter(&key.0, &weighed.record);
        let number = self.number();
        let position = weighed.record.position();
        let takes_it = self.spooling.as_ref().is_some_and(Spooling::takes_records);
        let place = if takes_it { Place::Spool } else { Place::Log };
        let Some(state) = self.calls.get_mut(&key) else { return };
        match state.arrive(number, &weighed, call, place) {
            Arrival::New => self.want_spooled(&key, position),
            Arrival::Replaces(older, bytes) => {
                self.settle_number(number);
                self.replaced(&older, bytes);
                self.want_spooled(&key, position);
            }
            Arrival::Known => {
                self.settle_number(number);
                self.replaced(call, weighed.bytes);
                self.acknowledge_if_spooled(&key, &weighed.record);
            }
            Arrival::Conflict(error) => {
                self.settle_number(number);
                self.put_dead_letter(call, weighed, reason_of(&error));
            }
        }
    }

    fn replaced(&self, call: &CallShared, bytes: usize) {
        self.shared.count(|status| status.queued -= 1);
        self.shared.count(|status| status.replaced += 1);
        self.shared.give_back(call, bytes);
    }
}
