//! Many conversations: the registry, its limits, and queries, which memory and every log answer alike.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod asked;
mod limits;
mod log;
mod queries;
mod random;
mod registry;
mod tasks;
mod texts;
mod together;

use asked::Backend;

#[tokio::test]
async fn memory_answers() {
    queries::all(Backend::Memory).await;
}

#[tokio::test]
async fn a_log_in_memory_answers() {
    queries::all(Backend::MemoryLog).await;
}

#[tokio::test]
async fn files_answer() {
    queries::all(Backend::Files).await;
}

#[tokio::test]
async fn dynamodb_answers() {
    queries::all(Backend::DynamoDb).await;
}
