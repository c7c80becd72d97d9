//! [`VirtualClock`]: the clock of the client, based on tokio's clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use aws_smithy_async::time::TimeSource;
use tokio::time::Instant;
use verbale::clock::Clock;

/// The start of virtual time: 2025-04-16, 15:03:43.058 UTC.
pub const START_MS: i64 = 1_744_815_823_058;

/// A clock that follows tokio's paused clock, and steps according to the plan. The SDK and every user of [`Clock`] can use
/// it.
#[derive(Debug, Clone)]
pub struct VirtualClock {
    start: Instant,
    steps: Vec<(Duration, i64)>,
}

impl VirtualClock {
    pub fn new(steps: Vec<(Duration, i64)>) -> Self {
        Self { start: Instant::now(), steps }
    }

    /// Returns the time since the start, without the steps.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Returns the time of the server's clock, which never steps.
    pub fn true_now_ms(&self) -> i64 {
        START_MS + self.elapsed().as_millis() as i64
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> i64 {
        let elapsed = self.elapsed();
        let steps = self.steps.iter().filter(|(at, _)| *at <= elapsed);
        self.true_now_ms() + steps.map(|(_, by_ms)| by_ms).sum::<i64>()
    }
}

impl TimeSource for VirtualClock {
    fn now(&self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.now_ms().max(0) as u64)
    }
}
