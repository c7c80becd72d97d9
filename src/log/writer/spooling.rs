//! The task's side of the spool: gathers changes, commits them one batch at a time, and applies the results.

mod later;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::WriterTask;
use super::blocking::run_blocking;
use super::call::{Key, Route};
use super::shared::{Command, Erased};
use super::unread::{Piece, Unread};
use crate::clock::from_now;
use crate::log::spool::{SpoolChange, SpooledCall};
use crate::log::{LogError, LogErrorKind, RecordKey, Spool};
use crate::message::{Position, Record};

/// The state of the spool in the task.
pub(super) struct Spooling {
    pub(super) spool: Arc<Spool>,
    /// Gathered for the next commit.
    next: Batch,
    /// Records in memory to add to the next commit.
    queued: Vec<(Key, Position)>,
    /// The current commit, or read.
    running: JoinSet<Result<Done, LogError>>,
    committing: Batch,
    pub(super) unread: Unread,
    /// Commands that wait for the current work of the spool, or for its next one.
    later: Vec<Command>,
    /// True if a commit precedes the next read.
    commits_next: bool,
    /// The earliest time at which the trouble of a deleted or replaced file is cleared.
    pub(super) trouble_until: Option<Instant>,
    failures: u32,
    retry_at: Option<Instant>,
    /// The end of the latest work of the spool, which detects a deleted or replaced file.
    looked_at: Instant,
}

/// The maximum time after which a deleted or replaced file is detected, while it holds anything.
const LOOK_AFTER: Duration = Duration::from_millis(900);

/// The contents of a commit.
#[derive(Default)]
struct Batch {
    /// Results of attempts, and new headers and ends.
    changes: Vec<SpoolChange>,
    records: Vec<(Key, Record)>,
    /// Calls that are busy until the commit is done.
    held: Vec<Key>,
    /// Erasures to answer after the commit.
    erased: Vec<Erased>,
}

pub(super) enum Done {
    Read(Piece, Vec<SpooledCall>),
    Committed,
    Looked,
}

impl Spooling {
    pub fn new(spool: Arc<Spool>) -> Self {
        Self {
            spool,
            next: Batch::default(),
            queued: Vec::new(),
            running: JoinSet::new(),
            committing: Batch::default(),
            unread: Unread::default(),
            later: Vec::new(),
            commits_next: false,
            trouble_until: None,
            failures: 0,
            retry_at: None,
            looked_at: Instant::now(),
        }
    }

    /// Returns when the spool has work again.
    pub fn wakes_at(&self) -> Option<Instant> {
        let looks = !self.spool.is_empty() && self.spool.is_on_disk() && self.running.is_empty();
        let look_at = self.looked_at.checked_add(LOOK_AFTER).filter(|_| looks);
        self.retry_at.into_iter().chain(look_at).min()
    }

    /// Returns true if new records go to the spool. Between a failed commit and its retry, they bypass the spool.
    pub fn accepts_records(&self) -> bool {
        self.retry_at.is_none()
    }

    pub fn is_idle(&self) -> bool {
        self.unread.is_done() && self.running.is_empty() && !self.has_changes()
    }

    fn has_changes(&self) -> bool {
        !(self.next.changes.is_empty() && self.queued.is_empty())
    }

    /// Returns the next read, unless a commit comes first. Wanted calls precede every commit, so that the task knows
    /// the spooled records of a call before it adds to them.
    fn next_read(&mut self, room: usize) -> Option<Piece> {
        let is_commit_first = room == 0 || self.commits_next && self.has_changes();
        let piece = self.unread.wanted().or_else(|| self.unread.next().filter(|_| !is_commit_first));
        self.commits_next = piece.is_some();
        piece
    }
}

/// Waits for the current work of the spool. Returns `None` if there is none.
pub(super) async fn next_done(spooling: &mut Option<Spooling>) -> Option<Result<Result<Done, LogError>, JoinError>> {
    spooling.as_mut()?.running.join_next().await
}

impl WriterTask {
    /// Starts a read of the spool, or a commit of everything that has gathered, unless one is running.
    pub(super) fn start_commit(&mut self) {
        self.report_spool();
        let room = self.room_for_spooled();
        let Some(spooling) = &mut self.spooling else { return };
        if spooling.retry_at.is_some_and(|at| Instant::now() < at) || !spooling.running.is_empty() {
            return;
        }
        spooling.retry_at = None;
        let spool = spooling.spool.clone();
        if let Some(piece) = spooling.next_read(room) {
            let read = move |spool: &Spool| piece.read(spool, room).map(|found| Done::Read(piece, found));
            spooling.running.spawn(run_blocking(spool, read));
            return;
        }
        if !spooling.has_changes() {
            if spooling.wakes_at().is_some_and(|at| at <= Instant::now()) {
                spooling.running.spawn(run_blocking(spool, |spool| spool.look().map(|()| Done::Looked)));
            }
            return;
        }
        let mut batch = std::mem::take(&mut spooling.next);
        let (mut bypassing, mut bytes) = (BTreeSet::new(), 0);
        for (key, position) in std::mem::take(&mut spooling.queued) {
            let Some(state) = self.calls.get_mut(&key) else { continue };
            let Some(waiting) = state.waiting.get_mut(&position) else { continue };
            if waiting.route != Route::Spool || waiting.is_committing {
                continue;
            }
            // The spool keeps one revision of a message, so it cannot add a record that it keeps as a dead letter.
            let at = (key.0.clone(), position, waiting.record.id());
            let revision = waiting.record.revision();
            let is_dead_letter = self.dead_letters.get(&at).is_some_and(|letter| letter.is_in_spool(revision));
            // Once one record of a call bypasses the spool, the later ones do, too, to stay in order.
            if bypassing.contains(&key) || is_dead_letter || !spool.has_room_for(bytes + waiting.bytes as u64) {
                bypassing.insert(key);
                continue;
            }
            bytes += waiting.bytes as u64;
            waiting.is_committing = true;
            batch.records.push((key, waiting.record.clone()));
        }
        let mut changes = batch.changes.clone();
        for (key, record) in &batch.records {
            if let Some(state) = self.calls.get(key) {
                changes.push(SpoolChange::Put(state.lease.clone(), record.clone()));
                let span = state.spans.of(record.position());
                changes.extend(span.map(|span| SpoolChange::Span(key.0.clone(), span)));
            }
        }
        if !changes.is_empty() {
            spooling.committing = batch;
            spooling.running.spawn(run_blocking(spool, move |spool| spool.commit(&changes).map(|()| Done::Committed)));
        }
        for key in bypassing {
            self.shared.count(|status| status.unspooled += 1);
            self.bypass_spool(&key);
        }
    }

