//! Renewal of leases: the writer changes the header of each live call from time to time, to show that it is alive.

use tokio::time::Instant;

use super::WriterTask;
use super::call::{CallState, Key};
use crate::clock::from_now;
use crate::log::{LogError, LogErrorKind};

impl CallState {
    /// Returns true if the writer has a lease of the call that it may renew.
    fn is_live(&self) -> bool {
        let is_refused = self.handles.iter().all(|handle| handle.refusal.get().is_some());
        !is_refused && self.opening.is_none() && self.call_end.is_none() && !self.is_closed
    }
}

impl WriterTask {
    /// Schedules the next renewal of a call's lease.
    pub(super) fn schedule_renewal(&mut self, key: &Key) {
        let Some(every) = self.settings.lease_renewal() else { return };
        let Some(state) = self.calls.get_mut(key) else { return };
        if !state.is_live() {
            state.renew_at = None;
            return;
        }
        let at = *state.renew_at.get_or_insert_with(|| from_now(every));
        self.schedule_if_idle(key, at.saturating_duration_since(Instant::now()));
    }

    pub(super) fn on_renewed(&mut self, key: &Key, result: Result<(), LogError>) {
        if let Some(state) = self.calls.get_mut(key) {
            state.renew_at = None;
        }
        match result {
            Err(error) if error.kind() == LogErrorKind::Fenced => self.hold_contested(key, error),
            Err(error) if error.kind() == LogErrorKind::Erased => self.forget(&key.0, &error),
            Err(error) if !error.is_permanent() => {
                // A call whose lease is not renewed in time can be lost, so the next attempt is soon.
                if let (Some(every), Some(state)) = (self.settings.lease_renewal(), self.calls.get_mut(key)) {
                    state.renew_at = Some(from_now(every / 8));
                }
                self.on_failure(key, error);
            }
            _ => {}
        }
    }
}
