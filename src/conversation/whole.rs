//! Reads back what a conversation was: messages that have left memory, prompts that were sent, and acts without an answer.

use super::Conversation;
use crate::log::{CallLog, LogError};
use crate::manager::MessagesManager;
use crate::message::{PlainMessage, ToolCall};
use crate::model::ModelRequest;
use crate::turn::{Host, prompt_at};

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

    /// Rebuilds the request that was sent at this time, in milliseconds since the Unix epoch: the start of a turn's record
    /// plus `afterMs` of one of its requests. Returns it, and whether its instructions, memory and window have the recorded
    /// hash, if there is one. Returns `None` if no request in memory was sent at that time.
    ///
    /// The messages are those of that time; limits, facts and policy are those of this conversation's
    /// [configuration](super::Config). For a [restored](Self::from_manager) call, the result is what the model got only if
    /// the call had the same configuration. The hashes differ if messages were edited later or their contents were removed.
    /// The hash does not cover tools and inference settings. Takes time in proportion to the conversation.
    pub fn prompt_at(&self, sent_ms: i64) -> Option<(ModelRequest, Option<bool>)> {
        let state = self.state();
        prompt_at(&state.core.manager, &state.core.setup, sent_ms)
    }

    /// Returns the calls of tools that may act and have an outcome that the caller was not told, oldest first. An outcome is
    /// told by a complete answer that came after it and that the caller heard to its end.
    pub fn untold_acts(&self) -> Vec<ToolCall> {
        self.with(|core| core.untold_acts())
    }
}
