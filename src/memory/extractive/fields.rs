//! Extracts the scalars of a tool's arguments and result, from a value or a JSON text of any size.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::memory::one_line::one_line;
use crate::message::Value;

/// A scalar with its key. The items of a list have the key of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    /// The key, or an empty text if there is none.
    pub key: String,
    pub value: String,
    /// The number of enclosing lists and maps.
    pub depth: u8,
}

/// The maximum number of fields. It bounds the work, and later fields rarely matter to a call.
const MOST: usize = 96;
/// The maximum length of a value, in characters. Ids and names are shorter.
const LONGEST: usize = 80;
const LONGEST_KEY: usize = 32;

/// Returns the fields of a value.
pub(super) fn of_value(value: &Value) -> Vec<Field> {
    let mut found = Found(Vec::new());
    found.take(value, "", 0);
    found.0
}

/// Returns the fields of a JSON text, or `None` if the text is not JSON.
pub(super) fn of_json(text: &str) -> Option<Vec<Field>> {
    let mut found = Found(Vec::new());
    let read = Node { found: &mut found, key: "", depth: 0 }.deserialize(&mut serde_json::Deserializer::from_str(text));
    (read.is_ok() || found.is_full()).then_some(found.0)
}

struct Found(Vec<Field>);

impl Found {
    fn is_full(&self) -> bool {
        self.0.len() >= MOST
    }

    fn add(&mut self, key: &str, value: &str, depth: u8) {
        let value = one_line(value, LONGEST);
        if !value.is_empty() && !self.is_full() {
            self.0.push(Field { key: one_line(key, LONGEST_KEY), value, depth });
        }
    }

    fn take(&mut self, value: &Value, key: &str, depth: u8) {
        if self.is_full() {
            return;
        }
        let below = depth.saturating_add(1);
        match value {
            Value::Bool(bool) => self.add(key, if *bool { "true" } else { "false" }, depth),
            Value::Number(number) => self.add(key, &number.to_string(), depth),
            Value::String(text) => self.add(key, text, depth),
            Value::List(items) => items.iter().for_each(|item| self.take(item, key, below)),
            Value::Map(entries) => entries.iter().for_each(|(key, value)| self.take(value, key, below)),
            Value::Null | Value::Bytes(_) => {}
        }
    }
}

/// Reads JSON as a stream and keeps only the scalars. Fails once there are enough.
struct Node<'a> {
    found: &'a mut Found,
    key: &'a str,
    depth: u8,
}

impl Node<'_> {
    fn add<E: de::Error>(self, value: &str) -> Result<(), E> {
        self.found.add(self.key, value, self.depth);
        if self.found.is_full() { Err(E::custom("enough")) } else { Ok(()) }
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: de::Error>(self, bool: bool) -> Result<(), E> {
        self.add(if bool { "true" } else { "false" })
    }

    fn visit_i64<E: de::Error>(self, int: i64) -> Result<(), E> {
        self.add(&int.to_string())
    }

    fn visit_u64<E: de::Error>(self, int: u64) -> Result<(), E> {
        self.add(&int.to_string())
    }

    fn visit_f64<E: de::Error>(self, float: f64) -> Result<(), E> {
        self.add(&float.to_string())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.add(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let depth = self.depth.saturating_add(1);
        while items.next_element_seed(Node { found: &mut *self.found, key: self.key, depth })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let depth = self.depth.saturating_add(1);
        while let Some(key) = entries.next_key::<Cow<'de, str>>()? {
            entries.next_value_seed(Node { found: &mut *self.found, key: &key, depth })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(fields: &[Field]) -> Vec<String> {
        fields.iter().map(|field| format!("{}={} {}", field.key, field.value, field.depth)).collect()
    }

    #[test]
    fn json_scalars_keep_their_order() {
        let text = r#"{"b": {"id": "X1", "none": null}, "a": [1, -2.50, true, {"c": ["q\n\"r\""]}]}"#;
        let expected = ["id=X1 2", "a=1 2", "a=-2.5 2", "a=true 2", "c=q 'r' 4"];
        assert_eq!(said(&of_json(text).unwrap()), expected);
        let value = Value::try_from(serde_json::from_str::<serde_json::Value>(text).unwrap()).unwrap();
        let mut same = said(&of_value(&value));
        same.sort();
        let mut expected = expected;
        expected.sort();
        assert_eq!(same, expected);
        assert_eq!(said(&of_json("1625.0").unwrap()), ["=1625 0"]);
        assert_eq!(of_json("[]"), Some(vec![]));
        assert_eq!(of_json("Error: [no] such"), None);
    }

    #[test]
    fn long_json_is_read_from_the_start() {
        let long = format!("[{}", "{\"id\": 1},".repeat(100_000));
        assert_eq!(of_json(&long).unwrap().len(), MOST);
        assert_eq!(of_json(&"[".repeat(100_000)), None);
    }
}
