//! [`WriterSettings`]: how a [`LogWriter`](super::LogWriter) writes.

use std::sync::Arc;
use std::time::Duration;

use super::Durability;
use crate::clock::{Randomness, SystemRandomness};
use crate::log::{Redactor, Spool};

/// How a [`LogWriter`](super::LogWriter) writes. The defaults suit a service of some thousand calls and DynamoDB.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WriterSettings {
    /// How many calls are written at once; 64.
    pub parallel: usize,
    /// How many records of a call are written, one after the other, before another call has its turn; 25.
    pub batch: usize,
    /// How long the log may take for a record; 5 s. Then it counts as failed, and is tried again.
    pub attempt: Duration,
    /// The first wait after a failure; 50 ms. It doubles with each further one.
    pub backoff: Duration,
    /// The longest wait after failures that may pass by themselves; 10 s.
    pub max_backoff: Duration,
    /// The longest wait after failures that a person has to mend; 30 s.
    pub max_operator_backoff: Duration,
    /// How long a record waits for a newer revision of itself, which then replaces it; 200 ms. Not in a flush.
    pub linger: Duration,
    /// How many bytes of a call may wait in memory; 4 MiB.
    pub max_call_bytes: usize,
    /// How many bytes of all calls may wait in memory; 256 MiB. What was set aside there counts as well.
    pub max_bytes: usize,
    /// What happens when that is full.
    pub when_full: WhenFull,
    /// How far a change has to be before the manager is told that the log has it; `None`: spooled where there is a spool,
    /// else stored.
    pub acknowledge_at: Option<Durability>,
    /// How long the task goes on for when its [`LogWriter`](super::LogWriter)s are gone and records are left; 10 s.
    pub linger_at_end: Duration,
    /// Where the waits get their jitter.
    pub randomness: Arc<dyn Randomness>,
    /// Where changes are kept until they are stored.
    pub spool: Option<Arc<Spool>>,
    /// Finds what must not be written. Each record is [redacted](crate::log::redact) by the task, before it is spooled or
    /// put; the conversation stays as it is. One that cannot be redacted is written nowhere: it is
    /// [set aside](crate::log::DeadLetter::is_unredacted) in memory, and lost with the process. Headers and endings, which
    /// hold nothing that was said, are written as they are, and so is what an earlier process spooled without a redactor.
    pub redactor: Option<Arc<dyn Redactor>>,
}

/// What happens to changes that are handed over when too much is waiting in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenFull {
    /// They stay pending in the manager and come with the next turn: nothing is lost, and memory stays bounded as far
    /// as the writer goes.
    #[default]
    KeepPending,
    /// They are accepted all the same.
    Accept,
}

impl Default for WriterSettings {
    fn default() -> Self {
        Self {
            parallel: 64,
            batch: 25,
            attempt: Duration::from_secs(5),
            backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(10),
            max_operator_backoff: Duration::from_secs(30),
            linger: Duration::from_millis(200),
            max_call_bytes: 4 << 20,
            max_bytes: 256 << 20,
            when_full: WhenFull::default(),
            acknowledge_at: None,
            linger_at_end: Duration::from_secs(10),
            randomness: Arc::new(SystemRandomness),
            spool: None,
            redactor: None,
        }
    }
}

impl WriterSettings {
    /// The same with a spool: what is [`Spooled`](Durability::Spooled) counts as logged.
    #[must_use]
    pub fn with_spool(mut self, spool: Arc<Spool>) -> Self {
        self.spool = Some(spool);
        self
    }

    /// The same with a redactor.
    #[must_use]
    pub fn with_redactor(mut self, redactor: Arc<dyn Redactor>) -> Self {
        self.redactor = Some(redactor);
        self
    }

    /// The same with another level at which changes count as logged.
    #[must_use]
    pub fn with_acknowledge_at(mut self, level: Durability) -> Self {
        self.acknowledge_at = Some(level);
        self
    }

    /// The same with other limits of what waits in memory, in bytes.
    #[must_use]
    pub fn with_limits(mut self, max_call_bytes: usize, max_bytes: usize) -> Self {
        (self.max_call_bytes, self.max_bytes) = (max_call_bytes, max_bytes);
        self
    }

    /// The same with another policy for when that is full.
    #[must_use]
    pub fn with_when_full(mut self, when_full: WhenFull) -> Self {
        self.when_full = when_full;
        self
    }

    /// The same with another number of calls that are written at once.
    #[must_use]
    pub fn with_parallel(mut self, parallel: usize) -> Self {
        self.parallel = parallel;
        self
    }

    /// The same with another time that records wait for newer revisions of themselves.
    #[must_use]
    pub fn with_linger(mut self, linger: Duration) -> Self {
        self.linger = linger;
        self
    }

    /// The same with another source of jitter.
    #[must_use]
    pub fn with_randomness(mut self, randomness: Arc<dyn Randomness>) -> Self {
        self.randomness = randomness;
        self
    }

    /// The level at which changes count as logged.
    pub(super) fn level(&self) -> Durability {
        match self.acknowledge_at {
            Some(Durability::Accepted) => Durability::Accepted,
            Some(Durability::Stored) => Durability::Stored,
            Some(Durability::Spooled) | None if self.spool.is_some() => Durability::Spooled,
            Some(Durability::Spooled) | None => Durability::Stored,
        }
    }

    /// How long to wait after `failures` failed attempts in a row: half of it for sure, half by chance.
    pub(super) fn wait_after(&self, failures: u32, max: Duration) -> Duration {
        let whole = self.backoff.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(max);
        let half = whole / 2;
        let chance = (self.randomness.next_u64() >> 32) as f64 / f64::from(u32::MAX);
        half + half.mul_f64(chance)
    }
}
