//! Random histories of tools that act: one wish of a caller has at most one effect, and whoever continues the call knows it.
//!
//! A history has one call, one log that fails, a booking service that counts its effects, a caller who repeats a wish until
//! a reply confirms it, a naive model that calls a tool for each unconfirmed wish in every turn, and processes that die
//! and take the call over. All of it derives from a seed and runs in virtual time.
//!
//! `world.rs` has the shared state, `line.rs` a process's way to the log, `bookings.rs` the service and the tools,
//! `naive.rs` the model, `remembered.rs` how it reads memory, `caller.rs` the caller, `process.rs` the processes, and `check.rs` the invariants. `seeds.rs` follows
//! the histories.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod bookings;
mod caller;
mod check;
mod line;
mod naive;
mod process;
mod remembered;
#[path = "../../src/clock/seeded.rs"]
mod seeded;
#[path = "../simulation/seeds.rs"]
mod seeds;
mod world;

use std::collections::BTreeMap;

use seeds::History;
use world::World;

const SEEDS: u64 = 300;

impl History for World {
    fn tally(&self) -> BTreeMap<String, u64> {
        self.tally().into_iter().map(|(event, times)| (event.to_owned(), times)).collect()
    }

    fn journal(&self, lines: usize) -> String {
        self.journal(lines)
    }
}

/// Runs one history to its end.
fn follow(seed: u64) -> (World, Option<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let world = runtime.block_on(async { World::of_seed(seed) });
    let panic = seeds::live(&runtime, process::live(world.clone()));
    let failure = world.violation().or(panic);
    (world, failure)
}

#[test]
fn one_wish_has_one_effect() {
    if let Some(tally) = seeds::follow_all("acts", SEEDS, follow) {
        let missing: Vec<_> = world::EVENTS.iter().filter(|event| !tally.contains_key(**event)).collect();
        assert!(missing.is_empty(), "never occurred: {missing:?}");
    }
}

#[test]
fn equal_seeds_give_equal_histories() {
    seeds::assert_repeatable(5, 5, follow);
}
