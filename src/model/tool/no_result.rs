//! [`NoResult`]: why a tool call has no result of its own, and the error that the model gets for it.

use crate::message::{ToolCall, ToolError, ToolResult};

/// The [type](ToolError::error_type) of an error result whose tool may or may not have acted.
pub(crate) const OUTCOME_UNKNOWN: &str = "OutcomeUnknown";

/// The [type](ToolError::error_type) of an error result whose tool never ran.
pub(crate) const NOT_RUN: &str = "NotRun";

/// The reason why a tool call has no result of its own.
///
/// The type of the error decides what the memory keeps. An unknown outcome may have changed something, so it is never
/// dropped. The message states the cause, so that the model can explain it to the caller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NoResult {
    /// The tool missed its deadline.
    TimedOut,
    /// The handler panicked.
    Panicked,
    /// The call was closed first.
    CallEnded,
    /// Another process took the call over.
    TakenOver,
    /// The conversation was forked while the tool ran.
    Forked,
    /// The answer was cut off, so its tool calls may be incomplete.
    CutOff,
    /// The turn has used up its rounds of tool calls.
    TooManyRounds,
    /// The log did not store the call in time, so it must not act.
    NotLogged,
    /// The caller interrupted, or the run was dropped, before the tool ran.
    Interrupted,
    /// The same act is running.
    AlreadyRunning,
    /// The outcome of the same act is unknown, and acting again could act twice.
    EarlierUnknown,
    /// The same act succeeded, and its result has left memory.
    AlreadyDone,
    /// A lookup after a takeover found that the call has not acted.
    NotFound,
    /// The answer reached its length limit inside the call.
    TooLong,
    /// The arguments of the call cannot be read.
    Unreadable(String),
    /// The tool does not exist. Holds the names of all tools, so that the model can choose one.
    UnknownTool(Vec<String>),
}

impl NoResult {
    /// Returns the error result for this call.
    pub fn of(&self, call: &ToolCall) -> ToolResult {
        call.failure(ToolError::new(self.message()).with_type(self.error_type()).with_retryable(false))
    }

    fn error_type(&self) -> &'static str {
        match self {
            Self::CutOff
            | Self::TooManyRounds
            | Self::NotLogged
            | Self::Interrupted
            | Self::AlreadyRunning
            | Self::EarlierUnknown
            | Self::AlreadyDone
            | Self::NotFound
            | Self::TooLong
            | Self::Unreadable(_)
            | Self::UnknownTool(_) => NOT_RUN,
            Self::TimedOut | Self::Panicked | Self::CallEnded | Self::TakenOver | Self::Forked => OUTCOME_UNKNOWN,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::TimedOut => "The tool did not answer in time; whether it acted is not known.",
            Self::Panicked => "The tool failed in an unexpected way; whether it acted is not known.",
            Self::CallEnded => "The call ended before the tool answered; whether it acted is not known.",
            Self::TakenOver => "The call was taken over before the tool answered; whether it acted is not known.",
            Self::Forked => "The conversation was forked while the tool ran; whether it acted is not known here.",
            Self::CutOff => "The tool was not run: the answer was cut off.",
            Self::NotLogged => "The tool was not run, and will not be: the call could not be recorded in time.",
            Self::Interrupted => "The tool was not run: the caller interrupted first.",
            Self::AlreadyRunning => {
                "The tool was not run: the same call is already running, and its result will arrive."
            }
            Self::EarlierUnknown => {
                "The tool was not run: whether the same earlier call acted is not known. Check its effect, or tell the \
                 caller."
            }
            Self::AlreadyDone => "The tool was not run: the same earlier call succeeded. Tell the caller.",
            Self::TooLong => {
                "The tool was not run: the answer reached its length limit. Make the call again, without words before it."
            }
            Self::NotFound => "The tool did not act before the call was taken over.",
            Self::TooManyRounds => "The tool was not run: too many were called for one answer.",
            Self::UnknownTool(names) if names.is_empty() => "There are no tools; answer without.",
            Self::Unreadable(why) => return format!("The tool was not run: its arguments cannot be read: {why}."),
            Self::UnknownTool(names) => {
                return format!("There is no such tool; the tools are {}.", names.join(", "));
            }
        }
        .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Value;

    #[test]
    fn each_message_says_whether_the_tool_acted() {
        let call = ToolCall::new("c1", "transfer", Value::Null).unwrap();
        let line = |reason: NoResult| match reason.of(&call).outcome() {
            Err(error) => format!("{}: {}", error.error_type().unwrap(), error.message()),
            Ok(_) => unreachable!("an error"),
        };
        let lines = [
            NoResult::TimedOut,
            NoResult::Panicked,
            NoResult::CallEnded,
            NoResult::TakenOver,
            NoResult::Forked,
            NoResult::CutOff,
            NoResult::TooManyRounds,
            NoResult::NotLogged,
            NoResult::Interrupted,
            NoResult::AlreadyRunning,
            NoResult::EarlierUnknown,
            NoResult::AlreadyDone,
            NoResult::NotFound,
            NoResult::TooLong,
            NoResult::Unreadable("expected a value at line 1 column 2".to_owned()),
            NoResult::UnknownTool(Vec::new()),
            NoResult::UnknownTool(vec!["balance".to_owned(), "transfer".to_owned()]),
        ]
        .map(line);
        insta::assert_snapshot!(lines.join("\n"), @"
        OutcomeUnknown: The tool did not answer in time; whether it acted is not known.
        OutcomeUnknown: The tool failed in an unexpected way; whether it acted is not known.
        OutcomeUnknown: The call ended before the tool answered; whether it acted is not known.
        OutcomeUnknown: The call was taken over before the tool answered; whether it acted is not known.
        OutcomeUnknown: The conversation was forked while the tool ran; whether it acted is not known here.
        NotRun: The tool was not run: the answer was cut off.
        NotRun: The tool was not run: too many were called for one answer.
        NotRun: The tool was not run, and will not be: the call could not be recorded in time.
        NotRun: The tool was not run: the caller interrupted first.
        NotRun: The tool was not run: the same call is already running, and its result will arrive.
        NotRun: The tool was not run: whether the same earlier call acted is not known. Check its effect, or tell the caller.
        NotRun: The tool was not run: the same earlier call succeeded. Tell the caller.
        NotRun: The tool did not act before the call was taken over.
        NotRun: The tool was not run: the answer reached its length limit. Make the call again, without words before it.
        NotRun: The tool was not run: its arguments cannot be read: expected a value at line 1 column 2.
        NotRun: There are no tools; answer without.
        NotRun: There is no such tool; the tools are balance, transfer.
        ");
    }
}
