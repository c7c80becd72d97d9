//! [`Chats`]: the open conversations of chats. They are calls of the log, written by the same writer as those of telephones.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::Instant;
use verbale::clock::{Clock, SystemClock};
use verbale::conversation::{Conversation, Conversations};
use verbale::log::{CallHeader, CallId, CallWriter, LogErrorKind, LogWriter};

use super::message::Message;
use crate::log::Log;
use crate::serve::error::ApiError;

/// The most messages of a conversation in memory. The log has all.
pub const MAX_HISTORY: usize = 1_000;
/// How long the log may take to open or resume a conversation, and to store its end.
const LOG_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the log may take to store a message.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// The open conversations.
pub struct Chats {
    writer: LogWriter,
    /// Limits what is in memory.
    registry: Conversations,
    open: Mutex<HashMap<CallId, Chat>>,
}

#[derive(Clone)]
struct Chat {
    conversation: Conversation,
    writer: Arc<CallWriter>,
    /// The time of the last message.
    used: Instant,
}

/// A message that was added, and that the writer stores.
#[must_use]
pub struct Added(Arc<CallWriter>);

impl Added {
    /// Waits until the log has the message, but not long. Returns whether it has.
    pub async fn is_stored(&self) -> bool {
        self.0.flush(STORE_TIMEOUT).await.is_empty()
    }
}

impl Chats {
    pub fn new(writer: LogWriter, log: Log) -> Self {
        let registry = Conversations::default().with_log(log).with_history_limit(MAX_HISTORY);
        Self { writer, registry, open: Mutex::default() }
    }

    pub fn get(&self, call_id: &CallId) -> Option<Conversation> {
        self.open().get(call_id).map(|chat| chat.conversation.clone())
    }

    /// Returns the open conversations, sorted by id.
    pub fn all(&self) -> Vec<Conversation> {
        self.registry.list()
    }

    pub fn ids(&self) -> Vec<CallId> {
        self.open().keys().cloned().collect()
    }

    /// Returns the conversations that had no message for this long.
    pub fn idle(&self, limit: Duration) -> Vec<CallId> {
        self.open().iter().filter(|(_, chat)| chat.used.elapsed() > limit).map(|(call_id, _)| call_id.clone()).collect()
    }

    /// Adds a message to its conversation, which is opened or resumed if needed. Nobody else opens it meanwhile.
    pub async fn add(&self, message: &Message) -> Result<Added, ApiError> {
        let chat = self.open_or_resume(&message.call_id).await?;
        chat.conversation.change(|manager| message.add_to(manager)).map_err(ApiError::conflict)??;
        Ok(Added(chat.writer))
    }

    async fn open_or_resume(&self, call_id: &CallId) -> Result<Chat, ApiError> {
        if let Some(chat) = self.open().get_mut(call_id).filter(|chat| chat.conversation.not_logged().is_none()) {
            chat.used = Instant::now();
            return Ok(chat.clone());
        }
        // Another server may have written the conversation meanwhile.
        self.forget(call_id);
        let (conversation, writer) = match self.writer.resume(call_id, LOG_TIMEOUT).await {
            Ok((manager, writer)) => (Conversation::from_manager(call_id.clone(), manager), writer),
            Err(error) if error.kind() == LogErrorKind::NotOpened => {
                let header = CallHeader::new(call_id.clone(), SystemClock.now_ms())?;
                (Conversation::new(call_id.clone()), self.writer.open(header)?)
            }
            Err(error) => return Err(error.into()),
        };
        let chat = Chat { conversation, writer: Arc::new(writer), used: Instant::now() };
        self.registry.insert(&chat.conversation).map_err(ApiError::conflict)?;
        chat.conversation.log(chat.writer.clone());
        self.open().insert(call_id.clone(), chat.clone());
        Ok(chat)
    }

    /// Ends a conversation. Returns whether it was open.
    pub async fn close(&self, call_id: &CallId, reason: &str) -> Result<bool, ApiError> {
        self.close_within(call_id, reason, LOG_TIMEOUT).await
    }

    async fn close_within(&self, call_id: &CallId, reason: &str, timeout: Duration) -> Result<bool, ApiError> {
        let Some(conversation) = self.get(call_id) else { return Ok(false) };
        // The changes that are not stored in time stay in the writer.
        conversation.finish(reason, timeout).await.map_err(ApiError::invalid)?;
        self.forget(call_id);
        Ok(true)
    }

    /// Ends all conversations, and waits so long for the log.
    pub async fn drain(&self, timeout: Duration) {
        let ids = self.ids();
        // What the log does not take stays in the writer, which counts it when the process ends.
        drop(join_all(ids.iter().map(|call_id| self.close_within(call_id, "drain", timeout))).await);
    }

    fn forget(&self, call_id: &CallId) {
        self.open().remove(call_id);
        self.registry.remove(call_id);
    }

    fn open(&self) -> MutexGuard<'_, HashMap<CallId, Chat>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
