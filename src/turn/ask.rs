//! One request to the model, and reading its answer.

use std::future::poll_fn;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::commit::Next;
use super::core::Host;
use super::end::{TurnFailure, failure_word};
use super::event::SpeechId;
use super::request::Asked;
use super::setup::Setup;
use super::spans;
use crate::clock::from_now;
use crate::contents::resolve;
use crate::message::is_blank;
use crate::model::{Failure, Generation, ModelError, ModelEvent, Partial, Wait};

/// What one request came to.
pub(super) enum Answer {
    /// The model stopped. Its usage may still come.
    Stopped(Next, Generation, Box<Setup>),
    Failed(TurnFailure),
    /// The turn was ended from outside.
    Over,
}

/// When a turn is too late.
pub(super) struct Deadlines {
    /// For the first words.
    pub first_token: Instant,
    /// For the whole turn.
    pub turn: Option<(Instant, Duration)>,
}

impl Deadlines {
    /// The deadlines of a turn that begins now.
    pub fn new(setup: &Setup) -> Self {
        Self {
            first_token: from_now(setup.first_token_timeout),
            turn: setup.turn_timeout.map(|within| (from_now(within), within)),
        }
    }

    /// The deadline for the next event, what it waits for, and how long it has waited then.
    fn next(&self, setup: &Setup, has_spoken: bool) -> (Instant, Wait, Duration) {
        let next = match has_spoken {
            false => (self.first_token, Wait::FirstToken, setup.first_token_timeout),
            true => (from_now(setup.event_timeout), Wait::NextEvent, setup.event_timeout),
        };
        match self.turn {
            Some((turn, within)) if turn < next.0 => (turn, Wait::WholeAnswer, within),
            _ => next,
        }
    }
}

/// Asks the model once, and puts what it says into the conversation.
pub(super) async fn ask<H: Host>(host: &H, id: SpeechId, deadlines: &Deadlines, has_spoken: &mut bool) -> Answer {
    let Asked { setup, mut request, offers_tools } = match host.with(|core| core.ask(id)) {
        None => return Answer::Over,
        Some(Err(failure)) => return Answer::Failed(failure),
        Some(Ok(asked)) => asked,
    };
    let Some((_, model)) = &setup.model else { return Answer::Failed(TurnFailure::NoModel) };
    if let Some(store) = &setup.contents {
        let (messages, problems) = resolve(request.messages, &**store).await;
        for problem in &problems {
            tracing::warn!(call_id = ?host.call_id(), %problem, "the model gets a description in place of a content");
        }
        request.messages = messages;
    }
    let hash = request.fingerprint();
    host.with(|core| core.hashed(id, hash));
    let mut generation = model.generate(request);
    let mut received = Partial::default();
    loop {
        let next = poll_fn(|context| generation.as_mut().poll_next(context));
        let (until, wait, after) = deadlines.next(&setup, *has_spoken);
        let event = match timeout_at(until, next).await {
            Err(_) => Err(ModelError::new(Failure::TimedOut { wait, after }, received)),
            Ok(None) => Err(ModelError::new(Failure::Truncated, received)),
            Ok(Some(event)) => event,
        };
        let goes_on = match event {
            Err(error) => return failed(host, id, error),
            Ok(ModelEvent::Text(text)) => {
                received.text_bytes += text.len();
                *has_spoken |= !is_blank(&text);
                host.with(|core| core.text(id, &text))
            }
            Ok(ModelEvent::ToolCall(call)) => {
                received.tool_calls += 1;
                host.with(|core| core.calls(id, call))
            }
            Ok(ModelEvent::Stop(reason)) => {
                spans::stopped(&reason);
                let next = host.with(|core| core.stopped(id, &reason, offers_tools));
                return Answer::Stopped(next, generation, Box::new(setup));
            }
            Ok(ModelEvent::Repaired(repairs)) => {
                for repair in &repairs {
                    tracing::warn!(call_id = ?host.call_id(), ?repair, "the request was repaired");
                }
                host.with(|core| core.repaired(id, &repairs))
            }
            Ok(ModelEvent::Usage(usage)) => {
                used(host, id, usage);
                true
            }
        };
        if !goes_on {
            return Answer::Over;
        }
    }
}

/// Reads what comes after the stop, so that the usage is counted and the connection can be used again. A model that does
/// not end is not waited for.
pub(super) async fn read_usage<H: Host>(host: &H, id: SpeechId, rest: &mut Generation) {
    const WITHIN: Duration = Duration::from_secs(1);
    let until = from_now(WITHIN);
    let mut next = async || poll_fn(|context| rest.as_mut().poll_next(context)).await;
    while let Ok(Some(Ok(event))) = timeout_at(until, next()).await {
        if let ModelEvent::Usage(usage) = event {
            used(host, id, usage);
        }
    }
}

fn used<H: Host>(host: &H, id: SpeechId, usage: crate::model::Usage) {
    spans::used(usage);
    host.with(|core| core.used(id, usage));
}

fn failed<H: Host>(host: &H, id: SpeechId, error: ModelError) -> Answer {
    tracing::warn!(call_id = ?host.call_id(), %error, "the model did not answer");
    spans::failed(failure_word(error.kind()));
    host.with(|core| core.request_failed(id, error.kind()));
    Answer::Failed(TurnFailure::Model(error))
}
