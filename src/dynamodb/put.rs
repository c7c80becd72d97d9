//! Writes of records, each on the condition that it replaces only an older revision.

use super::attribute::AttributeError;
use super::keys::ItemKey;
use super::size::{MAX_RECORD_BYTES, item_size};
use super::table_client::Written;
use super::{DynamoLog, Item, from_item, item, names, rules, span};
use crate::log::{CallId, LogError, LogErrorKind, Put, WriterLease};
use crate::message::{MessageId, Record};

impl DynamoLog {
    /// Writes a record unless the table holds it, or a newer revision of it. Takes one request, and the write units of
    /// the record's size.
    ///
    /// Returns an error without writing if the item is too large, another message has its key, the same revision has
    /// other contents, the call was [erased](Self::erase), or another process has taken it over or is doing so; the
    /// header shows which of the two.
    pub(super) async fn put(&self, lease: &WriterLease, record: &Record) -> Result<Put, LogError> {
        let key = ItemKey::new(lease.call_id(), record.position());
        let item = owned(lease, &key, item::to_item(lease.call_id(), record, self.texts)?)?;
        let condition = rules::put(lease, &record.id().to_string(), record.revision());
        let request = condition.of_put(self.db.client.put_item().set_item(Some(item)));
        match self.db.put(request, || format!("{key} to table {}", self.db.table)).await? {
            Written::Done(_) => Ok(Put::Written),
            Written::Refused(found) => {
                let found = found.unwrap_or_default();
                match span::of_item(&found) {
                    Some(span) => self.put_into(lease, span, record, &found).await,
                    None => compare(&key, lease, record, found),
                }
            }
        }
    }
}

/// Adds the expiry and the epoch of a lease to an item, which must not be too large.
pub(super) fn owned(lease: &WriterLease, key: &ItemKey, mut item: Item) -> Result<Item, LogError> {
    let bytes = item_size(&item);
    if bytes > MAX_RECORD_BYTES {
        let message = format!(
            "{key} takes {bytes} bytes and an item has room for {MAX_RECORD_BYTES}; nothing was written: offload large \
             contents to a content store and keep custom data small; then change the message, or retry its dead \
             letter with a smaller record"
        );
        return Err(LogError::new(LogErrorKind::Refused, message));
    }
    if let Some(at_s) = lease.expires_at_s() {
        item.insert(names::EXPIRES_AT.to_owned(), item::number(at_s));
    }
    if lease.epoch() > 1 {
        item.insert(names::EPOCH.to_owned(), item::number(lease.epoch()));
    }
    Ok(item)
}

/// Returns why the table keeps `found` instead of `record`.
fn compare(key: &ItemKey, lease: &WriterLease, record: &Record, found: Item) -> Result<Put, LogError> {
    refuse_newer(lease, &found)?;
    let Some(identity) = item::identity(&found) else {
        let reason = "it has no `id` and `revision`, or DynamoDB did not return it";
        return Err(item::unreadable(key, AttributeError::new(reason)));
    };
    compare_contents(lease.call_id(), record, identity, || from_item(found))
}

/// Returns an error if the item is the mark of an erased call, or if its epoch is higher than that of a lease.
pub(super) fn refuse_newer(lease: &WriterLease, found: &Item) -> Result<(), LogError> {
    let current = item::epoch(found);
    if item::is_erased(found) {
        Err(LogError::erased(lease.call_id()))
    } else if current > lease.epoch() {
        Err(LogError::superseded(lease.call_id(), lease.epoch(), current))
    } else {
        Ok(())
    }
}

/// Returns why the table keeps the message with this id and revision, which is not older than `record`.
pub(super) fn compare_contents(
    call_id: &CallId,
    record: &Record,
    (found_id, found_revision): (MessageId, u32),
    read: impl FnOnce() -> Result<Record, LogError>,
) -> Result<Put, LogError> {
    let (id, position) = (record.id(), record.position());
    if found_id != id {
        Err(LogError::other_message(call_id, position, id, found_id))
    } else if found_revision > record.revision() || read()? == *record {
        Ok(Put::Kept)
    } else {
        Err(LogError::other_contents(call_id, position, id, found_revision))
    }
}
