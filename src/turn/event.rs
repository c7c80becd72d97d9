//! [`Observer`] and [`CallEvent`]: the events of a call, for metrics. They contain no words of the call.

use std::fmt;
use std::sync::Arc;

use crate::log::{CallId, Durability};
use crate::message::{ToolCallId, ToolResult};
use crate::model::{Failure, NOT_RUN, OUTCOME_UNKNOWN, StopReason, Usage};

/// The id of a speech: a reply of the model, or a fixed sentence. Reports of playback name the speech by its id. A run
/// has no audio; there the id identifies the turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpeechId(pub(crate) u32);

impl fmt::Display for SpeechId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "speech-{}", self.0)
    }
}

/// Receives the events of a call as they happen.
///
/// One observer may serve one call or all calls of a process. It gets the events of a call one after the other, in their
/// order, and the outcomes of tools before the words that follow from them. It may use the session or the conversation.
/// It is called in the middle of a turn, so it must not block.
pub trait Observer: Send + Sync {
    /// Receives an event of a call.
    fn observe(&self, call_id: &CallId, event: &CallEvent);
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn observe(&self, call_id: &CallId, event: &CallEvent) {
        (**self).observe(call_id, event);
    }
}

/// An event of a call: ids, durations in milliseconds and counts, never words.
///
/// A reply is everything that the model says in one turn, before and after its tool calls. `speech` is the id of the
/// reply. A run has such ids too, although nothing is spoken. [`FirstWords`](Self::FirstWords),
/// [`BargedIn`](Self::BargedIn), [`Heard`](Self::Heard) and
/// [`Closed`](Self::Closed) come only from live calls, the others also from runs.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEvent {
    /// A turn started.
    TurnStarted {
        /// The reply.
        speech: SpeechId,
    },
    /// The request goes to another model, because the first one failed or is slow. The fields are those of
    /// [`ModelEvent::Switched`](crate::model::ModelEvent::Switched).
    ModelSwitched {
        /// The reply.
        speech: SpeechId,
        /// The name of the model that was asked, or that is skipped.
        from: Arc<str>,
        /// The name of the model that is asked now.
        to: Arc<str>,
        /// A word for the reason.
        reason: &'static str,
    },
    /// The first text of an answer arrived. A turn has one answer per request. An answer without text has no such
    /// event.
    FirstToken {
        /// The reply.
        speech: SpeechId,
        /// The time since the request.
        after_ms: u32,
    },
    /// The first words of a reply are ready to be spoken. The caller's wait is over.
    FirstWords {
        /// The reply.
        speech: SpeechId,
        /// The time since the end of the caller's words.
        after_ms: u32,
    },
    /// A reply ended. A reply that [asks the caller to repeat](ReplyEnd::AskedToRepeat) has no other event.
    ReplyEnded {
        /// The reply.
        speech: SpeechId,
        /// How the reply ended.
        end: ReplyEnd,
        /// The size of the text to be spoken.
        generated_bytes: u32,
    },
    /// The provider reported the tokens of a request. This event may follow the end of the reply.
    Used {
        /// The tokens.
        usage: Usage,
    },
    /// The caller is waiting for a running reply and hears nothing. Text counts as heard for the time that it takes to
    /// say it.
    Silence {
        /// The reply.
        speech: SpeechId,
        /// The length of the silence.
        after_ms: u32,
        /// Whether a [filler](crate::call::CallSettings::with_fillers) is spoken.
        is_filled: bool,
    },
    /// The caller interrupted the assistant.
    BargedIn,
    /// The session learned how much of a speech the caller heard, or got a more exact report.
    Heard {
        /// The speech.
        speech: SpeechId,
        /// The size of the heard text.
        heard_bytes: u32,
    },
    /// The model called a tool. The calls of an answer that was cut off, or that was offered no tools, are not
    /// reported.
    ToolCalled {
        /// The tool call.
        id: ToolCallId,
    },
    /// A tool call got its result, which may be an error. A result that replaces an unknown outcome is a second event.
    ToolFinished {
        /// The tool call.
        id: ToolCallId,
        /// The outcome.
        outcome: ToolOutcome,
        /// The time since the call.
        after_ms: u32,
    },
    /// A tool that may act is running although the log has not stored its call yet.
    ToolUnlogged {
        /// The tool call.
        id: ToolCallId,
    },
    /// The [`same_act`](crate::model::Tool::same_act) of a tool panicked, so the call counts as the same act as the
    /// earlier one.
    SameActPanicked {
        /// The tool call.
        id: ToolCallId,
    },
    /// A result has arrived that no request has contained, and no reply is running. Call
    /// [`reply`](crate::call::CallSession::reply) to report it to the caller, also if the caller says nothing.
    ResultReady {
        /// The tool call.
        id: ToolCallId,
    },
    /// A summary was started.
    SummaryStarted {
        /// The number of messages that it covers.
        messages: u32,
    },
    /// A summary ended. An extractive summary that was made because the window is at its limit has no
    /// [`SummaryStarted`](Self::SummaryStarted).
    SummaryEnded {
        /// The outcome.
        outcome: SummaryOutcome,
        /// The time since its start.
        after_ms: u32,
        /// The tokens that it used.
        usage: Usage,
        /// The number of sentences that the check of a model's summary removed, because they held values that nobody said.
        removed: u32,
    },
    /// A prompt is longer than the policy's [budget](crate::Policy::with_budget), although its memory holds
    /// only acts and its window only the last turn.
    OverBudget {
        /// The length of the prompt, in estimated tokens.
        tokens: u32,
    },
    /// The model's adapter changed a request so that the provider accepts it. A `tracing` event of level warn and the
    /// turn record name each change.
    Repaired {
        /// The number of changes.
        repairs: u32,
    },
    /// Changes were submitted to the log's writer.
    Submitted {
        /// The number of records that the writer accepted.
        records: u32,
        /// Whether the writer accepted all changes. If it is full or has stopped logging the call, the others stay
        /// pending.
        is_complete: bool,
    },
    /// The durability of the call's accepted records changed. The least durable record decides. Records that became
    /// [dead letters](crate::log::DeadLetter) do not count, but a call that another process has taken over is never
    /// [`Stored`](Durability::Stored) again.
    LogLevel {
        /// The level. [`Stored`](Durability::Stored) means that the log has everything that was submitted before the
        /// event; [`log_level`](crate::conversation::Conversation::log_level) says whether more was submitted since.
        durability: Durability,
    },
    /// The call ended.
    Closed {
        /// The length of the call.
        after_ms: u32,
    },
}

