//! The header item of a call, which also lists the call by day.

use super::attribute::AttributeError;
use super::keys::{self, ItemKey};
use super::table_client::Written;
use super::{DynamoLog, Item, day, item, names};
use crate::log::{CallEnd, CallHeader, CallId, Cursor, LogError, Put, Tenant};

impl DynamoLog {
    /// Writes the header of a call, so that the call is [listed](Self::list).
    ///
    /// Returns an error if the call was erased, or opened with another start, tenant or expiry. Nothing is written then.
    pub(super) async fn open(&self, header: &CallHeader) -> Result<Put, LogError> {
        let call_id = header.call_id();
        let mut item = to_item(header);
        item.insert(names::DAY_PARTITION_KEY.to_owned(), item::text(day::key_of(header, self.day_shards)));
        let request = self
            .db
            .client
            .put_item()
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(#pk)")
            .expression_attribute_names("#pk", names::PARTITION_KEY);
        let subject = || format!("the header of call {call_id} to table {}", self.db.table);
        let Written::Refused(found) = self.db.put(request, subject).await? else { return Ok(Put::Written) };
        let found = found.unwrap_or_default();
        if item::is_erased(&found) {
            Err(LogError::erased(call_id))
        } else if from_item(&found)?.is_opened_as(header) {
            Ok(Put::Kept)
        } else {
            Err(LogError::other_header(call_id))
        }
    }
}

/// Returns the keys of an item of a call, with its entity and schema version.
pub(super) fn item_of(call_id: &CallId, sort_key: &str, entity: &str) -> Item {
    item::of_entity(item::keys(keys::partition_of(call_id), sort_key), entity)
}

/// Returns the header of a call that was just opened, without its partition in the index.
fn to_item(header: &CallHeader) -> Item {
    let mut item = item_of(header.call_id(), names::HEADER, names::ENTITY_CALL);
    item.insert(names::DAY_SORT_KEY.to_owned(), item::text(Cursor::of(header).sort_key()));
    item.insert(names::STARTED.to_owned(), item::number(header.started_ms()));
    if let Some(tenant) = header.tenant() {
        item.insert(names::TENANT.to_owned(), item::text(tenant.to_string()));
    }
    if let Some(at_s) = header.expires_at_s() {
        item.insert(names::EXPIRES_AT.to_owned(), item::number(at_s));
    }
    item
}

/// Returns the header that an item stores, even if the item has expired.
pub(super) fn from_item(item: &Item) -> Result<CallHeader, LogError> {
    let key = ItemKey::of_item(item)?;
    item::check_schema(item, &key)?;
    let read = || {
        let mut header = CallHeader::new(key.call_id.clone(), item::read_number(item, names::STARTED)?).ok()?;
        if let Some(tenant) = item.get(names::TENANT) {
            header = header.with_tenant(Tenant::new(tenant.as_s().ok()?.as_str()).ok()?);
        }
        let expires_at_s = item::read_number(item, names::EXPIRES_AT);
        if let Some(at_s) = expires_at_s.or_else(|| item::read_number(item, names::EXPIRY)) {
            header = header.with_expires_at(at_s);
        }
        let call_end = match item::read_number(item, names::ENDED) {
            None => None,
            Some(at_ms) => Some(call_end(item, at_ms)?),
        };
        Some(header.with_state(item::epoch(item), call_end, item.contains_key(names::HELD)))
    };
    read().ok_or_else(|| {
        let reason = "a header needs `started`, and `reason`, `messages` and `summaries` if it has `ended`";
        item::unreadable(&key, AttributeError::new(reason))
    })
}

fn call_end(item: &Item, at_ms: i64) -> Option<CallEnd> {
    let count = |name| item::read_number(item, name);
    CallEnd::new(at_ms, item::read_text(item, names::REASON)?, count(names::MESSAGES)?, count(names::SUMMARIES)?).ok()
}
