//! Handling the commands of the handles.

use std::sync::Arc;
use std::time::Duration;

use super::call::{Arrival, CallState, Route, key_of};
use super::flush::Flush;
use super::shared::{CallShared, Command, SizedRecord};
use super::spooling::Spooling;
use super::{WriterTask, error_chain};
use crate::log::spool::SpoolChange;
use crate::log::{CallHeader, LogError, LogErrorKind, redact, redact_header};
use crate::message::Map;

impl WriterTask {
    pub(super) fn handle(&mut self, command: Command) {
        match command {
            Command::Begin(call) => self.state_of(&call).publish_level(),
            Command::Open(call, header) => {
                let header = self.redacted(header).with_opening_nonce();
                let number = self.add_part();
                if let Some((older, _)) = self.state_of(&call).opening.replace((number, header.clone().into())) {
                    self.settle_part(older);
                }
                self.queue_change(SpoolChange::Open(header));
                self.schedule(&key_of(&call.lease), Duration::ZERO);
            }
            Command::Records(call, records) => {
                if !records.is_empty() {
                    call.end_submission();
                }
                self.state_of(&call);
                for sized in records {
                    self.add_record(&call, sized);
                }
                self.state_of(&call).publish_level();
                let key = key_of(&call.lease);
                self.schedule_work(&key);
            }
            Command::Close(call, call_end) => {
                let number = self.add_part();
                if let Some((older, _)) = self.state_of(&call).call_end.replace((number, call_end.clone())) {
                    self.settle_part(older);
                }
                self.queue_change(SpoolChange::Close(call.lease.clone(), call_end));
                self.schedule_if_idle(&key_of(&call.lease), self.linger());
            }
            Command::Reopen(call) => {
                let key = key_of(&call.lease);
                self.state_of(&call).is_closed = false;
                self.schedule_renewal(&key);
            }
            Command::Dropped(call) => {
                let key = key_of(&call.lease);
                if let Some(state) = self.calls.get_mut(&key) {
                    state.handles.retain(|handle| !Arc::ptr_eq(handle, &call));
                    // The reply is over, so its messages no longer change.
                    self.schedule_work(&key);
                    self.settle_call(&key);
                }
            }
            Command::Flush { call_id, deadline, reply } => {
                call_id.iter().for_each(|call_id| self.read_spooled(call_id));
                self.schedule_now(call_id.as_ref());
                self.flushes.push(Flush { call_id, up_to: self.last_number, deadline, reply });
            }
            Command::Erase { call_id, reply } => self.erase(call_id, reply),
            Command::Forget(call_id) if self.erased.contains(&call_id) => {}
            Command::Forget(call_id) => self.forget(&call_id, &LogError::erased(&call_id)),
            // The spool has the records of dead letters once they are committed to it.
            Command::ReadDeadLetters { .. } if self.is_burying() => self.handle_later(command),
            Command::ReadDeadLetters { call_id, reply } => self.send_dead_letters(call_id.as_ref(), reply),
            Command::Discard(discarded) => self.discard_letters(discarded),
            Command::PrepareRetry { ref call_id, .. } if !self.is_spool_read(Some(call_id)) => {
                self.read_spooled(call_id);
                self.handle_later(command);
            }
            Command::PrepareRetry { call_id, record, reply } => {
                // If the caller has gone away, it can retry.
                let _ = reply.send(self.prepare_retry(&call_id, &record));
            }
            Command::Retried(call, record) => self.on_retried(&call, &record),
            Command::Stop { deadline, ended } => {
                // Later records stay pending in their managers. Earlier ones are in the inbox, and are still stored.
                self.inbox.close();
                self.stopping.get_or_insert((deadline, Vec::new())).1.push(ended);
            }
        }
    }

    /// Returns the state of a handle's call, and adds it if the call is new.
    fn state_of(&mut self, call: &Arc<CallShared>) -> &mut CallState {
        let key = key_of(&call.lease);
        if !self.calls.contains_key(&key) {
            self.fence_older(&key);
            self.read_spooled(&key.0);
        }
        self.refuse_stale_handle(call);
        let state = self.calls.entry(key).or_insert_with(|| CallState::new(call.lease.clone()).into());
        state.add_handle(call);
        state
    }

    /// Returns the header with redacted attributes, or without them if they cannot be redacted.
    fn redacted(&self, header: CallHeader) -> CallHeader {
        let redactors = &self.settings.redactors;
        if redactors.0.is_empty() || header.attributes().is_empty() {
            return header;
        }
        redact_header(header.clone(), redactors).unwrap_or_else(|error| {
            let call_id = header.call_id().clone();
            tracing::error!(?call_id, error = %error_chain(&error), "a call is logged without its attributes");
            header.with_attributes(Map::default())
        })
    }

    /// Redacts a submitted record and adds it to its call.
    fn add_record(&mut self, call: &Arc<CallShared>, mut sized: SizedRecord) {
        let key = key_of(&call.lease);
        // The record was submitted before the handle refused changes.
        let refusal = call.refusal.get();
        if refusal.is_some_and(|error| error.kind() == LogErrorKind::Erased) {
            self.shared.count(|status| (status.queued, status.dropped) = (status.queued - 1, status.dropped + 1));
            return self.shared.release(call, sized.bytes);
        }
        let redactors = &self.settings.redactors;
        let redacted = (!redactors.0.is_empty()).then(|| redact(&sized.record, redactors));
        match redacted.transpose() {
            Ok(redacted) => sized.record = redacted.unwrap_or(sized.record),
            Err(error) => {
                self.supersede_dead_letter(&key.0, &sized.record);
                return self.add_dead_letter(call, sized, error_chain(&error), true);
            }
        }
        if let Some(refusal) = refusal {
            return self.add_dead_letter(call, sized, error_chain(refusal), false);
        }
        self.supersede_dead_letter(&key.0, &sized.record);
        let number = self.add_part();
        let position = sized.record.position();
        let is_spooling = self.spooling.as_ref().is_some_and(Spooling::accepts_records);
        let route = if is_spooling { Route::Spool } else { Route::Log };
        let Some(state) = self.calls.get_mut(&key) else { return };
        match state.add_record(number, &sized, call, route) {
            Arrival::New => self.queue_record(&key, position),
            Arrival::Replaces(older, bytes) => {
                self.settle_part(number);
                self.count_replaced(&older, bytes);
                self.queue_record(&key, position);
            }
            Arrival::Known => {
                self.settle_part(number);
                self.count_replaced(call, sized.bytes);
                self.acknowledge_if_spooled(&key, &sized.record);
            }
            Arrival::Conflict(error) => {
                self.settle_part(number);
                self.add_dead_letter(call, sized, error_chain(&error), false);
            }
        }
    }

    fn count_replaced(&self, call: &CallShared, bytes: usize) {
        self.shared.count(|status| (status.queued, status.dropped) = (status.queued - 1, status.dropped + 1));
        self.shared.release(call, bytes);
    }
}
