//! Percentiles of measured times.

use std::time::Duration;

/// The time of a turn to its first token and to its end.
#[derive(Debug, Clone, Copy)]
pub struct Taken {
    pub first: Duration,
    pub whole: Duration,
}

/// Sorted times, in milliseconds.
pub struct Times(Vec<f64>);

impl Times {
    pub fn new(times: impl IntoIterator<Item = Duration>) -> Self {
        Self::of_ms(times.into_iter().map(|time| time.as_secs_f64() * 1_000.0))
    }

    pub fn of_ms(times_ms: impl IntoIterator<Item = f64>) -> Self {
        let mut times: Vec<f64> = times_ms.into_iter().collect();
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// Returns the time that this fraction of the times does not exceed: 0.5 is the median.
    pub fn part(&self, part: f64) -> f64 {
        self.0[((self.0.len() - 1) as f64 * part) as usize]
    }
}
