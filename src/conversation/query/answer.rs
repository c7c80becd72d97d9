//! The results of a query: [`Found`], and [`LogAnswer`] for a query over a log.

use crate::contents::Problem;
use crate::log::CallId;
use crate::manager::LeftOut;
use crate::message::{Message, MessageId};

/// A message that a query found. It shares its texts with the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The conversation of the message.
    pub conversation: CallId,
    /// The message, with all its parts.
    pub message: Message,
    /// The ids of the [parts](Message::parts) that match: at least one, in the order of the message.
    pub parts: Vec<MessageId>,
    /// The time by which results are sorted, in milliseconds since the Unix epoch: the creation of the oldest part that
    /// matches, or of the newest with [`newest_first`](super::HistoryQuery::newest_first).
    pub at_ms: i64,
}

/// The results of a query over a log.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogAnswer {
    /// The messages, in the order of the query.
    pub found: Vec<Found>,
    /// The contents that the log could not load, if their message matches every other condition of the query: the
    /// searched text may be in these contents. Only a log with [offloading](crate::log::Offloading) reports any.
    pub problems: Vec<(CallId, Problem)>,
    /// The records that the log has but could not read. Any of them may match.
    pub left_out: Vec<(CallId, LeftOut)>,
}
