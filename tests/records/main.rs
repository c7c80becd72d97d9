//! The form of records: the JSON Schema, and the records of each version.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod schema;
#[path = "../dynamodb/strategy.rs"]
mod strategy;
mod versions;

fn record(json: serde_json::Value) -> verbale::Record {
    serde_json::from_value(json).unwrap()
}
