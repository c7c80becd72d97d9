//! Erasure of a call, after which no part of it can be read or written, and the sweep of a day's erased calls.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::types::{PutRequest, ReturnConsumedCapacity, WriteRequest};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::occupied::Occupied;
use super::table_client::Written;
use super::{Cost, DynamoLog, Item, day, error, header, item, keys, log, names};
use crate::log::{CallId, Day, LogError, LogErrorKind};

/// The maximum number of items in one `BatchWriteItem`.
const BATCH: usize = 25;

/// The maximum number of passes over a call. Usually there are two, and the second finds only marks.
const MAX_PASSES: usize = 8;

impl DynamoLog {
    /// Erases the header, messages, summaries and fences of a call.
    ///
    /// First a mark replaces the header; from then on the call is neither read nor listed. Then a mark of keys alone is
    /// put at each free position where a late record could arrive: the next message, the next summaries, and each
    /// missing message. Finally a mark replaces each item. Passes follow until one finds only marks, so a writer that
    /// writes meanwhile meets a mark at its next record. Marks never expire, so a late [`put`](Self::put) is always
    /// refused, at the cost of a write. A put therefore need not read another item.
    ///
    /// A late record after the next one finds no mark and is stored. It is never read, because a read finds the mark of
    /// the call first, and a [sweep](Self::sweep_day) removes it. A writer that writes out of order reads the header
    /// before and after a put, and does not report such a record as stored. Backups and point-in-time recovery keep
    /// erased items for their own retention time.
    ///
    /// Takes a write for each item and free position, two queries and one more write. Needs `dynamodb:PutItem`,
    /// `dynamodb:Query` and `dynamodb:BatchWriteItem` on the table.
    ///
    /// Returns an error if the call is [held](Self::hold); then nothing is erased. Also returns an error if DynamoDB
    /// did not process all marks. An erasure that failed can be repeated, and continues with the remaining items.
    pub(super) async fn erase(&self, call_id: &CallId) -> Result<(), LogError> {
        self.mark(call_id).await?;
        self.erase_items(call_id).await
    }

    /// Erases what is left of the calls that were erased on a day, and returns their ids. Takes half a read unit for each
    /// 30 calls, and one query for each call. Needs `dynamodb:Query` on the index `gsi1`.
    pub(super) async fn sweep_day(&self, erased_on: Day) -> Result<Vec<CallId>, LogError> {
        let query = self
            .db
            .client
            .query()
            .index_name(names::CALLS_BY_DAY)
            .key_condition_expression("#partition = :partition")
            .projection_expression("#pk")
            .expression_attribute_names("#partition", names::DAY_PARTITION_KEY)
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_values(":partition", item::text(day::erased_key(erased_on)));
        let subject = || format!("the calls that were erased on {erased_on} in table {}", self.db.table);
        let mut pages = self.db.pages(query, subject);
        let mut erased = Vec::new();
        while let Some(page) = pages.next().await? {
            erased.extend(page.iter().filter_map(keys::call_id_of));
        }
        for call_id in &erased {
            self.erase_items(call_id).await?;
        }
        Ok(erased)
    }

    /// Replaces the header with a mark, unless the call is held. If a hold and an erasure arrive at the same time, one of
    /// them is refused. The mark lists the call among those that were erased today.
    async fn mark(&self, call_id: &CallId) -> Result<(), LogError> {
        let now_ms = self.clock.now_ms();
        let mut mark = header::item_of(call_id, names::HEADER, names::ENTITY_ERASED);
        mark.insert(names::DAY_PARTITION_KEY.to_owned(), item::text(day::erased_key(Day::of_ms(now_ms))));
        mark.insert(names::DAY_SORT_KEY.to_owned(), item::text(format!("{now_ms:013}#{call_id}")));
        let request = self
            .db
            .client
            .put_item()
            .set_item(Some(mark))
            .condition_expression("attribute_not_exists(#held)")
            .expression_attribute_names("#held", names::HELD);
        match self.db.put(request, || self.erase_subject(call_id)).await? {
            Written::Done(_) => Ok(()),
            Written::Refused(_) => Err(LogError::held(call_id)),
        }
    }

