//! [`Progress`]: how far a command is with the calls of a day, on a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tokio::time::Instant;

use crate::text::count;
use crate::time::lasting;

const EVERY: Duration = Duration::from_millis(500);
const DAY_MS: i64 = 86_400_000;

/// The calls of a day come newest first, so the finished part of the day gives the estimate.
pub struct Progress {
    is_shown: bool,
    begun: Instant,
    last: Option<Instant>,
    /// The start of the first call.
    newest_ms: Option<i64>,
    calls: u64,
}

impl Progress {
    pub fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal(), begun: Instant::now(), last: None, newest_ms: None, calls: 0 }
    }

    /// Notes that the call that started at `started_ms` is done.
    pub fn add(&mut self, started_ms: i64) {
        self.calls += 1;
        let newest_ms = *self.newest_ms.get_or_insert(started_ms);
        if !self.is_shown || self.last.unwrap_or(self.begun).elapsed() < EVERY {
            return;
        }
        self.last = Some(Instant::now());
        let (done_ms, left_ms) = (newest_ms.saturating_sub(started_ms), started_ms.rem_euclid(DAY_MS));
        let _ = write!(io::stderr(), "\r\u{1b}[K{}", line(self.calls, self.begun.elapsed(), done_ms, left_ms));
    }
}

/// Removes the line.
impl Drop for Progress {
    fn drop(&mut self) {
        if self.last.is_some() {
            let _ = write!(io::stderr(), "\r\u{1b}[K");
        }
    }
}

/// Describes the progress after `done_ms` of a day, with `left_ms` left.
fn line(calls: u64, elapsed: Duration, done_ms: i64, left_ms: i64) -> String {
    let done = count(calls, "call");
    if done_ms <= 0 {
        return done;
    }
    let left_s = elapsed.as_secs_f64() * left_ms as f64 / done_ms as f64;
    format!("{done}, at most {} left", lasting((left_s * 1_000.0) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rest_of_the_day_is_estimated() {
        let hour = 3_600_000;
        assert_eq!(line(1, Duration::from_secs(5), 0, 12 * hour), "1 call");
        assert_eq!(line(500, Duration::from_secs(30), hour, 12 * hour), "500 calls, at most 6 min 0 s left");
    }
}
