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
         `messages()`, and the summary as `ModelRequest::memory`"
    )]
    Role(MessageId, Role),
    #[error("message {0} has no contents that the model can read: leave it out of the window")]
    Empty(MessageId),
    #[error("max_tokens is larger than 2,147,483,647")]
    MaxTokens,
    #[error("the SDK did not build {0}")]
    Build(&'static str, #[source] Box<BuildError>),
}

impl BedrockError {
    /// Whether Converse does not accept a message, which can be left out of the request.
    pub(super) fn is_of_a_message(&self) -> bool {
        matches!(self.0, Reason::Role(..) | Reason::Empty(_))
    }

    pub(super) fn max_tokens() -> Self {
        Self(Reason::MaxTokens)
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
