//! Records and values survive the round trip through items that DynamoDB accepts.

use std::cell::Cell;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;
use serde_json::json;
use tokio::runtime::Runtime;
use verbale::dynamodb::{DynamoLog, Item, Layout, to_items};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::CallLog;
use verbale::{Content, Record};

use super::strategy;
use super::{call, id, lease, log_in, message, record, summary, to_item};

fn json_of(record: &Record) -> String {
    serde_json::to_string(record).unwrap()
}

/// Returns whether DynamoDB accepts the attribute according to its documented limits of levels and keys. Sets are never
/// written.
fn is_accepted(attribute: &AttributeValue, levels: u8) -> bool {
    match attribute {
        AttributeValue::L(items) => levels > 0 && items.iter().all(|item| is_accepted(item, levels - 1)),
        AttributeValue::M(entries) => {
            levels > 0 && entries.iter().all(|(key, item)| !key.is_empty() && is_accepted(item, levels - 1))
        }
        AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => false,
        _ => true,
    }
}

/// A table with one item for each message.
struct Table {
    runtime: Runtime,
    client: Client,
    log: DynamoLog,
    calls: Cell<u32>,
}

impl Table {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = EmbeddedDynamo::in_memory().unwrap().client();
        let log = runtime.block_on(log_in(client.clone())).with_layout(Layout::Messages);
        Self { runtime, client, log, calls: Cell::default() }
    }

    /// Writes the record to a call of its own, and returns its item and the record that is read back.
    fn round_trip(&self, record: &Record) -> (Item, Record) {
        self.calls.set(self.calls.get() + 1);
        let id = self.calls.get().to_string();
        self.runtime.block_on(async {
            self.log.put_record(&lease(&id), record).await.unwrap();
            let sort_key = to_item(&call(&id), record)["sk"].clone();
            let get = self.client.get_item().table_name("verbale").key("sk", sort_key);
            let item = get.key("pk", AttributeValue::S(format!("CALL#{id}"))).send().await.unwrap().item.unwrap();
            (item, self.log.read_call(&call(&id)).await.unwrap().records.remove(0))
        })
    }
}

#[test]
fn any_value_survives_the_round_trip() {
    let table = Table::new();
    proptest!(|(value in strategy::value())| {
        let record = record(json!({
            "id": id(0), "seq": 0, "revision": 1, "metadata": {"timing": {"creation": 5}, "aux": {"value": value.clone()}},
            "message": {"role": "assistant", "contents": [
                {"type": "toolCall", "id": "call_1", "name": "look", "arguments": value},
            ]},
        }));
        let (item, found) = table.round_trip(&record);
        prop_assert!(item.values().all(|attribute| is_accepted(attribute, 31)), "{:?}", item);
        prop_assert!(found == record, "{:?}", item);
        let Content::ToolCall(found) = &found.contents()[0] else { panic!("no tool call") };
        prop_assert!(*found.arguments() == value, "{:?}", item);
    });
}

#[test]
fn any_record_survives_the_round_trip() {
    let table = Table::new();
    proptest!(|(record in strategy::record())| {
        let (item, found) = table.round_trip(&record);
        prop_assert!(item.iter().all(|(name, attribute)| !name.is_empty() && is_accepted(attribute, 31)), "{:?}", item);
        prop_assert!(found == record, "{} is not {} {:?}", json_of(&found), json_of(&record), item);
    });
}

#[test]
fn items_keep_the_order_of_the_records() {
    let items = to_items(&call("CA1"), &[message(1, 1, "a"), summary(1, 1), message(0, 1, "b")]).unwrap();
    let keys: Vec<_> = items.iter().map(|item| item["sk"].as_s().unwrap().as_str()).collect();
    assert_eq!(keys, ["MSG#00000001", "MSG#00000001#SUM#0001", "MSG#00000000"]);
}
