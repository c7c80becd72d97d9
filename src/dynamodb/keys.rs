//! [`ItemKey`]: the partition key and sort key of an item of a call.

use std::fmt;

use super::names::{CALL_PREFIX, MESSAGE_PREFIX};
use super::{Item, error, item, names};
use crate::log::{CallId, LogError};
use crate::message::Position;

/// Returns the partition key of all items of a call.
pub(super) fn partition_of(call_id: &CallId) -> String {
    format!("{CALL_PREFIX}{call_id}")
}

/// Returns the sort key of a message or summary. Sort keys order as positions do.
pub(super) fn sort_key_of(position: Position) -> String {
    let seq = position.seq();
    match position.summary_number() {
        None => format!("{MESSAGE_PREFIX}{seq:08}"),
        Some(number) => format!("{MESSAGE_PREFIX}{seq:08}#SUM#{number:04}"),
    }
}

/// Returns the position of a message or summary with this sort key; `None` if it is the key of something else.
pub(super) fn position_of(sort_key: &str) -> Option<Position> {
    let numbers = sort_key.strip_prefix(MESSAGE_PREFIX)?;
    let position = match numbers.split_once("#SUM#") {
        None => Position::message(numbers.parse().ok()?),
        Some((after, number)) => Position::summary(after.parse().ok()?, number.parse().ok()?),
    };
    (sort_key_of(position) == sort_key).then_some(position)
}

/// Returns the call of an item by its partition key; `None` if the item is not of a call.
pub(super) fn call_id_of(item: &Item) -> Option<CallId> {
    let partition = item::read_text(item, names::PARTITION_KEY)?;
    partition.strip_prefix(CALL_PREFIX).and_then(|id| CallId::new(id).ok())
}

/// The key of an item of a call. Displayed as `MSG#00000002 of call <id>`.
#[derive(Debug, Clone)]
pub(super) struct ItemKey {
    pub call_id: CallId,
    pub sort_key: String,
}

impl ItemKey {
    pub fn new(call_id: &CallId, position: Position) -> Self {
        Self { call_id: call_id.clone(), sort_key: sort_key_of(position) }
    }

    pub fn of_item(item: &Item) -> Result<Self, LogError> {
        let unreadable = |reason| {
            error::unreadable(format!("an item is not of a call: {reason}; another program may have written it"))
        };
        let strings = || unreadable("its `pk` and `sk` are not both strings");
        let partition = item::read_text(item, names::PARTITION_KEY).ok_or_else(strings)?;
        let call_id = partition.strip_prefix(CALL_PREFIX).and_then(|id| CallId::new(id).ok());
        let call_id = call_id.ok_or_else(|| unreadable("its `pk` is not `CALL#<call id>`"))?;
        let sort_key = item::read_text(item, names::SORT_KEY).ok_or_else(strings)?;
        Ok(Self { call_id, sort_key: sort_key.escape_default().to_string() })
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
    fn sort_keys_order_as_positions_do() {
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
        let keys = positions.map(sort_key_of);
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
        assert_eq!(keys.each_ref().map(|key| position_of(key)), positions.map(Some));
        assert_eq!(["CALL", "MSG#7", "MSG#00000009#SUM#0", "MSG#00000009#SUM#0000"].map(position_of), [None; 4]);
        let call = CallId::new("CA1").unwrap();
        assert_eq!(ItemKey::new(&call, positions[2]).to_string(), "MSG#00000009#SUM#0002 of call CA1");
    }
}
