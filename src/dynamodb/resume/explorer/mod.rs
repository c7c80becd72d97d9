//! An exhaustive explorer of the takeover. It tries every order of a writer, its candidates and their requests. Each
//! request may land late, twice, or never, and each process may die or give up at any point.
//!
//! It runs the rules of the log itself: [`Tenure`], [`Slot`] and the open [`positions`](crate::dynamodb::positions).
//! `world.rs` has the state and its requests; `owner.rs`, `candidate.rs` and `eraser.rs` have the processes; `check.rs`
//! has the invariants.
//!
//! `VERBALE_STATES=20000000 cargo test --lib explorer` searches further.

mod candidate;
mod check;
mod eraser;
mod owner;
mod world;

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

use world::{Action, World};

/// A fault that a test puts into the protocol, to check that the explorer finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Mutant {
    None,
    /// A candidate writes without the step that makes it serve.
    NoServe,
    /// The writer takes its call back from a process that serves.
    ReclaimFromServer,
    /// A candidate stamps no item.
    NoStamps,
    /// A writer with a gap counts a record as stored without reading the header.
    NoGapCheck,
    /// A header step compares the epoch alone.
    NoNonce,
    /// The first write of an item keeps messages of the item that it finds.
    MergesFirst,
    /// A change of a message in a span compares no epochs.
    UpdatesAnyEpoch,
    /// An erasure marks no missing message.
    ErasesNoHoles,
    /// An erasure does not mark the next message.
    ErasesNoNext,
}

/// The events that may happen, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Limits {
    mutant: Mutant,
    candidates: u8,
    messages: u8,
    updates: u8,
    reclaims: u8,
    /// Records that the log refuses for good and that an operator retries later.
    dead_letters: u8,
    /// Restarts of the owner, which replays its spool with its first lease.
    restarts: u8,
    holds: u8,
    erasures: u8,
    ends: u8,
    /// The owner stores this message and the next one as a span.
    span: Option<u8>,
    /// Records that each server writes.
    writes: u8,
}

const CALM: Limits = Limits {
    mutant: Mutant::None,
    candidates: 1,
    messages: 2,
    updates: 0,
    reclaims: 1,
    dead_letters: 0,
    restarts: 0,
    holds: 0,
    erasures: 0,
    ends: 0,
    span: None,
    writes: 1,
};

struct Explored {
    states: usize,
    is_complete: bool,
    /// The violated invariant, and the actions that lead to the violation.
    violation: Option<(String, Vec<Action>)>,
}

#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

fn explore(limits: Limits, most_states: usize) -> Explored {
    let first = World::new(limits);
    let mut seen: HashSet<u64, BuildHasherDefault<Identity>> = HashSet::default();
    let mut steps: Vec<(u32, Action)> = vec![(0, Action::Begin)];
    let mut queue = VecDeque::from([(0_u32, first.clone())]);
    seen.insert(fingerprint(&first));
    let path = |steps: &[(u32, Action)], mut at: u32| {
        let mut path = Vec::new();
        while at != 0 {
            let (before, action) = steps[at as usize];
            path.push(action);
            at = before;
        }
        path.reverse();
        path
    };
    let mut next = Vec::new();
    while let Some((at, world)) = queue.pop_front() {
        if let Some(broken) = check::broken(&world) {
            return Explored { states: seen.len(), is_complete: false, violation: Some((broken, path(&steps, at))) };
        }
        world.successors(&mut next);
        for (action, mut after) in next.drain(..) {
            after.forget_dead_requests();
            if !seen.insert(fingerprint(&after)) {
                continue;
            }
            let number = steps.len() as u32;
            steps.push((at, action));
            if let Some(broken) = check::broken_step(&world, &after, &action) {
                let violation = Some((broken, path(&steps, number)));
                return Explored { states: seen.len(), is_complete: false, violation };
            }
            queue.push_back((number, after));
        }
        if seen.len() >= most_states {
            return Explored { states: seen.len(), is_complete: false, violation: None };
        }
    }
    Explored { states: seen.len(), is_complete: true, violation: None }
}

