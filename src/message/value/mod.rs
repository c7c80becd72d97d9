//! [`Value`]: custom data of a message and arguments of a tool call.

mod into;
mod json;
mod map;
mod number;
#[cfg(feature = "schema")]
mod schema;
mod size;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

pub use map::Map;
pub use number::Number;
#[cfg(feature = "schema")]
pub(super) use schema::bytes as bytes_schema;
pub(crate) use size::entries_bytes;

use crate::message::error::MessageError;
use crate::message::text::Text;

/// The maximum depth of nested lists and maps, as in DynamoDB.
pub(crate) const MAX_DEPTH: u8 = 32;

/// A value that DynamoDB can store. Numbers have at most 38 digits, and lists and maps nest at most 32 deep.
///
/// Serde writes it as JSON and reads it back without loss. Bytes and long numbers are tagged, as in
/// `{"$bytes": "aGk="}` and `{"$number": "12345678901234567890123456789012345678"}`. A map that looks like a tag is
/// written as `{"$map": {…}}`. `TryFrom` converts from and to plain [`serde_json::Value`], without tags.
///
/// Converts with `From` or `TryFrom` from numbers, texts, bytes, lists, maps and options of these.
///
/// ```
/// # use verbale::Value;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let value = Value::map([("attempts", Value::from(2)), ("confidence", Value::try_from(0.93)?)])?;
/// assert_eq!(serde_json::to_string(&value)?, r#"{"attempts":2,"confidence":0.93}"#);
/// assert!(Value::try_from(f64::NAN).is_err());
/// # Ok(()) }
/// ```
// Complete: all of JSON, and bytes. A record has no use for DynamoDB's sets.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// JSON's `null`.
    Null,
    /// True or false.
    Bool(bool),
    /// An exact decimal number.
    Number(Number),
    /// Text, which may be empty.
    String(Text),
    /// Binary data.
    Bytes(Arc<[u8]>),
    /// A list.
    List(List),
    /// A map with text keys.
    Map(Map),
}

impl Value {
    /// Creates a list. Returns a [`MessageError`] if it nests more than 32 deep.
    pub fn list<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Result<Self, MessageError> {
        List::new(items.into_iter().map(Into::into).collect()).map(Self::List)
    }

    /// Creates a map, in which the last of equal keys wins. Returns a [`MessageError`] if it nests more than 32 deep.
    pub fn map<K: Into<String>, V: Into<Value>>(
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, MessageError> {
        Map::new(entries.into_iter().map(|(key, value)| (key.into(), value.into())).collect()).map(Self::Map)
    }

    /// The number of lists and maps around the innermost value. A plain value has depth 0.
    pub(crate) fn depth(&self) -> u8 {
        match self {
            Self::List(list) => list.depth,
            Self::Map(map) => map.depth(),
            _ => 0,
        }
    }

    /// Returns the text, or `None` for another kind of value.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the map, or `None` for another kind of value.
    pub(crate) fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a bool",
            Self::Number(_) => "a number of this size",
            Self::String(_) => "a string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }
}

/// A list of values that nests at most 32 deep.
#[derive(Clone, PartialEq, Eq)]
pub struct List {
    items: Vec<Value>,
    depth: u8,
}

impl List {
    /// Returns a [`MessageError`] if the list nests more than 32 deep.
    pub(crate) fn new(items: Vec<Value>) -> Result<Self, MessageError> {
        Ok(Self { depth: checked_depth(depth_around(items.iter()))?, items })
    }
}

impl Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.items
    }
}

impl IntoIterator for List {
    type Item = Value;
    type IntoIter = std::vec::IntoIter<Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

fn depth_around<'a>(values: impl Iterator<Item = &'a Value>) -> u8 {
    1 + values.map(Value::depth).max().unwrap_or(0)
}

fn checked_depth(depth: u8) -> Result<u8, MessageError> {
    if depth > MAX_DEPTH { Err(MessageError::TOO_DEEP) } else { Ok(depth) }
}

macro_rules! value_from {
    ($($from:ty => |$value:ident| $into:expr;)*) => {$(
        impl From<$from> for Value {
            fn from($value: $from) -> Self {
                $into
            }
        }
    )*};
}

value_from! {
    bool => |value| Self::Bool(value);
    i32 => |value| Self::Number(value.into());
    i64 => |value| Self::Number(value.into());
    u32 => |value| Self::Number(value.into());
    u64 => |value| Self::Number(value.into());
    usize => |value| Self::Number((value as u64).into());
    isize => |value| Self::Number((value as i64).into());
    Number => |value| Self::Number(value);
    &str => |value| Self::String(value.into());
    String => |value| Self::String(value.into());
    &String => |value| Self::String(value.into());
    Text => |value| Self::String(value);
    Vec<u8> => |value| Self::Bytes(value.into());
    &[u8] => |value| Self::Bytes(value.into());
    Arc<[u8]> => |value| Self::Bytes(value);
    List => |value| Self::List(value);
    Map => |value| Self::Map(value);
    &Value => |value| value.clone();
}

/// Returns a [`MessageError`] if the number is NaN, infinite or out of DynamoDB's range.
impl TryFrom<f64> for Value {
    type Error = MessageError;

    fn try_from(float: f64) -> Result<Self, MessageError> {
        Number::try_from(float).map(Self::Number)
    }
}

/// Shows kinds and sizes only, because the data may be a caller's.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("Null"),
            Self::Bool(_) => f.write_str("Bool"),
            Self::Number(_) => f.write_str("Number"),
            Self::String(text) => write!(f, "String({} bytes)", text.len()),
            Self::Bytes(bytes) => write!(f, "Bytes({} bytes)", bytes.len()),
            Self::List(list) => list.fmt(f),
            Self::Map(map) => map.fmt(f),
        }
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List({} items)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_nests_at_most_32_deep() {
        let mut value = Value::from(1);
        for _ in 0..MAX_DEPTH {
            value = Value::list([value]).unwrap();
        }
        assert_eq!(value.depth(), 32);
        assert_eq!(Value::map([("deeper", value)]), Err(MessageError::TOO_DEEP));
    }

    #[test]
    fn debug_hides_the_data() {
        assert_eq!(format!("{:?}", Value::from("my pin is 4711")), "String(14 bytes)");
    }
}
