//! [`ConversationMetadata`]: facts about a whole conversation.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::log::CallId;
use crate::message::Role;

/// Facts about a whole conversation, including messages that have left memory.
///
/// Fakes, which nobody said, do not count. Exception: if messages had left memory before the conversation was
/// [created](crate::conversation::Conversation::from_manager), as in a fork of a pruned conversation, only their number
/// is known, and fakes among them count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ConversationMetadata {
    /// The conversation.
    pub conversation: CallId,
    /// The creation time of the first message, in milliseconds since the Unix epoch; `None` without a message, or if
    /// unknown.
    pub created_ms: Option<i64>,
    /// The creation time of the last [part](crate::Message::parts) of the last message, in milliseconds since the Unix
    /// epoch. Summaries do not count.
    pub last_message_ms: Option<i64>,
    /// The time of the last addition of a message, a part or a summary, in milliseconds since the Unix epoch.
    pub last_updated_ms: Option<i64>,
    /// The number of messages that are or were in the list, including summaries. A merged message counts once.
    pub messages: usize,
    /// The number of messages ever added. Each part of a merged message counts; fakes and summaries do not.
    pub update_count: usize,
    /// The roles of all messages so far.
    pub roles: BTreeSet<Role>,
}
