//! The JSON of records as attribute values, and back, without loss.
//!
//! JSON with its tags (see [`Value`]) defines the form. An attribute value is the image of that JSON:
//!
//! - Numbers keep up to 38 digits, and tagged bytes become binary attributes.
//! - Values that DynamoDB cannot hold become JSON text in a map with the single key `$json`: values below the 31st level
//!   of lists and maps, and maps with an empty key.
//! - A long text may be a zstd frame, in a map with the single key `$zstd`.
//! - A map with a single key that starts with `$` is wrapped in a map with the single key `$map`.

mod texts;

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::message::{MessageError, Number, Value};

pub(super) use texts::{Texts, compress_texts};
use texts::{ZSTD, text_of};

/// The maximum number of levels of lists and maps in an attribute. With the item itself they are the 32 levels of
/// [Constraints](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
pub(super) const LEVELS: u8 = 31;
/// The length of an attribute name or a map key, in bytes.
const NAME_BYTES: std::ops::RangeInclusive<usize> = 1..=65_535;
const JSON: &str = "$json";
const MAP: &str = "$map";

/// The reason why a record and its attributes do not convert. Never contains the words of a caller.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct AttributeError(Box<str>);

impl AttributeError {
    pub fn new(reason: &str) -> Self {
        Self(reason.into())
    }
}

impl From<serde_json::Error> for AttributeError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(without_data(&error.to_string()))
    }
}

impl From<MessageError> for AttributeError {
    fn from(error: MessageError) -> Self {
        Self::new(&error.to_string())
    }
}

/// Cuts off the data that serde quotes in an error. The errors of this library are fixed texts.
fn without_data(error: &str) -> &str {
    if error.starts_with("not a ") {
        return error;
    }
    let end = error.find(['"', '`', '\'']).unwrap_or(error.len());
    error.get(..end).unwrap_or(error).trim_end()
}

/// The role of some JSON in a record, which decides whether an object with a single key may be a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A value, which may be a tag.
    Tagged,
    /// An object whose keys are data, never a tag.
    Plain,
}

impl Form {
    fn of_entry(self, key: &str, entries: usize) -> Self {
        match (self, key) {
            (Self::Tagged, MAP) if entries == 1 => Self::Plain,
            _ => Self::Tagged,
        }
    }
}

/// Returns the image of `json` with at most `levels` levels of lists and maps, at least 1. [`json_of`] is the inverse.
pub(super) fn image(json: Json, levels: u8, form: Form) -> Result<AttributeValue, AttributeError> {
    if let Some(attribute) = native(&json, form) {
        return Ok(attribute);
    }
    if !fits(&json, levels, form) {
        let text = serde_json::to_string(&json)?;
        return Ok(AttributeValue::M(HashMap::from([(JSON.to_owned(), AttributeValue::S(text))])));
    }
    Ok(match json {
        Json::Null => AttributeValue::Null(true),
        Json::Bool(bool) => AttributeValue::Bool(bool),
        Json::Number(json) => AttributeValue::N(number(&json)?.to_string()),
        Json::String(text) => AttributeValue::S(text),
        Json::Array(items) => AttributeValue::L(
            items.into_iter().map(|item| image(item, levels - 1, Form::Tagged)).collect::<Result<_, _>>()?,
        ),
        Json::Object(entries) => {
            let count = entries.len();
            let entry = |(key, json): (String, Json)| {
                let attribute = image(json, levels - 1, form.of_entry(&key, count))?;
                Ok((key, attribute))
            };
            AttributeValue::M(entries.into_iter().map(entry).collect::<Result<_, AttributeError>>()?)
        }
    })
}

