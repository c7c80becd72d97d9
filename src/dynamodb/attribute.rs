//! [`Value`] and the JSON of records as attribute values, and back: exactly.
//!
//! The JSON with its tags (see [`Value`]) is the one definition of the form; an attribute value is its image. What
//! DynamoDB cannot hold as it is (nested too deep, an empty key) is there as text, in a map of one key, `$json`.

use std::collections::HashMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::message::{MessageError, Number, Value};

/// How many lists and maps can lie around each other in one attribute: with the item itself they are the 32 levels of
/// [Constraints](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html).
pub(super) const LEVELS: u8 = 31;
/// An attribute name has 1 to 65,535 bytes, the keys of a map too.
const NAME_BYTES: std::ops::RangeInclusive<usize> = 1..=65_535;
const JSON: &str = "$json";
const MAP: &str = "$map";

/// Why something cannot be an attribute value, or why an attribute value cannot be read. Never holds what was said.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AttributeError {
    /// The form is not that of a record or a value.
    #[error("{reason}")]
    Form {
        /// What is missing or wrong.
        reason: Box<str>,
    },
    /// DynamoDB has a type that this version does not know.
    #[error("an attribute has a type that this version does not know; use a newer version")]
    UnknownType,
    /// A number that [`Value`] refuses.
    #[error(transparent)]
    Value(#[from] MessageError),
}

impl From<serde_json::Error> for AttributeError {
    fn from(error: serde_json::Error) -> Self {
        Self::Form { reason: without_data(&error.to_string()).into() }
    }
}

/// serde quotes what it did not expect; our own errors are fixed texts.
fn without_data(error: &str) -> &str {
    if error.starts_with("not a ") {
        return error;
    }
    let end = error.find(['"', '`', '\'']).unwrap_or(error.len());
    error.get(..end).unwrap_or(error).trim_end()
}

/// The value as an attribute value: numbers exactly, to 38 digits; bytes as such.
///
/// In an item a value has 31 levels of lists and maps, one less than it may have by itself: what lies deeper is text,
/// in a map of one key, `$json`. So is a map with an empty key, which DynamoDB refuses. A map of one key that begins
/// with a `$` lies in a map of one key, `$map`.
///
/// ```
/// use aws_sdk_dynamodb::types::AttributeValue;
/// use verbale::Value;
/// use verbale::dynamodb::{from_attribute, to_attribute};
///
/// let value = Value::list(["a", "b"]).unwrap();
/// let attribute = to_attribute(&value).unwrap();
/// assert_eq!(attribute, AttributeValue::L(vec![AttributeValue::S("a".into()), AttributeValue::S("b".into())]));
/// assert!(from_attribute(attribute).unwrap() == value);
/// // Another writer's set is read as a list.
/// assert!(from_attribute(AttributeValue::Ss(vec!["b".into(), "a".into()])).unwrap() == value);
/// ```
///
/// Errors: none that a [`Value`] is known to cause.
pub fn to_attribute(value: &Value) -> Result<AttributeValue, AttributeError> {
    image(serde_json::to_value(value)?, LEVELS, Form::Tagged)
}

/// The value that [`to_attribute`] made the attribute value from. Of another writer's attribute, the value that it
/// means: a set is read as a list, sorted, because DynamoDB returns the elements of a set in any order.
///
/// Errors: an attribute type that is not known, a number that DynamoDB would not have given, text under `$json` that is
/// not JSON.
pub fn from_attribute(attribute: AttributeValue) -> Result<Value, AttributeError> {
    Ok(Value::deserialize(json_of(attribute)?)?)
}

/// Where in a record some JSON stands, which says whether an object of one key may be a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Where a value stands.
    Tagged,
    /// An object whose keys are data: never a tag.
    Plain,
    /// The `metadata` of a record. Its `aux` is plain.
    Metadata,
}

impl Form {
    fn of_entry(self, key: &str, entries: usize) -> Self {
        match (self, key) {
            (Self::Metadata, "aux") => Self::Plain,
            (Self::Tagged, MAP) if entries == 1 => Self::Plain,
            _ => Self::Tagged,
        }
    }
}

/// The image of `json` with `levels` (at least 1) levels of lists and maps at most. [`json_of`] is the way back.
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

/// As a value reads it. The text of a float would not do: where two decimals are equally near, one is Rust's choice and
/// the other that of the JSON writer.
fn number(json: &serde_json::Number) -> Result<Number, MessageError> {
    match (json.as_i64(), json.as_u64()) {
        (Some(int), _) => Ok(int.into()),
        (_, Some(int)) => Ok(int.into()),
        _ => Number::try_from(json.as_f64().unwrap_or(f64::NAN)),
    }
}

/// What JSON needs a tag for and DynamoDB does not. Only where the tag comes back to the letter.
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

/// Whether DynamoDB takes `json` as it is, deeper levels aside.
fn fits(json: &Json, levels: u8, form: Form) -> bool {
    let is_leaf = |json: &Json, form| !(json.is_array() || json.is_object()) || native(json, form).is_some();
    match json {
        Json::Array(items) => levels > 1 || items.iter().all(|item| is_leaf(item, Form::Tagged)),
        Json::Object(entries) => entries.iter().all(|(key, json)| {
            takes_name(key)
                && !(key == JSON && entries.len() == 1)
                && (levels > 1 || is_leaf(json, form.of_entry(key, entries.len())))
        }),
        _ => true,
    }
}

/// Whether an attribute or an entry of a map can have this name.
pub(super) fn takes_name(name: &str) -> bool {
    NAME_BYTES.contains(&name.len())
}

/// The JSON that [`image`] made the attribute value from.
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
        AttributeValue::M(entries) => match (entries.len(), entries.get(JSON)) {
            (1, Some(AttributeValue::S(text))) => serde_json::from_str(text)?,
            _ => {
                let entry = |(key, attribute): (String, _)| Ok((key, json_of(attribute)?));
                Json::Object(entries.into_iter().map(entry).collect::<Result<_, AttributeError>>()?)
            }
        },
        _ => return Err(AttributeError::UnknownType),
    })
}

#[cfg(test)]
mod tests;
