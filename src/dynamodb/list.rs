//! The lists of calls, read from the indexes: those of a day, and those of a caller.

use futures_util::stream::{self, StreamExt, TryStreamExt};

use super::{DynamoLog, caller, day, header, item, log, names};
use crate::log::{CallHeader, CallPage, CallQuery, CallsOf, Cursor, LogError};

/// A header, or its key in the index and why it cannot be read.
type Listed = Result<CallHeader, (String, LogError)>;

/// An index, and the names of its keys.
struct Index {
    name: &'static str,
    partition_key: &'static str,
    sort_key: &'static str,
}

const BY_DAY: Index =
    Index { name: names::CALLS_BY_DAY, partition_key: names::DAY_PARTITION_KEY, sort_key: names::DAY_SORT_KEY };
const BY_CALLER: Index = Index {
    name: names::CALLS_BY_CALLER,
    partition_key: names::CALLER_PARTITION_KEY,
    sort_key: names::CALLER_SORT_KEY,
};

impl DynamoLog {
    /// Returns a page of calls, newest first, without expired ones.
    ///
    /// The index follows the table with a short delay, so the list may miss recent changes. A list of a day takes one
    /// request for each [shard](Self::with_day_shards), and a list of a caller one request. Both need `dynamodb:Query` on
    /// the index.
    ///
    /// Returns an error if the table does not have the index.
    pub(super) async fn list(&self, query: &CallQuery) -> Result<CallPage, LogError> {
        let tenant = query.tenant.as_ref();
        let calls = match &query.calls {
            CallsOf::Day(day) => {
                let keys = (0..self.day_shards.get()).map(|shard| day::key(*day, tenant, shard));
                let shards = stream::iter(keys.map(|key| self.list_partition(query, &BY_DAY, key)));
                shards.buffer_unordered(log::AT_ONCE).try_concat().await?
            }
            CallsOf::Caller(caller) => self.list_partition(query, &BY_CALLER, caller::key(tenant, caller)).await?,
        };
        let (calls, unreadable): (Vec<_>, Vec<_>) = calls.into_iter().partition(Result::is_ok);
        let page = query.page_of(calls.into_iter().flatten());
        // The next page has the headers after its own cursor.
        let end = page.next.as_ref().map(Cursor::sort_key);
        let is_on_page = |key: &String| end.as_ref().is_none_or(|end| key >= end);
        let unreadable = unreadable.into_iter().filter_map(Result::err);
        let unreadable = unreadable.filter(|(key, _)| is_on_page(key)).map(|(_, error)| error).collect();
        Ok(CallPage { unreadable, ..page })
    }

    /// Returns the first calls of a partition: one more than the page holds, which shows whether another page follows.
    async fn list_partition(&self, query: &CallQuery, index: &Index, key: String) -> Result<Vec<Listed>, LogError> {
        let wanted = query.max_calls() + 1;
        let request = self
            .db
            .client
            .query()
            .index_name(index.name)
            .expression_attribute_names("#partition", index.partition_key)
            .expression_attribute_values(":partition", item::text(key))
            .scan_index_forward(false)
            .limit(i32::try_from(wanted).unwrap_or(i32::MAX));
        let request = match &query.after {
            None => request.key_condition_expression("#partition = :partition"),
            Some(after) => request
                .key_condition_expression("#partition = :partition AND #start < :after")
                .expression_attribute_names("#start", index.sort_key)
                .expression_attribute_values(":after", item::text(after.sort_key())),
        };
        let mut pages = self.db.pages(request, || self.list_subject(query));
        let (mut calls, mut readable) = (Vec::new(), 0);
        while readable < wanted
            && let Some(page) = pages.next().await?
        {
            let live = page.iter().filter(|item| !item::is_expired(item, self.now_s()));
            for item in live {
                let header = header::from_item(item);
                readable += usize::from(header.is_ok());
                let key = item.get(index.sort_key).and_then(|key| key.as_s().ok());
                calls.push(header.map_err(|error| (key.cloned().unwrap_or_default(), error)));
            }
        }
        Ok(calls)
    }

    fn list_subject(&self, query: &CallQuery) -> String {
        let table = &self.db.table;
        match query.day() {
            Some(day) => format!("the calls of {day} in table {table}"),
            None => {
                let Index { name, partition_key, sort_key } = BY_CALLER;
                format!("the calls of a caller in table {table}, by index {name} ({partition_key}, {sort_key}),")
            }
        }
    }
}
