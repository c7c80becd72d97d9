//! [`BedrockError`]: why a message or a request cannot be built for Converse.

use std::error::Error;
use std::fmt;

use aws_sdk_bedrockruntime::error::BuildError;

use crate::message::{MessageId, Role};

/// An error of building a message or a request for Converse. Never holds what was said.
#[derive(Debug)]
pub struct BedrockError(Reason);

#[derive(Debug)]
enum Reason {
    Role(MessageId, Role),
    Empty(MessageId),
    Build(&'static str, Box<BuildError>),
}

impl BedrockError {
    /// Returns the message that Converse does not take, which can be left out of the request.
    ///
    /// Returns `None` if the SDK refused to build a value.
    pub fn message_id(&self) -> Option<MessageId> {
        match self.0 {
            Reason::Role(id, _) | Reason::Empty(id) => Some(id),
            Reason::Build(..) => None,
        }
    }

    pub(super) fn role(id: MessageId, role: Role) -> Self {
        Self(Reason::Role(id, role))
    }

    pub(super) fn empty(id: MessageId) -> Self {
        Self(Reason::Empty(id))
    }

    /// Maps an error of the SDK's builder of `value`.
    pub(super) fn build(value: &'static str) -> impl FnOnce(BuildError) -> Self {
        move |source| Self(Reason::Build(value, Box::new(source)))
    }
}

impl fmt::Display for BedrockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Reason::Role(id, role) => write!(
                f,
                "message {id} is a {role} message, and Converse takes only user and assistant messages: send the manager's \
                 `messages()`, and the summary with `ConverseRequest::summary`"
            ),
            Reason::Empty(id) => {
                write!(f, "message {id} has no contents that the model can read: leave it out of the window")
            }
            Reason::Build(value, _) => write!(f, "the SDK did not build {value}"),
        }
    }
}

impl Error for BedrockError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Reason::Build(_, source) => Some(source),
            Reason::Role(..) | Reason::Empty(_) => None,
        }
    }
}
