//! Records as items, and back.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;
use serde_json::Value as Json;

use super::attribute::{AttributeError, Form, LEVELS, Texts, compress_texts, image, json_of, takes_name};
use super::keys::{self, ItemKey};
use super::{error, flat, names};
use crate::log::{CallId, LogError, LogErrorKind};
use crate::message::{MessageId, Record};

/// An item as the SDK takes and returns it. Its `Debug` prints the words of a caller, so do not log an item.
pub type Item = HashMap<String, AttributeValue>;

/// Returns the items that store records of a call, in the order of the records.
///
/// The attributes of an item are the keys of the record's JSON, including keys that a newer writer added, and `pk`,
/// `sk`, `entity` and `v`. The known keys of `message`, `metadata` and `timing` are attributes, too. The function does
/// not check the size of an item, and compresses no texts.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use verbale::dynamodb::to_items;
/// use verbale::log::CallId;
///
/// let record: verbale::Record = serde_json::from_str(
///     r#"{ "id": "01JRZJ166J2WRMF990535EVSQS", "seq": 2, "revision": 3,
///          "message": { "role": "user", "contents": ["Hi, there"] },
///          "metadata": { "timing": { "creation": 1744815823058 } } }"#,
/// )?;
/// let items = to_items(&CallId::new("CA1")?, [&record])?;
/// assert_eq!(items[0]["pk"].as_s().unwrap(), "CALL#CA1");
/// assert_eq!(items[0]["sk"].as_s().unwrap(), "MSG#00000002");
/// # Ok(()) }
/// ```
///
/// Returns an error if a record cannot be stored as an item. No such [`Record`] is known.
pub fn to_items<'a>(call_id: &CallId, records: impl IntoIterator<Item = &'a Record>) -> Result<Vec<Item>, LogError> {
    records.into_iter().map(|record| to_item(call_id, record, Texts::Plain)).collect()
}

pub(super) fn to_item(call_id: &CallId, record: &Record, texts: Texts) -> Result<Item, LogError> {
    let key = ItemKey::new(call_id, record.position());
    let attributes = attributes(record, LEVELS, texts).map_err(|source| not_storable(&key, source))?;
    let is_summary = record.position().summary_number().is_some();
    let entity = if is_summary { names::ENTITY_SUMMARY } else { names::ENTITY_MESSAGE };
    let mut item = of_entity(keys(keys::partition_of(call_id), key.sort_key), entity);
    item.extend(attributes);
    Ok(item)
}

/// Returns the record that an item stores, even if the item has expired.
///
/// Returns [`Damaged`](LogErrorKind::Damaged) if the item is not a message or summary, has
/// an unknown schema version, or holds the record of another key.
pub(super) fn from_item(mut item: Item) -> Result<Record, LogError> {
    let key = ItemKey::of_item(&item)?;
    check_schema(&item, &key)?;
    let others = item.remove(names::OTHERS);
    item.retain(|name, _| !names::is_own(name));
    let record = record(item, others).map_err(|source| unreadable(&key, source))?;
    if keys::sort_key_of(record.position()) == key.sort_key {
        Ok(record)
    } else {
        Err(unreadable(&key, AttributeError::new("its `sk` belongs to another record")))
    }
}

/// Returns an error if the item has a schema version other than that of this library.
pub(super) fn check_schema(item: &Item, key: &ItemKey) -> Result<(), LogError> {
    let expected = if is_span(item) { names::SPAN_VERSION } else { names::SCHEMA_VERSION };
    let version = match read_number::<u32>(item, names::VERSION) {
        Some(version) if version == expected => return Ok(()),
        Some(version) => format!("schema version {version}, which this version of verbale cannot read"),
        None => "no schema version".to_owned(),
    };
    Err(error::unreadable(format!("{key} has {version}; read it with the version that wrote it")))
}

/// Returns whether the item has the version that wrote it. An item without a version is damaged.
pub(super) fn has_schema(item: &Item) -> bool {
    read_number::<u32>(item, names::VERSION).is_some()
}

pub(super) fn not_storable(key: &ItemKey, source: AttributeError) -> LogError {
    let message = format!("{key} cannot be stored as an item; nothing was written: report this as a bug");
    LogError::new(LogErrorKind::Refused, message).with_source(source)
}

pub(super) fn unreadable(key: &ItemKey, source: AttributeError) -> LogError {
    let message = format!("{key} is not a valid record; inspect the item, another program may have written it");
    error::unreadable(message).with_source(source)
}

pub(super) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

pub(super) fn number(number: impl ToString) -> AttributeValue {
    AttributeValue::N(number.to_string())
}

/// Returns the two key attributes of an item.
pub(super) fn keys(partition: String, sort: impl Into<String>) -> Item {
    [(names::PARTITION_KEY.to_owned(), text(partition)), (names::SORT_KEY.to_owned(), text(sort))].into()
}

