//! Random histories of the log's writer: calls, faults and crashes, derived from a seed.
//!
//! `world.rs` has the processes, `step.rs` the steps, `call.rs` one call with the promises to its service, `words.rs` the
//! messages, and `check.rs` the invariants. A failing seed is printed with its journal. `VERBALE_SEED` is the first seed and
//! `VERBALE_SEEDS` the number of seeds. Set only the first to repeat one history.

mod call;
mod check;
mod end;
mod step;
mod trace;
mod words;
mod world;

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::dynamo::Fault;
use trace::Trace;
use world::World;

const SEEDS: u64 = 400;
/// The longest history in virtual time. A longer one waits forever.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// The number of lines printed of a failing seed's journal, from its end.
const LINES: usize = 120;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Runs one history to its end.
fn follow(seed: u64) -> (Trace, Result<(), Box<dyn Any + Send>>) {
    let trace = Trace::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let history = async {
        let mut world = World::of_seed(seed, trace.clone()).await;
        world.live().await;
        world.end().await;
    };
    let history = async { assert!(tokio::time::timeout(LONGEST, history).await.is_ok(), "the history does not end") };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(history)));
    (trace, outcome)
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")
}

#[test]
fn table_equals_the_managers_after_every_history() {
    let (seed, seeds) = (number("VERBALE_SEED"), number("VERBALE_SEEDS"));
    let (first, count) = (seed.unwrap_or(0), seeds.unwrap_or(if seed.is_some() { 1 } else { SEEDS }));
    let next = AtomicU64::new(first);
    let (tally, failed) = (Mutex::new(BTreeMap::<String, u64>::new()), Mutex::new(BTreeMap::new()));
    let follow_some = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= first + count {
            return;
        }
        let (trace, outcome) = follow(seed);
        for (event, times) in trace.tally() {
            *tally.lock().unwrap().entry(event).or_default() += times;
        }
        if let Err(panic) = outcome {
            let lines = if count == 1 { usize::MAX } else { LINES };
            failed.lock().unwrap().insert(seed, format!("{}\n{}", trace.journal(lines), text_of(&*panic)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(follow_some);
        }
    });
    let (tally, failed) = (tally.into_inner().unwrap(), failed.into_inner().unwrap());
    if let Some((seed, story)) = failed.iter().next() {
        let seeds: Vec<_> = failed.keys().collect();
        let repeat = format!("VERBALE_SEED={seed} cargo test --test simulation histories -- --nocapture");
        panic!("{story}\n\n{} of {count} seeds fail: {seeds:?}\nrepeat the first one with\n  {repeat}", seeds.len());
    }
    println!("{count} seeds: {tally:#?}");
    if count >= SEEDS {
        assert_all_occur(&tally);
    }
}

/// Asserts that every fault and event occurred. One that never occurs is not tested.
fn assert_all_occur(tally: &BTreeMap<String, u64>) {
    let faults = Fault::PASSING.into_iter().chain([Fault::TableMissing, Fault::AccessDenied, Fault::ExpiredToken]);
    let faults = faults.filter(|fault| *fault != Fault::UnprocessedItems).map(|fault| format!("fault {fault:?}"));
    let others = trace::EVENTS.iter().map(|event| (*event).to_owned());
    let missing: Vec<_> = faults.chain(others).filter(|event| !tally.contains_key(event)).collect();
    assert!(missing.is_empty(), "never occurred: {missing:?}");
}

#[test]
fn equal_seeds_give_equal_histories() {
    for seed in 0..10 {
        let story = |seed| follow(seed).0.journal(usize::MAX);
        let (first, second) = (story(seed), story(seed));
        let differs = first.lines().zip(second.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "seed {seed}");
        assert!(first.len() == second.len() && first.lines().count() > 10, "seed {seed}");
    }
}
