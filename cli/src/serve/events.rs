//! [`Events`]: what happens in a call, as messages for its client.

use std::sync::{Arc, OnceLock, Weak};

use verbale::conversation::{CallEvent, MetricsObserver, Observer, ToolOutcome};
use verbale::log::{CallId, Durability};

use super::live::LiveCall;
use super::outbox::Outbox;
use super::protocol::ServerEvent;

/// Passes the events of a call on to its client.
pub struct Events {
    pub outbox: Arc<Outbox>,
    /// The call, once it is open.
    pub call: OnceLock<Weak<LiveCall>>,
}

impl Observer for Events {
    fn observe(&self, call_id: &CallId, event: &CallEvent) {
        MetricsObserver.observe(call_id, event);
        let event = match event {
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
            _ => return,
        };
        self.outbox.push(&event);
    }
}
