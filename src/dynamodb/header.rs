//! The header item of a call, which lists it by day.

use aws_sdk_dynamodb::types::AttributeValue;

use super::write::Written;
use super::{AttributeError, DynamoError, DynamoLog, Item, day, item, keys, names};
use crate::log::{CallEnd, CallHeader, CallId, Cursor, LogError, Put, Tenant};

impl DynamoLog {
    /// Writes down that a call has begun, so that it is [listed](Self::list).
    ///
    /// Errors: opened with another start, tenant or expiry, or erased (nothing is written); a request that failed.
    pub(super) async fn open(&self, header: &CallHeader) -> Result<Put, DynamoError> {
        let call_id = header.call_id();
        let mut item = to_item(header);
        let day_key = day::key_of(header, self.day_shards);
        item.insert(names::DAY_PARTITION_KEY.to_owned(), AttributeValue::S(day_key));
        let request = self
            .client
            .put_item()
            .set_item(Some(item))
            .condition_expression("attribute_not_exists(#pk)")
            .expression_attribute_names("#pk", names::PARTITION_KEY);
        let subject = || format!("the header of call {call_id} to table {}", self.table);
        let Written::Refused(found) = self.send_put(request, subject).await? else { return Ok(Put::Written) };
        let found = found.unwrap_or_default();
        if item::is_erased(&found) {
            return Err(LogError::erased(call_id).into());
        }
        if from_item(&found)?.is_opened_as(header) {
            Ok(Put::AlreadyThere)
        } else {
            Err(LogError::other_header(call_id).into())
        }
    }
}

/// The keys of an item of a call, with what it is.
pub(super) fn keys_of(call_id: &CallId, sort_key: &str, entity: &str) -> Item {
    let mut item: Item = [
        (names::PARTITION_KEY, call_id.partition_key()),
        (names::SORT_KEY, sort_key.to_owned()),
        (names::ENTITY, entity.to_owned()),
    ]
    .map(|(name, text)| (name.to_owned(), AttributeValue::S(text)))
    .into();
    item.insert(names::VERSION.to_owned(), AttributeValue::N(names::SCHEMA_VERSION.to_string()));
    item
}

/// The item of a call that has just begun, but for its place in the index.
fn to_item(header: &CallHeader) -> Item {
    let mut item = keys_of(header.call_id(), names::HEADER, names::ENTITY_CALL);
    item.insert(names::DAY_SORT_KEY.to_owned(), AttributeValue::S(Cursor::of(header).sort_key()));
    item.insert(names::STARTED.to_owned(), AttributeValue::N(header.started_ms().to_string()));
    if let Some(tenant) = header.tenant() {
        item.insert(names::TENANT.to_owned(), AttributeValue::S(tenant.to_string()));
    }
    if let Some(at_s) = header.expires_at_s() {
        item.insert(names::EXPIRES_AT.to_owned(), AttributeValue::N(at_s.to_string()));
    }
    item
}

/// The header that an item was made from. Whether the item has expired is not looked at.
pub(super) fn from_item(item: &Item) -> Result<CallHeader, DynamoError> {
    let call_id = keys::call_id_of(item)?;
    let key = keys::ItemKey::of_item(item)?;
    match item::number::<u32>(item, names::VERSION) {
        Some(names::SCHEMA_VERSION) => {}
        version => return Err(DynamoError::UnknownSchema { key, version }),
    }
    let read = || {
        let mut header = CallHeader::new(call_id, item::number(item, names::STARTED)?).ok()?;
        if let Some(tenant) = item.get(names::TENANT) {
            header = header.with_tenant(Tenant::new(tenant.as_s().ok()?.as_str()).ok()?);
        }
        if let Some(at_s) = item::number(item, names::EXPIRES_AT).or_else(|| item::number(item, names::EXPIRY)) {
            header = header.with_expires_at(at_s);
        }
        let call_end = match item::number(item, names::ENDED) {
            None => None,
            Some(at_ms) => Some(call_end(item, at_ms)?),
        };
        Some(header.with_state(item::epoch(item), call_end, item.contains_key(names::HELD)))
    };
    read().ok_or_else(|| {
        let reason =
            "the header of a call has `started`, and `reason`, `messages` and `summaries` where it has `ended`";
        DynamoError::Unreadable { key, source: AttributeError::Form { reason: reason.into() } }
    })
}

fn call_end(item: &Item, at_ms: i64) -> Option<CallEnd> {
    let reason = item.get(names::REASON)?.as_s().ok()?.as_str();
    CallEnd::new(at_ms, reason, item::number(item, names::MESSAGES)?, item::number(item, names::SUMMARIES)?).ok()
}
