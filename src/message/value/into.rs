//! Conversion of common types into a [`Value`].

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use super::{List, Map, Value, checked_depth};
use crate::message::error::MessageError;

impl Value {
    /// Converts into a value that nests at most 32 deep.
    pub(crate) fn checked(from: impl TryInto<Self, Error: Into<MessageError>>) -> Result<Self, MessageError> {
        let value = from.try_into().map_err(Into::into)?;
        checked_depth(value.depth())?;
        Ok(value)
    }
}

/// Some conversions never fail.
impl From<Infallible> for MessageError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// Converts into the shortest decimal, as for an `f64`. Returns a [`MessageError`] if the number is NaN or infinite.
impl TryFrom<f32> for Value {
    type Error = MessageError;

    fn try_from(float: f32) -> Result<Self, MessageError> {
        if float.is_finite() { format!("{float:e}").parse().map(Self::Number) } else { Err(MessageError::NOT_FINITE) }
    }
}

/// Converts `None` into [`Null`](Value::Null).
impl<T: TryInto<Self, Error: Into<MessageError>>> TryFrom<Option<T>> for Value {
    type Error = MessageError;

    fn try_from(option: Option<T>) -> Result<Self, MessageError> {
        option.map_or(Ok(Self::Null), Self::checked)
    }
}

fn list<T: TryInto<Value, Error: Into<MessageError>>>(
    items: impl IntoIterator<Item = T>,
) -> Result<Value, MessageError> {
    List::new(items.into_iter().map(Value::checked).collect::<Result<_, _>>()?).map(Value::List)
}

/// Returns a [`MessageError`] if an item is no value, or if the list nests more than 32 deep.
impl<T: TryInto<Self, Error: Into<MessageError>>> TryFrom<Vec<T>> for Value {
    type Error = MessageError;

    fn try_from(items: Vec<T>) -> Result<Self, MessageError> {
        list(items)
    }
}

/// Returns a [`MessageError`] if an item is no value, or if the list nests more than 32 deep.
impl<T: TryInto<Self, Error: Into<MessageError>>, const N: usize> TryFrom<[T; N]> for Value {
    type Error = MessageError;

    fn try_from(items: [T; N]) -> Result<Self, MessageError> {
        list(items)
    }
}

/// Converts into a list in the order of the set.
impl<T: TryInto<Self, Error: Into<MessageError>>> TryFrom<BTreeSet<T>> for Value {
    type Error = MessageError;

    fn try_from(items: BTreeSet<T>) -> Result<Self, MessageError> {
        list(items)
    }
}

/// Returns a [`MessageError`] if an entry is no value, or if the map nests more than 32 deep.
impl<K: Into<String>, T: TryInto<Self, Error: Into<MessageError>>> TryFrom<BTreeMap<K, T>> for Value {
    type Error = MessageError;

    fn try_from(entries: BTreeMap<K, T>) -> Result<Self, MessageError> {
        let entries = entries.into_iter().map(|(key, value)| Ok((key.into(), Self::checked(value)?)));
        Map::new(entries.collect::<Result<_, MessageError>>()?).map(Self::Map)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn common_types_convert_into_values() {
        fn json(given: impl TryInto<Value, Error: Into<MessageError>>) -> String {
            serde_json::to_string(&Value::checked(given).unwrap()).unwrap()
        }
        let values = [
            json(0.93),
            json(0.93_f32),
            json(3_usize),
            json(-3_isize),
            json(vec![1, 2]),
            json(["a", "b"]),
            json(vec![Some("a"), None]),
            json(b"hi".to_vec()),
            json(BTreeSet::from(["b", "a"])),
            json(BTreeMap::from([("a", vec![0.5])])),
            json(json!({"a": [1, {"b": null}]})),
        ];
        let expected = [
            "0.93",
            "0.93",
            "3",
            "-3",
            "[1,2]",
            r#"["a","b"]"#,
            r#"["a",null]"#,
            r#"{"$bytes":"aGk="}"#,
            r#"["a","b"]"#,
            r#"{"a":[0.5]}"#,
            r#"{"a":[1,{"b":null}]}"#,
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn input_that_is_no_value_is_refused() {
        assert_eq!(Value::checked(f64::NAN), Err(MessageError::NOT_FINITE));
        assert_eq!(Value::checked(f32::INFINITY), Err(MessageError::NOT_FINITE));
        assert_eq!(Value::checked(vec![1e300]), Err(MessageError::NUMBER_OUT_OF_RANGE));
        let deep = (0..33).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(Value::checked(deep), Err(MessageError::TOO_DEEP));
        let deepest = (0..32).fold(Value::Null, |inner, _| Value::list([inner]).unwrap());
        let entries = Map::data(BTreeMap::from([("a".to_owned(), deepest)]));
        assert_eq!(Value::checked(entries), Err(MessageError::TOO_DEEP));
    }
}
