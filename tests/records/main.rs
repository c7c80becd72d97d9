//! The form of records: its JSON Schema, and what every version of it wrote.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod schema;
#[path = "../dynamodb/strategy.rs"]
mod strategy;
mod versions;

fn record(json: serde_json::Value) -> verbale::Record {
    serde_json::from_value(json).unwrap()
}
