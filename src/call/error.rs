//! [`SessionError`]: why a session refused a request.

use crate::manager::ManagerError;
use crate::message::ToolName;

/// The reason why a call did not open, or a session refused to speak.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// There is no tokio runtime.
    #[error("the call did not open: there is no tokio runtime; open it inside one, for example in a task")]
    NoRuntime,
    /// Another call or a run uses the conversation.
    #[error("the call did not open: another call or a run uses the conversation; close it first, or wait for its end")]
    InUse,
    /// The call is closed.
    #[error("the call is closed; open another one")]
    Closed,
    /// A reply is running.
    #[error("a reply is running; read it to its end, or drop it to stop it")]
    InProgress,
    /// There is [nothing to answer](crate::MessagesManager::is_answerable), for example after a greeting or an answer
    /// that was heard to its end.
    #[error("there is nothing to answer; to speak first, use `say`")]
    NothingToAnswer,
    /// A tool [acts once](crate::model::Tool::acts_once), which needs a log.
    #[error("the call did not open: tool `{tool}` acts once, which needs a log; set one with `log`")]
    NotLogged {
        /// The tool.
        tool: ToolName,
    },
    /// The conversation refused the message.
    #[error(transparent)]
    Manager(#[from] ManagerError),
}
