//! Reads messages back that have left memory.

use super::Conversation;
use crate::log::{CallLog, LogError};
use crate::manager::MessagesManager;
use crate::message::PlainMessage;

impl Conversation {
    /// Returns all messages: those in memory, and from the log those that [left](super::Config::with_all_messages) it.
    /// They can be printed, searched and [forked](MessagesManager::fork). Changes to them do not affect this
    /// conversation.
    ///
    /// Returns the error of the log if the call cannot be read.
    pub async fn whole(&self, log: &dyn CallLog) -> Result<MessagesManager<PlainMessage>, LogError> {
        let mut call = log.read_call(self.id()).await?;
        // The newest revision of each message counts.
        call.records.extend(self.read(MessagesManager::records));
        Ok(call.restore())
    }
}
