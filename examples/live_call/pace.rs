//! [`Pace`]: the clock of the call, in real time or faster.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use verbale::clock::{Clock, SystemClock};

/// The clock of the call, in real time or faster. It divides all waits by its speed, so that a fast call is otherwise the
/// same. Clones show the same time.
#[derive(Debug, Clone)]
pub struct Pace {
    begun: Instant,
    begun_ms: i64,
    speed: u32,
}

impl Pace {
    /// Returns a clock that starts now and runs `speed` times faster than real time.
    pub fn starting_now(speed: u32) -> Self {
        Self { begun: Instant::now(), begun_ms: SystemClock.now_ms(), speed: speed.max(1) }
    }

    /// Returns the real duration of a time of the call, in milliseconds.
    pub fn real(&self, ms: u64) -> Duration {
        Duration::from_millis(ms) / self.speed
    }

    /// Waits for a time of the call, in milliseconds.
    pub async fn wait(&self, ms: u64) {
        sleep(self.real(ms)).await;
    }

    /// Returns the time since the call began, in milliseconds.
    pub fn elapsed_ms(&self) -> u64 {
        let real_us = self.begun.elapsed().as_micros();
        u64::try_from(real_us * u128::from(self.speed) / 1_000).unwrap_or(u64::MAX)
    }
}

impl Clock for Pace {
    fn now_ms(&self) -> i64 {
        self.begun_ms.saturating_add_unsigned(self.elapsed_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn fast_clock_divides_waits() {
        let pace = Pace::starting_now(20);
        let begun = (Instant::now(), pace.now_ms());
        pace.wait(60_000).await;
        assert_eq!((begun.0.elapsed(), pace.now_ms() - begun.1), (Duration::from_secs(3), 60_000));
    }
}
