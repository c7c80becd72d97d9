//! JSON of a [`Value`]: lossless with tags through serde, and plain from and to `serde_json::Value`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{List, Map, Number, Value};
use crate::message::error::MessageError;

pub(super) const BYTES: &str = "$bytes";
pub(super) const NUMBER: &str = "$number";
pub(super) const MAP: &str = "$map";

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(bool) => serializer.serialize_bool(*bool),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Bytes(bytes) => tagged(serializer, BYTES, &STANDARD.encode(bytes)),
            Self::List(list) => serializer.collect_seq(list.iter()),
            Self::Map(map) if is_tag(map.iter().map(|(key, _)| key.as_str())) => tagged(serializer, MAP, map),
            Self::Map(map) => map.serialize(serializer),
        }
    }
}

fn tagged<S: Serializer>(
    serializer: S,
    tag: &'static str,
    value: &(impl Serialize + ?Sized),
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(1))?;
    map.serialize_entry(tag, value)?;
    map.end()
}

fn is_tag<'a>(mut keys: impl Iterator<Item = &'a str>) -> bool {
    keys.next().is_some_and(|key| key.starts_with('$')) && keys.next().is_none()
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(int) = self.as_i64() {
            serializer.serialize_i64(int)
        } else if let Some(int) = self.as_u64() {
            serializer.serialize_u64(int)
        } else if let Some(float) = self.as_exact_f64() {
            serializer.serialize_f64(float)
        } else {
            tagged(serializer, NUMBER, &self.to_string())
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ValueVisitor::Tagged.deserialize(deserializer)
    }
}

/// Reads any value. `Plain` reads a map that looks like a tag as a map.
enum ValueVisitor {
    Tagged,
    Plain,
}

impl<'de> DeserializeSeed<'de> for ValueVisitor {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, bool: bool) -> Result<Value, E> {
        Ok(Value::Bool(bool))
    }

    fn visit_i64<E: de::Error>(self, int: i64) -> Result<Value, E> {
        Ok(Value::from(int))
    }

    fn visit_u64<E: de::Error>(self, int: u64) -> Result<Value, E> {
        Ok(Value::from(int))
    }

    fn visit_f64<E: de::Error>(self, float: f64) -> Result<Value, E> {
        Value::try_from(float).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Value, E> {
        Ok(Value::from(bytes))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        List::new(list).map(Value::List).map_err(de::Error::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = BTreeMap::new();
        // `$map` is a tag only if no other key follows, so its value is read after the last key.
        let mut guarded: Option<serde_json::Value> = None;
        while let Some(key) = entries.next_key::<String>()? {
            if matches!(self, Self::Tagged) && map.is_empty() && guarded.is_none() && key == MAP {
                guarded = Some(entries.next_value()?);
            } else {
                map.insert(key, entries.next_value_seed(Self::Tagged)?);
            }
        }
        if let Some(guarded) = guarded {
            let seed = if map.is_empty() { Self::Plain } else { Self::Tagged };
            let value = seed.deserialize(guarded).map_err(de::Error::custom)?;
            map.entry(MAP.to_owned()).or_insert(value);
        }
        match self {
            Self::Tagged => untagged(map),
            Self::Plain => Map::new(map).map(Value::Map),
        }
        .map_err(de::Error::custom)
    }
}

fn untagged(mut map: BTreeMap<String, Value>) -> Result<Value, MessageError> {
    if is_tag(map.keys().map(String::as_str))
        && let Some((tag, value)) = map.pop_first()
    {
        return match (tag.as_str(), value) {
            (BYTES, Value::String(text)) => decode(&text),
            (NUMBER, Value::String(text)) => text.parse().map(Value::Number),
            (MAP, value @ Value::Map(_)) => Ok(value),
            // A map with an unknown tag is a map. It gets a `$map` tag when it is written.
            (_, value) => Value::map([(tag, value)]),
        };
    }
    Map::new(map).map(Value::Map)
}

fn decode(base64: &str) -> Result<Value, MessageError> {
    STANDARD.decode(base64).map(Value::from).map_err(|_| MessageError::record("the text of `$bytes` is not base64"))
}

/// Converts plain JSON; tags are not interpreted.
///
/// Returns a [`MessageError`] if a number does not fit a [`Number`], or if lists and maps nest more than 32 deep.
impl TryFrom<serde_json::Value> for Value {
    type Error = MessageError;

    fn try_from(json: serde_json::Value) -> Result<Self, MessageError> {
        use serde_json::Value as Json;
        Ok(match json {
            Json::Null => Self::Null,
            Json::Bool(bool) => Self::Bool(bool),
            Json::Number(number) => Self::Number(number.to_string().parse()?),
            Json::String(text) => Self::from(text),
            Json::Array(items) => Self::list(items.into_iter().map(Self::try_from).collect::<Result<Vec<_>, _>>()?)?,
            Json::Object(entries) => {
                let entries = entries.into_iter().map(|(key, value)| Ok((key, Self::try_from(value)?)));
                Self::Map(Map::new(entries.collect::<Result<_, MessageError>>()?)?)
            }
        })
    }
}

/// Converts into plain JSON without tags.
///
/// Returns a [`MessageError`] if the value contains bytes, or a number that is not an `i64`, a `u64` or an exact `f64`.
impl TryFrom<&Value> for serde_json::Value {
    type Error = MessageError;

    fn try_from(value: &Value) -> Result<Self, MessageError> {
        let not_json = || {
            let text = format!("plain JSON cannot contain {}; serialize the value with tags instead", value.kind());
            MessageError::with_details(text)
        };
        Ok(match value {
            Value::Null => Self::Null,
            Value::Bool(bool) => Self::Bool(*bool),
            Value::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => int.into(),
                (_, Some(int)) => int.into(),
                _ => number.as_exact_f64().ok_or_else(not_json)?.into(),
            },
            Value::String(text) => text.as_str().into(),
            Value::List(list) => list.iter().map(Self::try_from).collect::<Result<Vec<_>, _>>()?.into(),
            Value::Map(map) => Self::Object(
                map.iter()
                    .map(|(key, value)| Ok((key.clone(), Self::try_from(value)?)))
                    .collect::<Result<_, MessageError>>()?,
            ),
            Value::Bytes(_) => return Err(not_json()),
        })
    }
}

