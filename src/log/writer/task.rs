//! [`WriterTask`]: the task that writes the log. This file has its loop and timers; `commands.rs` handles the handles'
//! commands, `attempts.rs` the log, `spooling.rs` the spool.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::call::{CallState, Key};
use super::dead_letters::DeadLetters;
use super::erased::ErasedCalls;
use super::flush::Flush;
use super::operation::{Attempted, Attempts};
use super::shared::{Budget, Command, Shared};
use super::spooling::{Spooling, next_done};
use super::status::Counters;
use super::{LogWriter, Part, Unstored, WriterSettings, unpoisoned};
use crate::clock::from_now;
use crate::log::{CallId, CallLog, DeadLetter};

/// The task of a [`LogWriter`](super::LogWriter).
pub(super) struct WriterTask {
    pub(super) settings: WriterSettings,
    pub(super) shared: Arc<Shared>,
    pub(super) inbox: mpsc::UnboundedReceiver<Command>,
    /// The deadline of a stop, and those who wait for it.
    pub(super) stopping: Option<(Instant, Vec<oneshot::Sender<Vec<Unstored>>>)>,
    // Boxed, because the nodes of a map are half empty.
    pub(super) calls: BTreeMap<Key, Box<CallState>>,
    pub(super) attempts: Attempts,
    pub(super) running: JoinSet<Attempted>,
    /// The call of each running attempt, also if it panics.
    pub(super) keys: HashMap<Id, Key>,
    /// When calls are due. Entries that differ from `state.due` are stale.
    due: BinaryHeap<Reverse<(Instant, u64, Key)>>,
    /// The parts that are accepted but not stored: by number, when they were accepted.
    pub(super) outstanding: BTreeMap<u64, Instant>,
    pub(super) last_number: u64,
    pub(super) flushes: Vec<Flush>,
    pub(super) dead_letters: DeadLetters,
    /// The calls that were erased here and accept nothing more.
    pub(super) erased: ErasedCalls,
    /// The headers and call ends that the log rejected.
    pub(super) rejected: VecDeque<(Part, DeadLetter)>,
    pub(super) spooling: Option<Spooling>,
}

/// The maximum number of commands that are handled before attempts and commits get a turn.
const COMMANDS_PER_TURN: usize = 256;

/// How long the task runs after the last handle was dropped while parts are not stored.
const LINGER_AT_END: Duration = Duration::from_secs(10);

impl LogWriter {
    /// Creates a writer and its task.
    pub(super) fn with_task(log: Arc<dyn CallLog>, settings: WriterSettings) -> (Self, WriterTask) {
        let (commands, inbox) = mpsc::unbounded_channel();
        let spool = settings.spool.clone();
        let shared = Arc::new(Shared {
            counters: Counters::default(),
            budget: Budget::new(settings.max_bytes),
            max_call_bytes: settings.max_call_bytes,
            acknowledge_at: settings.acknowledged_level(),
            redactors: settings.redactors.clone(),
            leftovers: OnceLock::new(),
            room: Notify::new(),
        });
        let task = WriterTask::new(log.clone(), settings.clone(), shared.clone(), inbox);
        let (settings, watches) = (Arc::new(settings), Arc::default());
        (Self { log, spool, settings, watches, shared, commands }, task)
    }
}

impl WriterTask {
    pub(super) fn new(
        log: Arc<dyn CallLog>,
        settings: WriterSettings,
        shared: Arc<Shared>,
        inbox: mpsc::UnboundedReceiver<Command>,
    ) -> Self {
        let (spool, timeout, batch) = (settings.spool.clone(), settings.attempt_timeout, settings.batch);
        Self {
            spooling: settings.spool.clone().map(Spooling::new),
            attempts: Attempts { log, spool, timeout, batch },
            settings,
            shared,
            inbox,
            stopping: None,
            calls: BTreeMap::new(),
            running: JoinSet::new(),
            keys: HashMap::new(),
            due: BinaryHeap::new(),
            outstanding: BTreeMap::new(),
            last_number: 0,
            flushes: Vec::new(),
            dead_letters: DeadLetters::new(),
            erased: ErasedCalls::default(),
            rejected: VecDeque::new(),
        }
    }

