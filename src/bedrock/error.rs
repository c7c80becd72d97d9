//! [`BedrockError`]: why something cannot be said in Bedrock's types.

use aws_sdk_bedrockruntime::error::BuildError;

use crate::message::{MessageId, Role};

/// Why something cannot be said in Bedrock's types. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BedrockError {
    /// Summaries and supervisor messages are no messages for the model.
    #[error(
        "message {id} is a {role} message, which never reaches the model as a message: \
         hand over the manager's `messages()`, and a summary with `ConverseRequest::summary`"
    )]
    NotSpoken {
        /// The message.
        id: MessageId,
        /// Its role.
        role: Role,
    },
    /// Bedrock refuses a message without contents.
    #[error("message {id} has nothing that a model could read: leave it out of the window")]
    Empty {
        /// The message.
        id: MessageId,
    },
    /// The SDK refused to build a value.
    #[error("the SDK did not build {what}")]
    Build {
        /// The type of the value.
        what: &'static str,
        /// What the SDK missed.
        #[source]
        source: Box<BuildError>,
    },
}

impl BedrockError {
    /// Maps what the builder of `what` says.
    pub(super) fn build(what: &'static str) -> impl FnOnce(BuildError) -> Self {
        move |source| Self::Build { what, source: Box::new(source) }
    }
}
