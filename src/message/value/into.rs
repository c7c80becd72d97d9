//! [`IntoValue`]: conversion of common types into a [`Value`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{List, Map, Number, Value};
use crate::message::error::MessageError;
use crate::message::text::Text;

/// A type that converts into a [`Value`]: numbers, texts, bytes, lists, maps, options, and `serde_json::Value`.
///
/// ```
/// use verbale::message::IntoValue;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// assert_eq!(serde_json::to_string(&vec![0.93, 1.0].into_value()?)?, "[0.93,1]");
/// assert!(serde_json::json!({"attempts": 2}).into_value()? == std::collections::BTreeMap::from([("attempts", 2)]).into_value()?);
/// assert!(f64::NAN.into_value().is_err());
/// # Ok(()) }
/// ```
pub trait IntoValue {
    /// Converts into a value.
    ///
    /// Returns a [`MessageError`] if a number does not fit a [`Number`], such as NaN, or if lists and maps nest more than
    /// 32 deep.
    fn into_value(self) -> Result<Value, MessageError>;
}

macro_rules! always_a_value {
    ($($from:ty),*) => {$(
        impl IntoValue for $from {
            fn into_value(self) -> Result<Value, MessageError> {
                Ok(self.into())
            }
        }
    )*};
}

always_a_value!(bool, i32, i64, u32, u64, Number, &str, String, Text, Vec<u8>, &[u8], Arc<[u8]>, List, Value);

macro_rules! maybe_a_value {
    ($($from:ty => |$value:ident| $into:expr;)*) => {$(
        impl IntoValue for $from {
            fn into_value(self) -> Result<Value, MessageError> {
                let $value = self;
                $into
            }
        }
    )*};
}

maybe_a_value! {
    &Value => |value| Ok(value.clone());
    &String => |text| Ok(text.as_str().into());
    usize => |int| Ok(Value::from(int as u64));
    isize => |int| Ok(Value::from(int as i64));
    f64 => |float| float.try_into();
    // The shortest decimal, as for an `f64`.
    f32 => |float| {
        if float.is_finite() { format!("{float:e}").parse().map(Value::Number) } else { Err(MessageError::NOT_FINITE) }
    };
    serde_json::Value => |json| json.try_into();
    Map => |map| map.checked().map(Value::Map);
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn into_value(self) -> Result<Value, MessageError> {
        self.map_or(Ok(Value::Null), T::into_value)
    }
}

fn list<T: IntoValue>(items: impl IntoIterator<Item = T>) -> Result<Value, MessageError> {
    List::new(items.into_iter().map(T::into_value).collect::<Result<_, _>>()?).map(Value::List)
}

impl<T: IntoValue> IntoValue for Vec<T> {
    fn into_value(self) -> Result<Value, MessageError> {
        list(self)
    }
}

impl<T: IntoValue, const N: usize> IntoValue for [T; N] {
    fn into_value(self) -> Result<Value, MessageError> {
        list(self)
    }
}

/// Converts into a list in the order of the set.
impl<T: IntoValue> IntoValue for BTreeSet<T> {
    fn into_value(self) -> Result<Value, MessageError> {
        list(self)
    }
}

impl<K: Into<String>, T: IntoValue> IntoValue for BTreeMap<K, T> {
    fn into_value(self) -> Result<Value, MessageError> {
        let entries = self.into_iter().map(|(key, value)| Ok((key.into(), value.into_value()?)));
        Map::new(entries.collect::<Result<_, MessageError>>()?).map(Value::Map)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn common_types_convert_into_values() {
        fn json(given: impl IntoValue) -> String {
            serde_json::to_string(&given.into_value().unwrap()).unwrap()
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
        assert_eq!(f64::NAN.into_value(), Err(MessageError::NOT_FINITE));
        assert_eq!(f32::INFINITY.into_value(), Err(MessageError::NOT_FINITE));
        assert_eq!(vec![1e300].into_value(), Err(MessageError::NUMBER_OUT_OF_RANGE));
        let deep = (0..33).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(deep.into_value(), Err(MessageError::TOO_DEEP));
    }
}
