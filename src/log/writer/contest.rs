//! A call that another process may be taking over: the writer holds its records until the header shows which process
//! writes the call.

use std::time::Duration;

use super::WriterTask;
use super::call::Key;
use super::operation::Attempts;
use crate::log::Standing;
use crate::log::silence::{POLL, SILENCE, Watch};
use crate::log::spool::SpoolChange;
use crate::log::{CallChange, LogError, LogErrorKind, Nonce, Tenure, TenureStep, WriterLease};

/// The result of reading the header after a record was refused because of a higher epoch.
pub(super) enum Contested {
    /// No other process wants the call.
    Writer,
    /// A candidate is taking the call over.
    Waiting(Watch),
    /// The writer has its call back, with this lease.
    Reclaimed(WriterLease),
    /// Another process writes the call, or it is gone.
    Lost(LogError),
    Failed(LogError),
}

impl Attempts {
    /// Reads the header, and takes the call back from a candidate that has given up or is silent.
    pub async fn contest(&self, lease: &WriterLease, watch: Option<Watch>, nonce: Nonce) -> Contested {
        let found = match self.with_timeout("checking", lease, self.log.read_header(lease.call_id())).await {
            Ok(found) => found.map(|header| header.tenure()),
            Err(error) => return Contested::of(error),
        };
        if let Some(tenure) = found {
            let (served, watch) = (tenure.served, Watch::of(watch, tenure.nonce));
            match tenure.standing(lease) {
                Standing::Lost => {
                    return Contested::Lost(LogError::fenced(lease.call_id(), lease.served(), served));
                }
                Standing::Writer => return Contested::Writer,
                Standing::Contended if !watch.is_silent_for(SILENCE) => return Contested::Waiting(watch),
                Standing::Contended | Standing::Free => {}
            }
        }
        // Without a header the step is refused with the reason.
        let tenure = found.unwrap_or(Tenure { nonce, ..Tenure::default() });
        let reclaim = CallChange::Takeover(tenure.change(TenureStep::Reclaim { served: lease.served() }, nonce));
        match self.with_timeout("taking back", lease, self.log.change_call(lease.call_id(), &reclaim)).await {
            Ok(header) => {
                let epoch = header.tenure().epoch;
                let (call_id, expires_at_s) = (lease.call_id().clone(), lease.expires_at_s());
                Contested::Reclaimed(WriterLease::restored(call_id, epoch, lease.served(), expires_at_s))
            }
            // The header has changed. The next attempt finds out which process writes the call.
            Err(error) if error.kind() == LogErrorKind::Fenced => Contested::Waiting(Watch::of(None, nonce)),
            Err(error) => Contested::of(error),
        }
    }
}

impl Contested {
    fn of(error: LogError) -> Self {
        if error.is_permanent() { Self::Lost(error) } else { Self::Failed(error) }
    }
}

impl WriterTask {
    /// Holds the work of a call that another process may be taking over, as `error` says.
    pub(super) fn hold_contested(&mut self, key: &Key, error: LogError) {
        let Some(state) = self.calls.get_mut(key) else { return };
        state.error = Some(error);
        state.is_contested = true;
        state.due = None;
        self.schedule(key, Duration::ZERO);
    }

    pub(super) fn on_contested(&mut self, key: &Key, contested: Contested) {
        let Some(state) = self.calls.get_mut(key) else { return };
        match contested {
            Contested::Waiting(watch) => {
                state.watch = Some(watch);
                state.due = None;
                return self.schedule(key, POLL);
            }
            Contested::Failed(error) => return self.on_failure(key, error),
            Contested::Lost(error) if error.kind() == LogErrorKind::Erased => self.forget(&key.0, &error),
            Contested::Lost(error) => self.fence(key, error),
            Contested::Writer => {
                // The candidate that caused the refusal is gone.
                (state.is_contested, state.watch) = (false, None);
                if let Some(error) = state.error.clone() {
                    return self.on_failure(key, error);
                }
            }
            Contested::Reclaimed(lease) => {
                tracing::warn!(call_id = ?key.0, epoch = lease.epoch(), "the writer takes its call back: nobody took it over");
                state.lease = lease.clone();
                self.queue_change(SpoolChange::Opened(lease));
            }
        }
        if let Some(state) = self.calls.get_mut(key) {
            (state.is_contested, state.watch) = (false, None);
        }
        self.on_success(key);
    }
}
