//! [`Rate`] of speech in a call, and [`Skew`] of the clocks of its reporters.

use std::collections::VecDeque;

/// The rate of speech, measured on speeches that were played to their end.
#[derive(Debug)]
pub(super) struct Rate {
    default_bytes_per_s: u64,
    /// The time that the measured speeches take at a usual rate, and the time that they took.
    usual_ms: u64,
    measured_ms: u64,
}

/// The usual rate of English text in [bytes per second](super::CallSettings::with_speech_rate).
const USUAL_BYTES_PER_S: u64 = 15;

impl Rate {
    pub fn new(default_bytes_per_s: u64) -> Self {
        Self { default_bytes_per_s, usual_ms: 0, measured_ms: 0 }
    }

    /// Returns the time of a playback that takes `usual_ms` at a usual rate of speech.
    pub fn playback_ms(&self, usual_ms: u64) -> u64 {
        /// The minimum playback time for measuring a rate.
        const MIN_MS: u64 = 2_000;
        let (took, usual) = match self.measured_ms {
            0..MIN_MS => (USUAL_BYTES_PER_S, self.default_bytes_per_s.max(1)),
            measured_ms => (measured_ms, self.usual_ms.max(1)),
        };
        u64::try_from(u128::from(usual_ms) * u128::from(took) / u128::from(usual)).unwrap_or(u64::MAX)
    }

    /// Learns from a speech that took `ms`.
    pub fn learn(&mut self, usual_ms: u64, ms: u64) {
        // A rate outside this range comes from a wrong report.
        let plausible = usual_ms / 4..=usual_ms.saturating_mul(4);
        if ms > 0 && plausible.contains(&ms) {
            self.usual_ms = self.usual_ms.saturating_add(usual_ms);
            self.measured_ms = self.measured_ms.saturating_add(ms);
        }
    }
}

/// How far the clock of a reporter is ahead of the call's clock, from the times of its events.
///
/// No event is reported before it happens, so a time in the future shows a clock that is ahead. A clock that is late
/// looks like a slow report, unless all reports seem slow.
#[derive(Debug, Default)]
pub(super) struct Skew {
    /// How far the last events were ahead of their reports.
    recent: VecDeque<i64>,
}

impl Skew {
    /// Notes an event that is reported at `now_ms`.
    pub fn note(&mut self, at_ms: i64, now_ms: i64) {
        /// The number of recent events that count, so that a wrong time stops counting.
        const MAX_RECENT: usize = 8;
        /// A larger difference comes from a wrong unit, not from a clock.
        const MAX_MS: u64 = 86_400_000;
        let ahead_ms = at_ms.saturating_sub(now_ms);
        if ahead_ms.unsigned_abs() > MAX_MS {
            return;
        }
        if self.recent.len() == MAX_RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(ahead_ms);
    }

    /// Returns how far the clock is ahead, in milliseconds. The number is negative for a clock that is late.
    pub fn ahead_ms(&self) -> i64 {
        /// The longest usual time from an event to its report.
        const REPORT_MS: i64 = 1_000;
        match self.recent.iter().max() {
            Some(ms) if *ms > 0 || *ms < -REPORT_MS && self.recent.len() > 2 => *ms,
            _ => 0,
        }
    }

    /// Converts a time of the reporter to the call's clock.
    pub fn to_call_ms(&self, at_ms: i64) -> i64 {
        at_ms.saturating_sub(self.ahead_ms())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_rate_replaces_the_default() {
        let mut rate = Rate::new(30);
        assert_eq!(rate.playback_ms(4_000), 2_000);
        rate.learn(1_500, 3_000);
        assert_eq!(rate.playback_ms(4_000), 8_000);
        rate.learn(1_000, 100_000);
        assert_eq!(rate.playback_ms(4_000), 8_000);
        assert_eq!(Rate::new(u64::MAX).playback_ms(u64::MAX), USUAL_BYTES_PER_S);
    }

    #[test]
    fn only_consistent_delays_count_as_a_clock_that_is_behind() {
        let mut skew = Skew::default();
        skew.note(8_000, 10_000);
        assert_eq!(skew.ahead_ms(), 0);
        skew.note(18_100, 20_000);
        skew.note(27_950, 30_000);
        assert_eq!((skew.ahead_ms(), skew.to_call_ms(38_100)), (-1_900, 40_000));
        skew.note(39_950, 40_000);
        assert_eq!(skew.ahead_ms(), 0);
        skew.note(52_000, 50_000);
        skew.note(i64::MAX, 50_000);
        assert_eq!((skew.ahead_ms(), skew.to_call_ms(62_000)), (2_000, 60_000));
    }
}
