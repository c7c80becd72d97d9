//! [`World`]: what the parts of a history share: chance, the journal, the log, and what is really true.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use verbale::clock::Clock;
use verbale::log::{CallId, MemoryLog};

use super::bookings::Kind;
use crate::seeded::Seeded;

pub const START_MS: i64 = 1_744_815_823_058;

/// The events that must occur in some history.
pub const EVENTS: &[&str] = &[
    "answer of the service is lost",
    "apology",
    "barge-in during a reply",
    "barge-in during playback",
    "call taken over",
    "confirmed",
    "effect",
    "effect after the process died",
    "false start",
    "key known, no second effect",
    "log away",
    "lookup after a takeover",
    "older process goes on",
    "playback not reported",
    "playback reported late",
    "second wish for the same item",
    "service failed before it acted",
    "tool called twice in an answer",
];

#[derive(Clone)]
pub struct World(Arc<Shared>);

struct Shared {
    dice: Seeded,
    begun: Instant,
    log: Arc<MemoryLog>,
    plan: Plan,
    is_calm: AtomicBool,
    truth: Mutex<Truth>,
    journal: Mutex<Vec<(u128, String)>>,
    tally: Mutex<BTreeMap<&'static str, u64>>,
    violation: Mutex<Option<String>>,
}

/// The kind of a history: how often things go wrong, from 0 to 100.
#[derive(Debug, Clone)]
pub struct Plan {
    pub log_faults: u64,
    pub model_faults: u64,
    pub service_faults: u64,
    pub interruptions: u64,
    /// The time of a service's slowest answer.
    pub slowest_ms: u64,
    /// Whether a caller may want an item again, once it is confirmed.
    pub wants_again: bool,
    pub kinds: Vec<Kind>,
    /// Whether the log has redacted arguments.
    pub redacts: bool,
    pub wishes: u64,
    /// When the log is away, in ms since the beginning.
    pub away: Vec<std::ops::Range<u64>>,
    pub lives: u64,
    /// How often the caller speaks or waits in one life.
    pub steps: u64,
}

/// The facts, whatever the processes know.
#[derive(Default)]
pub struct Truth {
    pub wishes: Vec<Wish>,
    pub effects: Vec<Effect>,
    /// The idempotency keys of effects at the service.
    pub keys: BTreeSet<String>,
    /// Calls that a process reported to run without the log.
    pub unlogged: BTreeSet<String>,
    /// The wishes of results that arrived, with the process that got them.
    pub arrived: BTreeSet<(usize, u64)>,
    pub next_call: u64,
}

/// Something that the caller wants.
#[derive(Debug, Clone)]
pub struct Wish {
    pub kind: Kind,
    pub item: u64,
    /// Whether the caller has heard to the end of a reply that it is done.
    pub is_confirmed: bool,
    /// The process that applied the report of that playback, if one did.
    pub reported_in: Option<u64>,
    /// The process in which the caller said it first.
    pub made_in: u64,
}

#[derive(Debug, Clone)]
pub struct Effect {
    pub kind: Kind,
    pub item: u64,
    pub call: String,
}

impl World {
    pub fn of_seed(seed: u64) -> Self {
        let dice = Seeded::from(seed);
        let below = |sides: u64| dice.next_u64() % sides;
        let level = |all: [u64; 3]| all[below(3) as usize];
        let mut at = 0;
        let mut away = Vec::new();
        for _ in 0..below(4) {
            at += 3_000 + below(60_000);
            let from = at;
            at += 500 + below(20_000);
            away.push(from..at);
        }
        let plan = Plan {
            log_faults: level([0, 5, 25]),
            model_faults: level([0, 20, 50]),
            service_faults: level([0, 15, 40]),
            interruptions: level([0, 20, 50]),
            slowest_ms: level([2_000, 12_000, 30_000]),
            wants_again: below(3) == 0,
            kinds: Kind::ALL.into_iter().filter(|_| below(2) == 0).chain([Kind::ALL[below(8) as usize]]).collect(),
            redacts: seed.is_multiple_of(3),
            wishes: 1 + below(4),
            away,
            lives: 1 + below(4),
            steps: 1 + below(if below(2) == 0 { 3 } else { 30 }),
        };
        let shared = Shared {
            dice,
            begun: Instant::now(),
            log: Arc::new(if seed.is_multiple_of(2) {
                MemoryLog::default()
            } else {
                MemoryLog::default().with_spans()
            }),
            plan: plan.clone(),
            is_calm: AtomicBool::new(false),
            truth: Mutex::default(),
            journal: Mutex::default(),
            tally: Mutex::default(),
            violation: Mutex::default(),
        };
        let world = Self(Arc::new(shared));
        world.say(format!("seed {seed}: {plan:?}"));
        world
    }

