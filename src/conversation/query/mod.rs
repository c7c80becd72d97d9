//! Queries over what was said: the same over conversations in memory and over a log, with the same answers.
//!
//! Owns [`HistoryQuery`], what of a message is looked at, the order of what is found, and the way through a log. Knows
//! neither the registry nor who shares a conversation: they hand their messages in.

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
pub use error::QueryError;
pub use over_log::query_log;
pub(super) use over_log::read_calls;
pub(super) use search::Search;
pub(super) use timeline::Timeline;

use serde::{Deserialize, Serialize};

use crate::log::CallId;
use crate::message::{MessageId, Role, Text};

/// Which messages to find. What is not set asks for nothing, so that the default one finds everything.
///
/// With serde, it is a map such as `{"roles": ["user"], "sinceMs": 1744815823058, "order": "newestFirst", "limit": 10}`.
///
/// ```
/// use verbale::conversation::{Conversations, HistoryQuery};
/// use verbale::{MessageWrapper, Role};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let conversations = Conversations::new();
/// conversations.default_conversation().change(|manager| manager.add_user("Where is my ORDER?").map(|_| ()))?;
/// let query = HistoryQuery::default().with_role(Role::User).with_text("order").newest_first().with_limit(10);
/// let found = conversations.query(&query)?;
/// assert_eq!(found[0].conversation.as_str(), "default");
/// # Ok(()) }
/// ```
///
/// - **Which messages count.** All but [fakes](crate::Message::is_fake), which nobody said: those of users and
///   assistants, supervisor messages and summaries. Ask for roles where only some of them are wanted.
/// - **Parts.** A message that was [merged](crate::Message::parts) matches if one of its parts does: id, time and text must
///   hold for the same part. It is found once, with the parts that match.
/// - **Order.** What is found comes in the order of time, the oldest or the newest first, which is when a part was
///   [created](crate::Timing::Creation); at equal times by message id, then by conversation. A limit takes the first of
///   that order.
/// - **Text.** Looked into are the texts of contents, all that was generated and not only what was heard, and of
///   results of tools their texts, the strings in their JSON, and the messages of errors; each by itself, so that
///   nothing is found across two of them. Not looked into are arguments of calls, titles, hints and custom data.
/// - **Case.** Letters are compared by Unicode's [simple case
///   folding](https://www.unicode.org/Public/UCD/latest/ucd/CaseFolding.txt), one character for one: `ß` finds `ẞ` and
///   not `ss`, `σ` finds `ς` and `Σ`, `i` finds neither `İ` nor `ı`. Nothing is normalised: `é` in one character does
///   not find `e` with a combining accent. No character of a text has a meaning beyond itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct HistoryQuery {
    /// Messages of this conversation; with `None`, of all.
    pub conversation: Option<CallId>,
    /// Messages of one of these roles; with none, of all.
    pub roles: BTreeSet<Role>,
    /// Messages created at this moment or later, in milliseconds since the Unix epoch.
    pub since_ms: Option<i64>,
    /// Messages created before this moment, in milliseconds since the Unix epoch: not at it, so that ranges which
    /// follow each other share nothing.
    pub until_ms: Option<i64>,
    /// Messages that hold this text, whatever its case; 1 to [`MAX_TEXT_BYTES`](Self::MAX_TEXT_BYTES) bytes, not blank.
    pub text: Option<Text>,
    /// The message with this id, or the part of a message. Forks may share it.
    pub id: Option<MessageId>,
    /// Messages with a [turn](crate::message::TurnRecord) that ended like this, such as `failed`.
    pub turn_end: Option<Text>,
    /// How many at most.
    pub limit: Option<usize>,
    /// Which ones come first.
    pub order: QueryOrder,
}

/// Which of the messages that a query finds come first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum QueryOrder {
    /// From the oldest on.
    #[default]
    OldestFirst,
    /// From the newest back.
    NewestFirst,
}

impl HistoryQuery {
    /// How long a text can be that is searched for.
    pub const MAX_TEXT_BYTES: usize = 1_000;

    /// The same within one conversation.
    #[must_use]
    pub fn with_conversation(mut self, conversation: CallId) -> Self {
        self.conversation = Some(conversation);
        self
    }

    /// The same for messages of a role, beside those of roles that were given before.
    #[must_use]
    pub fn with_role(mut self, role: Role) -> Self {
        self.roles.insert(role);
        self
    }

    /// The same from a moment on, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_since_ms(mut self, at_ms: i64) -> Self {
        self.since_ms = Some(at_ms);
        self
    }

    /// The same before a moment, in milliseconds since the Unix epoch.
    #[must_use]
    pub fn with_until_ms(mut self, at_ms: i64) -> Self {
        self.until_ms = Some(at_ms);
        self
    }

    /// The same for messages that hold a text.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<Text>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// The same for messages with a turn that ended like this: `complete`, `cut`, `interrupted`, or `failed`.
    #[must_use]
    pub fn with_turn_end(mut self, end: impl Into<Text>) -> Self {
        self.turn_end = Some(end.into());
        self
    }

    /// The same for the message with an id.
    #[must_use]
    pub fn with_id(mut self, id: MessageId) -> Self {
        self.id = Some(id);
        self
    }

    /// The same for at most `limit` messages.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Returns the newest messages first.
    #[must_use]
    pub fn newest_first(mut self) -> Self {
        self.order = QueryOrder::NewestFirst;
        self
    }
}
