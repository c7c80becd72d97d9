//! The list of a day's calls, read from the index.

use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::{DynamoLog, day, header, item, log, names};
use crate::log::{CallHeader, CallPage, CallQuery, LogError};

impl DynamoLog {
    /// Returns a page of the calls of a day, newest first, without expired ones.
    ///
    /// The index follows the table within a moment, so the list may show a recent change late. Takes one request for each
    /// [shard](Self::with_day_shards) and `dynamodb:Query` on the index.
    ///
    /// Returns an error if an item is not a valid header.
    pub(super) async fn list(&self, query: &CallQuery) -> Result<CallPage, LogError> {
        let shards = stream::iter((0..self.day_shards.get()).map(|shard| self.list_shard(query, shard)));
        let calls: Vec<CallHeader> = shards.buffer_unordered(log::AT_ONCE).try_concat().await?;
        Ok(query.page_of(calls))
    }

    /// Returns the first calls of a shard: one more than the page holds, which shows whether another page follows.
    async fn list_shard(&self, query: &CallQuery, shard: u8) -> Result<Vec<CallHeader>, LogError> {
        let wanted = query.max_calls() + 1;
        let request = self
            .db
            .client
            .query()
            .index_name(names::CALLS_BY_DAY)
            .expression_attribute_names("#day", names::DAY_PARTITION_KEY)
            .expression_attribute_values(":day", item::text(day::key(query.day, query.tenant.as_ref(), shard)))
            .scan_index_forward(false)
            .limit(i32::try_from(wanted).unwrap_or(i32::MAX));
        let request = match &query.after {
            None => request.key_condition_expression("#day = :day"),
            Some(after) => request
                .key_condition_expression("#day = :day AND #start < :after")
                .expression_attribute_names("#start", names::DAY_SORT_KEY)
                .expression_attribute_values(":after", item::text(after.sort_key())),
        };
        let mut pages = self.db.pages(request, || format!("the calls of {} in table {}", query.day, self.db.table));
        let mut calls = Vec::new();
        while calls.len() < wanted
            && let Some(page) = pages.next().await?
        {
            let live = page.iter().filter(|item| !item::is_expired(item, self.now_s()));
            calls.extend(live.map(header::from_item).collect::<Result<Vec<_>, _>>()?);
        }
        Ok(calls)
    }
}
