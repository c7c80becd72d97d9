//! Listing the calls of a day, through the index.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::{Cost, DynamoError, DynamoLog, day, header, item, log, names};
use crate::log::{CallHeader, CallPage, CallQuery, Cursor};

impl DynamoLog {
    /// The opened calls of a day, newest first, a page at a time. What has expired is not shown.
    ///
    /// The index follows the table within a moment: a call that was opened, changed or erased just now may be missing
    /// or there, or as it was. The credentials need `dynamodb:Query` on the index. It takes a request for each
    /// [shard](Self::with_day_shards).
    ///
    /// Errors: an item that does not read as a header; a request that failed.
    pub(super) async fn list(&self, query: &CallQuery) -> Result<CallPage, DynamoError> {
        let shards = stream::iter((0..self.day_shards.get()).map(|shard| self.list_shard(query, shard)));
        let mut calls: Vec<CallHeader> = shards.buffer_unordered(log::AT_ONCE).try_concat().await?;
        calls.sort_by_cached_key(|header| std::cmp::Reverse(Cursor::of(header)));
        Ok(CallPage::of_first(calls, query))
    }

    /// The first calls of a shard: as many as the page wants, and one more, which tells whether there are more.
    async fn list_shard(&self, query: &CallQuery, shard: u8) -> Result<Vec<CallHeader>, DynamoError> {
        let now_s = self.now_s();
        let mut calls = Vec::new();
        let wanted = query.max_calls() + 1;
        let day = day::key(query.day, query.tenant.as_ref(), shard);
        let request = self
            .client
            .query()
            .table_name(&*self.table)
            .index_name(names::CALLS_BY_DAY)
            .key_condition_expression("#day = :day")
            .expression_attribute_names("#day", names::DAY_PARTITION_KEY)
            .expression_attribute_values(":day", AttributeValue::S(day))
            .scan_index_forward(false)
            .limit(i32::try_from(wanted).unwrap_or(i32::MAX))
            .return_consumed_capacity(ReturnConsumedCapacity::Total);
        let request = match &query.after {
            None => request,
            Some(after) => request
                .key_condition_expression("#day = :day AND #start < :after")
                .expression_attribute_names("#start", names::DAY_SORT_KEY)
                .expression_attribute_values(":after", AttributeValue::S(after.sort_key())),
        };
        let mut pages = request.into_paginator().send();
        while calls.len() < wanted
            && let Some(page) = pages.next().await
        {
            let page = page.map_err(|error| {
                let subject = format_args!("the calls of {} in table {}", query.day, self.table);
                DynamoError::request("Query", subject, error)
            })?;
            self.spent.add(Cost::of_read(page.consumed_capacity()));
            for item in page.items() {
                if !item::is_expired(item, now_s) {
                    calls.push(header::from_item(item)?);
                }
            }
        }
        Ok(calls)
    }
}
