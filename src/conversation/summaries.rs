//! [`Summaries`]: the summary that is made while the conversation goes on.
//!
//! Owns when one begins, and what becomes of it: at most one at a time, never while somebody waits for the first words, and
//! after a failure the extractive one in its place.

use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::config::Config;
use super::shared::Conversation;
use super::state::State;
use crate::manager::{ManagerError, Summarizing};
use crate::memory::ExtractiveSummarizer;
use crate::message::Message;
use crate::model::{SummarizeError, Summary};
use crate::policy::{TokenEstimator, Tokens};
use crate::turn::{CallEvent, Core, SummaryFailure, SummaryOutcome, count};

/// The summary that is made while the conversation goes on.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    running: Option<AbortHandle>,
    failures: u32,
    /// Until then the summariser is left alone.
    rests_until: Option<Instant>,
    /// Whether it rests because it saved too little: so would another.
    saves_too_little: bool,
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

impl Conversation {
    /// Begins a summary if one is due and nobody waits for an answer.
    pub(super) fn begin_summary_if_due(&self, state: &mut State) {
        let Some(runtime) = &state.runtime else { return };
        if !std::mem::take(&mut state.core.may_summarize)
            || state.core.ear.waits()
            || state.core.turn.as_ref().is_some_and(|turn| !turn.has_spoken)
            || state.summaries.running.is_some()
            || (state.summaries.saves_too_little && state.summaries.rests())
        {
            return;
        }
        let core = &state.core;
        let tokens = |message: &Message| core.estimator.message(message);
        let chosen = core.manager.summarizing_by(|window, cuts| state.config.policy.choose(window, cuts, tokens));
        let Some(summarizing) = chosen else { return };
        let messages = count(summarizing.messages().count());
        let making = make(self.clone(), summarizing, state.config.clone(), state.summaries.rests());
        state.summaries.running = Some(runtime.spawn(making).abort_handle());
        state.core.events.push(CallEvent::SummaryStarted { messages });
    }
}

async fn make(conversation: Conversation, summarizing: Summarizing, config: Config, rests: bool) {
    let begun = Instant::now();
    let within = config.summary_timeout;
    let made = if rests {
        None
    } else {
        let (summarizer, summarizing) = (config.summarizer.clone(), summarizing.clone());
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
    conversation.with_state(|state| {
        // The log has the end of the call, or is being given it.
        if state.summaries.running.take().is_none() {
            return;
        }
        let usage = made.as_ref().and_then(|made| made.as_ref().ok()).map(|summary| summary.usage).unwrap_or_default();
        let State { core, summaries, .. } = state;
        let outcome = apply(core, summaries, &summarizing, made, config.summary_backoff);
        let after_ms = u32::try_from(begun.elapsed().as_millis()).unwrap_or(u32::MAX);
        core.events.push(CallEvent::SummaryEnded { outcome, after_ms, usage });
        core.is_to_be_logged = true;
    });
}

struct StopOnDrop(AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What becomes of a summary; `None` is one that was not asked for, because the summariser rests.
fn apply(
    core: &mut Core,
    summaries: &mut Summaries,
    summarizing: &Summarizing,
    made: Option<Result<Summary, SummarizeError>>,
    backoff: Duration,
) -> SummaryOutcome {
    let Some(made) = made else { return replace(core, summarizing, None) };
    let failure = match made {
        Ok(summary) if !is_worth_it(core, summarizing, &summary) => {
            summaries.failed(backoff);
            summaries.saves_too_little = true;
            return SummaryOutcome::Skipped;
        }
        Ok(summary) => match core.manager.add_summary(summary.text, summarizing) {
            Ok(_) => {
                (summaries.failures, summaries.rests_until) = (0, None);
                return SummaryOutcome::Applied;
            }
            Err(ManagerError::StaleSummary) => return SummaryOutcome::Stale,
            Err(ManagerError::Blank) => SummaryFailure::Blank,
            Err(error) => {
                tracing::warn!(%error, "the conversation does not take a summary");
                SummaryFailure::Refused
            }
        },
        Err(error) => {
            tracing::warn!(%error, "there is no summary; the extractive one takes its place");
            SummaryFailure::from(&error)
        }
    };
    summaries.failed(backoff);
    replace(core, summarizing, Some(failure))
}

/// Takes the extractive summary.
fn replace(core: &mut Core, summarizing: &Summarizing, failure: Option<SummaryFailure>) -> SummaryOutcome {
    let summary = ExtractiveSummarizer::default().summary(summarizing).into();
    if !is_worth_it(core, summarizing, &summary) {
        return SummaryOutcome::Skipped;
    }
    match core.manager.add_summary(summary.text, summarizing) {
        Ok(_) => SummaryOutcome::Replaced(failure),
        // It is not blank, and of this conversation.
        Err(_) => SummaryOutcome::Stale,
    }
}

/// Whether it saves at least a quarter of what it replaces.
fn is_worth_it(core: &Core, summarizing: &Summarizing, summary: &Summary) -> bool {
    let previous = summarizing.previous().into_iter();
    let covered: Tokens = previous.chain(summarizing.messages()).map(|message| core.estimator.message(message)).sum();
    core.estimator.text(&summary.text).get() * 4 <= covered.get() * 3
}
