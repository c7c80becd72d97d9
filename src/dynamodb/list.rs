//! Listing the calls of a day, through the index.

use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};

use super::{Cost, DynamoError, DynamoLog, header, item, names};
use crate::log::{CallPage, CallQuery};

impl DynamoLog {
    /// The opened calls of a day, newest first, a page at a time. What has expired is not shown.
    ///
    /// The index follows the table within a moment: a call that was opened or erased just now may be missing or there.
    /// The credentials need `dynamodb:Query` on the index.
    ///
    /// Errors: an item that does not read as a header; a request that failed.
    pub async fn list(&self, query: &CallQuery) -> Result<(CallPage, Cost), DynamoError> {
        let now_s = self.clock.now_ms().div_euclid(1_000);
        let (mut calls, mut cost) = (Vec::new(), Cost::default());
        let day = header::day_key(query.day, query.tenant.as_ref());
        // One more tells whether there are more.
        let wanted = query.at_most() + 1;
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
            cost += Cost::of_read(page.consumed_capacity());
            for item in page.items() {
                if !item::is_expired(item, now_s) {
                    calls.push(header::from_item(item)?);
                }
            }
        }
        Ok((CallPage::of_first(calls, query), cost))
    }
}
