//! Erasure of a call, after which no part of it can be read or written.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::types::{PutRequest, ReturnConsumedCapacity, WriteRequest};

use super::table_client::Written;
use super::{Cost, DynamoLog, Item, error, header, item, keys, names};
use crate::log::{CallId, LogError, LogErrorKind};

/// The most items that one `BatchWriteItem` takes.
const BATCH: usize = 25;

impl DynamoLog {
    /// Erases the header, messages, summaries and fences of a call.
    ///
    /// First a mark replaces the header, and from then on the call is neither read nor listed. Then a mark of keys
    /// alone replaces each item. Marks stay for good and have no expiry, so a late [`put`](Self::put) of an erased item
    /// is refused, at the price of the write. So a put need not read another item.
    ///
    /// A message that had never arrived when the call was erased finds no mark, so a late put of it is stored. It is never
    /// read, because the mark of the call precedes it, and another erase removes it. If that matters, erase the call again
    /// after its writers have stopped. Backups and point-in-time recovery keep erased items for their own retention time.
    ///
    /// Needs `dynamodb:PutItem`, `dynamodb:Query` and `dynamodb:BatchWriteItem` on the table.
    ///
    /// Returns an error if the call is [held](Self::hold), and erases nothing then. Also returns an error if DynamoDB
    /// did not process all marks. An erasure that failed can be repeated, and continues with the remaining items.
    pub(super) async fn erase(&self, call_id: &CallId) -> Result<(), LogError> {
        self.mark(call_id).await?;
        let query = self
            .db
            .query(keys::partition_of(call_id))
            .projection_expression("#sk, #entity")
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_names("#entity", names::ENTITY);
        let mut pages = self.db.pages(query, || self.erase_subject(call_id));
        while let Some(page) = pages.next().await? {
            let unmarked = page.iter().filter(|item| !item::is_erased(item)).filter_map(item::sort_key);
            let marks: Vec<Item> =
                unmarked.map(|sort_key| header::item_of(call_id, sort_key, names::ENTITY_ERASED)).collect();
            for batch in marks.chunks(BATCH) {
                self.replace(call_id, batch).await?;
            }
        }
        Ok(())
    }

    /// Replaces the header with a mark, unless the call is held. If a hold and an erasure arrive at the same time, one of
    /// them is refused.
    async fn mark(&self, call_id: &CallId) -> Result<(), LogError> {
        let request = self
            .db
            .client
            .put_item()
            .set_item(Some(header::item_of(call_id, names::HEADER, names::ENTITY_ERASED)))
            .condition_expression("attribute_not_exists(#held)")
            .expression_attribute_names("#held", names::HELD);
        match self.db.put(request, || self.erase_subject(call_id)).await? {
            Written::Done(_) => Ok(()),
            Written::Refused(_) => Err(LogError::held(call_id)),
        }
    }

    /// Writes a batch of marks. Sends unprocessed items again as long as DynamoDB accepts at least one of them.
    async fn replace(&self, call_id: &CallId, marks: &[Item]) -> Result<(), LogError> {
        let failed = |error| error::of_request("BatchWriteItem", self.erase_subject(call_id), error);
        let mut left = marks
            .iter()
            .map(|mark| PutRequest::builder().set_item(Some(mark.clone())).build())
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
