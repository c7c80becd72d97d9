//! [`BuildError`]: why parts do not make a message.

use crate::message::Role;

/// Why parts do not make a message. Each says what to do; nothing of what was said is in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Nothing was added, or nothing but blank texts.
    #[error("the message says nothing: add a text, media, a document or a tool call")]
    Empty,
    /// A tool call is the assistant's, a result the user's.
    #[error("{content} is of role {wanted} and the message of role {role}: build it as a message of its own")]
    WrongRole {
        /// The role that the message has.
        role: Role,
        /// What cannot stand in it.
        content: &'static str,
        /// Where it belongs.
        wanted: Role,
    },
    /// A model is given media and documents by the user only.
    #[error(
        "{content} beside a tool call would be the assistant's, and a model is given it by the user only: build it as a \
         message of its own behind the result, or say `role(Role::Assistant)`"
    )]
    AttachedToCall {
        /// What was attached.
        content: &'static str,
    },
    /// A summary is added with what it covers.
    #[error("a summary is no message that is built: add it with `MessagesManager::add_summary`")]
    Summary,
}
