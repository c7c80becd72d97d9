//! The waits between attempts of an operation that fails.

use std::time::Duration;

use super::Randomness;

/// Returns the wait after a number of consecutive failures: `first` after the first failure, and twice as long after
/// each further one, up to `longest`.
pub(crate) fn backoff(first: Duration, failures: u32, longest: Duration) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(longest)
}

/// Returns a wait that is at least half as long, and random beyond that, so that many callers do not retry at once.
pub(crate) fn with_jitter(wait: Duration, randomness: &dyn Randomness) -> Duration {
    let half = wait / 2;
    let chance = (randomness.next_u64() >> 32) as f64 / f64::from(u32::MAX);
    half + half.mul_f64(chance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Seeded;

    #[test]
    fn wait_doubles_up_to_the_longest() {
        let wait = |failures| backoff(Duration::from_millis(100), failures, Duration::from_secs(2)).as_millis();
        assert_eq!([0, 1, 2, 3, 5, 6, 40].map(wait), [100, 100, 200, 400, 1_600, 2_000, 2_000]);
    }

    #[test]
    fn jitter_takes_away_half_at_most() {
        let randomness = Seeded::from(7);
        let wait = Duration::from_secs(1);
        let waits: Vec<Duration> = (0..100).map(|_| with_jitter(wait, &randomness)).collect();
        assert!(waits.iter().all(|with_jitter| (wait / 2..=wait).contains(with_jitter)));
        assert!(waits.windows(2).any(|pair| pair[0] != pair[1]));
    }
}
