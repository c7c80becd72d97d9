//! Why a prompt is not applied, a run gives no answer, and an end is not written: [`PromptError`], [`RunError`],
//! [`AskError`], [`EndError`].

use std::time::Duration;

use super::config::ConfigError;
use crate::log::LogError;
use crate::manager::ManagerError;
use crate::message::MediaKind;
use crate::model::{ModelError, StopReason};

/// Why a [`Prompt`](super::Prompt) was not applied. The conversation is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A message of the prompt is refused.
    #[error("message {index} of the prompt, counted from 0, is refused, and so is all of it: {source}")]
    Message {
        /// Which one, from 0: each call that adds a message is one.
        index: usize,
        /// Why.
        source: ManagerError,
    },
    /// Something else was given as an image, or as sound.
    #[error("message {index} of the prompt, counted from 0, was given {} as {}", given.as_str(), wanted.as_str())]
    WrongMedia {
        /// Which one, from 0.
        index: usize,
        /// What it was given as.
        wanted: MediaKind,
        /// What it is.
        given: MediaKind,
    },
    /// The prompt says something in the name of the user or the assistant, and a live call takes the turns.
    #[error(
        "the conversation is in a live call: its session reports what is said; a prompt may set `agent`, `context` and \
         the configuration"
    )]
    InCall,
    /// What the prompt says about the configuration is refused.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

/// Why a [`Run`](super::Run) did not come to a final text. What was said before is in the conversation.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// Another run of the conversation goes on.
    #[error("the conversation is being run already; wait for that run to end, or drop it")]
    AlreadyRunning,
    /// A live call takes the turns of the conversation.
    #[error("the conversation is in a live call, which takes its turns by itself; close the call first")]
    InCall,
    /// There is no message for the model.
    #[error("there is nothing to answer; apply a prompt with a `request` first")]
    NothingToAnswer,
    /// The model that is named is not there.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The model did not answer, or not to the end. What it had said is kept, marked
    /// [`LlmInterrupted`](crate::Attribute::LlmInterrupted).
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The answer is cut, or was taken away. What there is of it is kept, marked
    /// [`LlmInterrupted`](crate::Attribute::LlmInterrupted), and no tool is run that it called.
    #[error("the model stopped before it had said all ({reason:?}); what there is of the answer is kept")]
    Cut {
        /// Why it stopped.
        reason: StopReason,
    },
    /// The model said nothing, and called no tool.
    #[error("the model's answer says nothing; run the conversation again, or say more in a `request`")]
    Blank,
    /// The model said nothing, and called a tool where none was offered any more.
    #[error(
        "the model called tools more than {max} times in one run; raise `max_tool_rounds`, or ask for less at once"
    )]
    TooManyToolRounds {
        /// How often it may.
        max: u32,
    },
    /// The conversation takes no more messages.
    #[error(transparent)]
    Manager(#[from] ManagerError),
    /// The code of the model panicked.
    #[error("the model panicked; what it had said is kept")]
    ModelPanicked,
    /// There was no final text in time.
    #[error("there was no final text within {} ms", after.as_millis())]
    TimedOut {
        /// How long it was waited for.
        after: Duration,
    },
}

/// Why there is no answer to a [`Prompt`](super::Prompt) that was to be answered at once.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// It was not applied.
    #[error(transparent)]
    Prompt(#[from] PromptError),
    /// The answer does not fit its type, and neither does its repair.
    #[error(transparent)]
    Misfit(Misfit),
    /// It was applied, unless another run [goes on](RunError::AlreadyRunning), and the run came to no final text.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Where an answer does not fit its type, without a word of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the answer does not fit its type, at line {line}, column {column} ({}); simplify the type, or ask again", if *is_json { "valid JSON of another shape" } else { "not JSON" }
)]
pub struct Misfit {
    /// The line of the answer, from 1.
    pub line: usize,
    /// The column in it, from 1.
    pub column: usize,
    /// Whether the answer is JSON, and only its shape is wrong.
    pub is_json: bool,
}

#[cfg(feature = "tools")]
impl Misfit {
    pub(super) fn new(error: &serde_json::Error) -> Self {
        Self { line: error.line(), column: error.column(), is_json: error.is_data() }
    }
}

/// Why the end of a conversation is not in its log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndError {
    /// A live call takes the turns of the conversation.
    #[error("the conversation is in a live call; close the call instead")]
    InCall,
    /// The header of a call does not take this reason.
    #[error(transparent)]
    Reason(LogError),
    /// The log takes nothing any more, or had no room in time. What it did not take is in the conversation alone.
    #[error(transparent)]
    NotFinished(#[from] LogError),
}
