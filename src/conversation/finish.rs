//! The end of a [`Conversation`] in its log.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::error::EndError;
use super::shared::Conversation;
use super::state::Attached;
use crate::clock::from_now;
use crate::log::{CallEnd, CallWriter, LogError, Unstored};
use crate::manager::{LastMessage, Receipt};
use crate::message::MessageId;
use crate::turn::Manager;

impl Conversation {
    /// Logs that the conversation has ended, and waits until all of it is stored, for as long as `within`. Returns what is
    /// not stored by then: nothing, if all is well. The log's writer goes on storing it.
    ///
    /// `reason` is the service's word for why, such as `hangup`. Without a [log](Self::log) there is nothing to do; done
    /// again, it waits again.
    ///
    /// Returns [`EndError::InCall`] in a live call, which is [closed](crate::call::CallSession::close) instead,
    /// [`EndError::Reason`] for a reason that a header does not take, and [`EndError::NotFinished`] if the log takes nothing
    /// more, or had no room in time.
    pub async fn finish(&self, reason: impl Into<Arc<str>>, within: Duration) -> Result<Vec<Unstored>, EndError> {
        let until = from_now(within);
        let call_end = {
            let state = self.state();
            if state.attached == Attached::Call {
                return Err(EndError::InCall);
            }
            let manager = &state.core.manager;
            CallEnd::of(manager, manager.now_ms(), reason).map_err(EndError::Reason)?
        };
        let (unstored, not_finished) = self.finish_log(call_end, until).await;
        not_finished.map_or(Ok(unstored), |error| Err(error.into()))
    }

    /// Hands what is left and the ending to the log's writer, and waits for it until a deadline.
    pub(crate) async fn finish_log(&self, call_end: CallEnd, until: Instant) -> (Vec<Unstored>, Option<LogError>) {
        let Some(writer) = self.writer() else { return (Vec::new(), None) };
        let left = || until.saturating_duration_since(Instant::now());
        // A copy, so that the conversation can be used meanwhile.
        let mut manager = self.read(Clone::clone);
        let not_finished = writer.finish(&mut manager, call_end, left()).await.err();
        let unstored = writer.flush(left()).await;
        writer.acknowledge(&mut manager);
        let known = known_to_log(&manager);
        self.with_state(|state| state.core.manager.acknowledge(known));
        (unstored, not_finished)
    }

    pub(crate) fn writer(&self) -> Option<Arc<CallWriter>> {
        self.state().writer.clone()
    }
}

/// What the copy knows to be logged, and the conversation does not.
fn known_to_log(manager: &Manager) -> Receipt {
    let changes = manager.changes(LastMessage::Include);
    let waiting: BTreeSet<MessageId> = changes.records().iter().map(|record| record.id()).collect();
    manager.records().iter().filter(|record| !waiting.contains(&record.id())).collect()
}
