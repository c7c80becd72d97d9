//! [`Role`]: the speaker of a message.

use serde::{Deserialize, Serialize};

use super::names::names;

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The caller. Results of tools have this role too.
    User,
    /// The model, and fixed sentences that the service speaks.
    Assistant,
    /// A summary of earlier messages. It reaches the model through the system prompt.
    Summary,
    /// Instructions for the system. They are logged, but never sent to the model as messages.
    System,
}

impl Role {
    /// Returns whether messages of this role can be among the messages for the model.
    pub const fn is_spoken(self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }
}

names!(Role { User: "user", Assistant: "assistant", Summary: "summary", System: "system" });
