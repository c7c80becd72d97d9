//! The registry of conversations, its limits, forks, and queries, which return the same results from memory and every log.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod backend;
mod forks;
mod limits;
mod log;
mod queries;
mod random;
mod registry;
mod tasks;
mod texts;
mod together;

use backend::Backend;

#[tokio::test]
async fn queries_work_in_memory() {
    queries::all(Backend::Memory).await;
}

#[tokio::test]
async fn queries_work_over_a_memory_log() {
    queries::all(Backend::MemoryLog).await;
}

#[tokio::test]
async fn queries_work_over_files() {
    queries::all(Backend::Files).await;
}

#[tokio::test]
async fn queries_work_over_dynamodb() {
    queries::all(Backend::DynamoDb).await;
}
