//! Every `CallLog` keeps the contract: in memory, in files, and in DynamoDB, in this process and over HTTP.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod damaged;
mod dynamodb;
mod emulators;
mod history;
mod offloading;
mod old_items;
mod resumed;
#[path = "../../src/clock/seeded.rs"]
mod seeded;
mod support;
mod takeover;
mod texts;

use std::sync::Arc;

use verbale::log::{CallLog, JsonLines, MemoryLog};
use verbale::testing::call_log_conformance;

#[tokio::test]
async fn memory_keeps_the_contract() {
    call_log_conformance(async |clock| MemoryLog::with_clock(clock)).await;
}

#[tokio::test]
async fn memory_with_spans_keeps_the_contract() {
    call_log_conformance(async |clock| MemoryLog::with_clock(clock).with_spans()).await;
}

#[tokio::test]
async fn files_keep_the_contract() {
    for fsync in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        call_log_conformance(async |clock| JsonLines::new(directory.path()).with_fsync(fsync).with_clock(clock)).await;
    }
}

#[tokio::test]
async fn dynamodb_keeps_the_contract() {
    let log = dynamodb::log().await;
    call_log_conformance(async |clock| log.clone().with_clock(clock)).await;
}

#[tokio::test]
async fn dynamodb_with_spans_keeps_the_contract() {
    let log = dynamodb::log().await.with_layout(verbale::dynamodb::Layout::Spans);
    call_log_conformance(async |clock| log.clone().with_clock(clock)).await;
}

#[tokio::test]
async fn dynamodb_keeps_the_contract_over_several_shards() {
    let log = dynamodb::log().await.with_day_shards(12.try_into().unwrap());
    call_log_conformance(async |clock| log.clone().with_clock(clock)).await;
}

#[tokio::test]
async fn log_behind_a_pointer_keeps_the_contract() {
    call_log_conformance(async |clock| Arc::new(MemoryLog::with_clock(clock)) as Arc<dyn CallLog>).await;
}

#[test]
fn memory_follows_the_model() {
    history::check(256, MemoryLog::default());
}

#[test]
fn files_follow_the_model() {
    let directory = tempfile::tempdir().unwrap();
    history::check(96, JsonLines::new(directory.path()));
}

#[test]
fn dynamodb_follows_the_model() {
    let log = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(dynamodb::log());
    history::check(64, log);
}
