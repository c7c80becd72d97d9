//! [`Events`]: what happens in a call, as messages for its client.

use std::sync::{Arc, OnceLock, Weak};

use verbale::conversation::{CallEvent, MetricsObserver, Observer, ToolOutcome};
use verbale::log::{CallId, Durability};

use super::changes::Changes;
use super::live::LiveCall;
use super::outbox::Outbox;
use super::protocol::ServerEvent;

/// Passes the events of a call on to its client.
pub struct Events {
    pub outbox: Arc<Outbox>,
    pub changes: Arc<Changes>,
    /// The call, once it is open.
    pub call: OnceLock<Weak<LiveCall>>,
}

impl Observer for Events {
    fn observe(&self, call_id: &CallId, event: &CallEvent) {
        MetricsObserver.observe(call_id, event);
        if let Some(event) = self.for_client(event) {
            self.outbox.push(&event);
        }
        self.changes.note();
    }
}

impl Events {
    /// Returns an event as its client gets it, if it does.
    fn for_client(&self, event: &CallEvent) -> Option<ServerEvent> {
        Some(match event {
            CallEvent::BargedIn => ServerEvent::BargedIn {},
            CallEvent::ResultReady { id } => ServerEvent::ResultReady { tool_call_id: id.to_string() },
            CallEvent::ToolFinished { id, outcome, .. } => {
                let outcome = match outcome {
                    ToolOutcome::Succeeded => "succeeded",
                    ToolOutcome::Unknown => "unknown",
                    _ => "failed",
                };
                ServerEvent::ToolFinished { tool_call_id: id.to_string(), outcome }
            }
            CallEvent::SummaryEnded { .. } => ServerEvent::Summarized {},
            CallEvent::LogLevel { durability } => {
                if let Some(call) = self.call.get().and_then(Weak::upgrade) {
                    call.tell_stored();
                }
                let level = match durability {
                    Durability::Stored => "stored",
                    Durability::Spooled => "spooled",
                    _ => "accepted",
                };
                ServerEvent::LogLevel { level }
            }
            _ => return None,
        })
    }
}
