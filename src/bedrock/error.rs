//! [`BedrockError`]: why a message or a request cannot be built for Converse.

use aws_sdk_bedrockruntime::error::BuildError;

use crate::message::{MessageId, Role};

/// An error of building a message or a request for Converse. Never contains words of the call.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct BedrockError(Reason);

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error(
        "message {0} is a {1} message, and Converse accepts only user and assistant messages: send the manager's \
         `messages()`, and the summary with `ConverseRequest::summary`"
    )]
    Role(MessageId, Role),
    #[error("message {0} has no contents that the model can read: leave it out of the window")]
    Empty(MessageId),
    #[error("the SDK did not build {0}")]
    Build(&'static str, #[source] Box<BuildError>),
}

impl BedrockError {
    /// Returns the message that Converse does not accept, which can be left out of the request.
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
