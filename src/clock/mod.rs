//! The ports for time and ids: [`Clock`] and [`IdSource`].
//!
//! No other module reads the clock or random numbers, so a call can be replayed exactly.

#[cfg(feature = "log")]
mod backoff;
mod moment;
mod seeded;

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[cfg(feature = "log")]
pub(crate) use backoff::{backoff, with_jitter};
pub(crate) use moment::{Date, read_moment, write_moment};
pub(crate) use seeded::Seeded;

/// A source of the current time.
pub trait Clock: fmt::Debug + Send + Sync {
    /// Returns the current time in milliseconds since the Unix epoch. The time may step back between two calls.
    fn now_ms(&self) -> i64;
}

/// A source of [ULIDs](https://github.com/ulid/spec).
pub trait IdSource: fmt::Debug + Send + Sync {
    /// Returns a new id for something that is made at `now_ms`, in milliseconds since the Unix epoch.
    ///
    /// Must never return an id twice.
    fn next_id(&self, now_ms: i64) -> u128;
}

/// A source of random numbers that need not be secure, such as for the jitter of retries.
pub(crate) trait Randomness: fmt::Debug + Send + Sync {
    /// Returns the next number, in which all 64 bits are random.
    fn next_u64(&self) -> u64;
}

/// The system clock.
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

/// The clock of a conversation, and the source of its ids.
#[derive(Debug)]
pub(crate) struct Sources {
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
}

impl Sources {
    /// Returns the system's clock and ids, which all conversations share.
    pub fn system() -> Arc<Self> {
        static SYSTEM: LazyLock<Arc<Sources>> =
            LazyLock::new(|| Arc::new(Sources { clock: Arc::new(SystemClock), ids: Arc::new(SystemIds) }));
        SYSTEM.clone()
    }
}

/// A clock that the caller sets, for tests and to replay a recorded call with its own times.
///
/// Clones share the time.
#[derive(Debug, Clone, Default)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// Creates a clock that shows `now_ms`, in milliseconds since the Unix epoch.
    pub fn new(now_ms: i64) -> Self {
        Self(Arc::new(AtomicI64::new(now_ms)))
    }

    /// Sets the time in milliseconds since the Unix epoch, forwards or back.
    pub fn set(&self, now_ms: i64) {
        self.0.store(now_ms, Ordering::Relaxed);
    }

    /// Moves the time forwards by `ms` milliseconds.
    pub fn advance(&self, ms: i64) {
        self.0.fetch_add(ms, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Random ids. Those of a thread increase strictly, even if the clock steps back.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

thread_local! {
    /// The halves of the last id: a time of 48 bits and a number of 16 bits, and a random number. That is drawn again when
    /// the time advances, so that copies of a process do not share it.
    static LAST: Cell<Option<[u64; 2]>> = const { Cell::new(None) };
}

impl IdSource for SystemIds {
    fn next_id(&self, now_ms: i64) -> u128 {
        LAST.with(|last| {
            let [before, known] = last.get().unwrap_or_default();
            let half = half_after(before, now_ms);
            let is_later = half >> NUMBER_BITS > before >> NUMBER_BITS;
            let random = if is_later || last.get().is_none() { random() } else { known };
            last.set(Some([half, random]));
            u128::from(half) << u64::BITS | u128::from(random)
        })
    }
}

/// Returns the first half of the id after `last`: number 0 of a later time, or the next number.
///
/// If the number overflows, the carry increments the time, so the ids still increase.
fn half_after(last: u64, now_ms: i64) -> u64 {
    let time = now_ms.clamp(0, MAX_TIME_MS).unsigned_abs();
    if time > last >> NUMBER_BITS { time << NUMBER_BITS } else { last + 1 }
}

const NUMBER_BITS: u32 = 16;
/// One millisecond less than the field can hold, to leave room for the carry.
const MAX_TIME_MS: i64 = (1 << 48) - 2;

#[expect(clippy::disallowed_methods, reason = "this is the port")]
fn random() -> u64 {
    // Without randomness, ids are unique in this process only.
    static DRAWN: AtomicU64 = AtomicU64::new(0);
    getrandom::u64().unwrap_or_else(|_| DRAWN.fetch_add(1, Ordering::Relaxed))
}

/// Ids that count up, for reproducible tests.
#[derive(Debug, Default)]
pub struct SequentialIds(Mutex<u128>);

/// Starts with this id.
impl From<u128> for SequentialIds {
    fn from(first: u128) -> Self {
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

/// The randomness of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemRandomness;

impl Randomness for SystemRandomness {
    fn next_u64(&self) -> u64 {
        random()
    }
}

impl Randomness for Seeded {
    fn next_u64(&self) -> u64 {
        self.next_u64()
    }
}

/// Returns the instant after `wait`, limited to 30 years from now, in tokio's time.
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
    fn ids_increase_while_the_clock_steps_back_and_within_a_millisecond() {
        let mut last = (5_000 << NUMBER_BITS) - 3;
        for now_ms in [-1, 0, 4_999, 5_000, 5_000, 5_001, 1, i64::MIN, 5_002, i64::MAX, i64::MAX, 7] {
            let half = half_after(last, now_ms);
            assert!(half > last, "{half:x} after {last:x}");
            last = half;
        }
    }

    #[test]
    fn ids_of_threads_differ_and_increase_in_each() {
        let ids = || (0..10_000).map(|_| SystemIds.next_id(SystemClock.now_ms())).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(ids)).collect();
        let threads: Vec<Vec<u128>> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(threads.iter().all(|ids| ids.is_sorted()));
        let all: std::collections::BTreeSet<u128> = threads.into_iter().flatten().collect();
        assert_eq!(all.len(), 40_000);
    }

    #[test]
    fn system_ids_contain_the_time() {
        let now = SystemClock.now_ms();
        let first = SystemIds.next_id(now);
        // A parallel test may have made an id in a later millisecond.
        assert!(first >> (u64::BITS + NUMBER_BITS) >= now as u128);
        assert!(SystemIds.next_id(now - 3_600_000) > first);
    }

    #[test]
    fn seeded_numbers_match_the_reference_implementation() {
        let numbers = Seeded::from(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| numbers.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn clones_of_a_manual_clock_share_the_time() {
        let clock = ManualClock::new(5);
        clock.clone().advance(2);
        assert_eq!(clock.now_ms(), 7);
    }
}
