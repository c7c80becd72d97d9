//! Random histories of the log's writer: calls, faults and crashes, all of it from a seed.
//!
//! `world.rs` holds the processes and their lives, `step.rs` what may happen, `call.rs` one call with what its service
//! was promised, `words.rs` what is said; `check.rs` is what must hold after each history. A seed that fails is printed
//! with its journal. `VERBALE_SEED` is the first seed, `VERBALE_SEEDS` the number of them: the first alone repeats one.

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
/// No history takes longer, in virtual time: one that does waits for what never comes.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// The journal of a failing seed is long; its end says most.
const LINES: usize = 120;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Follows one history to its end.
fn follow(seed: u64) -> (Trace, Result<(), Box<dyn Any + Send>>) {
    let trace = Trace::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let history = async {
        let mut world = World::of_seed(seed, trace.clone()).await;
        world.live().await;
        world.end().await;
    };
    let history = async { assert!(tokio::time::timeout(LONGEST, history).await.is_ok(), "it goes on and on") };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(history)));
    (trace, outcome)
}

fn told(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")
}

#[test]
fn after_every_history_the_table_equals_the_managers() {
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
        for (what, times) in trace.tally() {
            *tally.lock().unwrap().entry(what).or_default() += times;
        }
        if let Err(panic) = outcome {
            let lines = if count == 1 { usize::MAX } else { LINES };
            failed.lock().unwrap().insert(seed, format!("{}\n{}", trace.journal(lines), told(&*panic)));
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
        every_thing_happens(&tally);
    }
}

/// A fault or a crash that never comes proves nothing.
fn every_thing_happens(tally: &BTreeMap<String, u64>) {
    let faults = Fault::PASSING.into_iter().chain([Fault::TableMissing, Fault::AccessDenied, Fault::ExpiredToken]);
    let faults = faults.filter(|fault| *fault != Fault::UnprocessedItems).map(|fault| format!("fault {fault:?}"));
    let others = trace::HAPPENINGS.iter().map(|what| (*what).to_owned());
    let missing: Vec<_> = faults.chain(others).filter(|what| !tally.contains_key(what)).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}

#[test]
fn the_same_seed_is_the_same_history() {
    for seed in 0..10 {
        let story = |seed| follow(seed).0.journal(usize::MAX);
        let (first, second) = (story(seed), story(seed));
        let differs = first.lines().zip(second.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "seed {seed}");
        assert!(first.len() == second.len() && first.lines().count() > 10, "seed {seed}");
    }
}
