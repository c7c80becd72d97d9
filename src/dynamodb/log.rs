//! [`DynamoLog`]: calls in a table.

use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use super::names;
use crate::clock::{Clock, SystemClock};

/// Calls in a table: [`open`](Self::open), [`put`](Self::put), [`put_all`](Self::put_all), [`read`](Self::read),
/// [`list`](Self::list), [`erase`](Self::erase). Each also says what it cost; as a [`CallLog`](crate::log::CallLog)
/// the same is there without.
///
/// Clones share the client. There are no retries in it: each method does once what it says, and each can be called
/// again after any error and after any cancellation, for a write is done when the table holds the record, whoever
/// brought it there. (A dropped future does not undo its write, which may still land.)
///
/// The credentials need `dynamodb:PutItem` and `dynamodb:Query` on the table, and what [`list`](Self::list) and
/// [`erase`](Self::erase) say beside that. [`log_client`](super::log_client) sets
/// up a client's time-outs.
#[derive(Clone)]
pub struct DynamoLog {
    pub(super) client: Client,
    pub(super) table: Arc<str>,
    pub(super) expires_at: Option<i64>,
    pub(super) clock: Arc<dyn Clock>,
}

impl DynamoLog {
    /// A log in table [`names::DEFAULT_TABLE`].
    pub fn new(client: Client) -> Self {
        Self { client, table: names::DEFAULT_TABLE.into(), expires_at: None, clock: Arc::new(SystemClock) }
    }

    /// The same in another table.
    #[must_use]
    pub fn with_table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.table = name.into();
        self
    }

    /// The same, with items that expire at one moment, in seconds since the Unix epoch. Take one moment for a whole
    /// call, such as its start and the days that it is to be kept, so that a call is there as a whole or not at all.
    #[must_use]
    pub fn with_expires_at(mut self, at_s: i64) -> Self {
        self.expires_at = Some(at_s);
        self
    }

    /// The same with another clock, which says what has expired.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The name of the table.
    pub fn table(&self) -> &str {
        &self.table
    }
}

impl fmt::Debug for DynamoLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoLog").field("table", &self.table).field("expires_at", &self.expires_at).finish()
    }
}
