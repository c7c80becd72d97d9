//! [`ConversationMetadata`]: what is known of a conversation as a whole.

use std::collections::BTreeSet;

use crate::log::CallId;
use crate::message::Role;

/// What is known of a conversation as a whole, with the messages that have left memory. Fakes, which nobody said, are
/// not counted. Of what had left memory before the conversation was [made](crate::conversation::Conversation::of), as in
/// a fork of one that was pruned, only the number is known, fakes included.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversationMetadata {
    /// The conversation.
    pub conversation: CallId,
    /// When its first message was created, in milliseconds since the Unix epoch; `None` before there is one, and where
    /// that is not known.
    pub created_ms: Option<i64>,
    /// When the message that is its last was created, in milliseconds since the Unix epoch.
    pub last_message_ms: Option<i64>,
    /// How many messages were ever added, summaries too.
    pub messages: usize,
    /// The roles that its messages have ever had.
    pub roles: BTreeSet<Role>,
}
