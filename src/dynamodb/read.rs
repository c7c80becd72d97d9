//! Reading a call back.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};

use super::{CallId, Cost, DynamoError, DynamoLog, from_item, item, names};
use crate::manager::MessagesManager;
use crate::message::{MessageWrapper, Record};

const ONE_CALL: &str = "#pk = :pk AND begins_with(#sk, :messages)";

impl DynamoLog {
    /// The manager of a call as its log tells it, to go on with; an empty one where nothing was written, or all has
    /// expired.
    ///
    /// Errors: as [`read`](Self::read); records that do not make a conversation.
    pub async fn restore<W: MessageWrapper>(
        &self,
        call_id: &CallId,
    ) -> Result<(MessagesManager<W>, Cost), DynamoError> {
        let (records, cost) = self.read(call_id).await?;
        let manager = MessagesManager::restore(records)
            .map_err(|source| DynamoError::NoConversation { call_id: call_id.clone(), source })?;
        Ok((manager, cost))
    }

    /// The records of a call in the order of its list, each summary behind the last message that it covers; none
    /// where nothing was written, or all has expired. Restore a manager from them.
    ///
    /// Reads consistently: what was acknowledged is there. DynamoDB gives 1 MB a page, which is one request each.
    ///
    /// Errors: an item that does not read as a record; a request that failed.
    pub async fn read(&self, call_id: &CallId) -> Result<(Vec<Record>, Cost), DynamoError> {
        let mut pages = self
            .client
            .query()
            .table_name(&*self.table)
            .consistent_read(true)
            .key_condition_expression(ONE_CALL)
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":pk", AttributeValue::S(call_id.partition_key()))
            .expression_attribute_values(":messages", AttributeValue::S(names::MESSAGE_PREFIX.to_owned()))
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .into_paginator()
            .send();
        let now_s = self.clock.now_ms().div_euclid(1_000);
        let (mut records, mut cost) = (Vec::new(), Cost::default());
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| {
                DynamoError::request("Query", format_args!("call {call_id} in table {}", self.table), error)
            })?;
            cost += Cost::of_read(page.consumed_capacity());
            for item in page.items.unwrap_or_default() {
                // DynamoDB deletes within days: until then, expired items are given out.
                if !item::is_expired(&item, now_s) {
                    records.push(from_item(item)?);
                }
            }
        }
        Ok((records, cost))
    }
}
