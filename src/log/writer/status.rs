//! [`Status`]: the counters of a [`LogWriter`](super::LogWriter). [`Durability`]: the stages of a change.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use crate::log::{CallId, LogError};

/// How durable a change is, from the least to the most durable level.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// The writer has the change in memory. The end of the process loses the change.
    Accepted,
    /// The [spool](crate::log::Spool) has the change. The change survives the end of the process, and with
    /// [`with_fsync`](crate::log::SpoolSettings::with_fsync) also the loss of the host.
    Spooled,
    /// The log has the change.
    Stored,
}

impl Durability {
    /// Returns the level's name in metrics and in the record of a turn.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Spooled => "spooled",
            Self::Stored => "stored",
        }
    }
}

/// The counters of a [`LogWriter`](super::LogWriter), and the errors that block it.
///
/// `queued`, `spooled`, `dead_letters`, `bytes`, `lag` and `trouble` are current; the other fields count since the
/// writer was created.
///
/// While the writer is idle, `accepted + recovered` equals the sum of `stored`, `dropped`, `queued`, `spooled`
/// and `dead_letters`. Otherwise the sums may differ by the records that are being submitted.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Status {
    /// Records that were accepted.
    pub accepted: u64,
    /// Records of an earlier process that were read from the spool. A large spool is read in pieces.
    pub recovered: u64,
    /// Records that the writer stored in the log.
    pub stored: u64,
    /// Records that no longer have to be stored: they were submitted twice, replaced by a newer revision while they
    /// waited, taken as dead letters, or their call was erased.
    pub dropped: u64,
    /// Records that wait in memory.
    pub queued: u64,
    /// Records that wait in the spool, without those that were not read yet.
    pub spooled: u64,
    /// Records that are now [dead letters](crate::log::DeadLetter).
    pub dead_letters: u64,
    /// Attempts that failed and are retried.
    pub retried: u64,
    /// Submissions that were accepted only in part because of the limits.
    pub refused: u64,
    /// Commits of the spool that failed, and records that did not fit into it.
    pub unspooled: u64,
    /// Bytes that wait in memory.
    pub bytes: usize,
    /// The time for which the oldest unstored part has been waiting; zero if nothing waits.
    pub lag: Duration,
    /// Errors that need an operator: the newest one of each blocked call, and of the spool. The writer keeps retrying.
    /// The error of a deleted spool file is shown for at least a minute, even if the spool has written the file again.
    pub trouble: Vec<LogError>,
}

/// The state from which a [`Status`] is read.
#[derive(Default)]
pub(super) struct Counters {
    pub status: Mutex<Status>,
    /// When the oldest waiting record was accepted.
    pub oldest: Mutex<Option<Instant>>,
    /// By call; `None` is the spool.
    pub trouble: Mutex<BTreeMap<Option<CallId>, LogError>>,
}

impl Counters {
    pub fn status(&self, bytes: usize) -> Status {
        let oldest = *super::unpoisoned(&self.oldest);
        Status {
            bytes,
            lag: oldest.map(|since| since.elapsed()).unwrap_or_default(),
            trouble: super::unpoisoned(&self.trouble).values().cloned().collect(),
            ..super::unpoisoned(&self.status).clone()
        }
    }
}
