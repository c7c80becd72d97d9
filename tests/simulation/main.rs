//! Simulations of the log over a fake DynamoDB, and tests that the fake behaves like DynamoDB.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod contents;
mod differential;
mod dynamo;
mod erased;
mod expressions;
mod faults;
mod histories;
#[path = "../call_log/history.rs"]
mod history;
#[path = "../log_writer/letters.rs"]
mod letters;
mod limits;
mod repetition;
#[path = "../call_log/resumed.rs"]
mod resumed;
mod seeds;
mod spans;
#[path = "../call_log/support.rs"]
#[expect(dead_code, reason = "the tests of the contract use the rest")]
mod support;
mod takeover;
mod writer;

use std::sync::Arc;

use verbale::dynamodb::{DynamoLog, Layout, create_table};
use verbale::testing::call_log_conformance;

use dynamo::{Dynamo, FaultPlan};

/// The modules in `spans` have another one.
const LAYOUT: Layout = Layout::Messages;

/// Returns a fake with the log's table and the faults of `plan`, and a log in it.
async fn log(plan: FaultPlan) -> (Dynamo, DynamoLog) {
    let dynamo = Dynamo::new(FaultPlan { seed: plan.seed, clock_steps: plan.clock_steps.clone(), ..FaultPlan::none() });
    create_table(&dynamo.client(), "verbale").await.unwrap();
    dynamo.set_plan(plan);
    let log = DynamoLog::new(dynamo.client()).with_clock(Arc::new(dynamo.clock()));
    (dynamo, log)
}

#[tokio::test(start_paused = true)]
async fn log_over_the_fake_keeps_the_contract() {
    let (_, log) = log(FaultPlan::none()).await;
    call_log_conformance(async |clock| log.clone().with_clock(clock)).await;
}

#[tokio::test(start_paused = true)]
async fn log_over_a_slow_fake_keeps_the_contract() {
    let (_, log) = log(FaultPlan::none().with_latency_ms(1..=2_000)).await;
    call_log_conformance(async |clock| log.clone().with_clock(clock)).await;
}

#[test]
fn log_over_the_fake_follows_the_model() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    history::check(96, runtime.block_on(log(FaultPlan::none())).1);
}
