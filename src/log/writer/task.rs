//! [`WriterTask`]: the task that writes. Here: what it is told, and what wakes it; `attempts.rs` does what is due,
//! `spooling.rs` feeds the spool.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::call::{CallState, Key};
use super::dead_letters::DeadLetters;
use super::flush::Flush;
use super::operation::{Attempts, Outcome};
use super::shared::{Order, Shared};
use super::spooling::{Spooling, next_of_spool};
use super::{Unstored, WriterSettings, unpoisoned};
use crate::clock::from_now;
use crate::log::{CallId, CallLog};

/// The task that writes what the handles of a [`LogWriter`](super::LogWriter) take in. Run it in one place of the
/// process: `tokio::spawn(task.run())`, and keep the handle to await its end.
pub struct WriterTask {
    pub(super) settings: WriterSettings,
    pub(super) shared: Arc<Shared>,
    inbox: mpsc::UnboundedReceiver<Order>,
    pub(super) calls: BTreeMap<Key, CallState>,
    pub(super) attempts: Attempts,
    pub(super) running: JoinSet<Outcome>,
    /// Whose attempt is which, for one that panics.
    pub(super) keys: HashMap<Id, Key>,
    /// When a call is due; of a call only the entry counts that says what its state says.
    due: BinaryHeap<Reverse<(Instant, u64, Key)>>,
    /// Parts that are accepted and not stored, by their number, and since when.
    pub(super) outstanding: BTreeMap<u64, Instant>,
    pub(super) last_number: u64,
    pub(super) flushes: Vec<Flush>,
    pub(super) dead_letters: DeadLetters,
    /// Calls that were erased, here: nothing more is taken in of them.
    pub(super) erased: BTreeSet<CallId>,
    /// Headers and endings that the log refused.
    pub(super) refused: VecDeque<Unstored>,
    pub(super) spooling: Option<Spooling>,
}

/// How many orders are taken in before anything else is looked at.
const ORDERS: usize = 256;

impl WriterTask {
    pub(super) fn new(
        log: Arc<dyn CallLog>,
        settings: WriterSettings,
        shared: Arc<Shared>,
        inbox: mpsc::UnboundedReceiver<Order>,
    ) -> Self {
        let (spool, time, batch) = (settings.spool.clone(), settings.attempt, settings.batch);
        Self {
            spooling: settings.spool.clone().map(Spooling::new),
            attempts: Attempts { log, spool, time, batch },
            settings,
            shared,
            inbox,
            calls: BTreeMap::new(),
            running: JoinSet::new(),
            keys: HashMap::new(),
            due: BinaryHeap::new(),
            outstanding: BTreeMap::new(),
            last_number: 0,
            flushes: Vec::new(),
            dead_letters: DeadLetters::new(),
            erased: BTreeSet::new(),
            refused: VecDeque::new(),
        }
    }

    /// Writes until all handles are gone and nothing is left to write, or until it is stopped.
    pub async fn run(mut self) {
        let (mut orders, mut is_open, mut end) = (Vec::with_capacity(ORDERS), true, None);
        loop {
            self.commit();
            self.start_attempts();
            self.answer_flushes();
            let is_idle = self.outstanding.is_empty() && self.running.is_empty() && !self.is_committing();
            if !is_open && (is_idle || end.is_some_and(|end| Instant::now() >= end)) {
                break;
            }
            let wake = self.wakes_at().into_iter().chain(end).min();
            tokio::select! {
                biased;
                Some(done) = self.running.join_next_with_id() => self.attempted(done),
                Some(done) = next_of_spool(&mut self.spooling) => self.spool_is_done(done),
                received = self.inbox.recv_many(&mut orders, ORDERS), if is_open => {
                    if received == 0 {
                        is_open = false;
                        end = Some(from_now(self.settings.linger_at_end));
                        self.hurry(None);
                    }
                    for order in orders.drain(..) {
                        if let Order::Stop = order {
                            return;
                        }
                        self.take(order);
                    }
                }
                () = sleep_until(wake.unwrap_or_else(Instant::now)), if wake.is_some() => {}
            }
        }
        if !self.outstanding.is_empty() {
            tracing::warn!(parts = self.outstanding.len(), "the log's writer ends, and not all is stored");
        }
    }

    /// How long a record waits for a newer revision of itself.
    pub(super) fn patience(&self) -> Duration {
        if self.is_hurried() { Duration::ZERO } else { self.settings.linger }
    }

    /// Whether somebody waits for all to be stored.
    pub(super) fn is_hurried(&self) -> bool {
        !self.flushes.is_empty() || self.inbox.is_closed()
    }

    /// Has a call attempted in a while, or earlier if it already was to be.
    pub(super) fn schedule(&mut self, key: &Key, wait: Duration) {
        let Some(state) = self.calls.get_mut(key) else { return };
        let at = from_now(wait);
        if state.due.is_none_or(|due| at < due) {
            state.due = Some(at);
            self.last_number += 1;
            self.due.push(Reverse((at, self.last_number, key.clone())));
        }
    }

    /// Has a call attempted in a while, unless it is to be later, for it has just failed.
    pub(super) fn schedule_if_idle(&mut self, key: &Key, wait: Duration) {
        if self.calls.get(key).is_some_and(|state| state.due.is_none()) {
            self.schedule(key, wait);
        }
    }

    /// The next call that is due, if there is one.
    pub(super) fn next_due(&mut self) -> Option<Key> {
        let now = Instant::now();
        while let Some(Reverse((at, ..))) = self.due.peek()
            && *at <= now
        {
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
        let flush = self.flushes.iter().map(|flush| flush.until).min();
        let spool = self.spooling.as_ref().and_then(Spooling::wakes_at);
        [due, flush, spool].into_iter().flatten().min()
    }

    /// The number of a part that is accepted now.
    pub(super) fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.outstanding.insert(self.last_number, Instant::now());
        self.note_lag();
        self.last_number
    }

    /// A part is stored, or is not going to be.
    pub(super) fn settle_number(&mut self, number: u64) {
        self.outstanding.remove(&number);
        self.note_lag();
    }

    fn note_lag(&self) {
        *unpoisoned(&self.shared.counters.oldest) = self.outstanding.values().next().copied();
    }

    /// What the handles are told that are left behind, or come later.
    fn say_what_is_left(&mut self) {
        self.inbox.close();
        let mut left = self.unstored(None, u64::MAX);
        while let Ok(order) = self.inbox.try_recv() {
            left.extend(order.unstored());
        }
        // Nobody else sets it.
        let _ = self.shared.left.set(left);
    }

    /// Forgets a call of which nothing is left.
    pub(super) fn settle(&mut self, key: &Key) {
        if self.calls.get(key).is_some_and(CallState::is_done) {
            self.calls.remove(key);
        }
    }
}

/// However the task ends: by itself, stopped, aborted, or with its runtime.
impl Drop for WriterTask {
    fn drop(&mut self) {
        self.say_what_is_left();
    }
}
