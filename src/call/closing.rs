//! Closes a call: ends its reply, speeches and tools, and logs everything.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::session::CallSession;
use crate::clock::from_now;
use crate::conversation::CallMetrics;
use crate::log::{CallEnd, LogError, Unstored};
use crate::message::ToolCallId;
use crate::model::NoResult;
use crate::turn::{CallEvent, ReplyEnd, since};

/// The result of closing a call.
#[derive(Debug)]
#[non_exhaustive]
pub struct Closed {
    /// The tool calls that still ran or had no result at their deadline. Their outcome is logged as unknown.
    pub unfinished_tools: Vec<ToolCallId>,
    /// The changes that were not stored within the timeout; usually there are none. The log's writer keeps retrying
    /// them.
    pub unstored: Vec<Unstored>,
    /// Why the log's writer refused changes, if it did. The conversation still has them.
    pub not_accepted: Option<LogError>,
    /// The metrics of the conversation so far: turns, tools, summaries and tokens.
    pub metrics: CallMetrics,
}

impl CallSession {
    /// Closes the call and waits until the log has stored everything.
    ///
    /// `reason` is the service's word for the cause, such as `hangup`. A running reply is stopped. Tools that run in
    /// this process get half of `timeout`, external tools get no time; then the outcome of each open tool call is
    /// logged as unknown. Closing the call again only waits for the log again. The conversation remains available for
    /// prompts and queries.
    ///
    /// Returns [`LogError`] if a call header cannot hold `reason`. The call then stays open.
    pub async fn close(&self, reason: impl Into<Arc<str>>, timeout: Duration) -> Result<Closed, LogError> {
        let deadline = from_now(timeout);
        let reason = reason.into();
        let at_ms = self.now_ms();
        CallEnd::new(at_ms, reason.clone(), 0, 0)?;
        self.begin_closing(at_ms);
        self.wait_for_tools(from_now(timeout / 2)).await;
        let unfinished_tools = self.detach(at_ms);
        let call_end = {
            let mut known = self.call_end.lock().unwrap_or_else(PoisonError::into_inner);
            if known.is_none() {
                *known = self.conversation.read(|manager| CallEnd::of(manager, at_ms, reason).ok());
            }
            known.clone()
        };
        let (unstored, not_accepted) = match call_end {
            Some(call_end) => self.conversation.finish_log(call_end, deadline).await,
            None => (Vec::new(), None),
        };
        Ok(Closed { unfinished_tools, unstored, not_accepted, metrics: self.conversation.metrics() })
    }

    /// Waits for the tools that run in this process, but not for external ones, because the service may never report
    /// their results.
    async fn wait_for_tools(&self, deadline: Instant) {
        let Some(results) = self.live(|_, core| core.results.clone()) else { return };
        let all = async {
            loop {
                // Registered before the check, so that a result in between is not missed.
                let changed = results.notified();
                let is_running = self.live(|_, core| core.tools_used.is_any_running());
                if is_running != Some(true) {
                    return;
                }
                changed.await;
            }
        };
        // `detach` ends the calls that miss the deadline.
        let _ = timeout_at(deadline, all).await;
    }

    /// Stops everything except tools. Nothing new can start afterwards.
    pub(super) fn begin_closing(&self, at_ms: i64) {
        self.live(|ear, core| {
            if !ear.is_closing {
                core.stop_turn(ear);
                ear.is_closing = true;
                ear.end_reply(ReplyEnd::Interrupted);
                ear.interrupt_speeches(at_ms, core);
            }
        });
        self.conversation.stop_summary();
    }

    /// Ends open tool calls, submits everything to the log, and releases the conversation. Returns the tool calls that
    /// were running or open.
    pub(super) fn detach(&self, at_ms: i64) -> Vec<ToolCallId> {
        let unfinished = self.live(|ear, core| {
            let mut unfinished = core.tools_used.running();
            let open = core.open_calls().into_iter().map(|call| call.id().clone());
            unfinished.extend(open.filter(|id| !unfinished.contains(id)).collect::<Vec<_>>());
            core.end_open_calls(&NoResult::CallEnded);
            core.events.push(CallEvent::Closed { after_ms: since(ear.opened_ms, at_ms) });
            core.is_to_be_logged = true;
            unfinished
        });
        if unfinished.is_some() {
            self.conversation.detach_call();
            if let Some(leave) = self.leave_host.get() {
                leave();
            }
        }
        unfinished.unwrap_or_default()
    }
}
