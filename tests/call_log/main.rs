//! Every `CallLog` keeps the contract: in memory, in files, and in DynamoDB, in this process and over HTTP.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod changes;
mod conformance;
mod dynamodb;
mod emulators;
mod history;
mod offloading;
mod old_items;
mod takeover;

use verbale::log::{FileDurability, JsonLines, MemoryLog};

#[tokio::test]
async fn memory_keeps_the_contract() {
    let clock = conformance::clock();
    conformance::all(&MemoryLog::with_clock(clock.clone()), &clock).await;
}

#[tokio::test]
async fn files_keep_the_contract() {
    for durability in [FileDurability::System, FileDurability::Disk] {
        let directory = tempfile::tempdir().unwrap();
        let clock = conformance::clock();
        let log = JsonLines::new(directory.path()).with_durability(durability).with_clock(clock.clone());
        conformance::all(&log, &clock).await;
    }
}

#[tokio::test]
async fn dynamodb_keeps_the_contract() {
    let clock = conformance::clock();
    conformance::all(&dynamodb::log().await.with_clock(clock.clone()), &clock).await;
}

#[tokio::test]
async fn dynamodb_keeps_the_contract_over_several_shards() {
    let clock = conformance::clock();
    let log = dynamodb::log().await.with_clock(clock.clone()).with_day_shards(12.try_into().unwrap());
    conformance::all(&log, &clock).await;
}

#[test]
fn memory_follows_the_model() {
    history::check(256, &MemoryLog::new());
}

#[test]
fn files_follow_the_model() {
    let directory = tempfile::tempdir().unwrap();
    history::check(96, &JsonLines::new(directory.path()));
}

#[test]
fn dynamodb_follows_the_model() {
    let log = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(dynamodb::log());
    history::check(64, &log);
}

#[tokio::test]
async fn log_behind_a_pointer_keeps_the_contract() {
    let clock = conformance::clock();
    let log: std::sync::Arc<dyn verbale::log::CallLog> = std::sync::Arc::new(MemoryLog::with_clock(clock.clone()));
    conformance::all(&log, &clock).await;
}