    /// Puts marks until a pass finds nothing else.
    async fn erase_items(&self, call_id: &CallId) -> Result<(), LogError> {
        for _ in 0..MAX_PASSES {
            let found = self.occupied(call_id).await?;
            if found.is_erased() {
                return Ok(());
            }
            // The marks of free positions come before those of the items, because a repeated erasure finds the free
            // positions by the remaining items.
            let free = found.free_places().into_iter();
            let marks = stream::iter(free.map(|sort_key| self.mark_free(call_id, sort_key)));
            marks.buffer_unordered(log::AT_ONCE).try_collect::<Vec<()>>().await?;
            for batch in found.unmarked().chunks(BATCH) {
                self.replace(call_id, batch).await?;
            }
        }
        let text = format!(
            "call {call_id} is not erased completely, though none of it can be read: a writer wrote during each of \
             {MAX_PASSES} passes; erase the call again"
        );
        Err(LogError::new(LogErrorKind::Unavailable, text))
    }

    async fn occupied(&self, call_id: &CallId) -> Result<Occupied, LogError> {
        let query = self
            .db
            .query(keys::partition_of(call_id))
            .projection_expression("#sk, #entity, #last")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_names("#entity", names::ENTITY)
            .expression_attribute_names("#last", names::LAST);
        let mut pages = self.db.pages(query, || self.erase_subject(call_id));
        let mut occupied = Occupied::default();
        while let Some(page) = pages.next().await? {
            page.iter().for_each(|item| occupied.add(item));
        }
        Ok(occupied)
    }

    /// Puts a mark at a free position. A refusal means that a record arrived there; the next pass erases it.
    async fn mark_free(&self, call_id: &CallId, sort_key: String) -> Result<(), LogError> {
        let request = self
            .db
            .client
            .put_item()
            .set_item(Some(header::item_of(call_id, &sort_key, names::ENTITY_ERASED)))
            .condition_expression("attribute_not_exists(#pk)")
            .expression_attribute_names("#pk", names::PARTITION_KEY);
        self.db.put(request, || self.erase_subject(call_id)).await.map(drop)
    }

    /// Replaces items by marks. Sends unprocessed items again as long as DynamoDB accepts at least one of them.
    async fn replace(&self, call_id: &CallId, sort_keys: &[String]) -> Result<(), LogError> {
        let failed = |error| error::of_request("BatchWriteItem", self.erase_subject(call_id), error);
        let mark = |sort_key: &String| -> Item { header::item_of(call_id, sort_key, names::ENTITY_ERASED) };
        let mut left = sort_keys
            .iter()
            .map(|sort_key| PutRequest::builder().set_item(Some(mark(sort_key))).build())
            .map(|put| put.map(|put| WriteRequest::builder().put_request(put).build()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(SdkError::<BatchWriteItemError>::construction_failure)
            .map_err(failed)?;
        while !left.is_empty() {
            let sent = left.len();
            let request = self.db.client.batch_write_item().request_items(&*self.db.table, left);
            let output = request.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await;
            let output = output.map_err(failed)?;
            self.db.meter.add(Cost::of_write(output.consumed_capacity().first()));
            left = output.unprocessed_items.unwrap_or_default().remove(&*self.db.table).unwrap_or_default();
            if left.len() >= sent {
                let left = left.len();
                let message = format!(
                    "{left} items of call {call_id} are not erased yet, though none can be read; erase the call again"
                );
                return Err(LogError::new(LogErrorKind::Unavailable, message));
            }
        }
        Ok(())
    }

    fn erase_subject(&self, call_id: &CallId) -> String {
        format!("call {call_id}, erasing it from table {}", self.db.table)
    }
}
