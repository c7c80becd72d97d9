//! [`WriterSettings`]: the settings of a [`LogWriter`](super::LogWriter).

use std::sync::Arc;
use std::time::Duration;

use super::Durability;
use crate::clock::{Randomness, Seeded, SystemRandomness, backoff, with_jitter};
use crate::log::redaction::Redactors;
use crate::log::{Redactor, Spool};

/// The settings of a [`LogWriter`](super::LogWriter). The defaults suit a service with thousands of calls and DynamoDB.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriterSettings {
    pub(super) parallel: usize,
    pub(super) batch: usize,
    pub(super) attempt_timeout: Duration,
    pub(super) max_backoff: Duration,
    pub(super) linger: Duration,
    turn_wait: Option<Duration>,
    pub(super) max_call_bytes: usize,
    pub(super) max_bytes: usize,
    acknowledge_at: Option<Durability>,
    randomness: Arc<dyn Randomness>,
    pub(super) takeover_after: Option<Duration>,
    pub(super) spool: Option<Arc<Spool>>,
    pub(super) redactors: Redactors,
}

/// The default of [`turn_wait`](WriterSettings::with_turn_wait): without a spool, and, longer than a reply takes to
/// play, with one.
const TURN_WAIT: Duration = Duration::from_secs(2);
const TURN_WAIT_WITH_SPOOL: Duration = Duration::from_secs(30);
/// The default in a log with spans: without a spool, about as long as a turn, and, longer than a turn, with one. A span
/// that is put before its turn ends must be put again.
const TURN_WAIT_OF_SPANS: Duration = Duration::from_secs(40);
const TURN_WAIT_OF_SPANS_WITH_SPOOL: Duration = Duration::from_secs(120);

/// The wait after a first failed attempt.
const FIRST_WAIT: Duration = Duration::from_millis(50);

impl Default for WriterSettings {
    fn default() -> Self {
        Self {
            parallel: 64,
            batch: 25,
            attempt_timeout: Duration::from_secs(5),
            max_backoff: Duration::from_secs(10),
            linger: Duration::from_millis(200),
            turn_wait: None,
            max_call_bytes: 4 << 20,
            max_bytes: 256 << 20,
            acknowledge_at: None,
            randomness: Arc::new(SystemRandomness),
            takeover_after: None,
            spool: None,
            redactors: Redactors::default(),
        }
    }
}

impl WriterSettings {
    /// Sets the spool. Changes then count as logged once they are [`Spooled`](Durability::Spooled).
    #[must_use]
    pub fn with_spool(mut self, spool: Arc<Spool>) -> Self {
        self.spool = Some(spool);
        self
    }

