//! [`Observer`] and [`CallEvent`]: what happens in a call, for whoever counts and measures it. Never what is said.

use std::sync::Arc;

use std::fmt;

use crate::message::{Outcome, ToolCallId, ToolResult};
use crate::model::{NOT_RUN, OUTCOME_UNKNOWN, SummarizeError, Usage};

/// Something that the assistant says: a turn, or a fixed sentence. In a live call, playback reports name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpeechId(pub(crate) u32);

impl fmt::Display for SpeechId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "speech-{}", self.0)
    }
}

/// Is told what happens in a call, while it happens.
///
/// It is called in the middle of a turn: it does not block. It may look at the session. One for all calls adds up; one for
/// each call can tell them apart.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn observe(&self, event: &CallEvent);
}

/// Ignores all events.
impl Observer for () {
    fn observe(&self, _event: &CallEvent) {}
}

impl<O: Observer + ?Sized> Observer for Arc<O> {
    fn observe(&self, event: &CallEvent) {
        (**self).observe(event);
    }
}

/// What happens in a call: ids, durations in milliseconds, counts; never a word of it.
///
/// A reply is all that the model says in a turn, before and behind its tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEvent {
    /// The model is to answer.
    TurnStarted {
        /// The reply.
        speech: SpeechId,
    },
    /// The model began to answer one of its requests.
    FirstToken {
        /// The reply.
        speech: SpeechId,
        /// Since the model was asked.
        after_ms: u32,
    },
    /// There is something to speak: the caller's wait is over.
    FirstWords {
        /// The reply.
        speech: SpeechId,
        /// Since the caller had finished.
        after_ms: u32,
    },
    /// The model will say no more in this turn.
    ReplyEnded {
        /// The reply.
        speech: SpeechId,
        /// How it ended.
        outcome: ReplyOutcome,
        /// The text that is to be spoken.
        generated_bytes: u32,
    },
    /// What a request of a turn took. It comes last, behind the end of the reply too.
    Used {
        /// The tokens.
        usage: Usage,
    },
    /// The caller was not understood, and is asked to say it again.
    AskedToRepeat {
        /// What is spoken.
        speech: SpeechId,
    },
    /// The caller spoke while something was played or made.
    BargedIn,
    /// What was heard of something spoken is known, or is known better than before.
    Heard {
        /// What was spoken.
        speech: SpeechId,
        /// Of its text.
        heard_bytes: u32,
    },
    /// A tool was called.
    ToolCalled {
        /// The call.
        id: ToolCallId,
    },
    /// A tool call is waited for no more.
    ToolFinished {
        /// The call.
        id: ToolCallId,
        /// What came of it.
        outcome: ToolOutcome,
        /// Since it was called.
        after_ms: u32,
    },
    /// A summary is being made.
    SummaryStarted {
        /// How many messages it is to cover.
        messages: u32,
    },
    /// A summary is no longer being made.
    SummaryEnded {
        /// What became of it.
        outcome: SummaryOutcome,
        /// Since it was started.
        after_ms: u32,
        /// The tokens it took.
        usage: Usage,
    },
    /// The log's writer took over what is new.
    HandedOver {
        /// Records.
        records: u32,
    },
    /// The log's writer had no room for all of it, or takes nothing of the call any more: it stays pending.
    NotHandedOver,
    /// The call is over.
    Closed {
        /// Since it began.
        after_ms: u32,
    },
}

/// How a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReplyOutcome {
    /// The model said all it had to say.
    Complete,
    /// The caller broke in, or nobody listened: it was stopped.
    Stopped,
    /// It got too long, and was cut.
    Cut,
    /// A guardrail or a filter took it away, or a part of it.
    Filtered,
    /// The model did not answer, or not to the end: the apology was spoken.
    Failed,
}

/// What came of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolOutcome {
    /// It did what it was called for.
    Succeeded,
    /// It failed.
    Failed,
    /// It never ran.
    NotRun,
    /// Nobody knows; it may have acted.
    Unknown,
}

/// What became of a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SummaryOutcome {
    /// It stands in the conversation.
    Applied,
    /// The extractive one took its place; why, or `None` where the summariser still rested from its last failure, or the
    /// window was at its limit.
    Replaced(Option<SummaryFailure>),
    /// What it covers is not so any more, and it was dropped.
    Stale,
    /// It would save too little, and was dropped.
    Skipped,
}

/// Why no summary came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SummaryFailure {
    /// It said nothing.
    Blank,
    /// It took too long.
    TimedOut,
    /// The model could not be asked, or refused.
    Model,
    /// The conversation did not take it.
    Refused,
}

impl From<&ToolResult> for ToolOutcome {
    fn from(result: &ToolResult) -> Self {
        match result.outcome() {
            Outcome::Success(_) => Self::Succeeded,
            Outcome::Failure(error) => match error.error_type() {
                Some(OUTCOME_UNKNOWN) => Self::Unknown,
                Some(NOT_RUN) => Self::NotRun,
                _ => Self::Failed,
            },
        }
    }
}

impl From<&SummarizeError> for SummaryFailure {
    fn from(error: &SummarizeError) -> Self {
        match error {
            SummarizeError::Blank => Self::Blank,
            SummarizeError::TimedOut { .. } => Self::TimedOut,
            SummarizeError::Model { .. } => Self::Model,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_failed_summary_has_its_reason() {
        let model = SummarizeError::Model { retryable: true, source: "no such model".into() };
        let late = SummarizeError::TimedOut { after: Duration::from_secs(2) };
        assert_eq!(
            [&SummarizeError::Blank, &late, &model].map(SummaryFailure::from),
            [SummaryFailure::Blank, SummaryFailure::TimedOut, SummaryFailure::Model]
        );
    }
}