    pub(super) fn is_committing(&self) -> bool {
        self.spooling.as_ref().is_some_and(|spooling| !spooling.is_idle())
    }

    /// Applies the result of the spool's work.
    pub(super) fn on_spool_done(&mut self, joined: Result<Result<Done, LogError>, JoinError>) {
        let Some(spooling) = &mut self.spooling else { return };
        spooling.looked_at = Instant::now();
        let batch = std::mem::take(&mut spooling.committing);
        let held = batch.held.clone();
        let done = joined
            .unwrap_or_else(|panic| Err(LogError::backend("writing the spool", LogErrorKind::NeedsOperator, panic)));
        match done {
            Ok(done) => {
                spooling.failures = 0;
                if spooling.trouble_until.is_none_or(|until| Instant::now() >= until) {
                    self.clear_trouble(None);
                }
                match done {
                    Done::Read(piece, found) => self.on_read(piece, found),
                    Done::Committed => {
                        batch.erased.into_iter().for_each(Erased::send);
                        for (key, record) in batch.records {
                            self.on_spooled(&key, &record);
                        }
                    }
                    Done::Looked => {}
                }
            }
            Err(error) => {
                let changes = self.split_unspooled(batch.changes);
                self.on_commit_failed(Batch { changes, ..batch }, error);
            }
        }
        for key in held {
            if let Some(state) = self.calls.get_mut(&key) {
                state.is_busy = false;
            }
            self.schedule_if_idle(&key, Duration::ZERO);
            self.settle_call(&key);
        }
        let later = self.spooling.as_mut().map(|spooling| std::mem::take(&mut spooling.later));
        later.into_iter().flatten().for_each(|command| self.handle(command));
    }

    /// Makes the records of a failed commit bypass the spool, and schedules a retry of its other changes.
    fn on_commit_failed(&mut self, batch: Batch, error: LogError) {
        let Some(spooling) = &mut self.spooling else { return };
        spooling.failures += 1;
        spooling.next.changes.splice(0..0, batch.changes);
        // A commit that reports an error may have succeeded. Its records bypass the spool now, so they are removed from
        // the spool, except for records that replaced a spooled revision.
        for (key, record) in &batch.records {
            let is_new = self.calls.get(key).is_some_and(|state| !state.spooled.contains_key(&record.position()));
            if is_new {
                spooling.next.changes.push(SpoolChange::Stored(key.0.clone(), RecordKey::of(record)));
            }
        }
        let wait = self.settings.backoff_after(spooling.failures, self.settings.max_backoff);
        spooling.retry_at = Some(from_now(wait));
        let queued = std::mem::take(&mut spooling.queued);
        for mut erased in batch.erased {
            if erased.result.is_ok() {
                let operation = format!("erasing call {} from the spool", erased.call_id);
                erased.result = Err(LogError::backend(operation, LogErrorKind::NeedsOperator, error.clone()));
            }
            erased.send();
        }
        self.shared.count(|status| status.unspooled += 1);
        self.report_trouble(None, error);
        for (key, record) in &batch.records {
            let state = self.calls.get_mut(key);
            if let Some(waiting) = state.and_then(|state| state.waiting.get_mut(&record.position())) {
                waiting.is_committing = false;
            }
        }
        let committing = batch.records.into_iter().map(|(key, _)| key);
        for key in committing.chain(queued.into_iter().map(|(key, _)| key)) {
            self.bypass_spool(&key);
        }
    }

    /// Adds a change to the next commit.
    pub(super) fn queue_change(&mut self, change: SpoolChange) {
        if let Some(spooling) = &mut self.spooling {
            spooling.next.changes.push(change);
        }
    }

    /// Adds a record in memory to the next commit.
    pub(super) fn queue_record(&mut self, key: &Key, position: Position) {
        if let Some(spooling) = &mut self.spooling {
            spooling.queued.push((key.clone(), position));
        }
    }

    /// Keeps a call busy until the queued changes are committed. Otherwise the spool would return records that were just
    /// stored.
    pub(super) fn hold_until_committed(&mut self, key: &Key) {
        let (Some(spooling), Some(state)) = (&mut self.spooling, self.calls.get_mut(key)) else { return };
        if !spooling.next.changes.is_empty() {
            state.is_busy = true;
            spooling.next.held.push(key.clone());
        }
    }

    /// Keeps a call busy until the commit that starts now.
    pub(super) fn hold_for_commit(&mut self, key: &Key) {
        self.hold_until_committed(key);
        self.start_commit();
    }
}
