//! [`TurnEnd`]: how a turn ended. A call answers it with an apology, a run with an error.

use crate::manager::ManagerError;
use crate::message::Text;
use crate::model::{Failure, ModelError, StopReason};

/// How a turn ended.
#[derive(Debug)]
pub(crate) enum TurnEnd {
    /// The model has said what it had to say.
    Answered(StopReason),
    /// The answer was cut, or a filter took it away. Its text is kept and marked, its tool calls were not run.
    Cut(StopReason),
    /// The caller interrupted, or nobody waits any more.
    Interrupted,
    /// There is no answer, or no whole one.
    Failed(TurnFailure),
}

/// Why a turn has no whole answer.
#[derive(Debug)]
pub(crate) enum TurnFailure {
    /// No model is configured.
    NoModel,
    /// There is no message for the model.
    NothingToAnswer,
    /// The model failed.
    Model(ModelError),
    /// The model said nothing and called no tool.
    Blank,
    /// The model called a tool where none was offered, and said nothing.
    TooManyToolRounds {
        /// How often it may call tools in one turn.
        max: u32,
    },
    /// The conversation takes no more messages.
    Manager(ManagerError),
    /// The model's code panicked.
    Panicked,
}

impl TurnEnd {
    /// The words for the log: the end, and the reason if it was cut or failed.
    pub fn words(&self) -> (Text, Option<Text>) {
        let (end, reason) = match self {
            Self::Answered(_) => ("complete", None),
            Self::Cut(reason) => ("cut", Some(stop_word(reason))),
            Self::Interrupted => ("interrupted", None),
            Self::Failed(failure) => ("failed", Some(failure.word())),
        };
        (end.into(), reason.map(Into::into))
    }
}

impl TurnFailure {
    fn word(&self) -> &'static str {
        match self {
            Self::NoModel => "noModel",
            Self::NothingToAnswer => "nothingToAnswer",
            Self::Model(error) => failure_word(error.kind()),
            Self::Blank => "blank",
            Self::TooManyToolRounds { .. } => "tooManyToolRounds",
            Self::Manager(_) => "conversationFull",
            Self::Panicked => "panicked",
        }
    }
}

/// The word for a failure, in logs and spans.
pub(super) fn failure_word(failure: &Failure) -> &'static str {
    match failure {
        Failure::Invalid(_) => "invalid",
        Failure::Refused(_) => "refused",
        Failure::Denied(_) => "denied",
        Failure::Throttled => "throttled",
        Failure::Unavailable(_) => "unavailable",
        Failure::Unreachable => "unreachable",
        Failure::TimedOut { .. } => "timeout",
        Failure::Cut => "cut",
        Failure::Truncated => "truncated",
        Failure::Malformed(_) => "malformed",
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
