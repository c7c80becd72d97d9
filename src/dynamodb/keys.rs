//! [`ItemKey`]: which item of which call.

use std::fmt;

use aws_sdk_dynamodb::types::AttributeValue;

use super::names::{CALL_PREFIX, MESSAGE_PREFIX};
use super::{DynamoError, Item, names};
use crate::log::CallId;
use crate::message::Position;

impl CallId {
    /// The partition key of all items of the call.
    pub fn partition_key(&self) -> String {
        format!("{CALL_PREFIX}{self}")
    }
}

/// The call whose items have this partition key.
pub(super) fn call_id_of(item: &Item) -> Result<CallId, DynamoError> {
    let call_id = text(item, names::PARTITION_KEY)?
        .strip_prefix(CALL_PREFIX)
        .ok_or(DynamoError::NotAnItem { reason: "`pk` is `CALL#<call id>`" })?;
    Ok(CallId::new(call_id)?)
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
        Ok(Self {
            call_id: call_id_of(item)?,
            sort_key: text(item, names::SORT_KEY)?.escape_default().to_string().into(),
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

fn text<'a>(item: &'a Item, name: &str) -> Result<&'a str, DynamoError> {
    match item.get(name) {
        Some(AttributeValue::S(text)) => Ok(text),
        _ => Err(DynamoError::NotAnItem { reason: "`pk` and `sk` are strings" }),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

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
