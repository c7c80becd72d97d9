//! W4: what the log costs through its background writer: requests, bytes and write units a turn, messages a second, and
//! how long a turn hands over.
//!
//! `cargo bench --bench log`, with `cost`, `speed` or `submit` behind `--` for a part of it.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, clippy::disallowed_methods)]

mod cost;
mod counted;
mod speed;
mod submit;
#[path = "../workload/mod.rs"]
mod workload;

use aws_sdk_dynamodb::Client;
use tokio::runtime::Runtime;
use verbale::dynamodb::{Table, create_table};
use verbale::embedded::EmbeddedDynamo;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let is_asked = |part: &str| asked.is_empty() || asked.iter().any(|asked| asked == part);
    if is_asked("cost") {
        runtime().block_on(cost::print());
    }
    if is_asked("speed") {
        runtime().block_on(speed::print());
    }
    if is_asked("submit") {
        submit::print();
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Of a new embedded DynamoDB in memory, with the table.
async fn new_client() -> Client {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, &Table::default()).await.unwrap();
    client
}
