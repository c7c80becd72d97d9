//! [`drive`]: the order of asking, running tools, and asking again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::Instrument;

use super::ask::{Answer, Deadlines, ask, read_usage};
use super::commit::Next;
use super::core::Host;
use super::end::{TurnEnd, TurnFailure};
use super::event::SpeechId;
use super::setup::Setup;
use super::spans;
use crate::clock::from_now;
use crate::message::{ToolCall, ToolCallId};
use crate::model::{Failure, ModelError, NOT_RUN, OUTCOME_UNKNOWN, Partial, ToolContext, Wait};

/// Drives a turn that was begun to its end. Nothing is sent before this is polled.
///
/// At every await in it the conversation is as it should be. Dropping it cancels the request; what was said stays, marked.
/// The tools that run belong to the conversation: they go on, and their results are added when they come.
pub(crate) fn drive<H: Host>(host: H, id: SpeechId) -> impl Future<Output = TurnEnd> + Send {
    let guard = EndsTurn { host, id };
    async move {
        let host = &guard.host;
        let mut turn = pin!(take_turn(host, id));
        let end =
            std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| turn.as_mut().poll(context))) {
                Ok(polled) => polled,
                Err(_) => {
                    tracing::error!(call_id = ?host.call_id(), "the model panicked");
                    Poll::Ready(TurnEnd::Failed(TurnFailure::Panicked))
                }
            })
            .await;
        host.with(|core| {
            core.end_turn(id, &end);
            core.is_to_be_logged = true;
        });
        end
    }
}

/// How long a reply waits for its usage before it is logged without.
const USAGE_SOON: Duration = Duration::from_millis(50);

/// Ends the turn if its driver is dropped.
struct EndsTurn<H: Host> {
    host: H,
    id: SpeechId,
}

impl<H: Host> Drop for EndsTurn<H> {
    fn drop(&mut self) {
        self.host.with(|core| {
            core.end_turn(self.id, &TurnEnd::Interrupted);
            core.is_to_be_logged = true;
        });
    }
}

async fn take_turn<H: Host>(host: &H, id: SpeechId) -> TurnEnd {
    let (mut deadlines, max_attempts) = host.with(|core| (Deadlines::new(&core.setup), core.setup.attempts));
    let (mut attempts, mut has_spoken) = (1, false);
    loop {
        let span = spans::chat(host.call_id());
        match ask(host, id, &deadlines, &mut has_spoken).instrument(span.clone()).await {
            Answer::Over => return TurnEnd::Interrupted,
            Answer::Failed(failure) => {
                if attempts < max_attempts
                    && is_worth_retrying(&failure)
                    && Instant::now() < deadlines.first_token
                    && host.with(|core| core.has_shown_nothing(id))
                {
                    attempts += 1;
                    host.with(|core| core.retract(id));
                    continue;
                }
                return TurnEnd::Failed(failure);
            }
            Answer::Stopped(Next::Over, ..) => return TurnEnd::Interrupted,
            Answer::Stopped(Next::Ended(end), mut rest, _) => {
                async {
                    // The usage goes into the record of the reply: one write, if it comes soon.
                    if timeout(USAGE_SOON, read_usage(host, id, &mut rest)).await.is_err() {
                        host.with(|core| core.is_to_be_logged = true);
                        read_usage(host, id, &mut rest).await;
                    }
                }
                .instrument(span)
                .await;
                return end;
            }
            Answer::Stopped(Next::RunTools(calls), mut rest, setup) => {
                let begun = Instant::now();
                let results = run_tools(host, calls, &setup, &deadlines);
                // The results take longer than the rest of the answer.
                let ((), are_there) = tokio::join!(read_usage(host, id, &mut rest).instrument(span), results);
                if let Err(failure) = are_there {
                    return TurnEnd::Failed(TurnFailure::Model(ModelError::new(failure, Partial::default())));
                }
                deadlines.first_token += begun.elapsed();
            }
        }
    }
}

/// Whether the model is asked again. Its client does so by itself where nothing had come.
fn is_worth_retrying(failure: &TurnFailure) -> bool {
    matches!(failure, TurnFailure::Model(error) if error.kind().is_worth_another_try())
}

/// Runs the tools and waits for their results. Returns an error if the turn is too late for them.
async fn run_tools<H: Host>(
    host: &H,
    calls: Vec<ToolCall>,
    setup: &Setup,
    deadlines: &Deadlines,
) -> Result<(), Failure> {
    let ids: Vec<ToolCallId> = calls.iter().map(|call| call.id().clone()).collect();
    for call in calls {
        start_tool(host, call, setup);
    }
    let results = host.with(|core| core.results.clone());
    let all = async {
        loop {
            // Registered before the look, so that a result in between is not missed.
            let changed = results.notified();
            if !host.with(|core| core.has_open(&ids)) {
                return;
            }
            changed.await;
        }
    };
    match deadlines.turn {
        None => all.await,
        Some((until, after)) => {
            let late = |_| Failure::TimedOut { wait: Wait::WholeAnswer, after };
            timeout_at(until, all).await.map_err(late)?;
        }
    }
    Ok(())
}

/// Runs a tool in a task that outlives the turn, or waits for the service to report its result.
fn start_tool<H: Host>(host: &H, call: ToolCall, setup: &Setup) {
    let Some(tool) = setup.tools.get(call.name()) else {
        let names: Vec<&str> = setup.tools.all().iter().map(|tool| tool.name().as_str()).collect();
        let message = match names.as_slice() {
            [] => "There are no tools; answer without.".to_owned(),
            names => format!("There is no such tool; the tools are {}.", names.join(", ")),
        };
        return host.with(|core| core.fail_call(&call, NOT_RUN, &message));
    };
    let context = ToolContext::new(host.call_id().as_str(), call.id().clone());
    match tool.run(call.clone(), context, setup.tool_timeout) {
        Some(running) => {
            let span = spans::execute_tool(host.call_id(), &call);
            let host = host.clone();
            let running = async move {
                let result = running.await;
                // A call that was ended meanwhile keeps its result.
                let _ = host.with(|core| core.add_result(&result));
            };
            tokio::spawn(running.instrument(span));
        }
        None => {
            let host = host.clone();
            let within: Duration = tool.timeout_or(setup.tool_timeout);
            tokio::spawn(async move {
                sleep_until(from_now(within)).await;
                let message = "The tool did not answer in time; whether it acted is not known.";
                host.with(|core| core.fail_call(&call, OUTCOME_UNKNOWN, message));
            });
        }
    }
}
