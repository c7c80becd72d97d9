//! [`drive`]: the loop of asking, running tools, and asking again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tracing::Instrument;

use super::ask::{Asked, Deadlines, ask, read_usage};
use super::commit::Next;
use super::core::Host;
use super::end::{TurnEnd, TurnFailure};
use super::event::SpeechId;
use super::setup::Setup;
use super::spans;
use crate::clock::from_now;
use crate::message::{ToolCall, ToolCallId};
use crate::model::{Failure, ModelError, NoResult, Partial, ToolContext, Wait};

/// Drives a turn from its beginning to its end. Nothing is sent before the future is polled.
///
/// The conversation is consistent at every await, so the future can be dropped at any time. Dropping it cancels the request
/// and keeps the words so far, marked as interrupted. Running tools continue, and their results are added when they arrive.
pub(crate) fn drive<H: Host>(host: H, id: SpeechId) -> impl Future<Output = TurnEnd> + Send {
    let guard = TurnGuard { host, id };
    async move {
        let host = &guard.host;
        let mut turn = pin!(take_turn(host, id));
        let end =
            std::future::poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| turn.as_mut().poll(context))) {
                Ok(polled) => polled,
                Err(_) => {
                    tracing::error!(call_id = ?host.call_id(), "the code of the model panicked; the turn fails");
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

/// How long the log waits for the usage, to store a reply in one write.
const USAGE_GRACE: Duration = Duration::from_millis(50);

/// Ends the turn if its driver is dropped.
struct TurnGuard<H: Host> {
    host: H,
    id: SpeechId,
}

impl<H: Host> Drop for TurnGuard<H> {
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
        host.with(|core| deadlines.begin_attempt(&core.setup, attempts >= max_attempts));
        match ask(host, id, &deadlines, &mut has_spoken).instrument(span.clone()).await {
            Asked::Over => return TurnEnd::Interrupted,
            Asked::Failed(failure) => {
                if attempts < max_attempts
                    && is_worth_another_try(&failure)
                    && Instant::now() < deadlines.first_token
                    && host.with(|core| core.is_silent(id))
                {
                    attempts += 1;
                    host.with(|core| core.discard_answer(id));
                    continue;
                }
                return TurnEnd::Failed(failure);
            }
            Asked::Stopped(Next::Over, ..) => return TurnEnd::Interrupted,
            Asked::Stopped(Next::Ended(end), mut rest, _) => {
                async {
                    if timeout(USAGE_GRACE, read_usage(host, id, &mut rest)).await.is_err() {
                        host.with(|core| core.is_to_be_logged = true);
                        read_usage(host, id, &mut rest).await;
                    }
                }
                .instrument(span)
                .await;
                return end;
            }
            Asked::Stopped(Next::RunTools(calls), mut rest, setup) => {
                let begun = Instant::now();
                let results = run_tools(host, calls, &setup, &deadlines);
                // Most tools take longer than the rest of the stream, so the usage costs no time.
                let ((), finished) = tokio::join!(read_usage(host, id, &mut rest).instrument(span), results);
                if let Err(failure) = finished {
                    return TurnEnd::Failed(TurnFailure::Model(ModelError::new(failure, Partial::default())));
                }
                deadlines.first_token += begun.elapsed();
            }
        }
    }
}

fn is_worth_another_try(failure: &TurnFailure) -> bool {
    matches!(failure, TurnFailure::Model(error) if error.kind().is_worth_another_try())
}

/// Runs tools and waits for their results. Returns a timeout if they miss the deadline of the turn.
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
            // Registered before the check, so that a result in between is not missed.
            let changed = results.notified();
            if !host.with(|core| core.has_open(&ids)) {
                return;
            }
            changed.await;
        }
    };
    match deadlines.turn {
        None => all.await,
        Some((deadline, after)) => {
            let timed_out = |_| Failure::TimedOut { wait: Wait::WholeAnswer, after };
            timeout_at(deadline, all).await.map_err(timed_out)?;
        }
    }
    Ok(())
}

/// Runs a tool in a task that outlives the turn. The service runs an external tool and has until the deadline.
fn start_tool<H: Host>(host: &H, call: ToolCall, setup: &Setup) {
    let Some(tool) = setup.tools.get(call.name()) else {
        let names = setup.tools.all().iter().map(|tool| tool.name().as_str().to_owned()).collect();
        return host.with(|core| core.end_call(&call, &NoResult::UnknownTool(names)));
    };
    let context = ToolContext::new(host.call_id().as_str(), call.id().clone());
    match tool.run(call.clone(), context, setup.tool_timeout) {
        Some(running) => {
            let span = spans::execute_tool(host.call_id(), &call);
            let host = host.clone();
            let running = async move {
                let result = running.await;
                // A call that was ended in the meantime keeps its result.
                let _ = host.with(|core| core.add_result(&result));
            };
            tokio::spawn(running.instrument(span));
        }
        None => {
            let host = host.clone();
            let deadline = from_now(tool.timeout_or(setup.tool_timeout));
            tokio::spawn(async move {
                sleep_until(deadline).await;
                host.with(|core| core.end_call(&call, &NoResult::TimedOut));
            });
        }
    }
}
