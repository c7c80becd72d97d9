//! [`ConversationMetadata`]: what is known of a conversation as a whole.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::log::CallId;
use crate::message::Role;

/// What is known of a conversation as a whole, with the messages that have left memory. Fakes, which nobody said, are
/// not counted. Of what had left memory before the conversation was [made](crate::conversation::Conversation::of), as in
/// a fork of one that was pruned, only the number is known, fakes included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversationMetadata {
    /// The conversation.
    pub conversation: CallId,
    /// When its first message was created, in milliseconds since the Unix epoch; `None` before there is one, and where
    /// that is not known.
    pub created_ms: Option<i64>,
    /// When its last message, or the last [part](crate::Message::parts) of that, was created, in milliseconds since the
    /// Unix epoch. A summary is no message of the conversation here.
    pub last_message_ms: Option<i64>,
    /// When something was added last, a message, a part or a summary, in milliseconds since the Unix epoch.
    pub last_updated_ms: Option<i64>,
    /// How many messages are, or were, in its list, summaries too. Merged messages are one.
    pub messages: usize,
    /// How many messages were ever added. Those that were merged count each; fakes and summaries do not.
    pub update_count: usize,
    /// The roles that its messages have ever had.
    pub roles: BTreeSet<Role>,
}
