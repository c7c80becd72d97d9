//! Records and values in DynamoDB, through the SDK's own client and the embedded engine.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod codec;
mod compression;
mod convergence;
mod failures;
mod input;
mod log;
#[path = "../call_log/resumed.rs"]
mod resumed;
mod spans;
mod strategy;
mod table;

use aws_sdk_dynamodb::Client;
use serde_json::json;
use verbale::Record;
use verbale::dynamodb::{DynamoLog, Item, create_table, to_items};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, WriterLease};

fn call(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

/// Returns the lease of the first writer of a call without an expiry.
fn lease(id: &str) -> WriterLease {
    WriterLease::from(call(id))
}

/// Returns a log in an empty table in memory.
async fn log() -> DynamoLog {
    log_in(EmbeddedDynamo::in_memory().unwrap().client()).await
}

/// Returns a log whose items have the sizes of their texts.
async fn log_in(client: Client) -> DynamoLog {
    create_table(&client, "verbale").await.unwrap();
    DynamoLog::new(client).with_compression(false)
}

fn to_item(call_id: &CallId, record: &Record) -> Item {
    to_items(call_id, [record]).unwrap().remove(0)
}

fn id(number: u32) -> String {
    verbale::MessageId::from(u128::from(number)).to_string()
}

/// Returns message `seq` at a revision. Its id follows from `seq`.
fn message(seq: u32, revision: u32, text: &str) -> Record {
    record(json!({
        "id": id(seq), "seq": seq, "revision": revision,
        "message": {"role": "user", "contents": [text]}, "metadata": {"timing": {"creation": 5}},
    }))
}

fn summary(after: u32, number: u32) -> Record {
    record(json!({
        "id": id(1_000_000 + number), "after": after, "summary": number, "revision": 1,
        "message": {"role": "summary", "contents": ["They greeted each other."]},
        "metadata": {"coversFrom": 0, "previousSummary": id(0), "timing": {"creation": 5}},
    }))
}

fn record(json: serde_json::Value) -> Record {
    serde_json::from_value(json).unwrap()
}
