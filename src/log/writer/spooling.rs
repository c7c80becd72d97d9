//! The task's side of the spool: what goes there next, one commit at a time, and what a commit brought.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::call::{Key, Place};
use super::shared::Erased;
use super::{Trouble, WriterTask};
use crate::clock::from_now;
use crate::log::spool::{SpoolChange, SpooledCall};
use crate::log::{LogError, RecordKey, Remedy, Spool, SpoolError};
use crate::message::{Position, Record};

/// What goes into the spool.
pub(super) struct Spooling {
    spool: Arc<Spool>,
    /// What was done, to be written down there.
    notes: Vec<SpoolChange>,
    /// Records that wait in memory for the next commit.
    wanted: Vec<(Key, Position)>,
    /// A commit, or what reads the spool at the start.
    running: JoinSet<Result<Done, SpoolError>>,
    commit: Commit,
    /// Whether it is known what the spool holds of an earlier life of the process.
    pub(super) is_known: bool,
    /// Calls that go on once the notes are written.
    busy: Vec<Key>,
    erased: Vec<Erased>,
    failures: u32,
    retry_at: Option<Instant>,
}

/// What is in the commit that is under way.
#[derive(Default)]
struct Commit {
    notes: Vec<SpoolChange>,
    records: Vec<(Key, Record)>,
    busy: Vec<Key>,
    erased: Vec<Erased>,
}

/// What was done with the spool.
pub(super) enum Done {
    Read(Vec<SpooledCall>),
    Committed,
}

impl Spooling {
    pub fn new(spool: Arc<Spool>) -> Self {
        Self {
            spool,
            notes: Vec::new(),
            wanted: Vec::new(),
            running: JoinSet::new(),
            commit: Commit::default(),
            is_known: false,
            busy: Vec::new(),
            erased: Vec::new(),
            failures: 0,
            retry_at: None,
        }
    }

    pub fn wakes_at(&self) -> Option<Instant> {
        self.retry_at
    }

    /// Whether records go there: not while it fails, until it is tried again.
    pub fn takes_records(&self) -> bool {
        self.retry_at.is_none()
    }

    pub fn is_idle(&self) -> bool {
        self.is_known && self.running.is_empty() && self.notes.is_empty() && self.wanted.is_empty()
    }
}

/// What comes of the work with the spool that is under way; `None` without any.
pub(super) async fn next_of_spool(
    spooling: &mut Option<Spooling>,
) -> Option<Result<Result<Done, SpoolError>, JoinError>> {
    spooling.as_mut()?.running.join_next().await
}

/// Does what blocks where that is allowed. A spool in memory does not block: so a simulation repeats.
pub(super) async fn aside<T: Send + 'static>(spool: Arc<Spool>, work: impl FnOnce(&Spool) -> T + Send + 'static) -> T {
    if !spool.is_on_disk() {
        return work(&spool);
    }
    match tokio::task::spawn_blocking(move || work(&spool)).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}

impl WriterTask {
    /// Starts a commit of all that has gathered, unless one is under way.
    pub(super) fn commit(&mut self) {
        let Some(spooling) = &mut self.spooling else { return };
        if spooling.retry_at.is_some_and(|at| Instant::now() < at) || !spooling.running.is_empty() {
            return;
        }
        spooling.retry_at = None;
        if !spooling.is_known {
            let spool = spooling.spool.clone();
            spooling.running.spawn(aside(spool, |spool| spool.calls().map(Done::Read)));
            return;
        }
        if spooling.is_idle() {
            return;
        }
        let mut commit = Commit {
            notes: std::mem::take(&mut spooling.notes),
            busy: std::mem::take(&mut spooling.busy),
            erased: std::mem::take(&mut spooling.erased),
            records: Vec::new(),
        };
        let (mut past, mut bytes) = (BTreeSet::new(), 0);
        for (key, position) in std::mem::take(&mut spooling.wanted) {
            let Some(state) = self.calls.get_mut(&key) else { continue };
            let Some(waiting) = state.waiting.get_mut(&position) else { continue };
            if waiting.place != Place::Spool || waiting.is_committing {
                continue;
            }
            // What comes behind one that found no room goes behind it to the log, too.
            // The spool keeps one revision of a message, and may have set this one aside.
            let at = (key.0.clone(), position, waiting.record.id());
            let is_dead_letter =
                self.dead_letters.get(&at).is_some_and(|kept| kept.is_in_spool(waiting.record.revision()));
            if past.contains(&key) || is_dead_letter || !spooling.spool.has_room_for(bytes + waiting.bytes as u64) {
                past.insert(key);
                continue;
            }
            bytes += waiting.bytes as u64;
            waiting.is_committing = true;
            commit.records.push((key, waiting.record.clone()));
        }
        let mut changes = commit.notes.clone();
        for (key, record) in &commit.records {
            if let Some(state) = self.calls.get(key) {
                changes.push(SpoolChange::Put(state.lease.clone(), record.clone()));
            }
        }
        if !changes.is_empty() {
            let spool = spooling.spool.clone();
            spooling.commit = commit;
            spooling.running.spawn(aside(spool, move |spool| spool.commit(&changes).map(|()| Done::Committed)));
        }
        for key in past {
            self.shared.count(|status| status.unspooled += 1);
            self.go_past_the_spool(&key);
        }
    }

