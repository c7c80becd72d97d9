//! W4: the cost of the log through its background writer: requests, bytes and write units per turn, messages per second,
//! the time of `submit`, and opening a large spool.
//!
//! Run `cargo bench --bench log`. Append `-- cost`, `-- speed`, `-- submit` or `-- spool` to run one part.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing, clippy::disallowed_methods)]

mod cost;
mod counted;
mod speed;
mod spool;
mod submit;
#[path = "../workload/mod.rs"]
mod workload;

use aws_sdk_dynamodb::Client;
use tokio::runtime::Runtime;
use verbale::dynamodb::create_table;
use verbale::embedded::EmbeddedDynamo;

fn main() {
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [part, megabytes] = &asked[..]
        && part.starts_with("spool-")
    {
        return spool::run(part, megabytes.parse().unwrap());
    }
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
    if is_asked("spool") {
        spool::print(asked.get(1).map_or(1_000, |megabytes| megabytes.parse().unwrap()));
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Returns a client of a new embedded DynamoDB in memory that has the table.
async fn new_client() -> Client {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    client
}
