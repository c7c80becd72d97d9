//! [`Role`]: who speaks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Role {
    /// The caller; results of tools come in messages of this role too.
    User,
    /// The model, and sentences spoken in its name.
    Assistant,
    /// A summary of what was said before. Reaches the model through the system prompt.
    Summary,
    /// System instructions: logged, never among the messages for the model.
    System,
}

impl Role {
    /// The role as it stands in records: `user`, `assistant`, `summary` or `supervisor`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Summary => "summary",
            Self::System => "system",
        }
    }

    /// Whether messages of this role can reach the model as messages.
    pub const fn is_spoken(self) -> bool {
        matches!(self, Self::User | Self::Assistant)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
