//! [`Snapshot`]: a conversation as a value that can be stored and restored.

use serde::{Deserialize, Serialize};

use super::{ConversationMetadata, Conversations};
use crate::conversation::Conversation;
use crate::manager::{MessagesManager, RestoreError};
use crate::message::Record;

/// A conversation at one moment: its metadata, and the records of the messages that it has in memory.
///
/// It reads and writes JSON with serde, and [restores](Self::restore) the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Snapshot {
    /// The metadata of the conversation, with its id.
    pub metadata: ConversationMetadata,
    /// The messages, in the order of the list.
    pub records: Vec<Record>,
}

impl Snapshot {
    /// Makes a conversation of the snapshot, with the time and the randomness of the machine. Its log, if it has one, is
    /// taken to know all records.
    ///
    /// Errors: as [`MessagesManager::restore`]. The messages that had [left memory](Conversations) are missing: restore
    /// such a conversation from its log.
    pub fn restore(self) -> Result<Conversation, RestoreError> {
        Ok(Conversation::of(self.metadata.conversation, MessagesManager::restore(self.records)?))
    }
}

impl Conversation {
    /// Returns the conversation as a value.
    pub fn snapshot(&self) -> Snapshot {
        self.with_history(|history, manager| Snapshot {
            metadata: history.metadata(self.id(), manager),
            records: manager.records(),
        })
    }
}

impl Conversations {
    /// Returns all conversations as values, in the order of their ids, each at one moment.
    ///
    /// ```
    /// use verbale::conversation::{Conversations, Snapshot};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let conversations = Conversations::new();
    /// conversations.default_conversation().change(|manager| manager.add_user("Hi, there").map(|_| ()))?;
    ///
    /// let restored = Conversations::new();
    /// for line in conversations.export().lines() {
    ///     restored.insert(&serde_json::from_str::<Snapshot>(line)?.restore()?)?;
    /// }
    /// assert_eq!(restored.snapshot(), conversations.snapshot());
    /// # Ok(()) }
    /// ```
    pub fn snapshot(&self) -> Vec<Snapshot> {
        self.list().iter().map(Conversation::snapshot).collect()
    }

    /// Returns all conversations as JSON Lines: a [`Snapshot`] a line, in the order of their ids.
    ///
    /// For one conversation in a format of others, see [`exchange`](crate::exchange).
    pub fn export(&self) -> String {
        let mut lines = String::new();
        for conversation in self.list() {
            // Records always are JSON.
            lines.push_str(&serde_json::to_string(&conversation.snapshot()).unwrap_or_default());
            lines.push('\n');
        }
        lines
    }
}
