//! The header item of a call, which also lists the call by day.

use super::attribute::{AttributeError, Form, LEVELS, image, json_of};
use super::keys::{self, ItemKey};
use super::table_client::Written;
use super::{DynamoLog, Item, caller, day, item, names};
use crate::log::{CallEnd, CallHeader, CallId, CallerId, Cursor, LogError, LogErrorKind, Nonce, Put, Tenant, Tenure};

impl DynamoLog {
    /// Writes the header of a call, so that the call is [listed](Self::list).
    ///
    /// Returns an error without writing if the call was erased, or opened with another start, tenant, caller,
    /// attributes or expiry.
    pub(super) async fn open(&self, header: &CallHeader) -> Result<Put, LogError> {
        let call_id = header.call_id();
        let mut item = to_item(header)?;
        let nonce = header.opening_nonce();
        item.insert(names::NONCE.to_owned(), item::text(nonce.to_text()));
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
        } else if tenure(&found).nonce == nonce {
            // Every write of the header changes the nonce, so an earlier attempt wrote the header, and no later write
            // followed.
            Ok(Put::Written)
        } else if from_item(&found)?.is_opened_as(header) {
            Ok(Put::Kept)
        } else {
            Err(LogError::other_header(call_id))
        }
    }
}

/// Returns a value for [`names::NONCE`].
pub(super) fn new_nonce() -> String {
    Nonce::random().to_text()
}

/// Returns which process writes the call, by its header.
pub(super) fn tenure(item: &Item) -> Tenure {
    Tenure {
        epoch: item::epoch(item),
        served: item::read_number(item, names::FENCED).unwrap_or(1),
        nonce: item::read_text(item, names::NONCE).and_then(Nonce::read).unwrap_or_default(),
        is_contended: item.contains_key(names::TAKING),
    }
}

/// Returns the keys of an item of a call, with its entity and schema version.
pub(super) fn item_of(call_id: &CallId, sort_key: &str, entity: &str) -> Item {
    item::of_entity(item::keys(keys::partition_of(call_id), sort_key), entity)
}

/// Returns the header of a call that was just opened, without its partition in the index.
fn to_item(header: &CallHeader) -> Result<Item, LogError> {
    let mut item = item_of(header.call_id(), names::HEADER, names::ENTITY_CALL);
    item.insert(names::DAY_SORT_KEY.to_owned(), item::text(Cursor::of(header).sort_key()));
    item.insert(names::STARTED.to_owned(), item::number(header.started_ms()));
    if let Some(tenant) = header.tenant() {
        item.insert(names::TENANT.to_owned(), item::text(tenant.to_string()));
    }
    if let Some(caller) = header.caller() {
        item.insert(names::CALLER.to_owned(), item::text(caller.as_str()));
        item.insert(names::CALLER_PARTITION_KEY.to_owned(), item::text(caller::key(header.tenant(), caller)));
        item.insert(names::CALLER_SORT_KEY.to_owned(), item::text(Cursor::of(header).sort_key()));
    }
    if !header.attributes().is_empty() {
        let attributes = serde_json::to_value(header.attributes()).map_err(AttributeError::from);
        let attributes = attributes.and_then(|json| image(json, LEVELS, Form::Plain)).map_err(|source| {
            let call_id = header.call_id();
            let text = format!("the attributes of call {call_id} cannot be stored; nothing was written: change them");
            LogError::new(LogErrorKind::Refused, text).with_source(source)
        })?;
        item.insert(names::ATTRIBUTES.to_owned(), attributes);
    }
    if let Some(at_s) = header.expires_at_s() {
        item.insert(names::EXPIRES_AT.to_owned(), item::number(at_s));
    }
    Ok(item)
}

/// Returns the header that an item stores, even if the item has expired.
pub(super) fn from_item(item: &Item) -> Result<CallHeader, LogError> {
    let key = ItemKey::of_item(item)?;
    if item::has_schema(item) {
        item::check_schema(item, &key)?;
    }
    let read = || {
        let listed = || item::read_text(item, names::DAY_SORT_KEY)?.split('#').next()?.parse().ok();
        let started_ms = item::read_number(item, names::STARTED).or_else(listed)?;
        let mut header = CallHeader::new(key.call_id.clone(), started_ms).ok()?;
        if let Some(tenant) = item.get(names::TENANT) {
            header = header.with_tenant(Tenant::new(tenant.as_s().ok()?.as_str()).ok()?);
        }
        if let Some(caller) = item.get(names::CALLER) {
            header = header.with_caller(CallerId::read(caller.as_s().ok()?)?);
        }
        if let Some(attributes) = item.get(names::ATTRIBUTES) {
            header = header.with_attributes(serde_json::from_value(json_of(attributes.clone()).ok()?).ok()?);
        }
        let expires_at_s = item::read_number(item, names::EXPIRES_AT);
        if let Some(at_s) = expires_at_s.or_else(|| item::read_number(item, names::EXPIRY)) {
            header = header.with_expires_at(at_s);
        }
        let call_end = item::read_number(item, names::ENDED).and_then(|at_ms| call_end(item, at_ms));
        Some(header.with_state(tenure(item), call_end, item.contains_key(names::HELD)))
    };
    read().ok_or_else(|| {
        let reason = "a header needs `started`, and a valid `caller` and `attributes` if it has them";
        item::unreadable(&key, AttributeError::new(reason))
    })
}

/// Returns the end of a call. A damaged header may lack details of the end, but the call still counts as ended.
fn call_end(item: &Item, at_ms: i64) -> Option<CallEnd> {
    let count = |name| item::read_number(item, name).unwrap_or_default();
    let end = |reason: &str| CallEnd::new(at_ms, reason, count(names::MESSAGES), count(names::SUMMARIES)).ok();
    item::read_text(item, names::REASON).and_then(end).or_else(|| end("unknown"))
}
