//! [`Decision`]: the decision that made a message. [`ForkedFrom`]: the origin of a fork.

use std::fmt;

use super::id::MessageId;
use super::names::names;
use super::text::Text;

/// A role that an adapter to a provider may give a message.
///
/// It does not change the meaning of a message, which is its [`Role`](crate::Role). The formats of `exchange` write the
/// hinted role if the format has it; requests to Bedrock ignore the hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RoleHint {
    /// The person or program that asks.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// The author of the instructions.
    System,
}

names!(RoleHint { User: "user", Assistant: "assistant", Tool: "tool", System: "system" });

/// The decision that made a message, in a service whose parts decide in steps.
///
/// Messages of different decisions are not merged.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Decision {
    /// The number of the decision in the conversation. All messages of one decision have the same step.
    ///
    /// Steps do not order messages; [`Position`](crate::message::Position) does.
    pub step: Option<u32>,
    /// The name of the part of the service that decided, such as `planner`. Records have it under `policy`.
    pub decided_by: Option<Text>,
    /// A hint for adapters to providers.
    pub role_hint: Option<RoleHint>,
}

/// Shows the name of the part that decided, which the service chose.
impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("step", &self.step)
            .field("decided_by", &self.decided_by.as_deref())
            .field("role_hint", &self.role_hint)
            .finish()
    }
}

/// The conversation from which a fork was made, and the last message that both share.
///
/// In the fork, the last shared message has this mark in its metadata. If no message is shared, the first message has
/// the mark.
#[derive(Clone, PartialEq, Eq)]
pub struct ForkedFrom {
    /// The id of the source conversation.
    pub conversation: Text,
    /// The last message that both share, if any.
    pub after: Option<MessageId>,
}

impl fmt::Debug for ForkedFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkedFrom")
            .field("conversation", &self.conversation.as_str())
            .field("after", &self.after)
            .finish()
    }
}
