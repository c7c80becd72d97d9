//! [`CallId`]: which call.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::LogError;
use crate::message::is_invisible;

/// The id of a call: whatever the service calls it, of 1 to [`MAX_BYTES`](Self::MAX_BYTES) bytes, without control
/// or invisible characters.
///
/// It may hold a `#`: in a key the id stands last, behind a fixed prefix, so that where it begins and ends is never
/// in doubt. Control characters are refused since an id is printed in errors and logs.
///
/// ```
/// use verbale::log::CallId;
///
/// assert_eq!(CallId::new("CA#2025-04-16/7").unwrap().as_str(), "CA#2025-04-16/7");
/// assert!(CallId::new("").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(Arc<str>);

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

impl CallId {
    /// In DynamoDB a partition key has room for 2,048 bytes and a sort key for
    /// [1,024](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html); in the index of
    /// calls by day the id stands in the sort key, behind the start of the call.
    pub const MAX_BYTES: usize = 1_000;

    /// Errors: empty, longer than [`MAX_BYTES`](Self::MAX_BYTES), with control or invisible characters.
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self, LogError> {
        let reason = "one has 1 to 1,000 bytes and no control or invisible characters";
        printable(id.into(), Self::MAX_BYTES, LogError::Invalid { what: "a call id", reason }).map(Self)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A text that a key can hold and an error can show. Errors: empty, longer than `max_bytes`, with control or invisible
/// characters.
pub(super) fn printable(text: Arc<str>, max_bytes: usize, otherwise: LogError) -> Result<Arc<str>, LogError> {
    let is_printable = !text.is_empty() && text.len() <= max_bytes && !text.chars().any(is_invisible);
    if is_printable { Ok(text) } else { Err(otherwise) }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CallId({})", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_id_is_what_a_key_can_hold_and_a_log_can_print() {
        for good in ["1", "CA#1", "Anruf 7, ü", &"x".repeat(1_000)] {
            assert!(CallId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a\nb", "a\u{1b}[2J", "a\u{202e}b", &"x".repeat(1_001)] {
            assert!(CallId::new(bad).is_err(), "{bad:?}");
        }
    }
}
