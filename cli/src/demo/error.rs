//! [`PlayError`]: why a call could not be played to its end.

use std::error::Error;
use std::io;

use aws_sdk_bedrockruntime::error::BuildError;
use tokio::task::JoinError;
use verbale::ManagerError;
use verbale::bedrock::{BedrockError, Violation};

use crate::demo::log::LogError;
use crate::demo::text::visible;

/// Why a call could not be played to its end. What was logged before stays in the log.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    #[error("the manager refused a message")]
    Manager(#[from] ManagerError),
    #[error("a message cannot be said to Bedrock")]
    Bedrock(#[from] BedrockError),
    #[error("the tools of the call cannot be said to Bedrock")]
    Tools(#[from] BuildError),
    #[error("a bug: Bedrock would refuse the window behind {messages} messages: {}", first(.violations))]
    Refused { messages: usize, violations: Vec<Violation> },
    #[error("the summary was not made")]
    Summary(#[from] JoinError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error("a bug: the restored manager does not equal the live one")]
    NotEqual,
    #[error("the runtime does not start")]
    Runtime(#[source] io::Error),
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
}

fn first(violations: &[Violation]) -> String {
    violations.first().map(ToString::to_string).unwrap_or_default()
}

/// An error and what caused it, on one line.
pub fn on_one_line(error: &dyn Error) -> String {
    let mut line = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        let text = error.to_string();
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
