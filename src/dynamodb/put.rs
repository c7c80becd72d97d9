//! Writing records: only over older ones.

use aws_sdk_dynamodb::types::AttributeValue;

use super::size::{MAX_RECORD_BYTES, item_size};
use super::write::Written;
use super::{AttributeError, DynamoError, DynamoLog, Item, ItemKey, from_item, item, names, to_item};
use crate::log::{LogError, Put, WriterLease};
use crate::message::Record;

/// The condition of a call's first writer: it makes writes in any order end in the same table. Whatever has an epoch is
/// a later writer's; what was erased has no id.
const CONDITION: &str =
    "attribute_not_exists(#pk) OR (attribute_not_exists(#epoch) AND #id = :id AND #revision < :revision)";

/// The condition of whoever resumed the call. All that was there then has its epoch now, or its place was read as
/// empty: what has an older epoch came too late, and is not read (see [`resume`](DynamoLog::resume)).
const RESUMED: &str = "attribute_not_exists(#pk) \
    OR (#entity <> :erased AND (attribute_not_exists(#epoch) OR #epoch < :epoch)) \
    OR (#epoch = :epoch AND (#entity = :fence OR (#id = :id AND #revision < :revision)))";

impl DynamoLog {
    /// Puts a record unless the table holds it, or a newer revision of it.
    ///
    /// It takes one request, and the write units of the record's size, whether the call was resumed or not.
    ///
    /// Errors: larger than [`MAX_RECORD_BYTES`] (nothing is sent); another message there, or other contents at the
    /// same revision, or what was [erased](Self::erase), or [resumed](Self::resume) by another writer (nothing is
    /// written); a request that failed.
    pub(super) async fn put(&self, lease: &WriterLease, record: &Record) -> Result<Put, DynamoError> {
        let key = ItemKey::new(lease.call_id(), record.position());
        let mut item = to_item(lease.call_id(), record)?;
        let bytes = item_size(&item);
        if bytes > MAX_RECORD_BYTES {
            return Err(DynamoError::TooLarge { key, bytes });
        }
        if let Some(at_s) = lease.expires_at_s() {
            item.insert(names::EXPIRES_AT.to_owned(), AttributeValue::N(at_s.to_string()));
        }
        let epoch = AttributeValue::N(lease.epoch().to_string());
        let request = self.client.put_item();
        let request = if lease.epoch() == 1 {
            request.condition_expression(CONDITION)
        } else {
            item.insert(names::EPOCH.to_owned(), epoch.clone());
            request
                .condition_expression(RESUMED)
                .expression_attribute_names("#entity", names::ENTITY)
                .expression_attribute_values(":erased", AttributeValue::S(names::ENTITY_ERASED.to_owned()))
                .expression_attribute_values(":fence", AttributeValue::S(names::ENTITY_FENCE.to_owned()))
                .expression_attribute_values(":epoch", epoch)
        };
        let request = request
            .set_item(Some(item))
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_names("#id", names::ID)
            .expression_attribute_names("#revision", names::REVISION)
            .expression_attribute_values(":id", AttributeValue::S(record.id().to_string()))
            .expression_attribute_values(":revision", AttributeValue::N(record.revision().to_string()));
        match self.send_put(request, || format!("{key} to table {}", self.table)).await? {
            Written::Done(_) => Ok(Put::Written),
            Written::Refused(found) => compare(key, lease, record, found.unwrap_or_default()),
        }
    }
}

/// What it means that `found` is there and the condition does not hold.
fn compare(key: ItemKey, lease: &WriterLease, record: &Record, found: Item) -> Result<Put, DynamoError> {
    let call_id = lease.call_id().clone();
    if item::is_erased(&found) {
        return Err(LogError::erased(&call_id).into());
    }
    let current = item::epoch(&found);
    if current > lease.epoch() {
        return Err(LogError::fenced(&call_id, lease.epoch(), current).into());
    }
    let Some((found_id, found_revision)) = item::identity(&found) else {
        let reason = "what is there has no `id` and `revision`, or DynamoDB did not give it back";
        return Err(DynamoError::Unreadable { key, source: AttributeError::Form { reason: reason.into() } });
    };
    let (id, position) = (record.id(), record.position());
    if found_id != id {
        return Err(LogError::other_message(&call_id, position, id, found_id).into());
    }
    if found_revision > record.revision() {
        return Ok(Put::NewerKept);
    }
    if from_item(found)? == *record {
        Ok(Put::AlreadyThere)
    } else {
        Err(LogError::other_contents(&call_id, position, id, found_revision).into())
    }
}