/// Converts a number as [`Value`] does. The text of a float would not be exact: if two decimals are equally near, Rust
/// and the JSON writer choose different ones.
fn number(json: &serde_json::Number) -> Result<Number, MessageError> {
    match (json.as_i64(), json.as_u64()) {
        (Some(int), _) => Ok(int.into()),
        (_, Some(int)) => Ok(int.into()),
        _ => Number::try_from(json.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Returns the attribute for a tagged value of a type that DynamoDB has, if the tag can be restored exactly.
fn native(json: &Json, form: Form) -> Option<AttributeValue> {
    let (key, _) = json.as_object().filter(|entries| entries.len() == 1)?.iter().next()?;
    if form != Form::Tagged || !key.starts_with('$') || key == MAP {
        return None;
    }
    let value = Value::deserialize(json).ok()?;
    let attribute = match &value {
        Value::Bytes(bytes) => AttributeValue::B(Blob::new(&**bytes)),
        Value::Number(number) => AttributeValue::N(number.to_string()),
        _ => return None,
    };
    (serde_json::to_value(&value).ok()? == *json).then_some(attribute)
}

/// Returns whether DynamoDB can hold the top level of `json`.
fn fits(json: &Json, levels: u8, form: Form) -> bool {
    let is_leaf = |json: &Json, form| !(json.is_array() || json.is_object()) || native(json, form).is_some();
    match json {
        Json::Array(items) => levels > 1 || items.iter().all(|item| is_leaf(item, Form::Tagged)),
        Json::Object(entries) => entries.iter().all(|(key, json)| {
            takes_name(key)
                && !([JSON, ZSTD].contains(&key.as_str()) && entries.len() == 1)
                && (levels > 1 || is_leaf(json, form.of_entry(key, entries.len())))
        }),
        _ => true,
    }
}

/// Returns whether an attribute or a map key can have this name.
pub(super) fn takes_name(name: &str) -> bool {
    NAME_BYTES.contains(&name.len())
}

/// Returns the JSON that [`image`] made the attribute value from.
///
/// Sets, which only other writers store, become sorted lists, because DynamoDB returns their elements in any order.
pub(super) fn json_of(attribute: AttributeValue) -> Result<Json, AttributeError> {
    Ok(match attribute {
        AttributeValue::Null(_) => Json::Null,
        AttributeValue::Bool(bool) => bool.into(),
        AttributeValue::S(text) => text.into(),
        AttributeValue::N(number) => serde_json::to_value(number.parse::<Number>()?)?,
        AttributeValue::B(bytes) => serde_json::to_value(Value::from(bytes.into_inner()))?,
        AttributeValue::Ss(mut texts) => {
            texts.sort_unstable();
            serde_json::to_value(texts)?
        }
        AttributeValue::Ns(texts) => {
            let mut numbers = texts.iter().map(|text| text.parse::<Number>()).collect::<Result<Vec<_>, _>>()?;
            numbers.sort_by_cached_key(Number::to_string);
            numbers.sort_by(|one, other| one.to_f64().total_cmp(&other.to_f64()));
            serde_json::to_value(numbers)?
        }
        AttributeValue::Bs(mut binaries) => {
            binaries.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
            let binaries: Vec<_> = binaries.into_iter().map(|bytes| Value::from(bytes.into_inner())).collect();
            serde_json::to_value(binaries)?
        }
        AttributeValue::L(items) => items.into_iter().map(json_of).collect::<Result<Vec<_>, _>>()?.into(),
        AttributeValue::M(entries) => match entries.iter().next().filter(|_| entries.len() == 1) {
            Some((key, AttributeValue::S(text))) if key == JSON => serde_json::from_str(text)?,
            Some((key, AttributeValue::B(frame))) if key == ZSTD => text_of(frame.as_ref())?.into(),
            _ => {
                let entry = |(key, attribute): (String, _)| Ok((key, json_of(attribute)?));
                Json::Object(entries.into_iter().map(entry).collect::<Result<_, AttributeError>>()?)
            }
        },
        _ => return Err(AttributeError::new("an attribute has an unknown type; use a newer version of verbale")),
    })
}

#[cfg(test)]
mod tests;
