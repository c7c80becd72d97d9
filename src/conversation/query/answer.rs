//! What a query finds: [`Found`], and over a log [`LogAnswer`].

use crate::contents::Problem;
use crate::log::CallId;
use crate::message::Message;

/// A message that a query found, and where. It shares its texts with the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The conversation that it is of.
    pub conversation: CallId,
    /// The message.
    pub message: Message,
}

/// What a query over a log found.
#[derive(Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogAnswer {
    /// The messages, in the order of time.
    pub found: Vec<Found>,
    /// The contents that the log could not load of messages which the query asks for, whatever their text: what was
    /// searched for may be in them. Only a log that [offloads](crate::log::Offloading) has any.
    pub problems: Vec<(CallId, Problem)>,
}