/// Converts into plain JSON as `&Value` does.
impl TryFrom<Value> for serde_json::Value {
    type Error = MessageError;

    fn try_from(value: Value) -> Result<Self, MessageError> {
        Self::try_from(&value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn round_trip(value: &Value) -> serde_json::Value {
        let json = serde_json::to_string(value).unwrap();
        assert!(serde_json::from_str::<Value>(&json).unwrap() == *value, "{json}");
        serde_json::from_str(&json).unwrap()
    }

    #[test]
    fn values_without_a_json_form_are_tagged() {
        assert_eq!(round_trip(&Value::from(b"hi".as_slice())), json!({"$bytes": "aGk="}));
        let long: Number = "12345678901234567890123456789012345678".parse().unwrap();
        assert_eq!(round_trip(&long.clone().into()), json!({"$number": long.to_string()}));
    }

    #[test]
    fn map_that_looks_like_a_tag_round_trips() {
        for key in ["$bytes", "$map", "$unheard-of"] {
            let tag = || Value::map([("$bytes", "aGk=")]).unwrap();
            round_trip(&Value::map([(key, Value::from(vec![1]))]).unwrap());
            let inner = Value::map([("$a", tag()), ("$map", tag())]).unwrap();
            round_trip(&inner);
            round_trip(&Value::map([(key, inner)]).unwrap());
            let map = Value::map([(key, "aGk=")]).unwrap();
            assert_eq!(round_trip(&map), json!({"$map": {key: "aGk="}}));
        }
        let tags = Value::map([("$map", Value::map([("$bytes", "aGk=")]).unwrap()), ("b", Value::Null)]).unwrap();
        assert_eq!(round_trip(&tags), json!({"$map": {"$map": {"$bytes": "aGk="}}, "b": null}));
        let two = Value::map([("$bytes", "aGk="), ("b", "c")]).unwrap();
        assert_eq!(round_trip(&two), json!({"$bytes": "aGk=", "b": "c"}));
    }

    #[test]
    fn plain_json_round_trips() {
        let json = json!({"a": [1, -2.5, null, true, "x", {"$bytes": "not a tag"}], "big": u64::MAX});
        let value = Value::try_from(json.clone()).unwrap();
        assert_eq!(serde_json::Value::try_from(&value).unwrap(), json);
        let bytes = Value::from(vec![1]);
        let refused = serde_json::Value::try_from(bytes).unwrap_err();
        assert_eq!(refused.to_string(), "plain JSON cannot contain bytes; serialize the value with tags instead");
    }
}
