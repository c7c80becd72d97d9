//! Reads of a call.

use super::rules::Slot;
use super::{DynamoLog, Item, from_item, header, item, keys, names};
use crate::log::{CallHeader, CallId, LogError, LoggedCall};

/// Sorts directly after every key that starts with [`names::MESSAGE_PREFIX`].
const AFTER_MESSAGES: &str = "MSG$";

/// All items of a call, in any state. Of an erased call, only the mark in place of its header.
#[derive(Default)]
pub(super) struct CallItems {
    pub header: Option<Item>,
    /// Messages, summaries, fences and marks, in the order of the call's list.
    pub others: Vec<Item>,
}

impl DynamoLog {
    /// Returns the header and the records of a call, in the order of its list. A summary follows the last message that it
    /// covers. Returns an empty call if it was never written, was erased, or has expired.
    ///
    /// Reads consistently, so every acknowledged write is included. Takes one request per MB.
    ///
    /// Returns an error if an item is not a valid record or header.
    pub(super) async fn read(&self, call_id: &CallId) -> Result<LoggedCall, LogError> {
        let items = self.items(call_id).await?;
        let now_s = self.now_s();
        if items.header.as_ref().is_some_and(|header| item::is_erased(header) || item::is_expired(header, now_s)) {
            return Ok(LoggedCall::default());
        }
        let header = items.header.as_ref().map(header::from_item).transpose()?;
        let records = items.into_visible(now_s).map(from_item).collect::<Result<_, _>>()?;
        Ok(LoggedCall::new(header, records))
    }

    /// Returns the header of a call, or `None` if the call was never opened, was erased, or has expired.
    ///
    /// Reads consistently. Takes one request and one read unit.
    pub(super) async fn read_header(&self, call_id: &CallId) -> Result<Option<CallHeader>, LogError> {
        let live = self.header_item(call_id).await?.filter(|found| self.is_live(found));
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

    /// Returns the epoch since which the call's writer serves.
    pub fn fenced(&self) -> u32 {
        self.header.as_ref().and_then(|header| item::read_number(header, names::FENCED)).unwrap_or(1)
    }
}
