//! [`CallId`] and [`Tenant`]: the names of a call and of its owner.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::LogError;
use crate::message::is_invisible;

/// Defines a name: a text that fits into keys and prints in errors.
macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $expected:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks a text and makes a name of it.
            ///
            /// Returns [`Invalid`](super::LogErrorKind::Invalid) if the text is empty, longer than 1,000 bytes, or has
            /// control or invisible characters.
            pub fn new(text: impl Into<Arc<str>>) -> Result<Self, LogError> {
                let rule = "it has 1 to 1,000 bytes and no control or invisible characters";
                printable(text.into(), MAX_BYTES, $expected, rule).map(Self)
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

name! {
    /// The id that the service gives a call, of 1 to 1,000 bytes, without control or invisible characters.
    ///
    /// An id may contain `#`: keys end with the id, after a fixed prefix, so they stay unambiguous. Control characters are
    /// refused because errors and traces print ids.
    ///
    /// ```
    /// use verbale::log::CallId;
    ///
    /// assert_eq!(CallId::new("CA#2025-04-16/7").unwrap().as_str(), "CA#2025-04-16/7");
    /// assert!(CallId::new("").is_err());
    /// ```
    CallId, "a call id"
}

name! {
    /// The id of a tenant, of 1 to 1,000 bytes, without control or invisible characters.
    Tenant, "a tenant"
}

/// A DynamoDB sort key has room for [1,024
/// bytes](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html); in the index of calls by
/// day, it holds the start of the call and its id. A partition key has room for 2,048 bytes, which hold a tenant and
/// the day.
const MAX_BYTES: usize = 1_000;

impl Serialize for CallId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for CallId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// Checks that a key can hold a text and that an error can print it. `expected` and `rule` describe a valid text.
pub(super) fn printable(text: Arc<str>, max_bytes: usize, expected: &str, rule: &str) -> Result<Arc<str>, LogError> {
    let is_printable = !text.is_empty() && text.len() <= max_bytes && !text.chars().any(is_invisible);
    if is_printable { Ok(text) } else { Err(LogError::invalid(expected, rule)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_ids_fit_into_keys_and_print() {
        for good in ["1", "CA#1", "Anruf 7, ü", &"x".repeat(1_000)] {
            assert!(CallId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a\nb", "a\u{1b}[2J", "a\u{202e}b", &"x".repeat(1_001)] {
            assert!(CallId::new(bad).is_err(), "{bad:?}");
        }
    }
}
