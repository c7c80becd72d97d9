//! The task's side of the spool: what goes there next, one commit at a time, and what a commit brought.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use super::aside::Kept;
use super::call::{CallState, Key, Place, Spooled, key_of};
use super::shared::Reply;
use super::{Durability, Trouble, WriterTask};
use crate::log::spool::SpoolChange;
use crate::log::{RecordKey, Spool, SpoolError};
use crate::message::{Position, Record};

/// What goes into the spool.
pub(super) struct Spooling {
    spool: Arc<Spool>,
    /// What was done, to be written down there.
    notes: Vec<SpoolChange>,
    /// Records that wait in memory for the next commit.
    wanted: Vec<(Key, Position)>,
    running: JoinSet<Result<(), SpoolError>>,
    commit: Commit,
    /// Calls that go on once the notes are written.
    busy: Vec<Key>,
    replies: Vec<Reply>,
    failures: u32,
    retry_at: Option<Instant>,
}

/// What is in the commit that is under way.
#[derive(Default)]
struct Commit {
    notes: Vec<SpoolChange>,
    records: Vec<(Key, Record)>,
    busy: Vec<Key>,
    replies: Vec<Reply>,
}

impl Spooling {
    pub fn new(spool: Arc<Spool>) -> Self {
        Self {
            spool,
            notes: Vec::new(),
            wanted: Vec::new(),
            running: JoinSet::new(),
            commit: Commit::default(),
            busy: Vec::new(),
            replies: Vec::new(),
            failures: 0,
            retry_at: None,
        }
    }

    pub fn wakes_at(&self) -> Option<Instant> {
        self.retry_at
    }

    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.notes.is_empty() && self.wanted.is_empty()
    }
}

