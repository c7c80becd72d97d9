//! Reading a call back.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};

use super::{Cost, DynamoError, DynamoLog, Item, from_item, header, item, names};
use crate::log::{CallHeader, CallId, LoggedCall};

const HEADER_AND_MESSAGES: &str = "#pk = :pk AND #sk BETWEEN :header AND :behind";
/// Sorts behind all that begins with [`names::MESSAGE_PREFIX`], and next to it.
const BEHIND_MESSAGES: &str = "MSG$";

/// All items of a call, whatever they are; of an erased one the mark of the call alone.
#[derive(Default)]
pub(super) struct CallItems {
    pub header: Option<Item>,
    /// In the order of the call's list.
    pub behind_header: Vec<Item>,
}

impl DynamoLog {
    /// The header of a call, and its records in the order of its list, each summary behind the last message that it
    /// covers; nothing where nothing was written, the call was erased, or all has expired.
    ///
    /// Reads consistently: what was acknowledged is there. DynamoDB gives 1 MB a page, which is one request each.
    ///
    /// Errors: an item that does not read as a record or header; a request that failed.
    pub(super) async fn read(&self, call_id: &CallId) -> Result<LoggedCall, DynamoError> {
        let items = self.items(call_id).await?;
        let now_s = self.now_s();
        if items.header.as_ref().is_some_and(|header| item::is_erased(header) || item::is_expired(header, now_s)) {
            return Ok(LoggedCall::default());
        }
        let header = items.header.as_ref().map(header::from_item).transpose()?;
        let records = items.into_shown(now_s).map(from_item).collect::<Result<_, _>>()?;
        Ok(LoggedCall::new(header, records))
    }

    /// The header of a call alone, read consistently; `None` where it was never opened, was erased, or has expired.
    /// It takes one request, and one read unit.
    ///
    /// Errors: an item that does not read as a header; a request that failed.
    pub(super) async fn read_header(&self, call_id: &CallId) -> Result<Option<CallHeader>, DynamoError> {
        let live = self.header_item(call_id).await?.filter(|found| self.is_live(found));
        live.as_ref().map(header::from_item).transpose()
    }

    pub(super) async fn header_item(&self, call_id: &CallId) -> Result<Option<Item>, DynamoError> {
        let answer = self
            .client
            .get_item()
            .table_name(&*self.table)
            .key(names::PARTITION_KEY, AttributeValue::S(call_id.partition_key()))
            .key(names::SORT_KEY, AttributeValue::S(names::HEADER.to_owned()))
            .consistent_read(true)
            .return_consumed_capacity(ReturnConsumedCapacity::Total)
            .send()
            .await;
        let output = answer.map_err(|error| {
            let subject = format_args!("the header of call {call_id} in table {}", self.table);
            DynamoError::request("GetItem", subject, error)
        })?;
        self.spent.add(Cost::of_read(output.consumed_capacity()));
        Ok(output.item)
    }

    pub(super) async fn items(&self, call_id: &CallId) -> Result<CallItems, DynamoError> {
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
        let mut items = CallItems::default();
        while let Some(page) = pages.next().await {
            let page = page.map_err(|error| {
                DynamoError::request("Query", format_args!("call {call_id} in table {}", self.table), error)
            })?;
            self.spent.add(Cost::of_read(page.consumed_capacity()));
            for item in page.items.unwrap_or_default() {
                // It stands before all messages, whatever came after the call was erased.
                if item::sort_key(&item) == Some(names::HEADER) {
                    let is_erased = item::is_erased(&item);
                    items.header = Some(item);
                    if is_erased {
                        return Ok(items);
                    }
                } else {
                    items.behind_header.push(item);
                }
            }
        }
        Ok(items)
    }
}

impl CallItems {
    /// The items of messages and summaries that are the call's. DynamoDB deletes what has expired within days: until
    /// then it is given out, and so is what an older writer wrote too late.
    pub fn into_shown(self, now_s: i64) -> impl Iterator<Item = Item> {
        let is_held = self.header.as_ref().is_some_and(|header| header.contains_key(names::HELD));
        let fenced = self.fenced();
        self.behind_header.into_iter().filter(move |item| {
            !item::is_erased(item)
                && !item::is_fence(item)
                && item::epoch(item) >= fenced
                && (is_held || !item::is_expired(item, now_s))
        })
    }

    /// The last epoch whose older writers are all fenced.
    pub fn fenced(&self) -> u32 {
        self.header.as_ref().and_then(|header| item::number(header, names::FENCED)).unwrap_or(1)
    }
}
