//! Reads of a call.

use std::collections::BTreeMap;

use super::keys::{self, ItemKey};
use super::rules::Slot;
use super::{DynamoLog, Item, from_item, header, item, names, span};
use crate::log::{CallHeader, CallId, LogError, LoggedCall};
use crate::manager::LeftOut;
use crate::message::{Position, Record, Role};

/// Sorts directly after every key that starts with [`names::MESSAGE_PREFIX`].
const AFTER_MESSAGES: &str = "MSG$";

/// All items of a call, in any state. For an erased call, only the mark in place of its header.
#[derive(Default)]
pub(super) struct CallItems {
    pub header: Option<Item>,
    /// Messages, summaries, fences and marks, in the order of the call's list.
    pub others: Vec<Item>,
}

impl DynamoLog {
    /// Returns the header and the records of a call, in the order of its list. A summary follows the last message that it
    /// covers. Returns an empty call if it was never written or has expired.
    ///
    /// Reads consistently, so every acknowledged write is included. Takes one request per MB.
    ///
    /// Leaves out items that are not valid records. Returns an error if the call was erased, if the header is not
    /// valid, or if an item has a schema version that this library does not know.
    pub(super) async fn read(&self, call_id: &CallId) -> Result<LoggedCall, LogError> {
        let items = self.items(call_id).await?;
        let now_s = self.now_s();
        refuse_erased(call_id, items.header.as_ref())?;
        if items.header.as_ref().is_some_and(|header| item::is_expired(header, now_s)) {
            return Ok(LoggedCall::default());
        }
        let header = items.header.as_ref().map(header::from_item).transpose()?;
        logged(header, items.into_visible(now_s))
    }

    /// Returns the header of a call, or `None` if the call was never opened or has expired.
    ///
    /// Reads consistently. Takes one request and one read unit. Returns an error if the call was erased.
    pub(super) async fn read_header(&self, call_id: &CallId) -> Result<Option<CallHeader>, LogError> {
        let found = self.header_item(call_id).await?;
        refuse_erased(call_id, found.as_ref())?;
        let live = found.filter(|found| self.is_live(found));
        live.as_ref().map(header::from_item).transpose()
    }

    pub(super) async fn header_item(&self, call_id: &CallId) -> Result<Option<Item>, LogError> {
        let subject = || format!("the header of call {call_id} in table {}", self.db.table);
        self.db.get(item::keys(keys::partition_of(call_id), names::HEADER), subject).await
    }

    pub(super) async fn items(&self, call_id: &CallId) -> Result<CallItems, LogError> {
        let query = self
            .db
            .query(keys::partition_of(call_id))
            .key_condition_expression("#pk = :pk AND #sk BETWEEN :header AND :after")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":header", item::text(names::HEADER))
            .expression_attribute_values(":after", item::text(AFTER_MESSAGES));
        let mut pages = self.db.pages(query, || format!("call {call_id} in table {}", self.db.table));
        let mut items = CallItems::default();
        while let Some(page) = pages.next().await? {
            for item in page {
                // The header sorts before all messages, including those that arrived after the call was erased.
                if item::sort_key(&item) == Some(names::HEADER) {
                    let is_erased = item::is_erased(&item);
                    items.header = Some(item);
                    if is_erased {
                        return Ok(items);
                    }
                } else {
                    items.others.push(item);
                }
            }
        }
        Ok(items)
    }
}

fn refuse_erased(call_id: &CallId, header: Option<&Item>) -> Result<(), LogError> {
    if header.is_some_and(item::is_erased) { Err(LogError::erased(call_id)) } else { Ok(()) }
}

/// Returns the call of these messages, summaries and spans. If two items hold the same message, the one with the
/// highest epoch and revision counts.
pub(super) fn logged(
    header: Option<CallHeader>,
    items: impl IntoIterator<Item = Item>,
) -> Result<LoggedCall, LogError> {
    let mut call = LoggedCall::new(header, Vec::new());
    let mut newest = BTreeMap::new();
    let mut left_out = BTreeMap::new();
    for item in items {
        let key = ItemKey::of_item(&item)?;
        let schema = item::check_schema(&item, &key);
        if item::has_schema(&item) {
            // A newer version of the library can read the item, so it is an error and is not left out.
            schema.clone()?;
        }
        let epoch = item::epoch(&item);
        let mut add = |position: Position, record: Result<Record, LogError>| match record {
            Ok(record) => {
                // For the same message the revision decides, because a change of another message gives its span a
                // higher epoch.
                let is_newer = |(there, found): &(u32, Record)| {
                    if found.id() == record.id() { found.revision() < record.revision() } else { *there < epoch }
                };
                if newest.get(&position).is_none_or(is_newer) {
                    newest.insert(position, (epoch, record));
                }
            }
            Err(error) => drop(left_out.insert(position, error)),
        };
        if let Some(span) = span::of_item(&item) {
            for seq in span.first()..=span.last() {
                add(Position::message(seq), schema.clone().and_then(|()| span::record(&item, &key.call_id, seq)));
            }
            call.spans.push(span);
        } else {
            match keys::position_of(&key.sort_key) {
                Some(position) => add(position, from_item(item)),
                None => tracing::warn!(%key, "an item of another program is left out of its call"),
            }
        }
    }
    for (position, error) in left_out.into_iter().filter(|(position, _)| !newest.contains_key(position)) {
        let role = position.summary_number().map(|_| Role::Summary);
        call.left_out.push(LeftOut::new(position, role, error.to_string()));
    }
    call.records.extend(newest.into_values().map(|(_, record)| record));
    Ok(call)
}

impl CallItems {
    /// Returns the messages and summaries that belong to the call. Leaves out expired items, which DynamoDB deletes only
    /// days later, and items that a fenced writer wrote too late.
    pub fn into_visible(self, now_s: i64) -> impl Iterator<Item = Item> {
        let is_held = self.header.as_ref().is_some_and(|header| header.contains_key(names::HELD));
        let fenced = self.fenced();
        self.others
            .into_iter()
            .filter(move |item| Slot::of(Some(item)).is_shown(fenced) && (is_held || !item::is_expired(item, now_s)))
    }

    /// Returns the epoch at which the call's writer began to serve.
    pub fn fenced(&self) -> u32 {
        self.header.as_ref().and_then(|header| item::read_number(header, names::FENCED)).unwrap_or(1)
    }
}