    pub fn call_id(&self) -> CallId {
        CallId::new("CA1").unwrap()
    }

    pub fn log(&self) -> Arc<MemoryLog> {
        self.0.log.clone()
    }

    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    pub fn truth(&self) -> MutexGuard<'_, Truth> {
        self.0.truth.lock().unwrap()
    }

    pub fn below(&self, sides: u64) -> u64 {
        self.0.dice.next_u64() % sides
    }

    /// Returns true with this probability in percent.
    pub fn chance(&self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns true with this probability in percent, unless the history is calm.
    pub fn fault(&self, percent: u64) -> bool {
        self.chance(percent) && !self.is_calm()
    }

    pub async fn pass(&self, below_ms: u64) {
        sleep(Duration::from_millis(self.below(below_ms.max(1)))).await;
    }

    /// From now on nothing new goes wrong.
    pub fn calm(&self) {
        self.0.is_calm.store(true, Ordering::SeqCst);
    }

    pub fn is_calm(&self) -> bool {
        self.0.is_calm.load(Ordering::SeqCst)
    }

    pub fn is_log_away(&self) -> bool {
        let now = self.elapsed_ms() as u64;
        !self.is_calm() && self.plan().away.iter().any(|away| away.contains(&now))
    }

    fn elapsed_ms(&self) -> u128 {
        self.0.begun.elapsed().as_millis()
    }

    /// Adds a line to the journal.
    pub fn say(&self, line: impl Into<String>) {
        self.0.journal.lock().unwrap().push((self.elapsed_ms(), line.into()));
    }

    /// Notes the first violation of an invariant. A panic of a task would not reach the test.
    pub fn require(&self, holds: bool, claim: impl FnOnce() -> String) {
        let mut violation = self.0.violation.lock().unwrap();
        if !holds && violation.is_none() {
            let claim = claim();
            self.say(format!("VIOLATION: {claim}"));
            *violation = Some(claim);
        }
    }

    pub fn violation(&self) -> Option<String> {
        self.0.violation.lock().unwrap().clone()
    }

    /// Counts an event of [`EVENTS`].
    pub fn count(&self, event: &'static str) {
        *self.0.tally.lock().unwrap().entry(event).or_default() += 1;
    }

    pub fn tally(&self) -> BTreeMap<&'static str, u64> {
        self.0.tally.lock().unwrap().clone()
    }

    pub fn journal(&self, lines: usize) -> String {
        let journal = self.0.journal.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let skipped = journal.len().saturating_sub(lines);
        let first = journal.iter().take(1).filter(|_| skipped > 0);
        first.chain(&journal[skipped..]).map(|(at, line)| format!("{at:>8} {line}\n")).collect()
    }

    /// Returns the wishes that are not confirmed.
    pub fn open_wishes(&self) -> Vec<usize> {
        let truth = self.truth();
        truth.wishes.iter().enumerate().filter(|(_, wish)| !wish.is_confirmed).map(|(number, _)| number).collect()
    }
}

/// Follows tokio's clock.
impl Clock for World {
    fn now_ms(&self) -> i64 {
        START_MS + i64::try_from(self.elapsed_ms()).unwrap()
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("World")
    }
}
