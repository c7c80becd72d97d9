//! Closing a call: what is still going on is ended, what is not logged yet is handed over, and waited for.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::ledger::OUTCOME_UNKNOWN;
use super::observer::CallEvent;
use super::reply::ReplyEnd;
use super::session::CallSession;
use super::state::{State, since};
use super::tool::failed;
use super::totals::Totals;
use crate::clock::from_now;
use crate::log::{Ending, FinishError, LogError, Unstored};
use crate::message::{Content, Invocation, MessageWrapper};

/// How a call ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Closed {
    /// What the log does not have by the deadline; nothing, if all is well. It is with the log's writer, which goes on.
    pub unstored: Vec<Unstored>,
    /// Why the log's writer did not take all of it, if so; then it is in the manager, and nowhere else.
    pub not_accepted: Option<FinishError>,
    /// What the call came to.
    pub totals: Totals,
}

impl CallSession {
    /// Ends the call, and waits until all of it is in the log, for as long as `within`.
    ///
    /// `reason` is the service's word for why, such as `hangup`. A reply in the making is stopped. Tools that run get half
    /// of the time to come to their end; of the others it is written down that what they did is not known. Closing again
    /// waits again, and changes nothing.
    ///
    /// Errors: a reason that a header does not take; nothing is closed then.
    pub async fn close(&self, reason: impl Into<Arc<str>>, within: Duration) -> Result<Closed, LogError> {
        let begun = Instant::now();
        let reason = reason.into();
        let at_ms = self.now_ms();
        Ending::new(at_ms, reason.clone(), 0, 0)?;
        self.shared.with(|state| {
            state.begin_to_close(at_ms);
        });
        self.wait_for_tools(from_now(within / 2)).await;
        let (mut manager, writer, ending) = self.shared.with(|state| {
            if !state.is_closed {
                state.end(at_ms);
                state.ending = Ending::of(&state.manager, at_ms, reason).ok();
            }
            (state.manager.clone(), state.writer.clone(), state.ending.clone())
        });
        let mut not_accepted = None;
        let mut unstored = Vec::new();
        if let Some((writer, ending)) = writer.zip(ending) {
            not_accepted = writer.finish(&mut manager, ending, left(begun, within)).await.err();
            unstored = writer.flush(left(begun, within)).await;
            writer.acknowledge(&mut manager);
        }
        // Nothing has changed it meanwhile: the call is closed.
        let totals = self.shared.with(|state| {
            state.manager = manager;
            state.totals.clone()
        });
        Ok(Closed { unstored, not_accepted, totals })
    }

    /// Of tools that run here: the service's own may never answer.
    async fn wait_for_tools(&self, until: Instant) {
        let all = async {
            loop {
                let changed = self.shared.results.notified();
                let runs =
                    self.shared.lock().open_calls().iter().any(|call| self.shared.tools.handler(call.name()).is_some());
                if !runs {
                    return;
                }
                changed.await;
            }
        };
        // What is open then is told as not known.
        let _ = timeout_at(until, all).await;
    }
}

fn left(begun: Instant, within: Duration) -> Duration {
    within.saturating_sub(begun.elapsed())
}

impl State {
    /// Stops all that is going on but tools. From now on nothing else is begun.
    pub fn begin_to_close(&mut self, at_ms: i64) {
        if !self.is_closing {
            self.is_closing = true;
            self.stop_turn(ReplyEnd::Interrupted);
            self.cut_off(at_ms);
            self.summaries.stop();
        }
    }

    /// Nothing changes any more; all of it is the log's writer's, even where nobody waits for that.
    pub fn end(&mut self, at_ms: i64) {
        self.end_open_calls("The call ended before the tool answered; whether it acted is not known.");
        self.is_closed = true;
        self.events.push(CallEvent::Closed { after_ms: since(self.opened_ms, at_ms) });
        self.log();
    }

    /// The calls without an outcome.
    pub fn open_calls(&self) -> Vec<Invocation> {
        let open = self.manager.open_invocations();
        let all = self.manager.meta_messages().iter().flat_map(|message| message.contents().iter());
        all.filter_map(Content::as_invocation).filter(|call| open.contains(&call.id())).cloned().collect()
    }

    /// Writes down that it is not known what came of the calls without an outcome.
    pub fn end_open_calls(&mut self, message: &str) {
        let now_ms = self.now_ms();
        for call in self.open_calls() {
            self.note_result(&failed(&call, OUTCOME_UNKNOWN, message), now_ms);
        }
    }
}
