//! [`CallError`]: why a call could not be played to its end.

use std::error::Error;
use std::io;

use verbale::ManagerError;
use verbale::call::SessionError;
use verbale::dynamodb::DynamoError;
use verbale::embedded::EmbeddedError;
use verbale::log::{LogError, NotAccepted};
use verbale::message::MessageError;
use verbale::model::Failure;

use crate::text::visible;

/// Why a call could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("no AWS region is set: set AWS_REGION, or the region of your profile")]
    NoRegion,
    #[error(
        "there are no AWS credentials: sign in (aws sso login), or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY"
    )]
    NoCredentials(#[source] Box<dyn Error + Send + Sync>),
    /// Asking again would bring the same.
    #[error("the model gives no answer: {0}")]
    Model(Failure),
    #[error("the call cannot go on")]
    Session(#[from] SessionError),
    #[error("the conversation takes no more")]
    Manager(#[from] ManagerError),
    #[error("a tool is not one")]
    Tool(#[from] MessageError),
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    #[error("the log has no table")]
    Table(#[from] DynamoError),
    #[error("the log cannot be used")]
    Log(#[from] LogError),
    #[error("the log's writer takes nothing")]
    Writer(#[from] NotAccepted),
    #[error("a bug: the log does not hold what the manager holds")]
    NotEqual,
    #[error("the runtime does not start")]
    Runtime(#[source] io::Error),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

/// An error and what caused it, on one line.
pub fn on_one_line(error: &dyn Error) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // The SDK tells in lines where it has looked for credentials.
        let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        // Many errors tell their source themselves.
        if !line.contains(&text) {
            if !line.is_empty() {
                line.push_str(": ");
            }
            line.push_str(&text);
        }
        next = error.source();
    }
    visible(&line)
}
