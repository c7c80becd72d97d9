//! [`CallError`]: the reasons why a call cannot be played to its end.

use std::error::Error;
use std::io;

use verbale::ManagerError;
use verbale::conversation::ConversationError;
use verbale::log::{CallId, LogError};
use verbale::message::MessageError;
use verbale::model::Failure;

use crate::text::visible;

/// The call could not be played to its end.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("no AWS region is set; set AWS_REGION or the region of your profile")]
    NoRegion,
    #[error(
        "no AWS credentials are set; sign in with `aws sso login`, or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY"
    )]
    NoCredentials(#[source] Box<dyn Error + Send + Sync>),
    /// A retry would fail in the same way.
    #[error("the model did not reply: {0}")]
    Model(Failure),
    #[error("the call cannot be opened, or cannot continue")]
    Call(#[from] ConversationError),
    #[error("the conversation refused a message")]
    Manager(#[from] ManagerError),
    #[error("a tool is invalid")]
    Tool(#[from] MessageError),
    #[error("the log cannot be used")]
    Log(#[from] LogError),
    #[error("the log has no call {0}; `--resume` takes the id that the call printed at its start")]
    UnknownCall(CallId),
    #[error("the log differs from the conversation; this is a bug")]
    NotEqual,
    #[error("the async runtime cannot start")]
    Runtime(#[source] io::Error),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

/// Returns an error and its causes on one line.
pub fn on_one_line(error: &dyn Error) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // The SDK lists on several lines where it looked for credentials.
        let text = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        // Many errors already contain their source.
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
