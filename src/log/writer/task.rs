//! [`WriterTask`]: the task that writes. Here: what it is told, and what wakes it; `attempts.rs` does what is due,
//! `spooling.rs` feeds the spool.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::{Id, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::aside::AllAside;
use super::call::{Arrival, CallState, Key, Place, key_of};
use super::flush::Flush;
use super::operation::{Attempts, Outcome};
use super::shared::{CallShared, Order, Shared, Weighed};
use super::spooling::{Spooling, next_commit};
use super::{Durability, NotAccepted, WriterSettings, reason_of, unpoisoned};
use crate::log::CallLog;
use crate::log::spool::SpoolChange;

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
    last_number: u64,
    pub(super) flushes: Vec<Flush>,
    pub(super) set_aside: AllAside,
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
            set_aside: AllAside::new(),
        }
    }

    /// Writes until all handles are gone and nothing is left to write, or until it is stopped.
    pub async fn run(mut self) {
        self.recover().await;
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
                Some(written) = next_commit(&mut self.spooling) => self.committed(written),
                received = self.inbox.recv_many(&mut orders, ORDERS), if is_open => {
                    if received == 0 {
                        is_open = false;
                        end = Some(Instant::now() + self.settings.linger_at_end);
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

    fn take(&mut self, order: Order) {
        match order {
            Order::Open(call, header) => {
                let number = self.number();
                let state = self.state(&call);
                if let Some((older, _)) = state.opening.replace((number, header.clone())) {
                    self.settle_number(older);
                }
                self.note(SpoolChange::Open(header));
                self.schedule(&key_of(&call.claim), Duration::ZERO);
            }
            Order::Records(call, records) => {
                self.state(&call);
                for weighed in records {
                    self.arrive(&call, weighed);
                }
                self.schedule_if_idle(&key_of(&call.claim), self.patience());
            }
            Order::Close(call, ending) => {
                let number = self.number();
                let state = self.state(&call);
                if let Some((older, _)) = state.ending.replace((number, ending.clone())) {
                    self.settle_number(older);
                }
                self.note(SpoolChange::Close(call.claim.clone(), ending));
                self.schedule_if_idle(&key_of(&call.claim), self.patience());
            }
            Order::Gone(call) => {
                let key = key_of(&call.claim);
                if let Some(state) = self.calls.get_mut(&key) {
                    state.handles.retain(|handle| !Arc::ptr_eq(handle, &call));
                    self.settle(&key);
                }
            }
            Order::Flush { of, until, reply } => {
                self.hurry(of.as_ref());
                self.flushes.push(Flush { of, up_to: self.last_number, until, reply });
            }
            Order::Erase { call_id, reply } => self.erase(call_id, reply),
            Order::TakeSetAside { reply } => self.give_aside(reply),
            Order::TakenFromSpool(taken) => self.taken_from_spool(taken),
            Order::Stop => {}
        }
    }

    fn state(&mut self, call: &Arc<CallShared>) -> &mut CallState {
        let state = self.calls.entry(key_of(&call.claim)).or_insert_with(|| CallState::new(call.claim.clone()));
        state.know(call);
        state
    }

    fn arrive(&mut self, call: &Arc<CallShared>, weighed: Weighed) {
        let key = key_of(&call.claim);
        // It was handed over before its call was over.
        match call.over.get() {
            Some(NotAccepted::Over(error)) if error.is_erased() => {
                self.shared.counters.queued.subtract(1);
                self.shared.counters.erased.add(1);
                return self.shared.give_back(call, weighed.bytes);
            }
            Some(over) => {
                let reason = reason_of(over);
                return self.put_aside(call, weighed, reason);
            }
            None => {}
        }
        self.supersede_aside(&key.0, &weighed.record);
        let number = self.number();
        let position = weighed.record.position();
        // The spool keeps one revision of a message; beside what it has set aside it takes no other of the same number.
        let has_room = self.spooling.is_some() && !self.is_aside_in_spool(&key.0, &weighed.record);
        let place = if has_room { Place::Spool } else { Place::Log };
        let Some(state) = self.calls.get_mut(&key) else { return };
        match state.arrive(number, &weighed, call, place) {
            Arrival::New => self.want_spooled(&key, position),
            Arrival::Replaces(older, bytes) => {
                self.settle_number(number);
                self.replaced(&older, bytes);
                self.want_spooled(&key, position);
            }
            Arrival::Known => {
                // Whoever hands it over again may not have been told.
                if self.shared.acknowledge_at == Durability::Spooled
                    && state.spooled.get(&position).is_some_and(|spooled| spooled.revision >= weighed.record.revision())
                {
                    unpoisoned(&call.receipts).add(&weighed.record);
                }
                self.settle_number(number);
                self.replaced(call, weighed.bytes);
            }
            Arrival::Conflict(error) => {
                self.settle_number(number);
                self.put_aside(call, weighed, reason_of(&error));
            }
        }
    }

    fn replaced(&self, call: &CallShared, bytes: usize) {
        self.shared.counters.queued.subtract(1);
        self.shared.counters.replaced.add(1);
        self.shared.give_back(call, bytes);
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
        let at = Instant::now() + wait;
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

    /// Forgets a call of which nothing is left.
    pub(super) fn settle(&mut self, key: &Key) {
        if self.calls.get(key).is_some_and(CallState::is_done) {
            self.calls.remove(key);
        }
    }
}
