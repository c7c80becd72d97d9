//! [`LogError`]: the error of a log, its writer or its spool.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::{CallId, Span};
use crate::message::{MessageId, Position};

/// Why the log, its writer or its spool did not do something.
///
/// The text names what happened, the call or file, and what to do. It never contains the words of a caller. Clones are
/// cheap.
#[derive(Debug, Clone)]
pub struct LogError {
    kind: LogErrorKind,
    text: Arc<str>,
    source: Option<Arc<dyn Error + Send + Sync>>,
    /// Whether only this record failed, so that the next records of the call need not wait for it.
    is_of_one_record: bool,
}

/// The kind of a [`LogError`]: what happened, and how a caller can react.
///
/// A retry can succeed after [`Unavailable`](Self::Unavailable), and after [`NeedsOperator`](Self::NeedsOperator) once an
/// operator has fixed the cause. After every other kind a retry fails again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogErrorKind {
    /// The call was erased for good. Drop everything that is still to be logged of it.
    Erased,
    /// Another process has taken the call over, or is taking it over. Stop logging the call here.
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
    /// The log, its spool or the network failed for now, such as a timeout or throttling. Retry later.
    Unavailable,
    /// An operator must fix something outside the log, such as a missing table, a permission or a full disk. A retry
    /// then succeeds.
    NeedsOperator,
    /// The log refuses this record or operation for good, such as a record that is too large.
    Refused,
}

impl LogError {
    /// Creates the error of a backend, for implementors of [`CallLog`](super::CallLog).
    ///
    /// `operation` says what was attempted on which call, such as `reading call CA1`. Neither `operation` nor `source`
    /// may contain the words of a caller.
    pub fn backend(
        operation: impl fmt::Display,
        kind: LogErrorKind,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        let advice = match kind {
            LogErrorKind::Unavailable => "; retry",
            LogErrorKind::NeedsOperator => "; fix the cause, then retry",
            _ => "",
        };
        Self::new(kind, format!("{operation} failed; the source of this error says why{advice}")).with_source(source)
    }

    pub(crate) fn new(kind: LogErrorKind, text: impl Into<Arc<str>>) -> Self {
        Self { kind, text: text.into(), source: None, is_of_one_record: false }
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into().into());
        self
    }

    /// Lets the next records of the call be written before this one is stored.
    pub(super) fn of_one_record(self) -> Self {
        Self { is_of_one_record: true, ..self }
    }

    pub(crate) fn erased(call_id: &CallId) -> Self {
        let text =
            format!("call {call_id} was erased; nothing was read or written: drop what is still to be logged of it");
        Self::new(LogErrorKind::Erased, text)
    }

    /// `current` is the epoch of the writer that owns the call now.
    pub(crate) fn fenced(call_id: &CallId, epoch: u32, current: u32) -> Self {
        let text = format!(
            "call {call_id} is written by its writer {current} now, and this is writer {epoch}; nothing was written: \
             another process has resumed the call, stop logging it here"
        );
        Self::new(LogErrorKind::Fenced, text)
    }

    /// A process with the higher epoch `current` is taking the call over, or has done so.
    pub(crate) fn superseded(call_id: &CallId, epoch: u32, current: u32) -> Self {
        let text = format!(
            "call {call_id} is being taken over by another process with epoch {current}, or was, and this writer has \
             epoch {epoch}; nothing was written: read the header of the call to see who writes it"
        );
        Self::new(LogErrorKind::Fenced, text)
    }

    pub(crate) fn held(call_id: &CallId) -> Self {
        let text = format!(
            "call {call_id} is under a legal hold; nothing was erased: release the hold first, if that is allowed"
        );
        Self::new(LogErrorKind::Held, text)
    }

    pub(crate) fn not_opened(call_id: &CallId) -> Self {
        let text = format!("call {call_id} was never opened, or has expired; nothing was changed: open it first");
        Self::new(LogErrorKind::NotOpened, text)
    }

    pub(crate) fn other_message(call_id: &CallId, position: Position, id: MessageId, found: MessageId) -> Self {
        let text = format!(
            "{} of call {call_id} is message {found} in the log, not {id}; nothing was written: two writers log this \
             call, stop one and restore the call from the log",
            name_of(position)
        );
        Self::new(LogErrorKind::Conflict, text)
    }

    pub(crate) fn other_contents(call_id: &CallId, position: Position, id: MessageId, revision: u32) -> Self {
        let text = format!(
            "{} of call {call_id}, message {id}, has other contents in the log at the same revision {revision}; \
             nothing was written: two writers log this call, stop one and restore the call from the log",
            name_of(position)
        );
        Self::new(LogErrorKind::Conflict, text)
    }

    /// The log has no item with the messages of a span, and another one in its place.
    pub(crate) fn other_items(call_id: &CallId, span: Span) -> Self {
        let (first, last) = (span.first(), span.last());
        let text = format!(
            "messages {first} to {last} of call {call_id} are not one item in the log; nothing was written: another \
             writer has stored them as other items, restore the call from the log"
        );
        Self::new(LogErrorKind::Conflict, text)
    }

    pub(crate) fn other_header(call_id: &CallId) -> Self {
        let text = format!(
            "call {call_id} was opened with another start, tenant, caller, attributes or expiry; nothing was written: give each call its \
             own id"
        );
        Self::new(LogErrorKind::Conflict, text)
    }

    pub(super) fn invalid(expected: &str, rule: &str) -> Self {
        Self::new(LogErrorKind::Invalid, format!("not {expected}: {rule}"))
    }

    pub(super) fn stopped() -> Self {
        let text = "the log's writer was stopped; nothing was accepted: start another writer, take back what was \
                    submitted, and submit all pending changes to it";
        Self::new(LogErrorKind::Stopped, text)
    }

    /// The kind of the error.
    pub fn kind(&self) -> LogErrorKind {
        self.kind
    }

    /// Returns true if a later retry may succeed without an operator. A retry is always safe, because a repeated
    /// operation changes nothing.
    pub fn is_retryable(&self) -> bool {
        self.kind == LogErrorKind::Unavailable
    }

    /// Returns true if a retry never succeeds, even after an operator has fixed something.
    pub(crate) fn is_permanent(&self) -> bool {
        !matches!(self.kind, LogErrorKind::Unavailable | LogErrorKind::NeedsOperator)
    }

    pub(super) fn is_of_one_record(&self) -> bool {
        self.is_of_one_record
    }

    /// Returns true if every other record of the call would fail the same way.
    pub(crate) fn is_of_all_records(&self) -> bool {
        let is_of_call = !self.is_permanent() && !self.is_of_one_record();
        is_of_call || matches!(self.kind, LogErrorKind::Fenced | LogErrorKind::Erased)
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
