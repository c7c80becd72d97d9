//! Many conversations: [`Conversations`], and what each knows of its own history.
//!
//! Owns which conversations there are, their metadata, and how much of each stays in memory. Reads a log where messages
//! have left memory; never writes one.

mod error;
mod history;
mod metadata;
#[cfg(feature = "query")]
mod query;
mod snapshot;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use error::RegistryError;
pub(super) use history::{History, HistoryLimit, Needed};
pub use metadata::ConversationMetadata;
pub use snapshot::Snapshot;

use super::Conversation;
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::log::{CallId, CallLog};
use crate::manager::Prune;

/// The conversations of a service, by id.
///
/// ```
/// use verbale::conversation::{Conversations, HistoryQuery};
/// use verbale::log::CallId;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let conversations = Conversations::new().with_history_limit(200);
/// let conversation = conversations.get_or_create(&CallId::new("CA1")?);
/// conversation.add_user("Hi, there")?;
///
/// let metadata = conversations.metadata(conversation.id()).expect("just made");
/// assert_eq!(metadata.messages, 1);
/// assert_eq!(conversations.query(&HistoryQuery::default().with_text("hi"))?.len(), 1);
/// # Ok(()) }
/// ```
///
/// **Nobody waits for another conversation.** The registry is locked to look an id up, and no longer; each conversation has
/// a lock of its own, which is held while it is [changed](Conversation::change) or read. Who asks for the metadata of a
/// conversation that is being changed, or queries it, waits for that one, with nothing else held; a query looks at one
/// conversation after the other, each at one moment. What is found is never less for it.
///
/// **Limits.** A conversation that has outgrown its limit is pruned at the end of the change that made it so, whoever made
/// it through whichever handle, or of the one that [acknowledged](crate::MessagesManager::acknowledge) what is in the
/// way: its oldest messages leave memory, as [`prune`](crate::MessagesManager::prune) says, and its metadata stays as it
/// was. Never half of a tool call and its result leaves, nor the last summary with all behind it, nor the caller's
/// unanswered message: a conversation may be longer than its limit for that. What leaves is in the model's window no more.
/// - With a [log](Self::with_log), only messages leave that were acknowledged, so that the log has them: until then a
///   conversation may be longer than its limit. [`query_with_log`](Self::query_with_log) finds them there; with a writer
///   that [acknowledges](crate::log::WriterSettings::with_acknowledge_at) what it has accepted or spooled, once it has stored
///   them.
/// - Without one, what leaves is gone. (Of a conversation that is also in a registry with a log, or that
///   [logs](Conversation::log) itself, only what is acknowledged leaves here too.)
pub struct Conversations {
    by_id: RwLock<HashMap<CallId, Conversation>>,
    limit: usize,
    log: Option<Arc<dyn CallLog>>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
}

impl Conversations {
    /// How many messages of a conversation stay in memory, where no other limit is set.
    pub const HISTORY_LIMIT: usize = 1_000;

    /// None yet, without a log, with the time and the randomness of the machine for those it makes.
    pub fn new() -> Self {
        Self {
            by_id: RwLock::default(),
            limit: Self::HISTORY_LIMIT,
            log: None,
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
        }
    }

    /// The same with time and ids from elsewhere for the conversations that it makes.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>, ids: Arc<dyn IdSource>) -> Self {
        (self.clock, self.ids) = (clock, ids);
        self
    }

    /// The same with the log that all of them are written to, by whoever changes them: messages leave memory only once
    /// it has them.
    #[must_use]
    pub fn with_log(mut self, log: Arc<dyn CallLog>) -> Self {
        self.log = Some(log);
        self
    }

    /// The same with another limit for the conversations to come: so many messages stay in memory, of all kinds; 0 counts as 1.
    #[must_use]
    pub fn with_history_limit(mut self, messages: usize) -> Self {
        self.limit = messages;
        self
    }

    /// The conversation of a service that has only one at a time; its id is `default`.
    #[expect(clippy::expect_used, reason = "the text is a proof")]
    pub fn default_conversation(&self) -> Conversation {
        let id = CallId::new("default").expect("seven letters are the id of a call");
        self.get_or_create(&id)
    }

    /// A new conversation. Errors: there is one with this id.
    pub fn create(&self, id: CallId) -> Result<Conversation, RegistryError> {
        let conversation = self.make(&id);
        self.put(&conversation)?;
        Ok(conversation)
    }

    /// The conversation with this id, and a new one where there is none. Who asks at the same time gets the same one.
    pub fn get_or_create(&self, id: &CallId) -> Conversation {
        if let Some(conversation) = self.get(id) {
            return conversation;
        }
        let made = self.make(id);
        self.write().entry(id.clone()).or_insert(made).clone()
    }

    /// The conversation with this id.
    pub fn get(&self, id: &CallId) -> Option<Conversation> {
        self.read().get(id).cloned()
    }

    /// Takes in a conversation that was made elsewhere: a restored one, or a fork. The limit holds for it from now on.
    ///
    /// Errors: there is one with this id.
    pub fn insert(&self, conversation: &Conversation) -> Result<(), RegistryError> {
        self.put(conversation)?;
        // Whoever changes it just now is waited for, with the registry open.
        conversation.limit_history(self.limited_to(self.limit));
        Ok(())
    }

    /// Takes a conversation out, and gives it. Its handles go on, and so does its limit.
    pub fn remove(&self, id: &CallId) -> Option<Conversation> {
        self.write().remove(id)
    }

    /// All of them, in the order of their ids.
    pub fn list(&self) -> Vec<Conversation> {
        let mut all: Vec<Conversation> = self.read().values().cloned().collect();
        all.sort_by(|one, other| one.id().cmp(other.id()));
        all
    }

    /// What is known of a conversation as a whole.
    pub fn metadata(&self, id: &CallId) -> Option<ConversationMetadata> {
        Some(self.get(id)?.metadata())
    }

    /// Sets how many messages of one conversation stay in memory; 0 counts as 1. What is over that leaves at once.
    ///
    /// Errors: there is none with this id.
    pub fn limit_history(&self, id: &CallId, messages: usize) -> Result<(), RegistryError> {
        let conversation = self.get(id).ok_or_else(|| RegistryError::Unknown { id: id.clone() })?;
        conversation.limit_history(self.limited_to(messages));
        Ok(())
    }

    fn make(&self, id: &CallId) -> Conversation {
        let made = Conversation::with_clock(id.clone(), self.clock.clone(), self.ids.clone());
        made.limit_history(self.limited_to(self.limit));
        made
    }

    fn put(&self, conversation: &Conversation) -> Result<(), RegistryError> {
        match self.write().entry(conversation.id().clone()) {
            Entry::Occupied(_) => Err(RegistryError::Exists { id: conversation.id().clone() }),
            Entry::Vacant(place) => {
                place.insert(conversation.clone());
                Ok(())
            }
        }
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

    // Each change is one insertion or removal: nobody can leave it half changed.
    fn write(&self) -> RwLockWriteGuard<'_, HashMap<CallId, Conversation>> {
        self.by_id.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Conversations {
    fn default() -> Self {
        Self::new()
    }
}

/// How many conversations.
impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations")
            .field("conversations", &self.read().len())
            .field("limit", &self.limit)
            .field("has_log", &self.log.is_some())
            .finish_non_exhaustive()
    }
}
