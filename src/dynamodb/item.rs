//! Records as items, and back.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;
use serde_json::Value as Json;

use super::attribute::{AttributeError, Form, LEVELS, image, json_of, takes_name};
use super::{DynamoError, ItemKey, names};
use crate::log::CallId;
use crate::message::{MessageId, Record};

/// An item as the SDK takes and gives it. Its `Debug` prints what was said: do not log it.
pub type Item = HashMap<String, AttributeValue>;

/// The item of a record in a call.
///
/// It has the keys of the record's JSON as attributes, and `pk`, `sk`, `entity` and `v` beside them.
/// Keys that a newer writer added are attributes too.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use verbale::dynamodb::{CallId, from_item, to_item};
///
/// let record: verbale::Record = serde_json::from_str(
///     r#"{ "id": "01JRZJ166J2WRMF990535EVSQS", "seq": 2, "revision": 3,
///          "message": { "role": "user", "contents": ["Hi, there"] },
///          "metadata": { "timing": { "creation": 1744815823058 } } }"#,
/// )?;
/// let item = to_item(&CallId::new("CA1")?, &record)?;
/// assert_eq!(item["pk"].as_s().unwrap(), "CALL#CA1");
/// assert_eq!(item["sk"].as_s().unwrap(), "MSG#00000002");
/// assert_eq!(from_item(item)?, record);
/// # Ok(()) }
/// ```
///
/// Errors: none that a [`Record`] is known to cause. That the item is not too large is checked when it is put.
pub fn to_item(call_id: &CallId, record: &Record) -> Result<Item, DynamoError> {
    let key = ItemKey::new(call_id, record.position());
    let mut item = attributes(record).map_err(|source| DynamoError::Unstorable { key: key.clone(), source })?;
    let entity =
        if record.position().summary_number().is_some() { names::ENTITY_SUMMARY } else { names::ENTITY_MESSAGE };
    for (name, text) in [
        (names::PARTITION_KEY, call_id.partition_key()),
        (names::SORT_KEY, key.sort_key().to_owned()),
        (names::ENTITY, entity.to_owned()),
    ] {
        item.insert(name.to_owned(), AttributeValue::S(text));
    }
    item.insert(names::VERSION.to_owned(), AttributeValue::N(names::SCHEMA_VERSION.to_string()));
    Ok(item)
}

/// The items of records in a call, as [`to_item`] makes them.
pub fn to_items<'a>(call_id: &CallId, records: impl IntoIterator<Item = &'a Record>) -> Result<Vec<Item>, DynamoError> {
    records.into_iter().map(|record| to_item(call_id, record)).collect()
}

/// The record that an item was made from. Whether the item has expired is not looked at.
///
/// Errors: not the item of a message or a summary, a schema version that this version does not know, a record that
/// belongs to another key.
pub fn from_item(mut item: Item) -> Result<Record, DynamoError> {
    let key = ItemKey::of_item(&item)?;
    match number::<u32>(&item, names::VERSION) {
        Some(names::SCHEMA_VERSION) => {}
        version => return Err(DynamoError::UnknownSchema { key, version }),
    }
    let others = item.remove(names::OTHERS);
    item.retain(|name, _| !names::is_own(name));
    let record = record(item, others).map_err(|source| DynamoError::Unreadable { key: key.clone(), source })?;
    if ItemKey::new(key.call_id(), record.position()).sort_key() == key.sort_key() {
        Ok(record)
    } else {
        let source = AttributeError::Form { reason: "its `sk` belongs to another record".into() };
        Err(DynamoError::Unreadable { key, source })
    }
}

/// The keys of an item.
pub(super) fn keys(item: &Item) -> Item {
    let key = |name: &str| Some((name.to_owned(), item.get(name)?.clone()));
    [names::PARTITION_KEY, names::SORT_KEY].into_iter().filter_map(key).collect()
}

pub(super) fn sort_key(item: &Item) -> Option<&str> {
    item.get(names::SORT_KEY)?.as_s().ok().map(String::as_str)
}

/// The id and revision of a message's item, without reading all of it.
pub(super) fn identity(item: &Item) -> Option<(MessageId, u32)> {
    let id = item.get(names::ID)?.as_s().ok()?.parse().ok()?;
    Some((id, number(item, names::REVISION)?))
}

/// Whether DynamoDB may delete the item at `now_s`, in seconds since the Unix epoch.
pub(super) fn is_expired(item: &Item, now_s: i64) -> bool {
    number::<i64>(item, names::EXPIRES_AT).is_some_and(|at| at <= now_s)
}

/// Whether the item keeps the place of something that was erased.
pub(super) fn is_erased(item: &Item) -> bool {
    matches!(item.get(names::ENTITY), Some(AttributeValue::S(entity)) if entity == names::ENTITY_ERASED)
}

/// Whether the item only keeps older writers from its place.
pub(super) fn is_fence(item: &Item) -> bool {
    matches!(item.get(names::ENTITY), Some(AttributeValue::S(entity)) if entity == names::ENTITY_FENCE)
}

/// The epoch of the writer whose the item is.
pub(super) fn epoch(item: &Item) -> u32 {
    number(item, names::EPOCH).unwrap_or(1)
}

pub(super) fn number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

fn attributes(record: &Record) -> Result<Item, AttributeError> {
    let mut item = Item::new();
    let mut others = serde_json::Map::new();
    let Json::Object(entries) = serde_json::to_value(record)? else {
        return Err(AttributeError::Form { reason: "a record is a map".into() });
    };
    for (name, json) in entries {
        if names::is_own(&name) || !takes_name(&name) {
            others.insert(name, json);
        } else {
            let form = if name == "metadata" { Form::Metadata } else { Form::Tagged };
            item.insert(name, image(json, LEVELS, form)?);
        }
    }
    if !others.is_empty() {
        item.insert(names::OTHERS.to_owned(), image(Json::Object(others), LEVELS, Form::Plain)?);
    }
    Ok(item)
}

fn record(item: Item, others: Option<AttributeValue>) -> Result<Record, AttributeError> {
    let mut entries = item
        .into_iter()
        .map(|(name, attribute)| Ok((name, json_of(attribute)?)))
        .collect::<Result<serde_json::Map<_, _>, AttributeError>>()?;
    if let Some(Json::Object(others)) = others.map(json_of).transpose()? {
        entries.extend(others);
    }
    Ok(Record::deserialize(Json::Object(entries))?)
}

#[cfg(test)]
mod tests;
