//! [`DynamoLog`]: the calls in a table.

use std::fmt;
use std::num::NonZeroU8;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use super::Cost;
use super::attribute::Texts;
use super::table_client::TableClient;
use crate::clock::{Clock, SystemClock};

/// The maximum number of concurrent requests about one call, or one day.
pub(super) const AT_ONCE: usize = 8;

/// How a [`DynamoLog`] stores new messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layout {
    /// The messages of a turn are one item, up to 16 KB. This takes fewer requests and write units. The writer forms
    /// the [spans](crate::log::Span).
    #[default]
    Spans,
    /// Each message is an item, which a program without this library reads more easily. Without a
    /// [spool](crate::log::Spool), a host that dies has lost fewer messages, because none waits for the end of its turn.
    Messages,
}

/// A [`CallLog`](crate::log::CallLog) in a DynamoDB table. [`create_table`](super::create_table) creates the table for
/// development.
///
/// Clones share the client and the [cost](Self::cost). Methods never retry. Each can be repeated after any error and any
/// cancellation, because a write succeeds if the table already holds its result. A dropped future does not undo its write,
/// which may still reach the table.
///
/// The credentials need `dynamodb:PutItem`, `dynamodb:UpdateItem`, `dynamodb:GetItem`, `dynamodb:Query` and
/// `dynamodb:BatchWriteItem` (to erase) on the table, and `dynamodb:Query` on its indexes. Set the client's timeouts with
/// [`log_client`](super::log_client).
#[derive(Clone)]
pub struct DynamoLog {
    pub(super) db: TableClient,
    pub(super) layout: Layout,
    pub(super) texts: Texts,
    pub(super) day_shards: NonZeroU8,
    pub(super) clock: Arc<dyn Clock>,
}

impl DynamoLog {
    /// Creates a log in the table `verbale`.
    pub fn new(client: Client) -> Self {
        Self {
            db: TableClient::new(client),
            layout: Layout::default(),
            texts: Texts::Compressed,
            day_shards: NonZeroU8::MIN,
            clock: Arc::new(SystemClock),
        }
    }

    /// Sets the name of the table; `verbale` by default.
    #[must_use]
    pub fn with_table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.db.table = name.into();
        self
    }

    /// Sets how new messages are stored; [`Layout::Spans`] by default. Every log reads both layouts, and writes changes
    /// of a message to the item that holds it.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Sets whether texts of 512 bytes or more, such as instructions and the results of tools, are compressed with zstd if
    /// that saves an eighth; on by default.
    ///
    /// Every log reads both forms. In the table a compressed text is a map with the binary key `$zstd`, so the AWS
    /// console and exports do not show the text. Metadata, tool calls and short texts stay readable. 512 bytes are about
    /// half a minute of speech.
    #[must_use]
    pub fn with_compression(mut self, is_compressing: bool) -> Self {
        self.texts = if is_compressing { Texts::Compressed } else { Texts::Plain };
        self
    }

    /// Sets the number of shards: partitions over which the index spreads the calls of a day. The default is one.
    ///
    /// A partition of the index takes [1,000 write units per
    /// second](https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html). A call takes
    /// one unit when it opens and one when it ends, so one shard serves 500 new calls per second, or 43 million per day.
    /// For more, use `calls per second / 500` shards, doubled for peaks. (DynamoDB does not split a partition key that is
    /// new every midnight.) A resumed call takes two more units, a hold or a release one. Messages and summaries are
    /// written to the partition of their call, not to the index.
    ///
    /// [Listing](crate::log::CallLog::list_calls) queries every shard, eight at a time. A query takes half a read unit for
    /// each 4 KB, which is about 15 headers.
    ///
    /// All processes that use a table must set the same number. The number may grow at any time, because earlier calls
    /// are in the first shards. If it shrinks, calls in the other shards are no longer listed.
    #[must_use]
    pub fn with_day_shards(mut self, shards: NonZeroU8) -> Self {
        self.day_shards = shards;
        self
    }

    /// Sets the clock that decides which calls and records have expired.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    pub(super) fn now_s(&self) -> i64 {
        self.clock.now_ms().div_euclid(1_000)
    }

    /// Returns the cost of all requests of this log and its clones so far.
    pub fn cost(&self) -> Cost {
        self.db.meter.cost()
    }

    /// Returns the name of the table.
    pub fn table(&self) -> &str {
        &self.db.table
    }
}

impl fmt::Debug for DynamoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoLog")
            .field("table", &self.db.table)
            .field("layout", &self.layout)
            .field("texts", &self.texts)
            .field("day_shards", &self.day_shards)
            .finish()
    }
}
