//! [`CallId`] and [`ItemKey`]: which call, and which item of it.

use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use super::names::{CALL_PREFIX, MESSAGE_PREFIX};
use super::{DynamoError, Item, names};
use crate::message::Position;

/// The id of a call: whatever the service calls it, of 1 to [`MAX_BYTES`](Self::MAX_BYTES) bytes, without control
/// or invisible characters.
///
/// It may hold a `#`: in a key the id stands last, behind a fixed prefix, so that where it begins and ends is never
/// in doubt. Control characters are refused since an id is printed in errors and logs.
///
/// ```
/// use verbale::dynamodb::CallId;
///
/// assert_eq!(CallId::new("CA#2025-04-16/7").unwrap().as_str(), "CA#2025-04-16/7");
/// assert!(CallId::new("").is_err());
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallId(Arc<str>);

impl CallId {
    /// A partition key has room for 2,048 bytes and a sort key for
    /// [1,024](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html); in the index of
    /// calls by day the id stands in the sort key, behind the start of the call.
    pub const MAX_BYTES: usize = 1_000;

    /// Errors: empty, longer than [`MAX_BYTES`](Self::MAX_BYTES), with control or invisible characters.
    pub fn new(id: impl Into<Arc<str>>) -> Result<Self, DynamoError> {
        let id = id.into();
        let reason = if id.is_empty() {
            "it is empty"
        } else if id.len() > Self::MAX_BYTES {
            "it is longer than 1,000 bytes"
        } else if id.chars().any(is_invisible) {
            "it has control or invisible characters"
        } else {
            return Ok(Self(id));
        };
        Err(DynamoError::InvalidCallId { reason })
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The partition key of all items of the call.
    pub fn partition_key(&self) -> String {
        format!("{CALL_PREFIX}{self}")
    }
}

fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
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

/// Where a message or summary stands in the table. Displayed as `MSG#00000002 of call <id>`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ItemKey {
    call_id: CallId,
    sort_key: Box<str>,
}

impl ItemKey {
    /// The key of the message or summary at `position` in the call. Sort keys order as positions do.
    pub fn new(call_id: &CallId, position: Position) -> Self {
        let seq = position.seq();
        let sort_key = match position.summary_number() {
            None => format!("{MESSAGE_PREFIX}{seq:08}"),
            Some(number) => format!("{MESSAGE_PREFIX}{seq:08}#SUM#{number:04}"),
        };
        Self { call_id: call_id.clone(), sort_key: sort_key.into() }
    }

    pub(super) fn of_item(item: &Item) -> Result<Self, DynamoError> {
        let text = |name| match item.get(name) {
            Some(AttributeValue::S(text)) => Ok(text.as_str()),
            _ => Err(DynamoError::NotAnItem { reason: "`pk` and `sk` are strings" }),
        };
        let call_id = text(names::PARTITION_KEY)?
            .strip_prefix(CALL_PREFIX)
            .ok_or(DynamoError::NotAnItem { reason: "`pk` is `CALL#<call id>`" })?;
        Ok(Self {
            call_id: CallId::new(call_id)?,
            sort_key: text(names::SORT_KEY)?.escape_default().to_string().into(),
        })
    }

    /// The call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The sort key.
    pub fn sort_key(&self) -> &str {
        &self.sort_key
    }
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of call {}", self.sort_key, self.call_id)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn a_call_id_is_what_a_key_can_hold_and_a_log_can_print() {
        for good in ["1", "CA#1", "Anruf 7, ü", &"x".repeat(1_000)] {
            assert!(CallId::new(good).is_ok(), "{good}");
        }
        for bad in ["", "a\nb", "a\u{1b}[2J", "a\u{202e}b", &"x".repeat(1_001)] {
            assert!(matches!(CallId::new(bad), Err(DynamoError::InvalidCallId { .. })), "{bad:?}");
        }
    }

    #[test]
    fn keys_order_as_the_list_does() {
        let call = CallId::new("CA1").unwrap();
        let number = |number| NonZeroU32::new(number).unwrap();
        let positions = [
            Position::message(0),
            Position::message(9),
            Position::summary(9, number(2)),
            Position::summary(9, number(10)),
            Position::message(10),
            Position::message(Position::MAX_SEQ),
            Position::summary(Position::MAX_SEQ, number(Position::MAX_SUMMARIES)),
        ];
        let keys = positions.map(|position| ItemKey::new(&call, position).sort_key().to_owned());
        assert_eq!(
            keys,
            [
                "MSG#00000000",
                "MSG#00000009",
                "MSG#00000009#SUM#0002",
                "MSG#00000009#SUM#0010",
                "MSG#00000010",
                "MSG#99999999",
                "MSG#99999999#SUM#9999",
            ]
        );
        assert!(keys.is_sorted() && positions.is_sorted());
        assert_eq!(ItemKey::new(&call, positions[2]).to_string(), "MSG#00000009#SUM#0002 of call CA1");
    }
}
