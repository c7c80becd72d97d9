//! [`ConversationError`]: the reason why a method of a conversation, a call, a prompt, a run, a query or a registry failed.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::builder::BuildProblem;
use super::config::ConfigError;
#[cfg(feature = "query")]
use super::query::QueryProblem;
use crate::log::{CallId, LogError};
use crate::manager::ManagerError;
use crate::message::{MessageError, MessageId, ToolName};
use crate::model::{ModelError, StopReason};
use crate::turn::ResultRefused;

/// An error of a conversation, a live call or its host, a prompt, a run, a query, a builder, or a registry.
///
/// [`kind`](Self::kind) separates the cases to which a caller reacts differently. The text says what happened and what
/// to do; it never contains words of the call. If another error is the cause, it is the [source](Error::source).
pub struct ConversationError(Box<Problem>);

/// The kind of a [`ConversationError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConversationErrorKind {
    /// A live call, a reply or a run owns the turns of the conversation, another task is opening or closing the call, or
    /// the registry has a conversation with this id. Nothing changed.
    InUse,
    /// The call is closed, or its host is draining. Nothing changed.
    Closed,
    /// There is [nothing to answer](crate::MessagesManager::is_answerable), for example after a greeting or an answer
    /// that was heard to its end. Nothing changed.
    NothingToAnswer,
    /// The message is not in memory, or the conversation is not in the registry. Nothing changed.
    NotFound,
    /// A message, a value, a result, a query or a setting is invalid or does not fit the conversation; a call has no
    /// tokio runtime; or a call has a tool that [acts once](crate::model::Tool::acts_once) and no log. Nothing changed.
    Refused,
    /// The request to the model failed; [`model_error`](ConversationError::model_error) has the reason. The
    /// conversation keeps the text before the failure, marked [`LlmInterrupted`](crate::Attribute::LlmInterrupted).
    Model,
    /// The model gave no complete answer. The answer was cut off, was blank, or does not fit the type of `prompt_for`;
    /// or the model called tools in too many rounds; or its code panicked. The conversation keeps a partial answer,
    /// marked [`LlmInterrupted`](crate::Attribute::LlmInterrupted), and runs none of its tool calls. If the answer was
    /// cut off, [`stop_reason`](ConversationError::stop_reason) has the reason.
    NoAnswer,
    /// The answer was not complete at the deadline. The conversation keeps the text so far.
    TimedOut,
    /// The log failed; [`log_error`](ConversationError::log_error) has the reason. If the end of a conversation is not
    /// logged, records that the log lacks are only in memory.
    Log,
}

impl ConversationError {
    /// Returns the kind of the error.
    pub fn kind(&self) -> ConversationErrorKind {
        match *self.0 {
            Problem::InCall { .. }
            | Problem::InRun { .. }
            | Problem::NotFree
            | Problem::InReply
            | Problem::Busy { .. }
            | Problem::Exists { .. } => ConversationErrorKind::InUse,
            Problem::Closed | Problem::Draining { .. } => ConversationErrorKind::Closed,
            Problem::NothingToAnswer { .. } => ConversationErrorKind::NothingToAnswer,
            Problem::UnknownMessage { .. } | Problem::UnknownConversation { .. } => ConversationErrorKind::NotFound,
            Problem::Message { .. }
            | Problem::Value(_)
            | Problem::Manager(_)
            | Problem::Result(_)
            | Problem::Config(_)
            | Problem::Build(_)
            | Problem::NoRuntime
            | Problem::NotLogged { .. } => ConversationErrorKind::Refused,
            #[cfg(feature = "query")]
            Problem::Query(ref problem) if problem.log_error().is_none() => ConversationErrorKind::Refused,
            #[cfg(feature = "query")]
            Problem::Query(_) => ConversationErrorKind::Log,
            Problem::Model(_) => ConversationErrorKind::Model,
            Problem::Cut { .. }
            | Problem::Blank
            | Problem::TooManyToolRounds { .. }
            | Problem::ModelPanicked
            | Problem::Misfit { .. } => ConversationErrorKind::NoAnswer,
            Problem::TimedOut { .. } => ConversationErrorKind::TimedOut,
            Problem::Log(_) => ConversationErrorKind::Log,
        }
    }

