//! Watching a process that is taking a call over: it loses its right to the call once it is silent.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::{CallHeader, CallId, CallLog, LogError, LogErrorKind, Nonce};

/// A candidate whose header does not change for this long is silent, and loses its right to the call.
pub(crate) const SILENCE: Duration = Duration::from_secs(5);
/// How often a header is read while its nonce is watched.
pub(crate) const POLL: Duration = Duration::from_millis(500);

/// How long a nonce has not changed, on this process's monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Watch {
    nonce: Nonce,
    since: Instant,
}

impl Watch {
    /// Continues an earlier watch if the nonce is the same, or begins a new one.
    pub fn of(earlier: Option<Self>, nonce: Nonce) -> Self {
        earlier.filter(|earlier| earlier.nonce == nonce).unwrap_or(Self { nonce, since: Instant::now() })
    }

    pub fn is_silent_for(&self, wait: Duration) -> bool {
        self.since.elapsed() >= wait
    }
}

/// Returns the header of a call that no process is taking over. If one is, waits until that process is silent.
///
/// Returns a retryable error if that process shows that it is alive.
pub(crate) async fn uncontended<L: CallLog + ?Sized>(log: &L, call_id: &CallId) -> Result<CallHeader, LogError> {
    let mut watched = None;
    loop {
        let header = log.read_header(call_id).await?.ok_or_else(|| LogError::not_opened(call_id))?;
        let tenure = header.tenure();
        let watch = *watched.get_or_insert_with(|| Watch::of(None, tenure.nonce));
        if watch.nonce != tenure.nonce {
            let text =
                format!("call {call_id} is not resumed: another process is taking it over; resume it again later");
            return Err(LogError::new(LogErrorKind::Unavailable, text));
        }
        if !tenure.is_contended || watch.is_silent_for(SILENCE) {
            return Ok(header);
        }
        sleep(POLL).await;
    }
}
