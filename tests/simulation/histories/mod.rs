//! Random histories of the log's writer: calls, faults and crashes, derived from a seed.
//!
//! `world.rs` has the processes, `step.rs` the steps, `call.rs` one call with the promises to its service, `words.rs` the
//! messages, and `check.rs` the invariants. `seeds.rs` beside this folder follows the histories.

mod call;
mod check;
mod end;
mod letters;
mod spanning;
mod step;
mod trace;
mod words;
mod world;

use std::collections::BTreeMap;

use super::dynamo::Fault;
use super::seeds::{self, History};
use trace::Trace;
use world::World;

const SEEDS: u64 = 300;

impl History for Trace {
    fn tally(&self) -> BTreeMap<String, u64> {
        self.tally()
    }

    fn journal(&self, lines: usize) -> String {
        self.journal(lines)
    }
}

/// Runs one history to its end.
fn follow(seed: u64) -> (Trace, Option<String>) {
    let trace = Trace::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let failure = seeds::live(&runtime, async {
        let mut world = World::of_seed(seed, trace.clone()).await;
        world.live().await;
        world.end().await;
    });
    (trace, failure)
}

#[test]
fn table_equals_the_managers_after_every_history() {
    if let Some(tally) = seeds::follow_all("simulation histories", SEEDS, follow) {
        assert_all_occur(&tally);
    }
}

/// Histories that found faults. In the first one, a commit that reported an error had brought records to the spool, and
/// the writer put them one by one although they were a span in memory. In the second one, a retry stored a dead letter
/// at the position of another message, which was in a span. In the others, the history expected too much: of retries of
/// dead letters that failed after their puts, and of a content that a resumed call never had.
#[test]
fn histories_that_found_faults_hold() {
    for seed in [3_992_204_091, 2_130_520_333, 3_992_203_366, 3_992_204_823, 3_992_204_949] {
        let (trace, failure) = follow(seed);
        assert!(failure.is_none(), "{}\n{seed}: {failure:?}", trace.journal(150));
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
    seeds::assert_repeatable(10, 10, follow);
}