    /// Adds a redactor. Each redactor sees the original text, and everything that any of them finds is removed.
    ///
    /// The task [redacts](crate::log::redact) each record before it is spooled or stored; the conversation keeps its
    /// text. A record that cannot be redacted is not written anywhere: it becomes a [dead
    /// letter](crate::log::DeadLetter::is_unredacted) in memory, and is lost with the process. The
    /// [attributes](crate::log::CallHeader::attributes) of a header are redacted, too; if that fails, the header is
    /// stored without them. Call ends are not redacted, because they contain no words of a caller. Records that an
    /// earlier process without a redactor spooled are stored unredacted.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Arc<dyn Redactor>) -> Self {
        self.redactors.0.push(redactor);
        self
    }

    /// Sets the durability at which a change counts as logged, so that its manager no longer keeps the change as
    /// pending. The default is [`Spooled`](Durability::Spooled) with a spool and [`Stored`](Durability::Stored)
    /// without. Without a spool, `Spooled` means `Stored`.
    #[must_use]
    pub fn with_acknowledge_at(mut self, level: Durability) -> Self {
        self.acknowledge_at = Some(level);
        self
    }

    /// Sets how many bytes may wait in memory for one call and for all calls; 4 MiB and 256 MiB by default.
    ///
    /// Changes that do not fit stay pending in the manager and are submitted again with the next turn. A record that is
    /// larger than a limit is accepted when nothing else waits under that limit. Dead letters in memory count towards
    /// the second limit. With `usize::MAX` the writer accepts everything. The second limit also bounds how many of an
    /// earlier process's records in the spool the writer keeps track of at a time: one for each 4 KiB.
    #[must_use]
    pub fn with_limits(mut self, max_call_bytes: usize, max_bytes: usize) -> Self {
        (self.max_call_bytes, self.max_bytes) = (max_call_bytes, max_bytes);
        self
    }

    /// Sets how many calls are written concurrently, and how many records of a call are written, one after the other,
    /// before the writer continues with another call; 64 calls and 25 records by default.
    #[must_use]
    pub fn with_parallel(mut self, calls: usize, records: usize) -> Self {
        (self.parallel, self.batch) = (calls, records);
        self
    }

    /// Sets how long a record waits for a newer revision that replaces it; 200 ms by default. A flush does not wait.
    #[must_use]
    pub fn with_linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// Sets how long the messages of a reply may wait for its end and for the report that it was played, because both
    /// change them again; 2 s by default, and 30 s with a spool, which stores them meanwhile.
    ///
    /// Each message of a reply is then written once instead of two or three times. A host that dies without a spool
    /// loses the waiting messages of a reply, but no words of the caller. A flush, a tool that acts, and the end of the
    /// call do not wait. `Duration::ZERO` writes each change.
    ///
    /// In a log that [stores spans](crate::log::CallLog::stores_spans), the words of the caller wait with the reply,
    /// because they are one item, and a greeting waits for the first turn. A host that dies without a spool then loses
    /// the current turn. For such a log the default is 40 s, and 120 s with a spool, which is longer than a turn.
    #[must_use]
    pub fn with_turn_wait(mut self, longest: Duration) -> Self {
        self.turn_wait = Some(longest);
        self
    }

    /// Makes [`resume`](super::LogWriter::resume) take a call over only if the header of the call has not changed for
    /// `silence`, so that its writer seems dead. Resuming takes at least this long. All processes need this setting, because
    /// it also makes a writer change the header of each live call three times in this time, to show that it is alive.
    ///
    /// Such a change costs as much as closing a call: 2 write units in DynamoDB, or 3 with a caller. With 30 s, a call of
    /// 5 minutes costs 60 write units more.
    ///
    /// By default, a call is taken over at once, whether its writer is alive or not. If another process is taking the call
    /// over, `resume` waits until that process has been silent for 5 s.
    #[must_use]
    pub fn with_takeover_after(mut self, silence: Duration) -> Self {
        self.takeover_after = Some(silence);
        self
    }

    /// Sets how long the log may take for one request, such as the put of a record, and the longest wait before a
    /// retry; 5 s and 10 s by default. A request that takes longer has failed and is retried.
    ///
    /// The first wait is 50 ms, and the wait doubles with each failure in a row. After failures that need an operator,
    /// the wait grows to 30 s. While a flush waits, it is at most 1 s.
    #[must_use]
    pub fn with_retries(mut self, timeout: Duration, longest_wait: Duration) -> Self {
        (self.attempt_timeout, self.max_backoff) = (timeout, longest_wait);
        self
    }

    /// Derives the random part of the waits after failed attempts from a seed, so that a test waits as long in each run.
    /// By default, the operating system provides it.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.randomness = Arc::new(Seeded::from(seed));
        self
    }
}

impl WriterSettings {
    /// How often the writer shows that it is alive.
    pub(super) fn lease_renewal(&self) -> Option<Duration> {
        self.takeover_after.map(|silence| silence / 3)
    }

    /// How long the messages of a reply may wait for their last change.
    pub(super) fn turn_wait(&self, forms_spans: bool) -> Duration {
        self.turn_wait.unwrap_or(match (self.spool.is_some(), forms_spans) {
            (false, false) => TURN_WAIT,
            (true, false) => TURN_WAIT_WITH_SPOOL,
            (false, true) => TURN_WAIT_OF_SPANS,
            (true, true) => TURN_WAIT_OF_SPANS_WITH_SPOOL,
        })
    }

    /// The durability at which changes count as logged. Without a spool, nothing is ever spooled.
    pub(super) fn acknowledged_level(&self) -> Durability {
        match self.acknowledge_at {
            Some(Durability::Accepted) => Durability::Accepted,
            Some(Durability::Spooled) | None if self.spool.is_some() => Durability::Spooled,
            _ => Durability::Stored,
        }
    }

    /// Returns the wait after `failures` failed attempts in a row. Half of it is fixed, the other half random.
    pub(super) fn backoff_after(&self, failures: u32, max: Duration) -> Duration {
        with_jitter(backoff(FIRST_WAIT, failures, max), &*self.randomness)
    }
}
