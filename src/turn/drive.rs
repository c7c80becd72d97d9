//! [`drive`]: the loop of asking, running tools, and asking again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use tracing::Instrument;

use super::ask::{Asked, Deadlines, ask, read_usage};
use super::commit::Next;
use super::core::Host;
use super::end::{TurnEnd, TurnFailure};
use super::event::SpeechId;
use super::spans;
use super::tools::{finish_tools, run_tools};
use crate::clock::{Seeded, backoff, with_jitter};
use crate::log::CallId;

/// Drives a turn from its beginning to its end. Nothing is sent before the future is polled.
///
/// The conversation is consistent at every await, so the future can be dropped at any time. Dropping it cancels the
/// request and keeps the words so far, marked as interrupted. Running tools continue, and their results are added when
/// they arrive.
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

/// How long the log waits for the usage, so that a reply is stored in one write.
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
    let mut deadlines = host.with(|core| Deadlines::new(&core.setup));
    let mut waits = Backoff::new(host.call_id(), id);
    loop {
        let span = spans::chat(host.call_id());
        match ask(host, id, &deadlines).instrument(span.clone()).await {
            Asked::Over => return TurnEnd::Interrupted,
            Asked::Failed(failure) => {
                let wait = waits.next_wait();
                let is_silent = host.with(|core| core.is_silent(id));
                let is_in_time = Instant::now() + wait < deadlines.first_token();
                if is_silent && is_in_time && is_worth_another_try(&failure) {
                    host.with(|core| core.discard_answer(id));
                    sleep(wait).await;
                    continue;
                }
                let begun = Instant::now();
                if !finish_tools(host, id).await || !is_silent {
                    return TurnEnd::Failed(failure);
                }
                // A result arrived meanwhile, so the model has more to answer.
                let setup = host.with(|core| {
                    core.discard_answer(id);
                    core.setup.clone()
                });
                deadlines.after_tools(&setup, begun.elapsed());
                waits = Backoff::new(host.call_id(), id);
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
                finish_tools(host, id).await;
                return end;
            }
            Asked::Stopped(Next::RunTools(calls), mut rest, setup) => {
                let begun = Instant::now();
                let results = run_tools(host, id, calls, &setup);
                // Most tools take longer than the rest of the stream, so reading the usage costs no time.
                tokio::join!(read_usage(host, id, &mut rest).instrument(span), results);
                deadlines.after_tools(&setup, begun.elapsed());
                waits = Backoff::new(host.call_id(), id);
            }
        }
    }
}

fn is_worth_another_try(failure: &TurnFailure) -> bool {
    matches!(failure, TurnFailure::Model(error) if error.is_retryable())
}

/// The waits between the attempts of a request.
struct Backoff {
    failures: u32,
    jitter: Seeded,
}

impl Backoff {
    /// The jitter differs between calls, so that they do not all retry at once after an outage.
    fn new(call_id: &CallId, id: SpeechId) -> Self {
        let mut seed = DefaultHasher::new();
        (call_id.as_str(), id).hash(&mut seed);
        Self { failures: 0, jitter: seed.finish().into() }
    }

    fn next_wait(&mut self) -> Duration {
        const FIRST: Duration = Duration::from_millis(100);
        const LONGEST: Duration = Duration::from_secs(2);
        self.failures += 1;
        with_jitter(backoff(FIRST, self.failures, LONGEST), &self.jitter)
    }
}
