//! Erasing a call, so that nothing of it comes back.

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemError;
use aws_sdk_dynamodb::types::{AttributeValue, PutRequest, ReturnConsumedCapacity, WriteRequest};

use super::write::Written;
use super::{Cost, DynamoError, DynamoLog, Item, header, item, names};
use crate::log::{CallId, LogError};

/// `BatchWriteItem` takes no more.
const BATCH: usize = 25;

impl DynamoLog {
    /// Erases a call: its header, its messages, its summaries, and the fences of one that was resumed.
    ///
    /// First the header becomes a mark that the call is erased: from then on it is neither read nor listed, whatever
    /// happens. Then each item is written over by a mark of its keys alone. A mark is never taken away, and has no
    /// time to live: so a late [`put`](Self::put) of what was erased finds its place taken, and is refused, for the
    /// price of the write that it would have been. That costs nothing before a call is erased: a put looks at its own
    /// item and at no other one.
    ///
    /// The limit: a message that had *never* arrived when the call was erased finds no mark in its place, and a late put
    /// of it is stored. It is never read, for the mark of the call stands before it, and goes when the call is erased
    /// again: erase it again once its writers have stopped, where that matters. Backups and point-in-time recovery keep
    /// what the table held, for as long as they are set to.
    ///
    /// The credentials need `dynamodb:PutItem`, `dynamodb:Query` and `dynamodb:BatchWriteItem` on the table.
    ///
    /// Errors: [held](Self::hold) (nothing is erased); DynamoDB did not get to all items, or a request failed. Erasing again goes on where it ended.
    pub(super) async fn erase(&self, call_id: &CallId) -> Result<(), DynamoError> {
        self.mark(call_id).await?;
        let mut pages = self
            .client
            .query()
            .table_name(&*self.table)
            .consistent_read(true)
            .key_condition_expression("#pk = :pk")
            .projection_expression("#sk, #entity")
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_names("#entity", names::ENTITY)
            .expression_attribute_values(":pk", AttributeValue::S(call_id.partition_key()))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .into_paginator()
            .send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| self.erase_failed("Query", call_id, error))?;
            self.spent.add(Cost::of_read(page.consumed_capacity()));
            let marks: Vec<Item> = page
                .items()
                .iter()
                .filter(|item| !item::is_erased(item))
                .filter_map(item::sort_key)
                .map(|sort_key| header::keys_of(call_id, sort_key, names::ENTITY_ERASED))
                .collect();
            for batch in marks.chunks(BATCH) {
                self.write_over(call_id, batch).await?;
            }
        }
        Ok(())
    }

    /// Marks the call as erased. Whatever is there, it goes, unless it is held: one of a hold and an erasing that come at
    /// once is refused.
    async fn mark(&self, call_id: &CallId) -> Result<(), DynamoError> {
        let request = self
            .client
            .put_item()
            .set_item(Some(header::keys_of(call_id, names::HEADER, names::ENTITY_ERASED)))
            .condition_expression("attribute_not_exists(#held)")
            .expression_attribute_names("#held", names::HELD);
        let subject = || format!("call {call_id}, erasing it from table {}", self.table);
        match self.send_put(request, subject).await? {
            Written::Done(_) => Ok(()),
            Written::Refused(_) => Err(LogError::held(call_id).into()),
        }
    }

    /// Writes all of a batch. What DynamoDB leaves over is sent again as long as it takes any of it.
    async fn write_over(&self, call_id: &CallId, marks: &[Item]) -> Result<(), DynamoError> {
        let mut left = marks
            .iter()
            .map(|mark| PutRequest::builder().set_item(Some(mark.clone())).build())
            .map(|put| put.map(|put| WriteRequest::builder().put_request(put).build()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(SdkError::<BatchWriteItemError>::construction_failure)
            .map_err(|error| self.erase_failed("BatchWriteItem", call_id, error))?;
        while !left.is_empty() {
            let sent = left.len();
            let output = self
                .client
                .batch_write_item()
                .request_items(&*self.table, left)
                .return_consumed_capacity(ReturnConsumedCapacity::Total)
                .send()
                .await
                .map_err(|error| self.erase_failed("BatchWriteItem", call_id, error))?;
            self.spent.add(Cost::of_write(output.consumed_capacity().first()));
            left = output.unprocessed_items.unwrap_or_default().remove(&*self.table).unwrap_or_default();
            if left.len() >= sent {
                return Err(DynamoError::PartlyErased { call_id: call_id.clone(), left: left.len() });
            }
        }
        Ok(())
    }

    fn erase_failed<E>(&self, operation: &'static str, call_id: &CallId, error: SdkError<E>) -> DynamoError
    where
        E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
    {
        DynamoError::request(operation, format_args!("call {call_id}, erasing it from table {}", self.table), error)
    }
}
