//! [`ManagerError`]: why a manager refused a change or records.

use crate::message::{MessageError, MessageId, Position, Role, ToolCallId};

/// The reason why a [`MessagesManager`](crate::MessagesManager) refused a change, a fork, or records. The conversation
/// stays as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(transparent)]
pub struct ManagerError(pub(crate) Refusal);

impl ManagerError {
    /// Returns whether all contents of a message, or the text of a summary, are blank.
    pub fn is_blank(&self) -> bool {
        matches!(self.0, Refusal::Blank)
    }

    /// Returns whether a summary is stale: its messages are summarized already, have changed, or belong to another
    /// conversation. Drop the summary, and call `summarizing()` again.
    pub fn is_stale(&self) -> bool {
        matches!(self.0, Refusal::StaleSummary)
    }

    /// Returns whether a fork needs a message that is not in memory. Restore the conversation from its log, and fork that.
    pub fn is_not_in_memory(&self) -> bool {
        matches!(self.0, Refusal::NotInMemory { .. } | Refusal::Pruned { .. })
    }
}

impl<R: Into<Refusal>> From<R> for ManagerError {
    fn from(refusal: R) -> Self {
        Self(refusal.into())
    }
}

/// The reasons of a [`ManagerError`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// All contents are blank texts.
    #[error("cannot add a message whose contents are all blank; leave it out")]
    Blank,
    /// A message of this role cannot hold the content, or cannot be added this way.
    #[error("a message of role {role} cannot hold {content}")]
    WrongRole {
        /// The role of the refused message.
        role: Role,
        /// The kind of content, and what to do.
        content: &'static str,
    },
    /// The id of a tool call is already used, or a tool result does not match its call.
    #[error("tool call `{id}` {reason}")]
    ToolCall {
        /// The id of the call.
        id: ToolCallId,
        /// The problem, and how to fix it.
        reason: &'static str,
    },
    /// The tool call already has a result.
    #[error("tool call `{id}` already has a result; drop the second one")]
    SecondResult {
        /// The id of the call.
        id: ToolCallId,
    },
    /// Another message or part has this id.
    #[error("message id {id} is already in this conversation; give each message an id of its own")]
    RepeatedId {
        /// The repeated id.
        id: MessageId,
    },
    /// The messages of the summary are summarized already, have changed, or belong to another conversation.
    #[error(
        "the summary is stale: its messages are summarized already, have changed, or are of another conversation; drop \
         it and call `summarizing()` again"
    )]
    StaleSummary,
    /// The conversation is full. It has at most 100 million messages and 10 thousand summaries, because the keys of its
    /// records have 8 and 4 digits for their numbers.
    #[error("the conversation has no room for more than {max} {what}; start a new one")]
    Full {
        /// The maximum number.
        max: u32,
        /// Messages or summaries.
        what: &'static str,
    },
    /// No message in memory has this id.
    #[error(
        "message {id} is not in this conversation; if it was pruned, restore the conversation from its log and fork that"
    )]
    NotInMemory {
        /// The id.
        id: MessageId,
    },
    /// The fork's window would need messages that were pruned.
    #[error(
        "the messages that a fork needs before message {id} were pruned; restore the conversation from its log and \
         fork that"
    )]
    Pruned {
        /// The message at which the fork was to start.
        id: MessageId,
    },
    /// The message is a summary or a fake.
    #[error("message {id} is {what} and cannot be edited; edit a message that somebody said")]
    NotEditable {
        /// The message.
        id: MessageId,
        /// The kind of message.
        what: &'static str,
    },
    /// The fork would have the id of its source.
    #[error("the fork has the id of the conversation that it was made from; give it an id of its own")]
    SameConversation,
    /// A record is missing before another one.
    #[error(
        "message {seq} is missing; read all pages of the call's records, consistently; if the log does not have the \
         message, for example because it is a dead letter, resume the call, or use `LoggedCall::restore`, which leaves it out"
    )]
    Missing {
        /// The number of the missing message.
        seq: u32,
    },
    /// Two messages have the same position.
    #[error("messages {first} and {second} both have number {}; they are of two calls, or two processes wrote one", position.seq())]
    Conflict {
        /// One of the messages.
        first: MessageId,
        /// The other message.
        second: MessageId,
        /// Their position.
        position: Position,
    },
    /// A record is invalid, or does not fit the records before it.
    #[error("message {id} does not fit the messages before it: {reason}")]
    Misplaced {
        /// The message.
        id: MessageId,
        /// The problem.
        reason: String,
    },
    /// A content or value is invalid by itself.
    #[error(transparent)]
    Message(#[from] MessageError),
}

impl Refusal {
    pub(super) fn repeated_call(id: &ToolCallId) -> Self {
        Self::ToolCall { id: id.clone(), reason: "is already in this conversation; give each call an id of its own" }
    }

    pub(super) fn unknown_call(id: &ToolCallId) -> Self {
        Self::ToolCall {
            id: id.clone(),
            reason: "is not in this conversation, so its result is refused; add the call first",
        }
    }

    pub(super) fn mismatched_result(id: &ToolCallId) -> Self {
        let reason = "is of another tool than its result; make the result with the call's `success` or `failure`";
        Self::ToolCall { id: id.clone(), reason }
    }
}
