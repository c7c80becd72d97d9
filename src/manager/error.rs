//! Why the manager refuses: [`ManagerError`], [`ForkError`] and [`RestoreError`].

use crate::message::{MessageError, MessageId, Position, Role, ToolCallId};

/// Why a [`MessagesManager`](crate::MessagesManager) refuses a change. What was refused left no trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// All contents were texts that say nothing.
    #[error("a message must say something: all its contents are blank")]
    Blank,
    /// Summaries come through `add_summary`, with what they cover.
    #[error("a summary is added with `add_summary`, which knows what it covers")]
    SummaryRole,
    /// A tool call stands in an assistant message, a result in a user message.
    #[error("a message of role {role} cannot hold {content}")]
    WrongRole {
        /// The role of the refused message.
        role: Role,
        /// The kind of content.
        content: &'static str,
    },
    /// An invocation id is used once in a conversation.
    #[error("invocation `{id}` is already in this conversation; give each call an id of its own")]
    RepeatedToolCall {
        /// The repeated id.
        id: ToolCallId,
    },
    /// No call has this id.
    #[error("the result of invocation `{id}` has no call in this conversation")]
    UnknownToolCall {
        /// The id without a call.
        id: ToolCallId,
    },
    /// A call has one result.
    #[error("invocation `{id}` already has its result")]
    SecondResult {
        /// The id that was answered before.
        id: ToolCallId,
    },
    /// The result names another tool than the call.
    #[error("the result of invocation `{id}` names another tool than its call")]
    MismatchedResult {
        /// The id of the call.
        id: ToolCallId,
    },
    /// A message id is used once in a conversation.
    #[error("message id {id} is already in this conversation; give each message an id of its own")]
    RepeatedId {
        /// The repeated id.
        id: MessageId,
    },
    /// Only what was spoken in the assistant's name can be heard.
    #[error("only an assistant message can be partly heard, not one of role {role}")]
    NotSpoken {
        /// The role of the message.
        role: Role,
    },
    /// What the summary has read is already summarised, or has changed.
    #[error("the summary is stale: nothing that it has read is left to be covered; take `summarizing()` anew")]
    StaleSummary,
    /// The summary is of another conversation.
    #[error("the summary is of another conversation")]
    ForeignSummary,
    /// Sort keys have 8 digits for messages and 4 for summaries.
    #[error("the conversation is full: {max} {what} at most; start a new one")]
    Full {
        /// How many there can be.
        max: u32,
        /// Messages or summaries.
        what: &'static str,
    },
    /// A content is invalid by itself.
    #[error(transparent)]
    Message(#[from] MessageError),
}

/// Why a conversation does not fork. What was refused left no trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// No message has this id, or the one that had it was pruned.
    #[error(
        "message {id} is not in this conversation; if it was pruned, restore the conversation from its log and fork that"
    )]
    Unknown {
        /// The id.
        id: MessageId,
    },
    /// Messages in front of it, which the fork would have in its window, were pruned.
    #[error(
        "what the fork needs in front of message {id} was pruned; restore the conversation from its log and fork that"
    )]
    Pruned {
        /// The message at which it was to fork.
        id: MessageId,
    },
    /// Nobody said it.
    #[error("message {id} is {what}, which nobody said and nobody can say otherwise; edit what was said")]
    NotEditable {
        /// The message.
        id: MessageId,
        /// What it is.
        what: &'static str,
    },
    /// A fork is a conversation of its own, in the log too.
    #[error("the fork has the id of the conversation that it leaves; give it one of its own")]
    SameConversation,
    /// The new contents cannot stand there.
    #[error(transparent)]
    Contents(#[from] ManagerError),
}

/// Why records do not make a conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RestoreError {
    /// A record between others is not there.
    #[error("message {seq} is missing; read the call's records again, all pages and with a consistent read")]
    Missing {
        /// The number of the missing message.
        seq: u32,
    },
    /// Two messages claim one place.
    #[error("messages {first} and {second} claim the same place, number {}; they are of two calls, or two processes wrote one", position.seq())]
    Conflict {
        /// One of them.
        first: MessageId,
        /// The other.
        second: MessageId,
        /// The place.
        position: Position,
    },
    /// A record is not where its role belongs, or breaks the order that a manager keeps.
    #[error("message {id} cannot stand where it does: {reason}")]
    Misplaced {
        /// The message.
        id: MessageId,
        /// What is wrong.
        reason: &'static str,
    },
    /// A tool call or result does not fit the others.
    #[error("message {id} does not fit the others")]
    ToolCall {
        /// The message.
        id: MessageId,
        /// What is wrong.
        source: ManagerError,
    },
}