/// The end of the commit that is under way; `None` without one.
pub(super) async fn next_commit(spooling: &mut Option<Spooling>) -> Option<Result<Result<(), SpoolError>, JoinError>> {
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
        if spooling.is_idle() {
            return;
        }
        let mut commit = Commit {
            notes: std::mem::take(&mut spooling.notes),
            busy: std::mem::take(&mut spooling.busy),
            replies: std::mem::take(&mut spooling.replies),
            records: Vec::new(),
        };
        let mut past = Vec::new();
        let mut bytes = 0;
        for (key, position) in std::mem::take(&mut spooling.wanted) {
            let Some(state) = self.calls.get_mut(&key) else { continue };
            let Some(waiting) = state.waiting.get_mut(&position) else { continue };
            if waiting.place != Place::Spool || waiting.is_committing {
                continue;
            }
            // Nor does a smaller one that stands behind it overtake it.
            if past.contains(&key) || !spooling.spool.has_room_for(bytes + waiting.bytes as u64) {
                past.push(key);
                continue;
            }
            bytes += waiting.bytes as u64;
            waiting.is_committing = true;
            commit.records.push((key, waiting.record.clone()));
        }
        let mut changes = commit.notes.clone();
        for (key, record) in &commit.records {
            if let Some(state) = self.calls.get(key) {
                changes.push(SpoolChange::Put(state.claim.clone(), record.clone()));
            }
        }
        if !changes.is_empty() {
            let spool = spooling.spool.clone();
            spooling.commit = commit;
            spooling.running.spawn(aside(spool, move |spool| spool.commit(&changes)));
        }
        for key in past {
            self.shared.counters.unspooled.add(1);
            self.go_past_the_spool(&key);
        }
    }

    pub(super) fn is_committing(&self) -> bool {
        self.spooling.as_ref().is_some_and(|spooling| !spooling.is_idle())
    }

    pub(super) fn committed(&mut self, result: Result<Result<(), SpoolError>, JoinError>) {
        let Some(spooling) = &mut self.spooling else { return };
        let commit = std::mem::take(&mut spooling.commit);
        let error: Option<Arc<dyn std::error::Error + Send + Sync>> = match result {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Arc::new(error)),
            Err(error) => Some(Arc::new(error)),
        };
        match error {
            None => {
                spooling.failures = 0;
                commit.replies.into_iter().for_each(Reply::send);
                for (key, record) in commit.records {
                    self.spooled(&key, &record);
                }
                self.is_mended(None);
            }
            Some(error) => {
                spooling.failures += 1;
                // What was done is written down with the next commit.
                spooling.notes.splice(0..0, commit.notes);
                // Its records go past the spool; those that it has in spite of the error are taken out.
                let there = commit.records.iter().map(|(key, record)| (key.0.clone(), RecordKey::of(record)));
                spooling.notes.extend(there.map(|(call_id, key)| SpoolChange::Shipped(call_id, key)));
                spooling.replies.extend(commit.replies);
                let wait = self.settings.wait_after(spooling.failures, self.settings.max_backoff);
                spooling.retry_at = Some(Instant::now() + wait);
                self.shared.counters.unspooled.add(1);
                self.trouble(Trouble { call_id: None, error });
                for (key, record) in commit.records {
                    if let Some(waiting) =
                        self.calls.get_mut(&key).and_then(|state| state.waiting.get_mut(&record.position()))
                    {
                        waiting.is_committing = false;
                    }
                    self.go_past_the_spool(&key);
                }
            }
        }
        for key in commit.busy {
            if let Some(state) = self.calls.get_mut(&key) {
                state.is_busy = false;
            }
            self.schedule_if_idle(&key, Duration::ZERO);
            self.settle(&key);
        }
    }

    /// The spool holds a record.
    fn spooled(&mut self, key: &Key, record: &Record) {
        let (position, id, revision) = (record.position(), record.id(), record.revision());
        if self.shared.acknowledge_at == Durability::Spooled {
            self.acknowledge(key, record);
        }
        let waiting = self.calls.get(key).and_then(|state| state.waiting.get(&position));
        let Some(waiting) = waiting.filter(|waiting| waiting.record.id() == id) else {
            // Its call was over in the meantime, and the record set aside, or forgotten.
            return self.note(SpoolChange::Shipped(key.0.clone(), RecordKey::of(record)));
        };
        let number = if waiting.record.revision() == revision {
            // It goes on waiting, elsewhere.
            let (number, bytes, call) = (waiting.number, waiting.bytes, waiting.call.clone());
            self.shared.give_back(&call, bytes);
            self.shared.counters.queued.subtract(1);
            number
        } else {
            // A newer one has come, and is to replace it there: until then it counts again.
            self.shared.counters.replaced.subtract(1);
            self.number()
        };
        self.shared.counters.spooled.add(1);
        let Some(state) = self.calls.get_mut(key) else { return };
        if state.waiting.get(&position).is_some_and(|waiting| waiting.record.revision() == revision) {
            state.waiting.remove(&position);
        }
        if let Some(older) = state.spooled.insert(position, Spooled { number, id, revision }) {
            self.shared.counters.spooled.subtract(1);
            self.shared.counters.replaced.add(1);
            self.settle_number(older.number);
        }
        self.schedule_if_idle(key, self.patience());
    }

    /// Has the records of a call that wait in memory written into the log from there, for the spool does not take them.
    fn go_past_the_spool(&mut self, key: &Key) {
        let Some(state) = self.calls.get_mut(key) else { return };
        for waiting in state.waiting.values_mut().filter(|waiting| !waiting.is_committing) {
            waiting.place = Place::Log;
        }
        self.schedule_if_idle(key, self.patience());
    }

    /// What the spool holds of an earlier life of the process, or of the host.
    pub(super) async fn recover(&mut self) {
        let Some(spool) = self.settings.spool.clone() else { return };
        loop {
            match aside(spool.clone(), Spool::calls).await {
                Ok(found) => return self.recovered(found),
                Err(error) => {
                    let error = Arc::new(error);
                    self.trouble(Trouble { call_id: None, error });
                    tokio::time::sleep(self.settings.max_backoff).await;
                }
            }
        }
    }

    fn recovered(&mut self, found: Vec<crate::log::spool::SpooledCall>) {
        for call in found {
            let key = key_of(&call.claim);
            let mut state = CallState::new(call.claim.clone());
            state.opening = call.opening.map(|header| (self.number(), header));
            state.ending = call.ending.map(|ending| (self.number(), ending));
            for (record, _) in &call.records {
                let spooled = Spooled { number: self.number(), id: record.id, revision: record.revision };
                state.spooled.insert(record.position, spooled);
            }
            for (record, _) in &call.set_aside {
                let aside = (call.claim.call_id().clone(), record.position, record.id);
                self.set_aside.insert(aside, Kept::InSpool { revision: record.revision });
            }
            self.shared.counters.recovered.add(call.records.len() + call.set_aside.len());
            self.shared.counters.spooled.add(call.records.len());
            self.shared.counters.set_aside.add(call.set_aside.len());
            self.calls.insert(key.clone(), state);
            self.schedule(&key, Duration::ZERO);
            self.settle(&key);
        }
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

    /// To be answered once what was noted is written.
    pub(super) fn answer_when_noted(&mut self, reply: Reply) {
        match &mut self.spooling {
            Some(spooling) if !spooling.notes.is_empty() => spooling.replies.push(reply),
            _ => reply.send(),
        }
    }
}
