//! [`Status`]: what a [`LogWriter`](super::LogWriter) has done, has still to do, and what keeps it from it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::log::{CallId, LogError};

/// What a [`LogWriter`](super::LogWriter) has done, has still to do, and what keeps it from it.
///
/// Of records, `accepted` (and `recovered`) is the sum of `stored`, `replaced`, `queued`, `spooled`, `dead_letters`,
/// `taken` and `erased`, at every moment at which the writer is idle, and within the one being handed over else.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Status {
    /// Records that were accepted.
    pub accepted: u64,
    /// Records that were found in the spool at the start.
    pub recovered: u64,
    /// Records that the log holds.
    pub stored: u64,
    /// Records that a newer revision replaced while they waited, or that were handed over twice.
    pub replaced: u64,
    /// Records that wait in memory.
    pub queued: u64,
    /// Records that wait in the spool.
    pub spooled: u64,
    /// Records that are [set aside](super::DeadLetter).
    pub dead_letters: u64,
    /// Records that were set aside and then taken.
    pub taken: u64,
    /// Records of calls that were erased before they were stored.
    pub erased: u64,
    /// Records that were written, among them those that were replaced while they were.
    pub written: u64,
    /// Attempts that failed and are made again.
    pub retried: u64,
    /// Hand-overs of which not all was accepted, for too much was waiting.
    pub refused: u64,
    /// Commits of the spool that failed, and records that found it full.
    pub unspooled: u64,
    /// Bytes that wait in memory, of texts mostly.
    pub bytes: usize,
    /// How long the oldest record that waits has been doing so.
    pub lag: Duration,
    /// What a person has to mend, if anything: the newest such failure of each call that waits for it.
    pub trouble: Vec<Trouble>,
}

/// Something that keeps a call from being written and that a person has to mend. The writer tries on by itself.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Trouble {
    /// The call; `None` where it is the spool.
    pub call_id: Option<CallId>,
    /// What to mend.
    pub error: Arc<dyn std::error::Error + Send + Sync>,
}

impl Trouble {
    pub(super) fn of_call(call_id: CallId, error: Arc<LogError>) -> Self {
        Self { call_id: Some(call_id), error }
    }
}

/// What a [`Status`] is made of.
#[derive(Default)]
pub(super) struct Counters {
    /// Its numbers.
    pub status: Mutex<Status>,
    /// Since when the oldest record waits.
    pub oldest: Mutex<Option<Instant>>,
    /// Of each call, and of the spool.
    pub trouble: Mutex<BTreeMap<Option<CallId>, Trouble>>,
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
