//! Spans as items, attribute by attribute.

use serde_json::{Value as Json, json};

use super::*;
use crate::dynamodb::item_size;

fn call_id() -> CallId {
    CallId::new("CA1").unwrap()
}

fn message(seq: u32, revision: u32, contents: Json) -> Record {
    let id = MessageId::from(u128::from(seq));
    serde_json::from_value(json!({
        "id": id.to_string(), "seq": seq, "revision": revision,
        "message": {"role": "user", "contents": contents},
        "metadata": {"timing": {"creation": 5}}, "pk": "a newer key", "unknown": {"$int": "1"},
    }))
    .unwrap()
}

#[test]
fn span_is_stored_as_one_item() {
    let span = Span::new(2, 3).unwrap();
    let records = [message(2, 1, json!(["Hi"])), message(3, 4, json!(["there"]))];
    let mut item = to_item(&call_id(), span, &records, Texts::Plain).unwrap();
    assert_eq!(of_item(&item), Some(span));
    assert_eq!(identity(&item, 3), Some((MessageId::from(3), 4)));
    for record in &records {
        assert_eq!(super::record(&item, &call_id(), record.position().seq()).unwrap(), *record);
    }
    let member = item["m3"].as_m().unwrap();
    assert_eq!(
        (member["id"].clone(), member["revision"].clone()),
        (item::text(MessageId::from(3).to_string()), item::number(4))
    );
    let mut names: Vec<_> = member.keys().cloned().collect();
    names.sort();
    assert_eq!(names, ["$record", "contents", "creation", "id", "revision", "role", "unknown"]);
    for member in ["m2", "m3"] {
        item.remove(member);
    }
    let own = [("pk", item::text("CALL#CA1")), ("sk", item::text("MSG#00000002")), ("entity", item::text("span"))];
    let numbers = [("v", item::number(2)), ("last", item::number(3)), ("rev", item::number(5))];
    assert_eq!(item, own.into_iter().chain(numbers).map(|(name, value)| (name.to_owned(), value)).collect());
}

/// An item of DynamoDB has 32 levels at most, and one of them is the span's.
#[test]
fn deep_values_fit() {
    let nested = (0..30).fold(json!("core"), |inner, _| json!([inner]));
    let mut record = serde_json::to_value(message(0, 1, json!(["Hi"]))).unwrap();
    record["unknown"] = nested;
    let record: Record = serde_json::from_value(record).unwrap();
    let item = to_item(&call_id(), Span::new(0, 0).unwrap(), std::slice::from_ref(&record), Texts::Plain).unwrap();
    fn levels(attribute: &AttributeValue) -> usize {
        match attribute {
            AttributeValue::L(items) => 1 + items.iter().map(levels).max().unwrap_or_default(),
            AttributeValue::M(entries) => 1 + entries.values().map(levels).max().unwrap_or_default(),
            _ => 0,
        }
    }
    assert_eq!(item.values().map(levels).max(), Some(usize::from(LEVELS)));
    assert_eq!(super::record(&item, &call_id(), 0).unwrap(), record);
}

#[test]
fn span_takes_little_more_than_its_records() {
    let records = [message(0, 1, json!(["Hi"])), message(1, 1, json!(["there"]))];
    let span = item_size(&to_item(&call_id(), Span::new(0, 1).unwrap(), &records, Texts::Plain).unwrap());
    let alone: usize =
        records.iter().map(|record| item_size(&item::to_item(&call_id(), record, Texts::Plain).unwrap())).sum();
    assert!(span <= alone + 8, "{span} and {alone}");
}

#[test]
fn damaged_span_names_its_message_and_shows_no_words() {
    let records = [message(0, 1, json!(["secret"])), message(1, 1, json!(["secret"]))];
    let mut item = to_item(&call_id(), Span::new(0, 1).unwrap(), &records, Texts::Plain).unwrap();
    item.remove("m1");
    assert!(super::record(&item, &call_id(), 0).is_ok());
    let error = super::record(&item, &call_id(), 1).unwrap_err();
    assert!(error.to_string().starts_with("MSG#00000001 of call CA1 is not a valid record"), "{error}");
    item.remove("last");
    assert_eq!(of_item(&item), Span::new(0, 0));
}