fn fingerprint(world: &World) -> u64 {
    let mut hasher = DefaultHasher::new();
    world.hash(&mut hasher);
    hasher.finish()
}

/// Returns the maximum number of states in one search. `VERBALE_STATES` sets it.
fn most_states() -> usize {
    std::env::var("VERBALE_STATES").ok().and_then(|states| states.parse().ok()).unwrap_or(32_000)
}

fn assert_holds(limits: Limits) -> bool {
    let explored = explore(limits, most_states());
    println!("{} states, complete: {}, {limits:?}", explored.states, explored.is_complete);
    if let Some((broken, path)) = explored.violation {
        panic!("{broken} in {limits:?}, after {path:#?}");
    }
    explored.is_complete
}

fn assert_finds(mutant: Mutant, limits: Limits) {
    let explored = explore(Limits { mutant, ..limits }, 3_000_000);
    println!("{mutant:?}: {} states", explored.states);
    assert!(explored.violation.is_some(), "{mutant:?} is not found in {} states", explored.states);
}

#[test]
fn acknowledged_records_are_known_to_every_server() {
    assert!(assert_holds(Limits { updates: 1, ..CALM }), "the smallest search is complete");
    assert_holds(Limits { candidates: 2, messages: 1, updates: 1, ..CALM });
    assert_holds(Limits { candidates: 2, messages: 2, reclaims: 2, ..CALM });
}

#[test]
fn holes_and_replays_of_the_spool_lose_nothing() {
    assert_holds(Limits { messages: 3, dead_letters: 1, ..CALM });
    assert_holds(Limits { restarts: 1, updates: 1, ..CALM });
    assert_holds(Limits { candidates: 2, messages: 2, dead_letters: 1, restarts: 1, ..CALM });
}

#[test]
fn holds_ends_and_erasures_do_not_disturb_a_takeover() {
    assert_holds(Limits { holds: 1, ends: 1, ..CALM });
    assert_holds(Limits { erasures: 1, updates: 1, ..CALM });
    assert_holds(ERASED);
    assert_holds(Limits { candidates: 1, ..ERASED });
    assert_holds(Limits { candidates: 2, messages: 1, holds: 1, erasures: 1, ends: 1, ..CALM });
}

#[test]
fn spans_lose_nothing() {
    let span = Limits { span: Some(0), ..CALM };
    assert!(assert_holds(Limits { updates: 1, ..span }), "the smallest search is complete");
    assert_holds(Limits { updates: 1, restarts: 1, ..span });
    assert_holds(Limits { candidates: 2, updates: 1, reclaims: 2, ..span });
    assert_holds(Limits { erasures: 1, updates: 1, ..span });
    assert_holds(Limits { messages: 3, span: Some(1), updates: 1, ..CALM });
    assert_holds(LATE_SPAN);
}

/// A span after a gap, and a server that reaches it.
const LATE_SPAN: Limits = Limits { messages: 4, span: Some(2), dead_letters: 1, reclaims: 0, writes: 2, ..CALM };

/// An erasure while the owner writes, including into a gap and from its spool.
const ERASED: Limits = Limits { candidates: 0, messages: 3, dead_letters: 1, restarts: 1, erasures: 1, ..CALM };

#[test]
fn explorer_finds_every_mutant() {
    assert_finds(Mutant::ErasesNoHoles, ERASED);
    assert_finds(Mutant::ErasesNoNext, ERASED);
    assert_finds(Mutant::NoServe, CALM);
    assert_finds(Mutant::ReclaimFromServer, CALM);
    assert_finds(Mutant::NoStamps, Limits { updates: 1, ..CALM });
    assert_finds(Mutant::NoNonce, Limits { candidates: 2, ..CALM });
    assert_finds(Mutant::UpdatesAnyEpoch, Limits { updates: 1, span: Some(0), ..CALM });
    assert_finds(Mutant::MergesFirst, LATE_SPAN);
    assert_finds(Mutant::NoGapCheck, Limits { messages: 3, dead_letters: 1, ..CALM });
}