    pub(super) fn is_committing(&self) -> bool {
        self.spooling.as_ref().is_some_and(|spooling| !spooling.is_idle())
    }

    pub(super) fn spool_is_done(&mut self, done: Result<Result<Done, SpoolError>, JoinError>) {
        let Some(spooling) = &mut self.spooling else { return };
        let commit = std::mem::take(&mut spooling.commit);
        let busy = commit.busy.clone();
        match done {
            Ok(Ok(done)) => {
                spooling.failures = 0;
                self.mended(None);
                match done {
                    Done::Read(found) => self.recovered(found),
                    Done::Committed => self.committed(commit),
                }
            }
            Ok(Err(error)) => self.spool_failed(commit, Arc::new(error)),
            Err(error) => self.spool_failed(commit, Arc::new(error)),
        }
        for key in busy {
            if let Some(state) = self.calls.get_mut(&key) {
                state.is_busy = false;
            }
            self.schedule_if_idle(&key, Duration::ZERO);
            self.settle(&key);
        }
    }

    fn committed(&mut self, commit: Commit) {
        commit.erased.into_iter().for_each(Erased::answer);
        for (key, record) in commit.records {
            self.spooled(&key, &record);
        }
    }

    /// What was to be spooled goes past the spool, until it is tried again; what was done is written down then.
    fn spool_failed(&mut self, commit: Commit, error: Arc<dyn std::error::Error + Send + Sync>) {
        let Some(spooling) = &mut self.spooling else { return };
        spooling.failures += 1;
        spooling.notes.splice(0..0, commit.notes);
        // What the spool has in spite of the error is taken out: it goes past it. What it had before stays there.
        for (key, record) in &commit.records {
            let is_new = self.calls.get(key).is_some_and(|state| !state.spooled.contains_key(&record.position()));
            if is_new {
                spooling.notes.push(SpoolChange::Shipped(key.0.clone(), RecordKey::of(record)));
            }
        }
        let wait = self.settings.wait_after(spooling.failures, self.settings.max_backoff);
        spooling.retry_at = Some(from_now(wait));
        let wanted = std::mem::take(&mut spooling.wanted);
        for mut erased in commit.erased {
            if erased.result.is_ok() {
                let what = format!("erasing call {} in the spool", erased.call_id);
                erased.result = Err(LogError::backend(what, Remedy::Operator, error.clone()));
            }
            erased.answer();
        }
        self.shared.count(|status| status.unspooled += 1);
        self.trouble(Trouble { call_id: None, error });
        for (key, record) in &commit.records {
            let state = self.calls.get_mut(key);
            if let Some(waiting) = state.and_then(|state| state.waiting.get_mut(&record.position())) {
                waiting.is_committing = false;
            }
        }
        let committing = commit.records.into_iter().map(|(key, _)| key);
        for key in committing.chain(wanted.into_iter().map(|(key, _)| key)) {
            self.go_past_the_spool(&key);
        }
    }

    /// Whether it is known what an earlier life of the process left.
    pub(super) fn is_spool_known(&self) -> bool {
        self.spooling.as_ref().is_none_or(|spooling| spooling.is_known)
    }

    /// Writes down in the spool what was done.
    pub(super) fn note(&mut self, note: SpoolChange) {
        if let Some(spooling) = &mut self.spooling {
            spooling.notes.push(note);
        }
    }

    /// The call goes on once the notes are written: else the spool would give out again what was just stored.
    pub(super) fn is_busy_until_committed(&mut self, key: &Key) {
        let (Some(spooling), Some(state)) = (&mut self.spooling, self.calls.get_mut(key)) else { return };
        if !spooling.notes.is_empty() {
            state.is_busy = true;
            spooling.busy.push(key.clone());
        }
    }

    pub(super) fn want_spooled(&mut self, key: &Key, position: Position) {
        if let Some(spooling) = &mut self.spooling {
            spooling.wanted.push((key.clone(), position));
        }
    }

    /// Answers once what was noted is written.
    pub(super) fn answer_when_noted(&mut self, erased: Erased) {
        match &mut self.spooling {
            Some(spooling) if !spooling.notes.is_empty() => spooling.erased.push(erased),
            _ => erased.answer(),
        }
    }
}