/// Adds the entity and the schema version to the keys of an item.
pub(super) fn of_entity(mut keys: Item, entity: &str) -> Item {
    keys.insert(names::ENTITY.to_owned(), text(entity));
    keys.insert(names::VERSION.to_owned(), number(names::SCHEMA_VERSION));
    keys
}

/// Returns only the key attributes of `item`.
pub(super) fn keys_of(item: &Item) -> Item {
    let key = |name: &str| Some((name.to_owned(), item.get(name)?.clone()));
    [names::PARTITION_KEY, names::SORT_KEY].into_iter().filter_map(key).collect()
}

pub(super) fn read_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.get(name)?.as_s().ok().map(String::as_str)
}

pub(super) fn read_number<T: std::str::FromStr>(item: &Item, name: &str) -> Option<T> {
    item.get(name)?.as_n().ok()?.parse().ok()
}

pub(super) fn sort_key(item: &Item) -> Option<&str> {
    read_text(item, names::SORT_KEY)
}

/// Returns the id and revision of a message without decoding the whole item.
pub(super) fn identity(item: &Item) -> Option<(MessageId, u32)> {
    Some((read_text(item, names::ID)?.parse().ok()?, read_number(item, names::REVISION)?))
}

/// Returns whether DynamoDB may delete the item at `now_s`, in seconds since the Unix epoch.
pub(super) fn is_expired(item: &Item, now_s: i64) -> bool {
    read_number::<i64>(item, names::EXPIRES_AT).is_some_and(|at| at <= now_s)
}

/// Returns whether the item marks a key whose content was erased. A damaged mark of a call is still listed as erased.
pub(super) fn is_erased(item: &Item) -> bool {
    match read_text(item, names::ENTITY) {
        Some(entity) => entity == names::ENTITY_ERASED,
        None => read_text(item, names::DAY_PARTITION_KEY).is_some_and(|key| key.starts_with(names::ERASED_PREFIX)),
    }
}

/// Returns whether the item is a fence, which only stops older writers from writing at its key.
pub(super) fn is_fence(item: &Item) -> bool {
    read_text(item, names::ENTITY) == Some(names::ENTITY_FENCE)
}

pub(super) fn is_span(item: &Item) -> bool {
    match read_text(item, names::ENTITY) {
        Some(entity) => entity == names::ENTITY_SPAN,
        None => read_number(item, names::VERSION) == Some(names::SPAN_VERSION),
    }
}

/// Returns the name of the number that grows with each change of a message, summary or span.
pub(super) fn name_of_revision(item: &Item) -> &'static str {
    if is_span(item) { names::CHANGES } else { names::REVISION }
}

/// Returns the epoch of the writer that wrote the item.
pub(super) fn epoch(item: &Item) -> u32 {
    read_number(item, names::EPOCH).unwrap_or(1)
}

/// Returns the attributes of a record, each with at most `levels` levels of lists and maps. [`record`] is the inverse.
pub(super) fn attributes(record: &Record, levels: u8, texts: Texts) -> Result<Item, AttributeError> {
    let mut item = Item::new();
    let mut others = serde_json::Map::new();
    let Json::Object(mut entries) = serde_json::to_value(record)? else {
        return Err(AttributeError::new("a record is not a map"));
    };
    entries.retain(|name, json| {
        let is_attribute = !names::is_own(name) && !flat::is_lifted(name) && takes_name(name);
        if !is_attribute {
            others.insert(name.clone(), json.take());
        }
        is_attribute
    });
    flat::flatten(&mut entries);
    for (name, json) in entries {
        // The keys of these maps are data.
        let is_plain = ["aux", "message", "metadata", "timing"].contains(&name.as_str());
        let form = if is_plain { Form::Plain } else { Form::Tagged };
        item.insert(name, image(json, levels, form)?);
    }
    if !others.is_empty() {
        item.insert(names::OTHERS.to_owned(), image(Json::Object(others), levels, Form::Plain)?);
    }
    if texts == Texts::Compressed {
        compress_texts(&mut item);
    }
    Ok(item)
}

pub(super) fn record(item: Item, others: Option<AttributeValue>) -> Result<Record, AttributeError> {
    let mut entries = item
        .into_iter()
        .map(|(name, attribute)| Ok((name, json_of(attribute)?)))
        .collect::<Result<serde_json::Map<_, _>, AttributeError>>()?;
    flat::nest(&mut entries);
    if let Some(Json::Object(others)) = others.map(json_of).transpose()? {
        entries.extend(others);
    }
    Ok(Record::deserialize(Json::Object(entries))?)
}

#[cfg(test)]
mod tests;
