//! One request to the model, and its answer.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::commit::Next;
use super::core::{Host, count};
use super::end::TurnFailure;
use super::event::{CallEvent, SpeechId};
use super::request::Prepared;
use super::setup::Setup;
use super::spans;
use crate::clock::from_now;
use crate::contents::resolve;
use crate::message::{PromptHash, ToolCall, Value, is_blank};
use crate::model::{Failure, Generation, ModelError, ModelEvent, NoResult, Partial, Usage, take_progress, wait};

/// The outcome of one request.
pub(super) enum Asked {
    /// The model stopped. The stream may still report the usage.
    Stopped(Next, Generation, Box<Setup>),
    /// The request failed.
    Failed(TurnFailure),
    /// The turn was ended from outside.
    Over,
}

/// The deadlines of a turn. They exclude the time of tools, which have deadlines of their own.
pub(super) struct Deadlines {
    /// The deadline for the first words of the next answer.
    first_token: Instant,
    /// The deadline of the whole turn, and the length of that wait.
    turn: Option<(Instant, Duration)>,
}

impl Deadlines {
    /// Returns the deadlines of a turn that starts now.
    pub fn new(setup: &Setup) -> Self {
        Self {
            first_token: from_now(setup.first_token_timeout),
            turn: setup.turn_timeout.map(|timeout| (from_now(timeout), timeout)),
        }
    }

    /// Returns the latest time for the first words of the next answer.
    pub fn first_token(&self) -> Instant {
        self.turn.map_or(self.first_token, |(turn, _)| turn.min(self.first_token))
    }

    /// Sets the deadlines after tools ran. The wait for the words about their results starts again.
    pub fn after_tools(&mut self, setup: &Setup, took: Duration) {
        self.first_token = from_now(setup.first_token_timeout);
        if let Some((deadline, _)) = &mut self.turn {
            *deadline += took;
        }
    }

    /// Returns the deadline of the next event, the event, and the length of the wait.
    fn next(&self, setup: &Setup, has_begun: bool) -> (Instant, &'static str, Duration) {
        let next = match has_begun {
            false => (self.first_token, wait::FIRST_TOKEN, setup.first_token_timeout),
            true => (from_now(setup.event_timeout), wait::NEXT_EVENT, setup.event_timeout),
        };
        match self.turn {
            Some((deadline, timeout)) if deadline < next.0 => (deadline, wait::WHOLE_ANSWER, timeout),
            _ => next,
        }
    }
}