    /// Returns the error of the model, if the request to it failed.
    pub fn model_error(&self) -> Option<&ModelError> {
        match &*self.0 {
            Problem::Model(error) => Some(error),
            _ => None,
        }
    }

    /// Returns the error of the log, if the log failed.
    pub fn log_error(&self) -> Option<&LogError> {
        match &*self.0 {
            Problem::Log(error) => Some(error),
            #[cfg(feature = "query")]
            Problem::Query(problem) => problem.log_error(),
            _ => None,
        }
    }

    /// Returns why the model stopped, if it stopped before its answer was complete.
    pub fn stop_reason(&self) -> Option<&StopReason> {
        match &*self.0 {
            Problem::Cut { reason } => Some(reason),
            _ => None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("a live call owns the turns of the conversation; {advice}")]
    InCall { advice: &'static str },
    #[error("a run owns the turns of the conversation; {advice}")]
    InRun { advice: &'static str },
    #[error("the registry already has a conversation {id}; get it, or choose another id")]
    Exists { id: CallId },
    #[error("message {id} is not in memory; check the id, or raise the history limit")]
    UnknownMessage { id: MessageId },
    #[error("the registry has no conversation {id}; create it, or insert a restored one")]
    UnknownConversation { id: CallId },
    #[error("the prompt is not applied, because its message {index} (from 0) is refused: {source}")]
    Message { index: usize, source: ManagerError },
    #[error(transparent)]
    Value(#[from] MessageError),
    #[error(transparent)]
    Manager(#[from] ManagerError),
    #[error(transparent)]
    Result(#[from] ResultRefused),
    #[error("there is nothing to answer; {advice}")]
    NothingToAnswer { advice: &'static str },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the model stopped before its answer was complete ({reason:?}); the conversation keeps the partial answer")]
    Cut { reason: StopReason },
    #[error("the model's answer is blank; run the conversation again, or say more in a `request`")]
    Blank,
    #[error(
        "{}; raise `max_tool_rounds`, or ask for less at once",
        if *max == 0 { "the model called a tool, but it may call none".to_owned() } else { format!("the model called tools in more than {max} rounds") }
    )]
    TooManyToolRounds { max: u32 },
    #[error("the code of the model panicked; fix the model, then run the conversation again")]
    ModelPanicked,
    #[error(
        "the answer does not fit its type at line {line}, column {column}: it is {}; simplify the type, or ask again",
        if *is_json { "valid JSON of another shape" } else { "not JSON" }
    )]
    Misfit { line: usize, column: usize, is_json: bool },
    #[error("the answer was not complete after {} ms; allow more time, or run the conversation again", after.as_millis())]
    TimedOut { after: Duration },
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Build(#[from] BuildProblem),
    #[cfg(feature = "query")]
    #[error(transparent)]
    Query(#[from] QueryProblem),
    #[error("the call did not open: there is no tokio runtime; open it inside one, for example in a task")]
    NoRuntime,
    #[error("the call did not open: another call or a run uses the conversation; close it first, or wait for its end")]
    NotFree,
    #[error("the call did not open: tool `{tool}` acts once, which needs a log; set one with `log`")]
    NotLogged { tool: ToolName },
    #[error("the call is closed; open another one")]
    Closed,
    #[error("a reply is running; read it to its end, or drop it to stop it")]
    InReply,
    #[error("call {call_id} did not open: the host is draining; open the call in another process")]
    Draining { call_id: CallId },
    #[error("call {call_id} is busy: another task is opening or closing it; retry")]
    Busy { call_id: CallId },
}

impl Problem {
    pub const NOTHING_TO_ANSWER: Self = Self::NothingToAnswer { advice: "apply a prompt with a `request` first" };
    pub const IN_CALL: Self = Self::InCall { advice: "report what is said to its session, or use `edit`" };
}

impl From<&serde_json::Error> for Problem {
    /// Keeps only line and column, because the text of the error may quote the answer.
    fn from(error: &serde_json::Error) -> Self {
        Self::Misfit { line: error.line(), column: error.column(), is_json: error.is_data() }
    }
}

impl<P: Into<Problem>> From<P> for ConversationError {
    fn from(problem: P) -> Self {
        Self(Box::new(problem.into()))
    }
}

impl fmt::Debug for ConversationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ConversationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl Error for ConversationError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
