//! Writing records: only over older ones.

use std::fmt;

use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity, ReturnValuesOnConditionCheckFailure};

use super::cost::write_units;
use super::size::{MAX_RECORD_BYTES, item_size};
use super::{AttributeError, Cost, DynamoError, DynamoLog, Item, ItemKey, from_item, item, names, to_item};
use crate::log::{Claim, Put, Stored};
use crate::message::{MessageId, Record};

/// What [`DynamoLog::put_all`] did.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// What the table holds, in the order in which it was given.
    pub stored: Vec<Stored>,
    /// What it cost.
    pub cost: Cost,
}

/// Not all records are in the table.
#[derive(Debug)]
#[non_exhaustive]
pub struct PutAllError {
    /// What the table holds: acknowledge these, and no others.
    pub report: Report,
    /// What it does not hold, and why. Of the last one it may be unknown, as after a time-out.
    pub failed: Vec<(MessageId, DynamoError)>,
    /// How many records behind the last failed one were not tried.
    pub untried: usize,
}

impl PutAllError {
    /// Whether the same records may all be stored later.
    pub fn is_retryable(&self) -> bool {
        self.failed.iter().all(|(_, error)| error.is_retryable())
    }
}

impl fmt::Display for PutAllError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stored, failed) = (self.report.stored.len(), self.failed.len());
        write!(f, "{stored} records are stored, {failed} failed, {} were not tried", self.untried)
    }
}

impl std::error::Error for PutAllError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.failed.first().map(|(_, error)| error as _)
    }
}

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
    pub async fn put(&self, claim: &Claim, record: &Record) -> Result<(Put, Cost), DynamoError> {
        let key = ItemKey::new(claim.call_id(), record.position());
        let mut item = to_item(claim.call_id(), record)?;
        let bytes = item_size(&item);
        if bytes > MAX_RECORD_BYTES {
            return Err(DynamoError::TooLarge { key, bytes });
        }
        if let Some(at_s) = claim.expires_at_s() {
            item.insert(names::EXPIRES_AT.to_owned(), AttributeValue::N(at_s.to_string()));
        }
        let epoch = AttributeValue::N(claim.epoch().to_string());
        let request = self.client.put_item().table_name(&*self.table);
        let request = if claim.epoch() == 1 {
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
        let answer = request
            .set_item(Some(item))
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#epoch", names::EPOCH)
            .expression_attribute_names("#id", names::ID)
            .expression_attribute_names("#revision", names::REVISION)
            .expression_attribute_values(":id", AttributeValue::S(record.id().to_string()))
            .expression_attribute_values(":revision", AttributeValue::N(record.revision().to_string()))
            .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        let error = match answer {
            Ok(output) => return Ok((Put::Written, Cost::of_write(output.consumed_capacity()))),
            Err(error) => error,
        };
        match error.as_service_error() {
            Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                let found = failed.item().cloned().unwrap_or_default();
                let cost = Cost::of_refused_write(write_units(item_size(&found)));
                Ok((compare(key, claim, record, found)?, cost))
            }
            _ => Err(DynamoError::request("PutItem", format_args!("{key} to table {}", self.table), error)),
        }
    }

    /// Puts records one after the other, each as [`put`](Self::put) does.
    ///
    /// A record that fails for a reason of its own (too large, in conflict) does not keep the others from being
    /// stored; an error that may pass, or that any record would meet, ends it.
    pub async fn put_all<'a>(
        &self,
        claim: &Claim,
        records: impl IntoIterator<Item = &'a Record>,
    ) -> Result<Report, PutAllError> {
        let records: Vec<&Record> = records.into_iter().collect();
        let mut report = Report::default();
        let mut failed = Vec::new();
        let mut untried = records.len();
        for record in records {
            untried -= 1;
            match self.put(claim, record).await {
                Ok((put, cost)) => {
                    report.stored.push(Stored::new(record.id(), record.revision(), put));
                    report.cost += cost;
                }
                Err(error) => {
                    let would_all_fail = error.is_of_all_records();
                    failed.push((record.id(), error));
                    if would_all_fail {
                        break;
                    }
                }
            }
        }
        if failed.is_empty() { Ok(report) } else { Err(PutAllError { report, failed, untried }) }
    }
}

/// What it means that `found` is there and the condition does not hold.
fn compare(key: ItemKey, claim: &Claim, record: &Record, found: Item) -> Result<Put, DynamoError> {
    let call_id = || claim.call_id().clone();
    if item::is_erased(&found) {
        return Err(DynamoError::Erased { call_id: call_id() });
    }
    let current = item::epoch(&found);
    if current > claim.epoch() {
        return Err(DynamoError::Fenced { call_id: call_id(), epoch: claim.epoch(), current });
    }
    let Some((found_id, found_revision)) = item::identity(&found) else {
        let reason = "what is there has no `id` and `revision`, or DynamoDB did not give it back";
        return Err(DynamoError::Unreadable { key, source: AttributeError::Form { reason: reason.into() } });
    };
    let id = record.id();
    if found_id != id {
        return Err(DynamoError::OtherMessage { key, id, found: found_id });
    }
    if found_revision > record.revision() {
        return Ok(Put::NewerKept);
    }
    if from_item(found)? == *record {
        Ok(Put::AlreadyThere)
    } else {
        Err(DynamoError::OtherContents { key, id, revision: found_revision })
    }
}
