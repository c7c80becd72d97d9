//! [`Summaries`]: makes summaries in the background.
//!
//! Owns when a summary starts and how it ends. At most one runs at a time. None starts before the first words of a
//! reply, because the caller is waiting. If it fails, an extractive summary replaces it.

use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::{Instant, timeout};

use super::config::Config;
use super::shared::Conversation;
use super::state::State;
use crate::clock;
use crate::manager::Summarizing;
use crate::memory::ExtractiveSummarizer;
use crate::message::{Message, RequestRecord};
use crate::model::{Failure, ModelError, Summary, Usage, wait};
use crate::policy::{TokenEstimator, Tokens};
use crate::turn::{CallEvent, Core, SummaryOutcome, count};

/// The running summary, and the failures of the summarizer.
#[derive(Debug, Default)]
pub(super) struct Summaries {
    running: Option<AbortHandle>,
    failures: u32,
    /// The end of the pause after a failure.
    paused_until: Option<Instant>,
    /// Whether the pause is due to a summary that saved too little. An extractive summary would save equally little.
    saves_too_little: bool,
}

/// The longest time that a summarizer gets.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The longest pause after failures.
const MAX_BACKOFF: Duration = Duration::from_secs(300);
/// The pause after a first failure. Each further failure doubles it.
const FIRST_BACKOFF: Duration = Duration::from_secs(10);

impl Summaries {
    pub fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.abort();
        }
    }

    fn is_paused(&self) -> bool {
        self.paused_until.is_some_and(|until| Instant::now() < until)
    }

    fn failed(&mut self) {
        self.saves_too_little = false;
        self.failures += 1;
        self.paused_until = Instant::now().checked_add(clock::backoff(FIRST_BACKOFF, self.failures, MAX_BACKOFF));
    }
}

impl Conversation {
    /// Starts a summary if one is due and no caller is waiting for an answer.
    pub(super) fn start_due_summary(&self, state: &mut State) {
        let Some(runtime) = &state.runtime else { return };
        if !std::mem::take(&mut state.core.may_summarize)
            || state.core.ear.waits()
            || state.core.turn.as_ref().is_some_and(|turn| !turn.has_spoken)
            || state.summaries.running.is_some()
            || (state.summaries.saves_too_little && state.summaries.is_paused())
        {
            return;
        }
        state.core.cover();
        let core = &state.core;
        let tokens = |message: &Message| core.estimator.message(message);
        let policy = state.config.policy();
        let chosen = core.manager.summarizing_by(|window, cuts| {
            let chosen = policy.choose(window, cuts, tokens)?;
            cuts.get(chosen).filter(|cut| core.pays(window, cut.messages)).map(|_| chosen)
        });
        let Some(summarizing) = chosen else { return };
        let messages = count(summarizing.messages().count());
        let task = make(self.clone(), summarizing, state.config.clone(), state.summaries.is_paused());
        state.summaries.running = Some(runtime.spawn(task).abort_handle());
        state.core.events.push(CallEvent::SummaryStarted { messages });
    }
}

async fn make(conversation: Conversation, summarizing: Summarizing, config: Config, is_paused: bool) {
    let started = Instant::now();
    let made = if is_paused {
        None
    } else {
        let (summarizer, summarizing) = (config.summarizer(), summarizing.clone());
        // In a task of its own, a panic counts as a failure.
        let task = tokio::spawn(async move { summarizer.summarize(&summarizing).await });
        let stop = StopOnDrop(task.abort_handle());
        let made = timeout(TIMEOUT, task).await;
        drop(stop);
        Some(match made {
            Ok(Ok(made)) => made,
            Ok(Err(panic)) => Err(error(Failure::Malformed("the summarizer panicked".to_owned())).with_source(panic)),
            Err(_) => Err(error(Failure::TimedOut { wait: wait::WHOLE_ANSWER, after: TIMEOUT })),
        })
    };
    conversation.with_state(|state| {
        // The summary was cancelled, because the call has ended.
        if state.summaries.running.take().is_none() {
            return;
        }
        let written = made.as_ref().and_then(|made| made.as_ref().ok());
        let (usage, removed) = written.map(|summary| (summary.usage, summary.removed)).unwrap_or_default();
        let State { core, summaries, .. } = state;
        let after_ms = u32::try_from(started.elapsed().as_millis()).unwrap_or(u32::MAX);
        let outcome = apply(core, summaries, &summarizing, made);
        if outcome == SummaryOutcome::Applied
            && usage != Usage::default()
            && let Some(id) = core.manager.last_summary().map(|summary| summary.id())
            && let Some(mut entry) = core.manager.entry(&id)
        {
            let mut request = RequestRecord { took_ms: i64::from(after_ms).into(), ..RequestRecord::default() };
            usage.record(&mut request);
            entry.set_request(request);
        }
        core.events.push(CallEvent::SummaryEnded { outcome, after_ms, usage, removed });
        core.is_to_be_logged = true;
    });
}

fn error(failure: Failure) -> ModelError {
    ModelError::new(failure)
}

struct StopOnDrop(AbortHandle);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Applies a summary, or its extractive replacement. `None` means that the summarizer is paused.
fn apply(
    core: &mut Core,
    summaries: &mut Summaries,
    summarizing: &Summarizing,
    made: Option<Result<Summary, ModelError>>,
) -> SummaryOutcome {
    let Some(made) = made else { return replace(core, summarizing, None) };
    let failure = match made {
        Ok(summary) if !is_worth_it(core, summarizing, &summary) => {
            summaries.failed();
            summaries.saves_too_little = true;
            return SummaryOutcome::SKIPPED;
        }
        Ok(summary) => match core.manager.add_summary(summary.text, summarizing) {
            Ok(_) => {
                (summaries.failures, summaries.paused_until) = (0, None);
                return SummaryOutcome::Applied;
            }
            Err(error) if error.is_stale() => return SummaryOutcome::STALE,
            Err(error) => {
                tracing::warn!(%error, "the conversation refused a summary; the extractive one replaces it");
                Failure::Malformed(format!("the summary is refused: {error}"))
            }
        },
        Err(error) => {
            tracing::warn!(%error, "the summarizer failed; the extractive summary replaces its own");
            error.kind().clone()
        }
    };
    summaries.failed();
    replace(core, summarizing, Some(failure))
}

/// Applies the extractive summary.
fn replace(core: &mut Core, summarizing: &Summarizing, failure: Option<Failure>) -> SummaryOutcome {
    let summary = ExtractiveSummarizer::for_memory(core.setup.memory).summary(summarizing).into();
    if !is_worth_it(core, summarizing, &summary) {
        return SummaryOutcome::SKIPPED;
    }
    match core.manager.add_summary(summary.text, summarizing) {
        Ok(_) => SummaryOutcome::Replaced(failure),
        // The summary is neither blank nor of another conversation, so it must be stale.
        Err(_) => SummaryOutcome::STALE,
    }
}

/// Returns whether the summary saves at least a quarter of the tokens that it replaces.
fn is_worth_it(core: &Core, summarizing: &Summarizing, summary: &Summary) -> bool {
    let previous = summarizing.previous().into_iter();
    let covered: Tokens = previous.chain(summarizing.messages()).map(|message| core.estimator.message(message)).sum();
    core.estimator.text(&summary.text).get() * 4 <= covered.get() * 3
}
