//! [`BuildProblem`]: the reason why parts do not make a message.

use crate::message::Role;

/// The reason why parts do not make a message. The text says what to do, and never quotes the parts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BuildProblem {
    #[error("the message is empty or blank; add a text, media, a document or a tool call")]
    Empty,
    #[error("{content} belongs to role {wanted}, but the message has role {role}; build a message of its own for it")]
    WrongRole { role: Role, content: &'static str, wanted: Role },
    #[error("a builder cannot make a summary; add it with `MessagesManager::add_summary`")]
    Summary,
}
