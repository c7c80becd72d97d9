//! Watching a process that is taking a call over: it loses its right to the call once it is silent.

use std::time::Duration;

use tokio::time::Instant;

use super::Nonce;

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