/// Asks the model once and adds its answer to the conversation.
pub(super) async fn ask<H: Host>(host: &H, id: SpeechId, deadlines: &Deadlines) -> Asked {
    let Prepared { setup, mut request, offers_tools } = match host.with(|core| core.prepare_request(id)) {
        None => return Asked::Over,
        Some(Err(failure)) => return Asked::Failed(failure),
        Some(Ok(prepared)) => prepared,
    };
    let Some((_, model)) = &setup.model else { return Asked::Failed(TurnFailure::NoModel) };
    if let Some(store) = &setup.contents {
        // The other half of the time is for the model. It gets a description of each content that is not loaded by
        // then.
        let by = halfway(deadlines.first_token());
        match timeout_at(by, resolve(request.messages.clone(), &**store)).await {
            Ok((messages, problems)) => {
                for problem in &problems {
                    tracing::warn!(call_id = ?host.call_id(), %problem, "cannot load a content; the model gets a description of it");
                }
                request.messages = messages;
            }
            Err(_) => tracing::warn!(
                call_id = ?host.call_id(),
                "the content store has not answered in half of the time until the first words; the model gets \
                 descriptions of the contents"
            ),
        }
    }
    let hash = PromptHash::of_fingerprint(&request.prompt_fingerprint());
    host.with(|core| core.record_request(id, |record| record.prompt_hash = hash));
    let mut generation = model.generate(request);
    let (mut received, mut has_begun) = (Partial::default(), false);
    loop {
        let (deadline, wait, after) = deadlines.next(&setup, has_begun);
        let event = match timeout_at(deadline, receive(&mut generation)).await {
            Err(_) => Err(ModelError::after(Failure::TimedOut { wait, after }, received)),
            Ok(Received::Progress) => {
                has_begun = true;
                continue;
            }
            Ok(Received::Event(None)) => Err(ModelError::after(Failure::truncated(), received)),
            Ok(Received::Event(Some(event))) => event,
        };
        let is_running = match event {
            Err(error) => return fail(host, id, error),
            Ok(ModelEvent::Text(text)) => {
                received.text_bytes += text.len();
                has_begun |= !is_blank(&text);
                host.with(|core| core.add_text(id, &text))
            }
            Ok(ModelEvent::ToolCall(call)) => {
                received.tool_calls += 1;
                has_begun = true;
                host.with(|core| core.add_tool_call(id, call))
            }
            Ok(ModelEvent::UnreadableToolCall { id: call, name, reason }) => {
                let unreadable = |reason: &str| NoResult::Unreadable(reason.to_owned());
                let reason = reason.as_deref().map_or(NoResult::TooLong, unreadable);
                host.with(|core| core.add_broken_call(id, ToolCall::of(call, name, Value::Null), reason))
            }
            Ok(ModelEvent::Stop(reason)) => {
                spans::record_stop(&reason);
                let next = host.with(|core| core.finish_answer(id, &reason, offers_tools));
                return Asked::Stopped(next, generation, Box::new(setup));
            }
            Ok(ModelEvent::Repaired(repairs)) => {
                for repair in &repairs {
                    tracing::warn!(call_id = ?host.call_id(), ?repair, "repaired the request; fix its source");
                }
                host.with(|core| core.events.push(CallEvent::Repaired { repairs: count(repairs.len()) }));
                let repairs = repairs.iter().map(|repair| repair.to_string().into());
                host.with(|core| core.record_request(id, |record| record.rare.repairs.extend(repairs)))
            }
            Ok(ModelEvent::Switched { from, to, reason }) => {
                tracing::warn!(call_id = ?host.call_id(), from = &*from, to = &*to, reason, "asking another model");
                host.with(|core| core.record_switch(id, from, to, reason))
            }
            Ok(ModelEvent::Usage(usage)) => {
                record_usage(host, id, usage);
                true
            }
        };
        if !is_running {
            return Asked::Over;
        }
    }
}

enum Received {
    Event(Option<Result<ModelEvent, ModelError>>),
    /// The model makes progress without an event.
    Progress,
}

async fn receive(generation: &mut Generation) -> Received {
    poll_fn(|context| {
        take_progress();
        match generation.as_mut().poll_next(context) {
            Poll::Ready(event) => Poll::Ready(Received::Event(event)),
            Poll::Pending if take_progress() => Poll::Ready(Received::Progress),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

/// Reads the events after the stop, so that the usage is counted and the connection can be reused.
///
/// Gives up after a second, because a model may never end its stream.
pub(super) async fn read_usage<H: Host>(host: &H, id: SpeechId, rest: &mut Generation) {
    const TIMEOUT: Duration = Duration::from_secs(1);
    let deadline = from_now(TIMEOUT);
    let mut next = async || poll_fn(|context| rest.as_mut().poll_next(context)).await;
    while let Ok(Some(Ok(event))) = timeout_at(deadline, next()).await {
        if let ModelEvent::Usage(usage) = event {
            record_usage(host, id, usage);
        }
    }
}

/// Returns the instant in the middle between now and a deadline.
fn halfway(deadline: Instant) -> Instant {
    let now = Instant::now();
    now + deadline.saturating_duration_since(now) / 2
}

fn record_usage<H: Host>(host: &H, id: SpeechId, usage: Usage) {
    spans::record_usage(usage);
    host.with(|core| core.record_usage(id, usage));
}

fn fail<H: Host>(host: &H, id: SpeechId, error: ModelError) -> Asked {
    tracing::warn!(call_id = ?host.call_id(), %error, "the model gave no complete answer");
    let word = error.kind().word();
    spans::record_failure(word);
    host.with(|core| core.record_failure(id, word));
    Asked::Failed(TurnFailure::Model(error))
}
