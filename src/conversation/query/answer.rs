//! What a query finds: [`Found`], and over a log [`LogAnswer`].

use crate::contents::Problem;
use crate::log::CallId;
use crate::message::{Message, MessageId};

/// A message that a query found, and where. It shares its texts with the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The conversation of the message.
    pub conversation: CallId,
    /// The message, with all its parts.
    pub message: Message,
    /// The ids of the [parts](Message::parts) that match: at least one, in the order of the message.
    pub parts: Vec<MessageId>,
    /// When the part was added that places the message in the answer, in milliseconds since the Unix epoch: the oldest
    /// part that matches, or, with [`NewestFirst`](super::QueryOrder::NewestFirst), the newest.
    pub at_ms: i64,
}

/// What a query over a log found.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogAnswer {
    /// The messages, in the order of the query.
    pub found: Vec<Found>,
    /// The contents that the log could not load of messages which the query asks for, whatever their text: what was
    /// searched for may be in them. Only a log that [offloads](crate::log::Offloading) has any.
    pub problems: Vec<(CallId, Problem)>,
}