    /// Writes until all handles are dropped and everything is stored, or until the writer is stopped. After the last
    /// handle is dropped, the task runs for 10 s at most.
    pub async fn run(mut self) {
        let (mut commands, mut is_open, mut end) = (Vec::with_capacity(COMMANDS_PER_TURN), true, None);
        loop {
            self.start_commit();
            self.start_attempts();
            self.answer_flushes();
            let is_idle = self.outstanding.is_empty() && self.running.is_empty() && !self.is_committing();
            if !is_open && (is_idle || end.is_some_and(|end| Instant::now() >= end)) {
                break;
            }
            let wake = self.wakes_at().into_iter().chain(end).min();
            tokio::select! {
                biased;
                Some(joined) = self.running.join_next_with_id() => self.on_attempted(joined),
                Some(joined) = next_done(&mut self.spooling) => self.on_spool_done(joined),
                received = self.inbox.recv_many(&mut commands, COMMANDS_PER_TURN), if is_open => {
                    if received == 0 {
                        is_open = false;
                        end = Some(self.stopping.as_ref().map_or_else(|| from_now(LINGER_AT_END), |(stop, _)| *stop));
                        self.schedule_now(None);
                    }
                    for command in commands.drain(..) {
                        self.handle(command);
                    }
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
        if !self.outstanding.is_empty() {
            tracing::warn!(parts = self.outstanding.len(), "the log's writer ends before all parts are stored");
        }
    }

    /// Returns how long a record waits for a newer revision.
    pub(super) fn linger(&self) -> Duration {
        if self.is_flushing() { Duration::ZERO } else { self.settings.linger }
    }

    /// Returns true if a caller waits for a flush, or the task is about to end.
    pub(super) fn is_flushing(&self) -> bool {
        !self.flushes.is_empty() || self.inbox.is_closed()
    }

    /// Returns true if a caller waits for a flush of this call or of all, or the task is about to end.
    pub(super) fn is_flushing_call(&self, call_id: &CallId) -> bool {
        let is_of = |flush: &Flush| flush.call_id.as_ref().is_none_or(|flushed| flushed == call_id);
        self.flushes.iter().any(is_of) || self.inbox.is_closed()
    }

    /// Schedules the new work of a call. Does not shorten a backoff.
    pub(super) fn schedule_work(&mut self, key: &Key) {
        let wait = self.wait(key);
        if self.calls.get(key).is_some_and(|state| state.failures == 0 && state.has_work()) {
            self.schedule(key, wait);
        } else {
            self.schedule_if_idle(key, wait);
        }
    }

    /// Schedules a call after `wait`, or keeps an earlier schedule.
    pub(super) fn schedule(&mut self, key: &Key, wait: Duration) {
        let Some(state) = self.calls.get_mut(key) else { return };
        let at = from_now(wait);
        if state.due.is_none_or(|due| at < due) {
            state.due = Some(at);
            self.last_number += 1;
            self.due.push(Reverse((at, self.last_number, key.clone())));
        }
    }

    /// Schedules a call after `wait`, unless it is scheduled already. This does not shorten a backoff.
    pub(super) fn schedule_if_idle(&mut self, key: &Key, wait: Duration) {
        if self.calls.get(key).is_some_and(|state| state.due.is_none()) {
            self.schedule(key, wait);
        }
    }

    /// Removes and returns the next call that is due.
    pub(super) fn next_due(&mut self) -> Option<Key> {
        let now = Instant::now();
        while self.due.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((at, _, key))) = self.due.pop() else { break };
            let Some(state) = self.calls.get_mut(&key) else { continue };
            if state.due == Some(at) {
                state.due = None;
                return Some(key);
            }
        }
        None
    }

    fn wakes_at(&self) -> Option<Instant> {
        let can_attempt = self.running.len() < self.settings.parallel.max(1);
        let due = self.due.peek().filter(|_| can_attempt).map(|Reverse((at, ..))| *at);
        let flush = self.flushes.iter().map(|flush| flush.deadline).min();
        let spool = self.spooling.as_ref().and_then(Spooling::wakes_at);
        [due, flush, spool].into_iter().flatten().min()
    }

    /// Adds an accepted part and returns its number.
    pub(super) fn add_part(&mut self) -> u64 {
        self.last_number += 1;
        self.outstanding.insert(self.last_number, Instant::now());
        self.update_lag();
        self.last_number
    }

    /// Removes a part that is stored, replaced or rejected.
    pub(super) fn settle_part(&mut self, number: u64) {
        self.outstanding.remove(&number);
        self.update_lag();
    }

    fn update_lag(&self) {
        *unpoisoned(&self.shared.counters.oldest) = self.outstanding.values().next().copied();
    }

    /// Publishes the level of a call after its work changed, and removes its state if it has no work and no handles.
    pub(super) fn settle_call(&mut self, key: &Key) {
        if let Some(state) = self.calls.get(key) {
            state.publish_level();
        }
        if self.calls.get(key).is_some_and(|state| state.is_done()) {
            self.calls.remove(key);
        }
    }
}

/// Publishes the parts that are not stored, however the task ends: by itself, stopped, aborted, or with its runtime.
impl Drop for WriterTask {
    fn drop(&mut self) {
        self.inbox.close();
        let mut leftovers = self.unstored(None, u64::MAX);
        while let Ok(command) = self.inbox.try_recv() {
            leftovers.extend(command.unstored());
        }
        let _ = self.shared.leftovers.set(leftovers);
    }
}
