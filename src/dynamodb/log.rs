//! [`DynamoLog`]: calls in a table.

use std::fmt;
use std::num::NonZeroU8;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use super::cost::Meter;
use super::{Cost, names};
use crate::clock::{Clock, SystemClock};

/// How many requests about one call, or one day, are on their way at a time.
pub(super) const AT_ONCE: usize = 8;

/// Calls in a table: a [`CallLog`](crate::log::CallLog). [`cost`](Self::cost) reports what its requests cost.
///
/// Clones share the client. There are no retries in it: each method does once what it says, and each can be called
/// again after any error and after any cancellation, for a write is done when the table holds the record, whoever
/// brought it there. (A dropped future does not undo its write, which may still land.)
///
/// The credentials need `dynamodb:PutItem`, `dynamodb:UpdateItem`, `dynamodb:GetItem`, `dynamodb:Query` and
/// `dynamodb:BatchWriteItem` (to erase) on the table, and `dynamodb:Query` on its index.
/// [`log_client`](super::log_client) sets up a client's time-outs.
#[derive(Clone)]
pub struct DynamoLog {
    pub(super) client: Client,
    pub(super) table: Arc<str>,
    pub(super) day_shards: NonZeroU8,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) spent: Meter,
}

impl DynamoLog {
    /// A log in table `verbale`.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            table: names::DEFAULT_TABLE.into(),
            day_shards: NonZeroU8::MIN,
            clock: Arc::new(SystemClock),
            spent: Meter::default(),
        }
    }

    /// The same in another table.
    #[must_use]
    pub fn with_table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.table = name.into();
        self
    }

    /// The same, with the index of a day's calls spread over so many partitions; one without this.
    ///
    /// A partition of the index takes [1,000 write units a
    /// second](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html), and a call
    /// takes one when it is opened and one when it ends: so a shard is enough for 500 calls that begin in a second, each
    /// second, or 43 million a day. (DynamoDB does not split a partition key within a day that begins anew each
    /// midnight.) Above that take `calls a second / 500`, doubled for peaks. A resumed call takes two more, a hold or a
    /// release one. Messages and summaries are not in the index; their writes go to the partition of their call.
    ///
    /// [Listing](crate::log::CallLog::list_calls) asks every shard, eight at a time: n requests, and half a read unit for each 4 KB, which
    /// is about 15 headers, of each.
    ///
    /// All who use a table take the same number. It may grow at any time: what was opened before is in the first
    /// shards, and still listed. Were it to shrink, calls in the others would not be listed any more.
    #[must_use]
    pub fn with_day_shards(mut self, shards: NonZeroU8) -> Self {
        self.day_shards = shards;
        self
    }

    /// The same with another clock, which says what has expired.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    pub(super) fn now_s(&self) -> i64 {
        self.clock.now_ms().div_euclid(1_000)
    }

    /// Returns what the requests of this log and of its clones have cost so far.
    pub fn cost(&self) -> Cost {
        self.spent.cost()
    }

    /// The name of the table.
    pub fn table(&self) -> &str {
        &self.table
    }
}

impl fmt::Debug for DynamoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoLog").field("table", &self.table).field("day_shards", &self.day_shards).finish()
    }
}
