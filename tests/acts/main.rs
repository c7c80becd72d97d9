//! Random histories of tools that act: one wish of a caller has at most one effect, and whoever continues the call knows it.
//!
//! A history has one call, one log that fails, a booking service that counts its effects, a caller who repeats a wish until
//! a reply confirms it, a naive model that calls a tool for each unconfirmed wish in every turn, and processes that die
//! and take the call over. All of it derives from a seed and runs in virtual time.
//!
//! `world.rs` has the shared state, `line.rs` a process's way to the log, `bookings.rs` the service and the tools,
//! `naive.rs` the model, `caller.rs` the caller, `process.rs` the processes, and `check.rs` the invariants. A failing seed is
//! printed with its journal. `VERBALE_SEED` is the first seed and `VERBALE_SEEDS` the number of seeds. Set only the first
//! to repeat one history.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod bookings;
mod caller;
mod check;
mod line;
mod naive;
mod process;
mod world;

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use world::World;

const SEEDS: u64 = 300;
/// The longest history in virtual time. A longer one waits forever.
const LONGEST: Duration = Duration::from_secs(24 * 3_600);
/// The number of lines printed of a failing seed's journal, from its end.
const LINES: usize = 150;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

/// Runs one history to its end.
fn follow(seed: u64) -> (World, Result<(), Box<dyn Any + Send>>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let world = runtime.block_on(async { World::of_seed(seed) });
    let live = process::live(world.clone());
    let history = async { assert!(tokio::time::timeout(LONGEST, live).await.is_ok(), "the history does not end") };
    let outcome = catch_unwind(AssertUnwindSafe(|| runtime.block_on(history)));
    (world, outcome)
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied()).unwrap_or("?")
}

#[test]
fn one_wish_has_one_effect() {
    let (seed, seeds) = (number("VERBALE_SEED"), number("VERBALE_SEEDS"));
    let (first, count) = (seed.unwrap_or(0), seeds.unwrap_or(if seed.is_some() { 1 } else { SEEDS }));
    let next = AtomicU64::new(first);
    let (tally, failed) = (Mutex::new(BTreeMap::<&str, u64>::new()), Mutex::new(BTreeMap::new()));
    let follow_some = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= first + count {
            return;
        }
        let (world, outcome) = follow(seed);
        for (event, times) in world.tally() {
            *tally.lock().unwrap().entry(event).or_default() += times;
        }
        if let Some(violation) = world.violation().or_else(|| Some(text_of(&*outcome.err()?).to_owned())) {
            let lines = if count == 1 { usize::MAX } else { LINES };
            failed.lock().unwrap().insert(seed, (world.journal(lines), violation));
        }
    };
    let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(follow_some);
        }
    });
    let (tally, failed) = (tally.into_inner().unwrap(), failed.into_inner().unwrap());
    if let Some((seed, (story, why))) = failed.iter().next() {
        let reasons: Vec<_> = failed.iter().take(40).map(|(seed, (_, why))| format!("{seed}: {why}")).collect();
        let repeat = format!("VERBALE_SEED={seed} cargo test --test acts -- --nocapture");
        panic!(
            "{story}\n{why}\n\n{} of {count} seeds fail:\n{}\nrepeat the first one with\n  {repeat}",
            failed.len(),
            reasons.join("\n")
        );
    }
    println!("{count} seeds: {tally:#?}");
    if count >= SEEDS {
        let missing: Vec<_> = world::EVENTS.iter().filter(|event| !tally.contains_key(**event)).collect();
        assert!(missing.is_empty(), "never occurred: {missing:?}");
    }
}

#[test]
fn equal_seeds_give_equal_histories() {
    for seed in 0..5 {
        let story = |seed| follow(seed).0.journal(usize::MAX);
        let (first, second) = (story(seed), story(seed));
        let differs = first.lines().zip(second.lines()).find(|(one, other)| one != other);
        assert_eq!(differs, None, "seed {seed}");
        assert!(first.len() == second.len() && first.lines().count() > 5, "seed {seed}");
    }
}
