//! A [`Value`] as plain JSON, without tags and with every number exact.

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Error, Serialize, Serializer};
use serde_json::value::RawValue;

use super::error::{ExchangeError, Problem};
use super::node::{Node, Pairs};
use super::reason::{JsonKind, problem};
use crate::message::{List, MAX_DEPTH, Map, MessageError, Value};

/// Reads the value of a node.
///
/// Returns an error if a [`Value`] cannot hold a number, if the value nests too deeply, or if an object repeats a key.
pub(super) fn read(node: &Node<'_, '_>) -> Result<Value, ExchangeError> {
    parse(node.json()).map_err(|problem| node.error(problem))
}

/// Reads a value from JSON text.
pub(super) fn parse(json: &str) -> Result<Value, Problem> {
    let json: &RawValue = from_str(json)?;
    read_below(json.get(), MAX_DEPTH)
}

/// Reads the entries of an object.
pub(super) fn entries(node: &Node<'_, '_>) -> Result<Map, ExchangeError> {
    node.object::<&RawValue>()?;
    read_entries(node.json(), MAX_DEPTH).map_err(|problem| node.error(problem))
}

fn read_below(json: &str, depth: u8) -> Result<Value, Problem> {
    let deeper = || depth.checked_sub(1).ok_or(MessageError::TOO_DEEP);
    Ok(match JsonKind::of(json) {
        JsonKind::Null => Value::Null,
        JsonKind::Bool => Value::Bool(from_str(json)?),
        JsonKind::String => Value::String(from_str(json)?),
        JsonKind::List => {
            let depth = deeper()?;
            let items: Vec<&RawValue> = from_str(json)?;
            let items = items.into_iter().map(|item| read_below(item.get(), depth));
            Value::List(List::new(items.collect::<Result<_, _>>()?)?)
        }
        JsonKind::Object => Value::Map(read_entries(json, deeper()?)?.checked()?),
        JsonKind::Number => Value::Number(json.parse()?),
    })
}

fn read_entries(json: &str, depth: u8) -> Result<Map, Problem> {
    let Pairs(pairs) = from_str(json)?;
    let entries = pairs.into_iter().map(|(key, value)| Ok((key, read_below(value.get(), depth)?)));
    Map::from_pairs(entries.collect::<Result<_, Problem>>()?).ok_or_else(Problem::repeated_key)
}

fn from_str<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Problem> {
    serde_json::from_str(json).map_err(|error| problem(&error, ""))
}

/// Reads a value that is present as `Some`, even if it is `null`.
pub(super) fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

/// Serializes a value as plain JSON. Bytes become base64.
pub(super) struct Plain<'a>(pub &'a Value);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(bool) => serializer.serialize_bool(*bool),
            Value::Number(number) => match number.as_i64() {
                Some(int) => serializer.serialize_i64(int),
                None => RawValue::from_string(number.to_string()).map_err(S::Error::custom)?.serialize(serializer),
            },
            Value::String(text) => serializer.serialize_str(text),
            Value::List(items) => serializer.collect_seq(items.iter().map(Plain)),
            Value::Map(entries) => serializer.collect_map(entries.iter().map(|(key, value)| (key, Plain(value)))),
            Value::Bytes(bytes) => serializer.collect_str(&super::json::Base64(bytes)),
        }
    }
}

/// Returns whether plain JSON expresses the whole value. Only bytes have no plain form.
pub(super) fn is_plain(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        Value::List(items) => items.iter().all(is_plain),
        Value::Map(entries) => entries.iter().all(|(_, value)| is_plain(value)),
        Value::Bytes(_) => false,
    }
}
