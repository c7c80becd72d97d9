//! [`Decision`]: which step of which part of a service a message is of. [`ForkedFrom`]: where a conversation left another.

use std::fmt;

use crate::message::id::MessageId;
use crate::message::text::Text;

/// The number of a step: what was made in one decision has one.
///
/// It orders nothing: the order of messages is their [`Position`](crate::message::Position).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step(u32);

impl Step {
    /// Step `number`.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The step behind it; the last one there is has none, and gives itself.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// Which role an adapter to a provider may give a message. A hint, and never what the message means: that is its
/// [`Role`](crate::Role).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RoleHint {
    /// Of who asks.
    User,
    /// Of the model.
    Assistant,
    /// Of a tool.
    Tool,
    /// Of who gives instructions.
    System,
}

impl RoleHint {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::User, Self::Assistant, Self::Tool, Self::System];

    /// The hint as it stands in records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::System => "system",
        }
    }
}

impl fmt::Display for RoleHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which step of which part of a service a message is of. Messages of two decisions are not merged into one.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Groups what was made in one decision.
    pub step: Option<Step>,
    /// Which part of the service made the message.
    pub policy: Option<Text>,
    /// A hint for adapters.
    pub role_hint: Option<RoleHint>,
}

impl Decision {
    /// The decision of a step; nothing else is known of it.
    pub fn of_step(step: Step) -> Self {
        Self { step: Some(step), ..Self::default() }
    }

    /// The same as of a part of the service.
    #[must_use]
    pub fn with_policy(mut self, policy: impl Into<Text>) -> Self {
        self.policy = Some(policy.into());
        self
    }

    /// The same with a hint for adapters.
    #[must_use]
    pub fn with_role_hint(mut self, hint: RoleHint) -> Self {
        self.role_hint = Some(hint);
        self
    }

    /// Whether nothing is known of it.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// The policy is the service's own word.
impl fmt::Debug for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decision")
            .field("step", &self.step)
            .field("policy", &self.policy.as_deref())
            .field("role_hint", &self.role_hint)
            .finish()
    }
}

/// Where a conversation left another one.
///
/// It stands on the last message that both share, or, where they share none, on the first one of the fork's own.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ForkedFrom {
    /// The conversation that was left, by its id.
    pub conversation: Text,
    /// The last message that both share.
    pub behind: Option<MessageId>,
}

impl ForkedFrom {
    /// A fork of `conversation` that shares everything up to `behind`; with `None`, nothing.
    pub fn new(conversation: impl Into<Text>, behind: Option<MessageId>) -> Self {
        Self { conversation: conversation.into(), behind }
    }
}

impl fmt::Debug for ForkedFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForkedFrom")
            .field("conversation", &self.conversation.as_str())
            .field("behind", &self.behind)
            .finish()
    }
}
