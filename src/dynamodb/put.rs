//! Writes of records, each on the condition that it replaces only an older revision.

use super::attribute::AttributeError;
use super::keys::ItemKey;
use super::size::{MAX_RECORD_BYTES, item_size};
use super::table_client::Written;
use super::{DynamoLog, Item, from_item, item, names, rules};
use crate::log::{LogError, LogErrorKind, Put, WriterLease};
use crate::message::Record;

impl DynamoLog {
    /// Writes a record unless the table holds it, or a newer revision of it. Takes one request, and the write units of
    /// the record's size.
    ///
    /// Returns an error without writing if the item is too large, another message has its key, the same revision has
    /// other contents, the call was [erased](Self::erase), or another process takes or has taken it over. Its header says
    /// which.
    pub(super) async fn put(&self, lease: &WriterLease, record: &Record) -> Result<Put, LogError> {
        let key = ItemKey::new(lease.call_id(), record.position());
        let mut item = item::to_item(lease.call_id(), record)?;
        let bytes = item_size(&item);
        if bytes > MAX_RECORD_BYTES {
            let message = format!(
                "{key} takes {bytes} bytes and an item has room for {MAX_RECORD_BYTES}; nothing was written: keep large \
                 contents in a content store and log their ids"
            );
            return Err(LogError::new(LogErrorKind::Refused, message));
        }
        if let Some(at_s) = lease.expires_at_s() {
            item.insert(names::EXPIRES_AT.to_owned(), item::number(at_s));
        }
        if lease.epoch() > 1 {
            item.insert(names::EPOCH.to_owned(), item::number(lease.epoch()));
        }
        let condition = rules::put(lease, &record.id().to_string(), record.revision());
        let request = condition.of_put(self.db.client.put_item().set_item(Some(item)));
        match self.db.put(request, || format!("{key} to table {}", self.db.table)).await? {
            Written::Done(_) => Ok(Put::Written),
            Written::Refused(found) => compare(&key, lease, record, found.unwrap_or_default()),
        }
    }
}

/// Returns why the table keeps `found` instead of `record`.
fn compare(key: &ItemKey, lease: &WriterLease, record: &Record, found: Item) -> Result<Put, LogError> {
    let call_id = lease.call_id();
    if item::is_erased(&found) {
        return Err(LogError::erased(call_id));
    }
    let current = item::epoch(&found);
    if current > lease.epoch() {
        return Err(LogError::superseded(call_id, lease.epoch(), current));
    }
    let Some((found_id, found_revision)) = item::identity(&found) else {
        let reason = "it has no `id` and `revision`, or DynamoDB did not return it";
        return Err(item::unreadable(key, AttributeError::new(reason)));
    };
    let (id, position) = (record.id(), record.position());
    if found_id != id {
        return Err(LogError::other_message(call_id, position, id, found_id));
    }
    if found_revision > record.revision() {
        return Ok(Put::Kept);
    }
    if from_item(found)? == *record {
        Ok(Put::Kept)
    } else {
        Err(LogError::other_contents(call_id, position, id, found_revision))
    }
}
