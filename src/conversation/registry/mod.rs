//! [`Conversations`]: a registry of conversations, with limits on memory and queries.
//!
//! Owns the conversations by id, their metadata, and how many messages stay in memory. Reads a log for messages that
//! have left memory, and never writes one.

mod history;
mod metadata;
#[cfg(feature = "query")]
mod query;
mod snapshot;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub(super) use history::{History, HistoryLimit, Needed};
pub use metadata::ConversationMetadata;
pub use snapshot::Snapshot;

use super::Conversation;
use super::error::{ConversationError, Problem};
use crate::clock::{Clock, IdSource, Sources};
use crate::log::{CallId, CallLog};
use crate::manager::{MessagesManager, Prune};

/// The conversations of a service, by id.
///
/// ```
/// use verbale::conversation::{Conversations, HistoryQuery};
/// use verbale::log::CallId;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let conversations = Conversations::default().with_history_limit(200);
/// let conversation = conversations.get_or_create(&CallId::new("CA1")?);
/// conversation.add_user("Hi, there")?;
///
/// assert_eq!(conversation.metadata().messages, 1);
/// assert_eq!(conversations.query(&HistoryQuery::default().with_text("hi"))?.len(), 1);
/// # Ok(()) }
/// ```
///
/// **Locks.** The registry is locked only to look up an id. Each conversation has its own lock, held while it is
/// [changed](Conversation::change) or read. A query locks one conversation after the other. While it waits for a
/// conversation that is being changed, it holds no other lock.
///
/// **Limits.** A conversation over its limit is pruned at the end of each change, through any handle, and when a log
/// [acknowledges](crate::MessagesManager::acknowledge) messages. The oldest messages leave memory and the model's
/// window; see [`prune`](crate::MessagesManager::prune). The metadata stays complete. A conversation may exceed its
/// limit, because the last summary and the messages after it never leave, nor does the caller's unanswered message. A
/// tool call leaves only together with its result.
/// - With a [log](Self::with_log), only acknowledged messages leave, and [`query_with_log`](Self::query_with_log) finds
///   them in the log. A writer may [acknowledge](crate::log::WriterSettings::with_acknowledge_at) messages that it has
///   accepted or spooled; the query then finds them only once they are stored.
/// - Without a log, messages that leave are lost. But if the conversation is also in a registry with a log, or
///   [logs](Conversation::log) itself, only acknowledged messages leave.
pub struct Conversations {
    by_id: RwLock<HashMap<CallId, Conversation>>,
    limit: usize,
    log: Option<Arc<dyn CallLog>>,
    sources: Arc<Sources>,
}

impl Conversations {
    /// Sets the source of time and ids for new conversations.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        self.sources = Arc::new(Sources { clock, ids });
        self
    }

    /// Sets the log to which the service writes all conversations; the registry only reads it. Messages then leave
    /// memory only after the log has acknowledged them.
    #[must_use]
    pub fn with_log(mut self, log: Arc<dyn CallLog>) -> Self {
        self.log = Some(log);
        self
    }

    /// Sets the limit for conversations that are added from now on: the maximum number of messages in memory, of all
    /// roles. 0 counts as 1.
    #[must_use]
    pub fn with_history_limit(mut self, messages: usize) -> Self {
        self.limit = messages;
        self
    }

    /// Returns the conversation with the id `default`, for a service with one conversation at a time.
    #[expect(clippy::expect_used, reason = "the text is a proof")]
    pub fn default_conversation(&self) -> Conversation {
        let id = CallId::new("default").expect("seven letters are the id of a call");
        self.get_or_create(&id)
    }

    /// Returns the conversation with this id, and creates it if necessary. Concurrent callers get the same one.
    pub fn get_or_create(&self, id: &CallId) -> Conversation {
        if let Some(conversation) = self.get(id) {
            return conversation;
        }
        let manager = MessagesManager::new().with_sources(self.sources.clone());
        let new = Conversation::from_manager(id.clone(), manager);
        new.limit_history(self.limited_to(self.limit));
        self.write().entry(id.clone()).or_insert(new).clone()
    }

    /// Returns the conversation with this id.
    pub fn get(&self, id: &CallId) -> Option<Conversation> {
        self.read().get(id).cloned()
    }

    /// Adds a conversation, such as a restored one or a fork. The limit applies to it from now on.
    ///
    /// Returns [`InUse`](super::ConversationErrorKind::InUse) if the registry has one with this id.
    pub fn insert(&self, conversation: &Conversation) -> Result<(), ConversationError> {
        match self.write().entry(conversation.id().clone()) {
            Entry::Occupied(entry) => return Err(Problem::Exists { id: entry.key().clone() }.into()),
            Entry::Vacant(entry) => drop(entry.insert(conversation.clone())),
        }
        // This may wait for a change of the conversation, so the registry is unlocked.
        conversation.limit_history(self.limited_to(self.limit));
        Ok(())
    }

    /// Removes a conversation and returns it. Other clones of it stay valid, and its limit still applies.
    pub fn remove(&self, id: &CallId) -> Option<Conversation> {
        self.write().remove(id)
    }

    /// Returns all conversations, sorted by id.
    pub fn list(&self) -> Vec<Conversation> {
        let mut all: Vec<Conversation> = self.read().values().cloned().collect();
        all.sort_by(|one, other| one.id().cmp(other.id()));
        all
    }

    /// Sets the limit of one conversation, and prunes messages over it. 0 counts as 1.
    ///
    /// Returns [`NotFound`](super::ConversationErrorKind::NotFound) if the registry has none with this id.
    pub fn limit_history(&self, id: &CallId, messages: usize) -> Result<(), ConversationError> {
        let conversation = self.get(id).ok_or_else(|| Problem::UnknownConversation { id: id.clone() })?;
        conversation.limit_history(self.limited_to(messages));
        Ok(())
    }

    fn limited_to(&self, messages: usize) -> HistoryLimit {
        HistoryLimit {
            messages: messages.max(1),
            which: if self.log.is_some() { Prune::Logged } else { Prune::Anything },
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, HashMap<CallId, Conversation>> {
        self.by_id.read().unwrap_or_else(PoisonError::into_inner)
    }

    // Each change is one insertion or removal, so a poisoned map is intact.
    fn write(&self) -> RwLockWriteGuard<'_, HashMap<CallId, Conversation>> {
        self.by_id.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An empty registry without a log, with a limit of 1,000 messages per conversation.
impl Default for Conversations {
    fn default() -> Self {
        Self { by_id: RwLock::default(), limit: 1_000, log: None, sources: Sources::system() }
    }
}

/// Prints the number of conversations.
impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations")
            .field("conversations", &self.read().len())
            .field("limit", &self.limit)
            .field("has_log", &self.log.is_some())
            .finish_non_exhaustive()
    }
}
