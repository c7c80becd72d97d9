//! What goes in comes out, and DynamoDB takes it.

use aws_sdk_dynamodb::types::AttributeValue;
use proptest::prelude::*;
use verbale::Record;
use verbale::dynamodb::{from_attribute, from_item, to_attribute, to_item, to_items};
use verbale::log::CallLog;

use super::strategy;
use super::{call, lease, log, message, summary};

fn json(record: &Record) -> String {
    serde_json::to_string(record).unwrap()
}

/// Whether DynamoDB documents that it takes the attribute: levels, keys. No set is written.
fn is_taken(attribute: &AttributeValue, levels: u8) -> bool {
    match attribute {
        AttributeValue::L(items) => levels > 0 && items.iter().all(|item| is_taken(item, levels - 1)),
        AttributeValue::M(entries) => {
            levels > 0 && entries.iter().all(|(key, item)| !key.is_empty() && is_taken(item, levels - 1))
        }
        AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => false,
        _ => true,
    }
}

proptest! {
    #[test]
    fn any_value_comes_back(value in strategy::value()) {
        let attribute = to_attribute(&value).unwrap();
        prop_assert!(is_taken(&attribute, 31), "{:?}", attribute);
        prop_assert!(from_attribute(attribute.clone()).unwrap() == value, "{:?}", attribute);
    }

    #[test]
    fn any_record_comes_back(record in strategy::record()) {
        let item = to_item(&call("CA1"), &record).unwrap();
        prop_assert!(item.iter().all(|(name, attribute)| !name.is_empty() && is_taken(attribute, 31)), "{:?}", item);
        let found = from_item(item.clone()).unwrap();
        prop_assert!(found == record, "{} is not {} {:?}", json(&found), json(&record), item);
    }
}

#[test]
fn any_record_comes_back_from_the_table() {
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
        prop_assert!(records == [record.clone()], "{} is not {}", records.first().map(json).unwrap_or_default(), json(&record));
    });
}

#[test]
fn items_are_in_the_order_of_the_records() {
    let items = to_items(&call("CA1"), &[message(1, 1, "a"), summary(1, 1), message(0, 1, "b")]).unwrap();
    let keys: Vec<_> = items.iter().map(|item| item["sk"].as_s().unwrap().as_str()).collect();
    assert_eq!(keys, ["MSG#00000001", "MSG#00000001#SUM#0001", "MSG#00000000"]);
}
