//! One reply: asking the model, running tools, asking again, and what is spoken where there is no answer.
//!
//! Owns the order of these and their deadlines. A task of its own, which is ended from outside when the caller breaks in:
//! at every wait in it the conversation is as it should be.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};
use tracing::Instrument;

use super::ledger::NOT_RUN;
use super::reply::ReplyEnd;
use super::shared::Shared;
use super::speech::SpeechId;
use super::{spans, tool};
use crate::clock::from_now;
use crate::message::{Invocation, InvocationId};
use crate::model::{Failure, Generation, ModelError, ModelEvent, Received, StopReason, Wait};

/// What one request to the model came to.
enum Answer {
    /// It stopped, and what it said is in the list. The stream may still tell what it took.
    Stopped(StopReason, Vec<Invocation>, Generation),
    Failed(Failure),
    /// The reply was ended from outside.
    Over,
}

/// Generates the reply. A panic of the model is a failure like others.
pub(super) async fn run(shared: Arc<Shared>, speech: SpeechId) {
    let _ends = EndsReply { shared: &shared, speech };
    let mut generating = pin!(generate(&shared, speech));
    let generated =
        std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| generating.as_mut().poll(context))) {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic)),
        });
    if generated.await.is_err() {
        tracing::error!(call_id = ?shared.call_id, "the model panicked");
        shared.apologise(speech, None);
    }
}

/// Whoever reads the reply is told of its end, even where the runtime ends before.
struct EndsReply<'a> {
    shared: &'a Arc<Shared>,
    speech: SpeechId,
}

impl Drop for EndsReply<'_> {
    fn drop(&mut self) {
        self.shared.abandon(self.speech);
    }
}

async fn generate(shared: &Arc<Shared>, speech: SpeechId) {
    let deadline = from_now(shared.settings.answer_within);
    let mut attempts = 1;
    let mut round = 0;
    loop {
        let span = spans::chat(shared.call_id.as_ref());
        let answer = ask(shared, speech, round, deadline).instrument(span.clone()).await;
        match answer {
            Answer::Over => return,
            Answer::Failed(failure) => {
                let is_in_time = attempts < shared.settings.attempts && Instant::now() < deadline;
                if is_in_time && failure.is_worth_another_try() && shared.has_said_nothing(speech) {
                    attempts += 1;
                    continue;
                }
                return shared.apologise(speech, Some(failure));
            }
            Answer::Stopped(reason, calls, rest) if calls.is_empty() || reason == StopReason::Filtered => {
                for call in &calls {
                    shared.tool_result(tool::failed(
                        call,
                        NOT_RUN,
                        "The tool was not run: a filter took the answer away.",
                    ));
                }
                if shared.has_spoken(speech) {
                    shared.end_turn(speech, ReplyEnd::Complete(reason));
                } else {
                    shared.apologise(speech, None);
                }
                read_usage(shared, rest).instrument(span).await;
                return;
            }
            Answer::Stopped(_, calls, rest) => {
                let results = run_tools(shared, speech, calls, deadline);
                // The results take longer than the rest of the answer.
                let (_, is_answered) = tokio::join!(read_usage(shared, rest).instrument(span), results);
                if !is_answered {
                    let waited = Failure::TimedOut { wait: Wait::WholeAnswer, after: shared.settings.answer_within };
                    return shared.apologise(speech, Some(waited));
                }
                round += 1;
            }
        }
    }
}

/// Asks the model once, and puts what it says into the list.
async fn ask(shared: &Arc<Shared>, speech: SpeechId, round: u32, deadline: Instant) -> Answer {
    let Some(request) = shared.request(speech, round) else { return Answer::Over };
    let mut generation = shared.model.generate(request);
    let mut received = Received::default();
    loop {
        let next = std::future::poll_fn(|context| generation.as_mut().poll_next(context));
        let after = shared.settings.answer_within;
        let (until, wait) = match shared.has_spoken(speech) {
            false => (deadline, Wait::FirstToken),
            // Models bound this themselves, and should.
            true => (from_now(after), Wait::NextEvent),
        };
        let Ok(event) = timeout_at(until, next).await else {
            return failed(shared, &ModelError::new(Failure::TimedOut { wait, after }, received));
        };
        let event = match event {
            Some(Ok(event)) => event,
            Some(Err(error)) => return failed(shared, &error),
            None => return failed(shared, &ModelError::new(Failure::Truncated, received)),
        };
        match event {
            ModelEvent::Text(text) => {
                received.text_bytes += text.len();
                if !shared.text(speech, text) {
                    return Answer::Over;
                }
            }
            // No tool was offered: to run one all the same would go on for ever.
            ModelEvent::Invocation(_) if round >= shared.settings.max_tool_rounds => {
                let kind = Failure::Malformed("a tool was called where none was offered".into());
                return failed(shared, &ModelError::new(kind, received));
            }
            ModelEvent::Invocation(invocation) => {
                received.invocations += 1;
                if !shared.invocation(speech, invocation) {
                    return Answer::Over;
                }
            }
            ModelEvent::Stop(reason) => {
                spans::stopped(&reason);
                return match shared.stopped(speech) {
                    Some(calls) => Answer::Stopped(reason, calls, generation),
                    None => Answer::Over,
                };
            }
            ModelEvent::Repaired(repairs) => {
                for repair in repairs {
                    tracing::warn!(?repair, "the request was repaired");
                }
            }
            ModelEvent::Usage(usage) => shared.usage(usage),
        }
    }
}

fn failed(shared: &Shared, error: &ModelError) -> Answer {
    tracing::warn!(call_id = ?shared.call_id, %error, "the model did not answer");
    spans::failed(error.kind());
    Answer::Failed(error.kind().clone())
}

/// What the request took comes last. Read to its end, the connection can be used again. A model that does not end is not
/// waited for.
async fn read_usage(shared: &Arc<Shared>, mut rest: Generation) {
    const WITHIN: Duration = Duration::from_secs(1);
    let until = from_now(WITHIN);
    let mut next = async || std::future::poll_fn(|context| rest.as_mut().poll_next(context)).await;
    while let Ok(Some(Ok(event))) = timeout_at(until, next()).await {
        if let ModelEvent::Usage(usage) = event {
            shared.usage(usage);
        }
    }
}

/// Runs the tools, and waits for what comes of them: not for longer than the caller does. Says whether all of it came.
async fn run_tools(shared: &Arc<Shared>, speech: SpeechId, calls: Vec<Invocation>, deadline: Instant) -> bool {
    let ids: Vec<InvocationId> = calls.iter().map(|call| call.id().clone()).collect();
    let last = from_now(shared.settings.tool_within);
    for call in calls {
        match shared.tools.handler(call.name()) {
            Some(handler) => {
                let shared = shared.clone();
                let within = shared.settings.tool_within;
                let span = spans::execute_tool(shared.call_id.as_ref(), &call);
                let running = async move {
                    let result = tool::run(handler, call, within).await;
                    shared.tool_result(result);
                };
                tokio::spawn(running.instrument(span));
            }
            None if shared.tools.knows(call.name()) => shared.expire(call, last),
            None => {
                shared.tool_result(tool::failed(&call, NOT_RUN, "There is no such tool."));
            }
        }
    }
    let all = async {
        loop {
            // Registered before the look, so that a result in between is not missed.
            let changed = shared.results.notified();
            if !shared.any_open(&ids) {
                return;
            }
            changed.await;
        }
    };
    if shared.has_spoken(speech) {
        // The caller knows that something is being done. Each tool has its own deadline.
        all.await;
        return true;
    }
    timeout_at(deadline, all).await.is_ok()
}
