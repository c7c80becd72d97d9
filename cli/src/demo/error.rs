//! [`PlayError`]: an error that stops a call.

use std::io;

use tokio::task::JoinError;
use verbale::ManagerError;
use verbale::bedrock::{BedrockError, Violation};
use verbale::message::MessageError;

use crate::demo::log::LogError;

/// An error that stops a call. Records that were logged earlier stay in the log.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    #[error("the manager refused a message")]
    Manager(#[from] ManagerError),
    #[error("a message cannot be converted for Bedrock")]
    Bedrock(#[from] BedrockError),
    #[error("the tools of the call cannot be converted for Bedrock")]
    Tools(#[from] MessageError),
    #[error("a bug: Bedrock would refuse the window after {messages} messages: {}", first(.violations))]
    Refused { messages: usize, violations: Vec<Violation> },
    #[error("the summary task failed")]
    Summary(#[from] JoinError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("a bug: the restored manager does not equal the live one")]
    NotEqual,
    #[error("the runtime cannot start")]
    Runtime(#[source] io::Error),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}
