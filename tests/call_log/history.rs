//! Random histories of one call: puts in any order, with repetitions, opens, erases, and what comes late.

use std::cell::Cell;

use proptest::collection;
use proptest::prelude::*;
use verbale::log::CallLog;

use super::conformance::{Step, follows_the_model, message, summary};

fn record() -> impl Strategy<Value = verbale::Record> {
    prop_oneof![
        6 => (0..5u32, 1..4u32).prop_map(|(seq, revision)| message(seq, revision)),
        1 => (0..5u32).prop_map(|after| summary(after, 1)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => collection::vec(record(), 0..4).prop_map(Step::Put),
        2 => Just(Step::Open),
        1 => Just(Step::Erase),
    ]
}

/// Each history is of a call of its own in one log.
pub fn check(cases: u32, log: &dyn CallLog) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let number = Cell::new(0);
    proptest!(ProptestConfig::with_cases(cases), |(steps in collection::vec(step(), 0..16))| {
        number.set(number.get() + 1);
        runtime.block_on(follows_the_model(log, &format!("history {}", number.get()), &steps));
    });
}
