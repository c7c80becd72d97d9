//! [`TurnEnd`]: how a turn ended. A live call answers a failure with an apology, a run with an error.

use super::words::text_of;
use crate::manager::ManagerError;
use crate::message::{Text, TurnRecord};
use crate::model::{ModelError, StopReason};

/// How a turn ended.
#[derive(Debug)]
pub(crate) enum TurnEnd {
    /// The answer is complete.
    Answered(StopReason),
    /// The answer was cut off or filtered. Its text is kept and marked, and its tool calls were not run.
    Cut(StopReason),
    /// The caller interrupted, or the reader of the reply is gone.
    Interrupted,
    /// The turn failed, so there is no complete answer.
    Failed(TurnFailure),
}

/// The reason why a turn has no complete answer.
#[derive(Debug)]
pub(crate) enum TurnFailure {
    /// No model is configured.
    NoModel,
    /// The window is empty.
    NothingToAnswer,
    /// The model failed.
    Model(ModelError),
    /// The model generated neither text nor a tool call.
    Blank,
    /// The model called a tool although none was offered, and generated no text.
    TooManyToolRounds {
        /// The maximum number of rounds of tool calls in a turn.
        max: u32,
    },
    /// The conversation accepts no more messages.
    Manager(ManagerError),
    /// The code of the model panicked.
    Panicked,
}

impl TurnEnd {
    /// Returns the words for the log: the end, and the reason if the answer was cut off or failed.
    pub fn words(&self) -> (Text, Option<Text>) {
        let (end, reason) = match self {
            Self::Answered(_) => (TurnRecord::COMPLETE, None),
            Self::Cut(reason) => ("cut", Some(stop_word(reason))),
            Self::Interrupted => ("interrupted", None),
            Self::Failed(failure) => ("failed", Some(failure.word())),
        };
        (text_of(end), reason.map(text_of))
    }
}

impl TurnFailure {
    fn word(&self) -> &'static str {
        match self {
            Self::NoModel => "noModel",
            Self::NothingToAnswer => "nothingToAnswer",
            Self::Model(error) => error.kind().word(),
            Self::Blank => "blank",
            Self::TooManyToolRounds { .. } => "tooManyToolRounds",
            Self::Manager(_) => "conversationFull",
            Self::Panicked => "panicked",
        }
    }
}

fn stop_word(reason: &StopReason) -> &'static str {
    match reason {
        StopReason::EndTurn => "endTurn",
        StopReason::ToolUse => "toolUse",
        StopReason::MaxTokens => "maxTokens",
        StopReason::StopSequence => "stopSequence",
        StopReason::Filtered => "filtered",
        StopReason::ContextFull => "contextFull",
        StopReason::Other(_) => "other",
    }
}
