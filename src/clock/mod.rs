//! The ports through which time and randomness come in: [`Clock`], [`IdSource`] and [`Randomness`].
//!
//! Nothing else in the crate reads a clock or a random number, so that a call can be replayed to the letter.

mod moment;

use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) use moment::{Date, read_moment, write_moment};

/// Tells the time, in milliseconds since the Unix epoch.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The present moment, in milliseconds since the Unix epoch. May step back.
    fn now_ms(&self) -> i64;
}

/// Gives out the 128 bits of [ULIDs](https://github.com/ulid/spec).
pub trait IdSource: fmt::Debug + Send + Sync {
    /// The next id for something made at `now_ms`, never the same one twice.
    fn next_id(&self, now_ms: i64) -> u128;
}

/// Gives out random numbers where only their spread matters, such as how long to wait before another try.
pub trait Randomness: fmt::Debug + Send + Sync {
    /// The next number, of all 64 bits.
    fn next_u64(&self) -> u64;
}

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the port")]
    fn now_ms(&self) -> i64 {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        }
    }
}

/// A clock that stands still until it is told the time: for tests, and to replay a recorded call with its own times.
///
/// Clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `now_ms`.
    pub fn new(now_ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(now_ms)))
    }

    /// Sets the time, forwards or back.
    pub fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }

    /// Moves the time forwards.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Random, time-ordered ids, strictly growing within this process, across a clock that steps back too.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

/// One for the process, so that ids of several managers grow as well.
static LAST_ID: Mutex<u128> = Mutex::new(0);

impl IdSource for SystemIds {
    fn next_id(&self, now_ms: i64) -> u128 {
        let mut last = unpoisoned(&LAST_ID);
        *last = id_after(*last, now_ms, random_part);
        *last
    }
}

/// Within a millisecond, and while the clock is behind, the last id is counted on. If its random part overflows,
/// the carry reaches the time part: the ids still grow.
fn id_after(last: u128, now_ms: i64, random_part: impl FnOnce() -> u128) -> u128 {
    let time = u128::from(now_ms.clamp(0, MAX_TIME_MS).unsigned_abs());
    if time > last >> RANDOM_BITS { time << RANDOM_BITS | random_part() } else { last + 1 }
}

const RANDOM_BITS: u32 = 80;
/// A millisecond less than fits, to leave room for the carry.
const MAX_TIME_MS: i64 = (1 << 48) - 2;

#[expect(clippy::disallowed_methods, reason = "this is the port")]
fn random_part() -> u128 {
    let mut bytes = [0; 16];
    if let Some(random) = bytes.last_chunk_mut::<{ RANDOM_BITS as usize / 8 }>() {
        // A machine without randomness still gets ids that grow; they are then only unique in this process.
        let _ = getrandom::fill(random);
    }
    u128::from_be_bytes(bytes)
}

/// Ids that count up: the same ones in every run.
#[derive(Debug, Default)]
pub struct SequentialIds(Mutex<u128>);

impl SequentialIds {
    /// Ids from `first` on.
    pub fn starting_at(first: u128) -> Self {
        Self(Mutex::new(first))
    }
}

impl IdSource for SequentialIds {
    fn next_id(&self, _now_ms: i64) -> u128 {
        let mut next = unpoisoned(&self.0);
        let id = *next;
        *next = id.wrapping_add(1);
        id
    }
}

/// The randomness of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn next_u64(&self) -> u64 {
        random_part() as u64
    }
}

/// Numbers that follow from a seed: the same ones in every run.
#[derive(Debug, Default)]
pub struct SeededRandomness(AtomicU64);

impl SeededRandomness {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }
}

impl Randomness for SeededRandomness {
    /// [SplitMix64](https://prng.di.unimi.it/splitmix64.c).
    fn next_u64(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let mut mixed = self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

/// The instant after `wait` by tokio's clock, at most 30 years from now, so that the sum never overflows.
#[cfg(feature = "log")]
pub(crate) fn from_now(wait: Duration) -> tokio::time::Instant {
    const FAR: Duration = Duration::from_secs(30 * 365 * 86_400);
    let now = tokio::time::Instant::now();
    now.checked_add(wait.min(FAR)).unwrap_or(now)
}

fn unpoisoned(mutex: &Mutex<u128>) -> MutexGuard<'_, u128> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_while_the_clock_steps_back_and_within_a_millisecond() {
        let mut last = 0;
        for now_ms in [-1, 0, 5_000, 5_000, 5_001, 1, i64::MIN, 5_002, i64::MAX, i64::MAX, 7] {
            let id = id_after(last, now_ms, || (1 << RANDOM_BITS) - 1);
            assert!(id > last, "{id:x} after {last:x}");
            last = id;
        }
    }

    #[test]
    fn system_ids_carry_the_time() {
        let now = SystemClock.now_ms();
        let first = SystemIds.next_id(now);
        // Another test may have taken an id of a later millisecond.
        assert!(first >> RANDOM_BITS >= now as u128);
        assert!(SystemIds.next_id(now - 3_600_000) > first);
    }

    #[test]
    fn seeded_numbers_are_those_of_the_reference() {
        let numbers = SeededRandomness::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| numbers.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn clones_of_a_manual_clock_show_the_same_time() {
        let clock = ManualClock::new(5);
        clock.clone().advance(2);
        assert_eq!(clock.now_ms(), 7);
    }
}
