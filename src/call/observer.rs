//! [`Observer`] and [`CallEvent`]: what happens in a call, for whoever counts and measures it. Never what is said.

use std::sync::Arc;

use crate::message::InvocationId;
use crate::model::{SummarizeError, Usage};

/// Is told what happens in a call, while it happens.
///
/// It is called in the middle of a turn: it does not block. One for all calls adds up; one for each call can tell them
/// apart.
pub trait Observer: Send + Sync {
    /// Something happened.
    fn observe(&self, event: &CallEvent);
}

/// Looks away.
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
/// Turns are counted from 0. The reply of a turn is all that the model says in it, before and behind its tool calls.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallEvent {
    /// The caller has finished, and a reply is to be made.
    TurnStarted {
        /// The turn.
        turn: u32,
    },
    /// The model began to answer.
    FirstToken {
        /// The turn.
        turn: u32,
        /// Since the model was asked.
        after_ms: u32,
    },
    /// There is something to speak: the caller's wait is over.
    FirstSentence {
        /// The turn.
        turn: u32,
        /// Since the caller had finished.
        after_ms: u32,
    },
    /// The model will say no more in this turn.
    ReplyEnded {
        /// The turn.
        turn: u32,
        /// How it ended.
        outcome: ReplyOutcome,
        /// The text that was generated.
        generated_bytes: u32,
        /// The tokens of all requests of the turn, as far as they are known.
        usage: Usage,
    },
    /// The caller spoke while the reply was played or made.
    BargedIn {
        /// The turn.
        turn: u32,
    },
    /// What was heard of the reply is known, or is known better than before.
    Heard {
        /// The turn.
        turn: u32,
        /// Of the text that was generated.
        heard_bytes: u32,
    },
    /// A tool was called.
    ToolCalled {
        /// The turn.
        turn: u32,
        /// The call.
        id: InvocationId,
    },
    /// A tool call is waited for no more.
    ToolFinished {
        /// The call.
        id: InvocationId,
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
    /// A summary stands in the conversation.
    SummaryApplied {
        /// How many messages it covers.
        messages: u32,
        /// Since it was started.
        after_ms: u32,
        /// The tokens it took.
        usage: Usage,
    },
    /// A summary would have been due and was not begun.
    SummarySkipped {
        /// Why.
        reason: SummarySkip,
    },
    /// A summary was made of what is not so any more, and was dropped.
    SummaryStale {
        /// Since it was started.
        after_ms: u32,
        /// The tokens it took.
        usage: Usage,
    },
    /// No summary came of it.
    SummaryFailed {
        /// Why.
        reason: SummaryFailure,
        /// Since it was started.
        after_ms: u32,
    },
    /// The model had no answer: the caller heard an apology, and is to say it again.
    AskedToRepeat {
        /// The turn.
        turn: u32,
    },
    /// The log's writer took over what a turn brought.
    HandedOver {
        /// Records.
        records: u32,
    },
    /// The log's writer took nothing: it will be handed over again.
    NotHandedOver {
        /// Records.
        records: u32,
    },
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
    /// The caller broke in, and it was stopped.
    BargedIn,
    /// It was cut: it got too long, or broke off.
    Cut,
    /// A guardrail or a filter took it away.
    Filtered,
    /// The model did not answer.
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

/// Why a summary that would have been due was not begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SummarySkip {
    /// Another one is being made.
    Running,
    /// There is nothing that it may cover.
    NothingToCover,
    /// The last ones failed, and some time is to pass first.
    BackingOff,
    /// The call ends.
    Closing,
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
    /// The summariser ended without an answer: it panicked, or was stopped.
    Lost,
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