/// How a reply ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplyEnd {
    /// The model stopped. The reason may be a filter, or a limit that cut the reply off, such as
    /// [`StopReason::MaxTokens`].
    Complete(StopReason),
    /// The reply was stopped: the caller interrupted, the call was closed, or the reader of the reply is gone.
    Interrupted,
    /// The turn failed. In a live call, the reply ends with the apology. The failure is `None` if the cause is not a
    /// failed request, for example if the answer was blank.
    Failed(Option<Failure>),
    /// The caller was not understood and is asked to repeat.
    AskedToRepeat,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolOutcome {
    /// The tool succeeded.
    Succeeded,
    /// The tool failed.
    Failed,
    /// The tool never ran.
    NotRun,
    /// The outcome is unknown. The tool may have acted.
    Unknown,
}

/// The outcome of a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SummaryOutcome {
    /// The summary is in the conversation.
    Applied,
    /// An extractive summary replaced it. The failure is the summarizer's. It is `None` if the summarizer was pausing
    /// after an earlier failure, or if the window was at its limit.
    Replaced(Option<Failure>),
    /// The summary was dropped. The reason is `stale` if the covered messages changed, and `skipped` if the summary would
    /// save too little.
    Dropped(&'static str),
}

impl SummaryOutcome {
    pub(crate) const STALE: Self = Self::Dropped("stale");
    pub(crate) const SKIPPED: Self = Self::Dropped("skipped");
}

impl From<&ToolResult> for ToolOutcome {
    fn from(result: &ToolResult) -> Self {
        match result.outcome() {
            Ok(_) => Self::Succeeded,
            Err(error) => match error.error_type() {
                Some(OUTCOME_UNKNOWN) => Self::Unknown,
                Some(NOT_RUN) => Self::NotRun,
                _ => Self::Failed,
            },
        }
    }
}
