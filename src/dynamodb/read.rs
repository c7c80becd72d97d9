//! Reading a call back.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};

use super::{Cost, DynamoError, DynamoLog, from_item, item, names};
use crate::log::CallId;
use crate::manager::MessagesManager;
use crate::message::{MessageWrapper, Record};

const HEADER_AND_MESSAGES: &str = "#pk = :pk AND #sk BETWEEN :header AND :behind";
/// Sorts behind all that begins with [`names::MESSAGE_PREFIX`], and next to it.
const BEHIND_MESSAGES: &str = "MSG$";

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
    /// where nothing was written, the call was erased, or all has expired. Restore a manager from them.
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
            .key_condition_expression(HEADER_AND_MESSAGES)
            .expression_attribute_names("#pk", names::PARTITION_KEY)
            .expression_attribute_names("#sk", names::SORT_KEY)
            .expression_attribute_values(":pk", AttributeValue::S(call_id.partition_key()))
            .expression_attribute_values(":header", AttributeValue::S(names::HEADER.to_owned()))
            .expression_attribute_values(":behind", AttributeValue::S(BEHIND_MESSAGES.to_owned()))
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
                let sort_key = item.get(names::SORT_KEY).and_then(|sort_key| sort_key.as_s().ok());
                if sort_key.is_some_and(|sort_key| sort_key == names::HEADER) {
                    // It stands before all messages, whatever came after the call was erased.
                    if item::is_erased(&item) {
                        return Ok((Vec::new(), cost));
                    }
                } else if !item::is_erased(&item) && !item::is_expired(&item, now_s) {
                    // DynamoDB deletes within days: until then, expired items are given out.
                    records.push(from_item(item)?);
                }
            }
        }
        Ok((records, cost))
    }
}
