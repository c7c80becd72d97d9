//! [`LogError`]: the error of a log, its writer or its spool.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::CallId;
use crate::message::{MessageId, Position};

/// Why the log, its writer or its spool did not do something.
///
/// The text names what happened, the call or file, and what to do. It never contains the words of a caller. Clones are
/// cheap.
#[derive(Debug, Clone)]
pub struct LogError {
    kind: LogErrorKind,
    remedy: Remedy,
    text: Arc<str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of a [`LogError`], for callers that react to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogErrorKind {
    /// The call was erased. Drop everything that is still to be logged of it.
    Erased,
    /// Another process has taken the call over. Stop logging the call here.
    Fenced,
    /// The call is under a legal hold and was not erased.
    Held,
    /// The call was never opened, or it has expired.
    NotOpened,
    /// The log holds another message at the same position, other contents at the same revision, or another header of
    /// the call: two writers log it.
    Conflict,
    /// A value is not a valid call id, tenant, reason of an end, start of a call, day or cursor.
    Invalid,
    /// Stored data cannot be read, or its records do not form a conversation.
    Damaged,
    /// The writer was stopped.
    Stopped,
    /// The log or something around it failed: see [`LogError::remedy`].
    Failed,
}

/// How a caller can react to an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Retry later: the cause may pass by itself.
    Retry,
    /// An operator has to fix something around the log, such as a missing table, a permission or a full disk. Then a
    /// retry succeeds.
    Operator,
    /// A retry never succeeds.
    None,
}

impl LogError {
    /// Creates the error of a backend, for implementors of [`CallLog`](super::CallLog).
    ///
    /// `operation` says what was attempted on which call, such as `reading call CA1`. Neither `operation` nor `source`
    /// may contain the words of a caller.
    pub fn backend(
        operation: impl fmt::Display,
        remedy: Remedy,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let advice = match remedy {
            Remedy::Retry => "; retry",
            Remedy::Operator => "; fix the cause, then retry",
            Remedy::None => "",
        };
        let text = format!("{operation} failed; the source of this error says why{advice}");
        Self { kind: LogErrorKind::Failed, remedy, text: text.into(), source: Some(source.into().into()) }
    }

    pub(super) fn new(kind: LogErrorKind, remedy: Remedy, text: impl Into<Arc<str>>) -> Self {
        Self { kind, remedy, text: text.into(), source: None }
    }

    pub(super) fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into().into());
        self
    }

    pub(crate) fn erased(call_id: &CallId) -> Self {
        let text = format!("call {call_id} was erased; nothing was written: drop what is still to be logged of it");
        Self::new(LogErrorKind::Erased, Remedy::None, text)
    }

    /// `current` is the epoch of the writer that owns the call now.
    pub(crate) fn fenced(call_id: &CallId, epoch: u32, current: u32) -> Self {
        let text = format!(
            "call {call_id} is written by its writer {current} now, and this is writer {epoch}; nothing was written: \
             another process has resumed the call, stop logging it here"
        );
        Self::new(LogErrorKind::Fenced, Remedy::None, text)
    }

    pub(crate) fn held(call_id: &CallId) -> Self {
        let text = format!(
            "call {call_id} is under a legal hold; nothing was erased: release the hold first, if that is allowed"
        );
        Self::new(LogErrorKind::Held, Remedy::None, text)
    }

    pub(crate) fn not_opened(call_id: &CallId) -> Self {
        let text = format!("call {call_id} was never opened, or has expired; nothing was changed: open it first");
        Self::new(LogErrorKind::NotOpened, Remedy::None, text)
    }

    pub(crate) fn other_message(call_id: &CallId, position: Position, id: MessageId, found: MessageId) -> Self {
        let text = format!(
            "{} of call {call_id} is message {found} in the log, not {id}; nothing was written: two writers log this \
             call, stop one and restore the call from the log",
            name_of(position)
        );
        Self::new(LogErrorKind::Conflict, Remedy::None, text)
    }

    pub(crate) fn other_contents(call_id: &CallId, position: Position, id: MessageId, revision: u32) -> Self {
        let text = format!(
            "{} of call {call_id}, message {id}, has other contents in the log at the same revision {revision}; \
             nothing was written: two writers log this call, stop one and restore the call from the log",
            name_of(position)
        );
        Self::new(LogErrorKind::Conflict, Remedy::None, text)
    }

    pub(crate) fn other_header(call_id: &CallId) -> Self {
        let text = format!(
            "call {call_id} was opened with another start, tenant or expiry; nothing was written: give each call its \
             own id"
        );
        Self::new(LogErrorKind::Conflict, Remedy::None, text)
    }

    pub(super) fn invalid(expected: &str, rule: &str) -> Self {
        Self::new(LogErrorKind::Invalid, Remedy::None, format!("not {expected}: {rule}"))
    }

    pub(super) fn stopped() -> Self {
        let text = "the log's writer was stopped; nothing was accepted: start another writer, take back what was \
                    submitted, and submit all pending changes to it";
        Self::new(LogErrorKind::Stopped, Remedy::None, text)
    }

    /// The kind of the error.
    pub fn kind(&self) -> LogErrorKind {
        self.kind
    }

    /// How a caller can react. A retry is always safe: operations that were already done change nothing.
    pub fn remedy(&self) -> Remedy {
        self.remedy
    }

    /// Returns true if a later retry may succeed without an operator.
    pub fn is_retryable(&self) -> bool {
        self.remedy == Remedy::Retry
    }

    /// Returns true if every other record of the call would fail the same way.
    pub(crate) fn is_of_all_records(&self) -> bool {
        self.remedy != Remedy::None || matches!(self.kind, LogErrorKind::Fenced | LogErrorKind::Erased)
    }
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for LogError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}

fn name_of(position: Position) -> String {
    match position.summary_number() {
        None => format!("message {}", position.seq()),
        Some(number) => format!("summary {number}"),
    }
}
