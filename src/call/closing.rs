//! Closing a call: what is still going on is ended, and all of it goes to the log.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::reply::ReplyEnd;
use super::session::CallSession;
use crate::clock::from_now;
use crate::conversation::CallMetrics;
use crate::log::{CallEnd, LogError, Unstored};
use crate::turn::{CallEvent, since};

/// How a call ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Closed {
    /// What the log does not have by the deadline; nothing, if all is well. The log's writer goes on storing it.
    pub unstored: Vec<Unstored>,
    /// Why the log's writer did not take all of it, if so; then it is in the conversation, and nowhere else.
    pub not_accepted: Option<LogError>,
    /// The call's turns, tools, summaries and tokens.
    pub totals: CallMetrics,
}

impl CallSession {
    /// Ends the call, and waits until all of it is in the log, for as long as `within`.
    ///
    /// `reason` is the service's word for why, such as `hangup`. A reply that is generated is stopped. Tools that run get half
    /// of the time to come to their end; the others are logged as unknown. Closing again waits again, and changes nothing.
    /// The conversation stays, for prompts and queries.
    ///
    /// Errors: a reason that a header does not take; nothing is closed then.
    pub async fn close(&self, reason: impl Into<Arc<str>>, within: Duration) -> Result<Closed, LogError> {
        let until = from_now(within);
        let reason = reason.into();
        let at_ms = self.now_ms();
        CallEnd::new(at_ms, reason.clone(), 0, 0)?;
        self.begin_to_close(at_ms);
        self.wait_for_tools(from_now(within / 2)).await;
        self.end(at_ms);
        let call_end = {
            let mut known = self.call_end.lock().unwrap_or_else(PoisonError::into_inner);
            if known.is_none() {
                *known = self.conversation.read(|manager| CallEnd::of(manager, at_ms, reason).ok());
            }
            known.clone()
        };
        let (unstored, not_accepted) = match call_end {
            Some(call_end) => self.conversation.finish_log(call_end, until).await,
            None => (Vec::new(), None),
        };
        Ok(Closed { unstored, not_accepted, totals: self.conversation.totals() })
    }

    /// Of tools that run here: the service's own may never answer.
    async fn wait_for_tools(&self, until: Instant) {
        let Some(results) = self.live(|_, core| core.results.clone()) else { return };
        let all = async {
            loop {
                let changed = results.notified();
                let runs = self.live(|_, core| {
                    let handles = |call: &crate::message::ToolCall| {
                        core.setup.tools.get(call.name()).is_some_and(|tool| !tool.is_external())
                    };
                    core.open_calls().iter().any(handles)
                });
                if runs != Some(true) {
                    return;
                }
                changed.await;
            }
        };
        // What is open then is logged as unknown.
        let _ = timeout_at(until, all).await;
    }

    /// Stops all that is going on but tools. From now on nothing else begins.
    pub(super) fn begin_to_close(&self, at_ms: i64) {
        self.live(|ear, core| {
            if !ear.is_closing {
                core.stop_turn(ear);
                ear.is_closing = true;
                ear.end_reply(ReplyEnd::Interrupted);
                ear.cut_off(at_ms, core);
            }
        });
        self.conversation.stop_summary();
    }

    /// Takes the call off its conversation. All of it is the log writer's, even if nobody waits for that.
    pub(super) fn end(&self, at_ms: i64) {
        let is_live = self.live(|ear, core| {
            core.end_open_calls("The call ended before the tool answered; whether it acted is not known.");
            core.events.push(CallEvent::Closed { after_ms: since(ear.opened_ms, at_ms) });
            core.is_to_be_logged = true;
        });
        if is_live.is_some() {
            self.conversation.detach_call();
        }
    }
}
