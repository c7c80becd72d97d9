//! Records and values survive the round trip through items that DynamoDB accepts.

use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;
use serde_json::json;
use verbale::dynamodb::{from_item, to_items};
use verbale::log::CallLog;
use verbale::{Content, Record};

use super::strategy;
use super::{call, id, lease, log, message, record, summary, to_item};

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

proptest! {
    #[test]
    fn any_value_survives_the_round_trip(value in strategy::value()) {
        let record = record(json!({
            "id": id(0), "seq": 0, "revision": 1, "metadata": {"timing": {"creation": 5}, "aux": {"value": value.clone()}},
            "message": {"role": "assistant", "contents": [
                {"type": "toolCall", "id": "call_1", "name": "look", "arguments": value},
            ]},
        }));
        let item = to_item(&call("CA1"), &record);
        prop_assert!(item.values().all(|attribute| is_accepted(attribute, 31)), "{:?}", item);
        let found = from_item(item.clone()).unwrap();
        prop_assert!(found == record, "{:?}", item);
        let Content::ToolCall(found) = &found.contents()[0] else { panic!("no tool call") };
        prop_assert!(*found.arguments() == value, "{:?}", item);
    }

    #[test]
    fn any_record_survives_the_round_trip(record in strategy::record()) {
        let item = to_item(&call("CA1"), &record);
        prop_assert!(item.iter().all(|(name, attribute)| !name.is_empty() && is_accepted(attribute, 31)), "{:?}", item);
        let found = from_item(item.clone()).unwrap();
        prop_assert!(found == record, "{} is not {} {:?}", json_of(&found), json_of(&record), item);
    }
}

#[test]
fn any_record_is_read_back_from_the_table() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let log = runtime.block_on(log());
    let number = std::cell::Cell::new(0);
    proptest!(ProptestConfig::with_cases(96), |(record in strategy::record())| {
        number.set(number.get() + 1);
        let call = call(&number.get().to_string());
        let records = runtime.block_on(async {
            log.put_record(&lease(&number.get().to_string()), &record).await.unwrap();
            log.read_call(&call).await.unwrap().records
        });
        prop_assert!(records == [record.clone()], "{} is not {}", records.first().map(json_of).unwrap_or_default(), json_of(&record));
    });
}

#[test]
fn items_keep_the_order_of_the_records() {
    let items = to_items(&call("CA1"), &[message(1, 1, "a"), summary(1, 1), message(0, 1, "b")]).unwrap();
    let keys: Vec<_> = items.iter().map(|item| item["sk"].as_s().unwrap().as_str()).collect();
    assert_eq!(keys, ["MSG#00000001", "MSG#00000001#SUM#0001", "MSG#00000000"]);
}
