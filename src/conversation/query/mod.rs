//! Queries over messages, in memory and in a log, with the same results.
//!
//! Owns [`HistoryQuery`], the matching, the order of results, and the reading of a log. It does not depend on the
//! registry or on the lock of a conversation; their owners pass messages in.

mod answer;
mod best;
mod calls;
mod error;
mod matcher;
mod over_log;
mod search;
mod timeline;

use std::collections::BTreeSet;

pub use answer::{Found, LogAnswer};
pub(super) use calls::Calls;
pub use calls::LogScope;
pub(crate) use error::QueryProblem;
pub use over_log::query_log;
pub(super) use over_log::read_calls;
pub(super) use search::Search;
pub(super) use timeline::Timeline;

use serde::{Deserialize, Serialize};

use crate::log::CallId;
use crate::message::{MessageId, Role, Text};

/// The maximum length of a query's text.
const MAX_TEXT_BYTES: usize = 1_000;

/// A query over messages. A condition that is not set matches everything.
///
/// With serde, a query is a map such as `{"roles": ["user"], "sinceMs": 1744815823058, "order": "newestFirst", "limit":
/// 10}`.
///
/// ```
/// use verbale::conversation::{Conversations, HistoryQuery};
/// use verbale::Role;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let conversations = Conversations::default();
/// conversations.default_conversation().add_user("Where is my ORDER?")?;
/// let query = HistoryQuery::default().with_role(Role::User).with_text("order").newest_first().with_limit(10);
/// let found = conversations.query(&query)?;
/// assert_eq!(found[0].conversation.as_str(), "default");
/// # Ok(()) }
/// ```
///
/// - **Messages.** Messages of users and assistants, system messages and summaries match;
///   [fakes](crate::Message::is_fake), which nobody said, do not. Set roles to select some of them.
/// - **Parts.** A [merged](crate::Message::parts) message matches if one of its parts does: id, time and text must
///   match the same part. A merged message is found once, with the parts that match.
/// - **Order.** Results are sorted by the [creation](crate::Timing::Creation) of the part, oldest or newest first, then
///   by message id, then by conversation. A limit takes the first results.
/// - **Text.** The query searches text contents, including text that the caller did not hear, and tool results: their
///   texts, the strings in their JSON, and their error messages. Each text is searched on its own. It does not search
///   the arguments of tool calls, titles, hints or custom data.
/// - **Case.** Letters are compared by Unicode's [simple case
///   folding](https://www.unicode.org/Public/UCD/latest/ucd/CaseFolding.txt), character by character: `ß` matches `ẞ`
///   but not `ss`, `σ` matches `ς` and `Σ`, and `i` matches neither `İ` nor `ı`. Texts are not normalized: `é` as one
///   character does not match `e` with a combining accent. No character is a wildcard.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryQuery {
    pub(super) conversation: Option<CallId>,
    roles: BTreeSet<Role>,
    since_ms: Option<i64>,
    until_ms: Option<i64>,
    text: Option<Text>,
    id: Option<MessageId>,
    turn_end: Option<Text>,
    limit: Option<usize>,
    order: QueryOrder,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum QueryOrder {
    #[default]
    OldestFirst,
    NewestFirst,
}

impl HistoryQuery {
    /// Selects messages of one conversation.
    #[must_use]
    pub fn with_conversation(self, conversation: CallId) -> Self {
        Self { conversation: Some(conversation), ..self }
    }

    /// Selects messages of a role, in addition to roles that were set before.
    #[must_use]
    pub fn with_role(mut self, role: Role) -> Self {
        self.roles.insert(role);
        self
    }

    /// Selects messages created at this time or later, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_since_ms(self, at_ms: i64) -> Self {
        Self { since_ms: Some(at_ms), ..self }
    }

    /// Selects messages created before this time, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_until_ms(self, at_ms: i64) -> Self {
        Self { until_ms: Some(at_ms), ..self }
    }

    /// Selects messages that contain a text, ignoring case. The text has at most 1,000 bytes and is not blank.
    #[must_use]
    pub fn with_text(self, text: impl Into<Text>) -> Self {
        Self { text: Some(text.into()), ..self }
    }

    /// Selects messages with a [turn](crate::message::TurnRecord) that had this end: `complete`, `cut`, `interrupted`,
    /// or `failed`.
    #[must_use]
    pub fn with_turn_end(self, end: impl Into<Text>) -> Self {
        Self { turn_end: Some(end.into()), ..self }
    }

    /// Selects the message with this id, or with a part of this id. A message of a fork may have the same id.
    #[must_use]
    pub fn with_id(self, id: MessageId) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Sets the maximum number of results.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// Returns the oldest messages first. This is the default.
    #[must_use]
    pub fn oldest_first(self) -> Self {
        Self { order: QueryOrder::OldestFirst, ..self }
    }

    /// Returns the newest messages first.
    #[must_use]
    pub fn newest_first(self) -> Self {
        Self { order: QueryOrder::NewestFirst, ..self }
    }
}
