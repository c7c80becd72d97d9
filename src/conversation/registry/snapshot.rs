//! [`Snapshot`]: a conversation as a value that can be stored and restored.

use serde::{Deserialize, Serialize};

use super::{ConversationMetadata, Conversations};
use crate::conversation::Conversation;
use crate::manager::{Expected, LeftOut, ManagerError, MessagesManager, Refusal};
use crate::message::{PlainMessage, Position, Record};

/// A conversation at one moment: its metadata, and the records of its messages in memory.
///
/// Serde serializes it, for example as JSON, and [`restore`](Self::restore) returns the conversation. It contains no
/// configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    metadata: ConversationMetadata,
    records: Vec<Record>,
    /// The numbers of the messages that the conversation lacks.
    #[serde(default, rename = "leftOut", skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<u32>,
}

impl Snapshot {
    /// Restores the conversation, with the system's clock and random ids. All records count as logged.
    ///
    /// Returns the errors of [`MessagesManager::restore`]. It also fails if messages had [left memory](Conversations);
    /// restore such a conversation from its log.
    pub fn restore(self) -> Result<Conversation, ManagerError> {
        let manager = match self.left_out.as_slice() {
            [] => MessagesManager::restore(self.records)?,
            left_out => restored_without(left_out, self.records)?,
        };
        Ok(Conversation::from_manager(self.metadata.conversation, manager))
    }
}

/// Restores a conversation that lacks these messages, and no others.
fn restored_without(left_out: &[u32], records: Vec<Record>) -> Result<MessagesManager<PlainMessage>, ManagerError> {
    let missing = |seq: &u32| LeftOut::new(Position::message(*seq), None, "the snapshot was taken without it");
    let expected = Expected { left_out: left_out.iter().map(missing).collect(), ..Expected::default() };
    let manager = MessagesManager::restore_available(records, expected);
    let is_new = |it: &&LeftOut| it.position.summary_number().is_none() && !left_out.contains(&it.position.seq());
    match manager.left_out().iter().find(is_new) {
        Some(other) => Err(Refusal::Missing { seq: other.position.seq() }.into()),
        None => Ok(manager),
    }
}

impl Conversation {
    /// Returns the conversation's metadata and its messages in memory, as a value.
    pub fn snapshot(&self) -> Snapshot {
        self.with_history(|history, manager| Snapshot {
            metadata: history.metadata(self.id(), manager),
            records: manager.records(),
            left_out: manager.missing().collect(),
        })
    }
}

impl Conversations {
    /// Returns all conversations as JSON Lines: one [`Snapshot`] per line, sorted by id. Each snapshot is consistent in
    /// itself.
    ///
    /// [`exchange`](crate::exchange) writes single conversations in the formats of other systems.
    ///
    /// ```
    /// use verbale::conversation::{Conversations, Snapshot};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let conversations = Conversations::default();
    /// conversations.default_conversation().add_user("Hi, there")?;
    ///
    /// let restored = Conversations::default();
    /// for line in conversations.export().lines() {
    ///     restored.insert(&serde_json::from_str::<Snapshot>(line)?.restore()?)?;
    /// }
    /// assert_eq!(restored.export(), conversations.export());
    /// # Ok(()) }
    /// ```
    pub fn export(&self) -> String {
        let mut lines = String::new();
        for conversation in self.list() {
            // Serializing a record to JSON cannot fail.
            lines.push_str(&serde_json::to_string(&conversation.snapshot()).unwrap_or_default());
            lines.push('\n');
        }
        lines
    }
}
