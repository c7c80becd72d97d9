//! [`Summaries`]: the summary that is made while the call goes on.
//!
//! Owns when one is begun, and what becomes of it: at most one at a time, never while the caller waits for an answer, and
//! after a failure the extractive one in its place.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::observer::{CallEvent, SummaryFailure, SummaryOutcome};
use super::shared::Shared;
use super::state::{State, count};
use crate::manager::{ManagerError, Summarizing};
use crate::message::MessageWrapper;
use crate::model::{Extractive, SummarizeError, Summary};
use crate::policy::{TokenEstimator, Tokens, WindowSizes};

/// The summary that is made while the call goes on.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    running: Option<AbortHandle>,
    failures: u32,
    /// Until then the summariser is left alone.
    rests_until: Option<Instant>,
    /// Whether it rests because it saved too little: so would another.
    saves_too_little: bool,
    /// Something was said or played since it was last looked at.
    pub is_to_be_looked_at: bool,
}

/// The longest rest after failures.
const LONGEST_REST: Duration = Duration::from_secs(300);

impl Summaries {
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
        }
    }

    fn rests(&self) -> bool {
        self.rests_until.is_some_and(|until| Instant::now() < until)
    }

    fn failed(&mut self, backoff: Duration) {
        self.saves_too_little = false;
        let wait = backoff.saturating_mul(1 << self.failures.min(16)).min(LONGEST_REST);
        self.failures += 1;
        self.rests_until = Instant::now().checked_add(wait);
    }
}

/// Begins a summary where one is due and nobody waits.
pub(super) fn begin_if_due(shared: &Arc<Shared>, state: &mut State) {
    if !std::mem::take(&mut state.summaries.is_to_be_looked_at)
        || state.is_closing
        || state.caller_waits
        || state.turn.as_ref().is_some_and(|turn| !turn.has_spoken)
        || state.summaries.running.is_some()
        || (state.summaries.saves_too_little && state.summaries.rests())
    {
        return;
    }
    let window: Vec<_> = state.manager.messages().collect();
    let cuts = state.manager.cuts();
    let places = cuts.iter().map(|cut| (cut.messages(), cut.turns()));
    let sizes = WindowSizes::of(window.iter().map(|message| message.message()), places, &state.estimator);
    drop(window);
    let cut = shared.settings.policy.choose(&sizes).and_then(|chosen| cuts.get(chosen));
    let Some(summarizing) = cut.and_then(|cut| state.manager.summarizing_at(cut)) else { return };
    state.events.push(CallEvent::SummaryStarted { messages: count(summarizing.messages().count()) });
    let task = shared.runtime.spawn(make(shared.clone(), summarizing, state.summaries.rests()));
    state.summaries.running = Some(task.abort_handle());
}

async fn make(shared: Arc<Shared>, summarizing: Summarizing, rests: bool) {
    let begun = Instant::now();
    let within = shared.settings.summary_within;
    let made = if rests {
        None
    } else {
        let summarizer = shared.summarizer.clone();
        let summarizing = summarizing.clone();
        // A task of its own, so that a panic in it is a failure like others.
        let making = tokio::spawn(async move { summarizer.summarize(&summarizing).await });
        let stop = StopOnDrop(making.abort_handle());
        let made = timeout(within, making).await;
        drop(stop);
        Some(match made {
            Ok(Ok(made)) => made,
            Ok(Err(panic)) => Err(SummarizeError::Model { retryable: false, source: panic.into() }),
            Err(_) => Err(SummarizeError::TimedOut { after: within }),
        })
    };
    shared.with(|state| {
        // The log has the end of the call, or is being given it.
        if state.is_closing {
            return;
        }
        state.summaries.running = None;
        let usage = made.as_ref().and_then(|made| made.as_ref().ok()).map(|summary| summary.usage).unwrap_or_default();
        let outcome = state.apply(&shared, &summarizing, made);
        let after_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        state.events.push(CallEvent::SummaryEnded { outcome, after_ms, usage });
        state.log();
    });
}

struct StopOnDrop(AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl State {
    /// What becomes of a summary; `None` is one that was not asked for, for the summariser rests.
    fn apply(
        &mut self,
        shared: &Shared,
        summarizing: &Summarizing,
        made: Option<Result<Summary, SummarizeError>>,
    ) -> SummaryOutcome {
        let Some(made) = made else { return self.replace(summarizing, None) };
        let failure = match made {
            Ok(summary) if !self.is_worth_it(summarizing, &summary) => {
                self.summaries.failed(shared.settings.summary_backoff);
                self.summaries.saves_too_little = true;
                return SummaryOutcome::Skipped;
            }
            Ok(summary) => match self.manager.add_summary(summary.text, summarizing) {
                Ok(_) => {
                    (self.summaries.failures, self.summaries.rests_until) = (0, None);
                    return SummaryOutcome::Applied;
                }
                Err(ManagerError::StaleSummary) => return SummaryOutcome::Stale,
                Err(ManagerError::Blank) => SummaryFailure::Blank,
                Err(error) => {
                    tracing::warn!(call_id = ?shared.call_id, %error, "the conversation does not take a summary");
                    SummaryFailure::Refused
                }
            },
            Err(error) => {
                tracing::warn!(call_id = ?shared.call_id, %error, "there is no summary; the extractive one takes its place");
                SummaryFailure::from(&error)
            }
        };
        self.summaries.failed(shared.settings.summary_backoff);
        self.replace(summarizing, Some(failure))
    }

    /// Takes the extractive summary.
    fn replace(&mut self, summarizing: &Summarizing, failure: Option<SummaryFailure>) -> SummaryOutcome {
        let summary = Extractive::default().summary(summarizing).into();
        if !self.is_worth_it(summarizing, &summary) {
            return SummaryOutcome::Skipped;
        }
        match self.manager.add_summary(summary.text, summarizing) {
            Ok(_) => SummaryOutcome::Replaced(failure),
            // It is not blank, and of this conversation.
            Err(_) => SummaryOutcome::Stale,
        }
    }

    /// Whether it saves a quarter at least of what it stands for.
    fn is_worth_it(&self, summarizing: &Summarizing, summary: &Summary) -> bool {
        let previous = summarizing.previous().into_iter();
        let covered: Tokens =
            previous.chain(summarizing.messages()).map(|message| self.estimator.message(message)).sum();
        self.estimator.text(&summary.text).get() * 4 <= covered.get() * 3
    }
}
