//! The messages of a span as one item, and back.

use aws_sdk_dynamodb::types::AttributeValue;

use super::attribute::{AttributeError, LEVELS, Texts};
use super::keys::{self, ItemKey};
use super::{Item, item, names};
use crate::log::{CallId, LogError, Span};
use crate::message::{MessageId, Position, Record};

/// The level that holds the attributes of a record: the message of the span.
const OUTER_LEVELS: u8 = 1;

/// More messages than an item has room for.
const MOST_MEMBERS: u32 = 10_000;

/// Returns the item of a span with all its messages.
pub(super) fn to_item(call_id: &CallId, span: Span, records: &[Record], texts: Texts) -> Result<Item, LogError> {
    let keys = item::keys(keys::partition_of(call_id), sort_key_of(span));
    let mut item = item::of_entity(keys, names::ENTITY_SPAN);
    item.insert(names::VERSION.to_owned(), item::number(names::SPAN_VERSION));
    item.insert(names::LAST.to_owned(), item::number(span.last()));
    let revisions = records.iter().map(|record| u64::from(record.revision()));
    item.insert(names::CHANGES.to_owned(), item::number(revisions.sum::<u64>()));
    for record in records {
        item.insert(name_of(record.position().seq()), to_member(call_id, record, texts)?);
    }
    Ok(item)
}

/// Returns a message as an attribute of its span's item.
pub(super) fn to_member(call_id: &CallId, record: &Record, texts: Texts) -> Result<AttributeValue, LogError> {
    let mut attributes = item::attributes(record, LEVELS - OUTER_LEVELS, texts)
        .map_err(|source| item::not_storable(&ItemKey::new(call_id, record.position()), source))?;
    // The name of the attribute contains the number of the message.
    attributes.remove(names::SEQ);
    Ok(AttributeValue::M(attributes))
}

/// Returns the name of the attribute of a message.
pub(super) fn name_of(seq: u32) -> String {
    format!("{}{seq}", names::MEMBER_PREFIX)
}

pub(super) fn sort_key_of(span: Span) -> String {
    keys::sort_key_of(Position::message(span.first()))
}

/// Returns the span of an item; `None` for another kind of item.
pub(super) fn of_item(item: &Item) -> Option<Span> {
    if !item::is_span(item) {
        return None;
    }
    let first = keys::position_of(item::sort_key(item)?)?.seq();
    let seq_of = |name: &String| name.strip_prefix(names::MEMBER_PREFIX)?.parse().ok();
    let last = item::read_number(item, names::LAST).or_else(|| item.keys().filter_map(seq_of).max());
    let span = last.and_then(|last| Span::new(first, last));
    // A damaged item takes at least its first position.
    span.filter(|span| span.last() - span.first() < MOST_MEMBERS).or_else(|| Span::new(first, first))
}

/// Returns the id and revision of a message in a span, without decoding it; `None` if the span does not have the
/// message.
pub(super) fn identity(item: &Item, seq: u32) -> Option<(MessageId, u32)> {
    item::identity(item.get(&name_of(seq))?.as_m().ok()?)
}

/// Returns the record of a message in a span.
pub(super) fn record(item: &Item, call_id: &CallId, seq: u32) -> Result<Record, LogError> {
    let position = Position::message(seq);
    let read = || {
        let missing = || AttributeError::new("its span does not have it");
        let member = item.get(&name_of(seq)).and_then(|member| member.as_m().ok());
        let mut attributes = member.cloned().ok_or_else(missing)?;
        attributes.insert(names::SEQ.to_owned(), item::number(seq));
        let others = attributes.remove(names::OTHERS);
        let record = item::record(attributes, others)?;
        if record.position() == position { Ok(record) } else { Err(AttributeError::new("it has another position")) }
    };
    read().map_err(|source| item::unreadable(&ItemKey::new(call_id, position), source))
}

#[cfg(test)]
mod tests;
