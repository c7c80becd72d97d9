//! Logs the end of a [`Conversation`].

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::error::{ConversationError, Problem};
use super::shared::Conversation;
use super::state::Attached;
use crate::clock::from_now;
use crate::log::{CallEnd, CallWriter, LogError, Unstored};
use crate::manager::{LastMessage, Receipt};
use crate::message::MessageId;
use crate::turn::Manager;

impl Conversation {
    /// Logs the end of the conversation and waits up to `timeout` until everything is stored. Returns the records that
    /// are not stored by then; the log's writer continues to store them.
    ///
    /// `reason` is a word of the service, such as `hangup`. Without a [log](Self::log), nothing happens. If called
    /// again, the method waits again.
    ///
    /// Returns [`InUse`](super::ConversationErrorKind::InUse) in a live call, which
    /// [`close`](crate::call::CallSession::close) ends, and [`Log`](super::ConversationErrorKind::Log) if the reason is
    /// invalid, or if the log accepts nothing more or has no room in time.
    pub async fn finish(
        &self,
        reason: impl Into<Arc<str>>,
        timeout: Duration,
    ) -> Result<Vec<Unstored>, ConversationError> {
        let until = from_now(timeout);
        let call_end = {
            let state = self.state();
            if state.attached == Attached::Call {
                return Err(Problem::InCall { advice: "close the call instead" }.into());
            }
            let manager = &state.core.manager;
            CallEnd::of(manager, manager.now_ms(), reason)?
        };
        let (unstored, not_finished) = self.finish_log(call_end, until).await;
        not_finished.map_or(Ok(unstored), |error| Err(error.into()))
    }

    /// Submits the pending records and the end to the log's writer, and waits until a deadline.
    pub(crate) async fn finish_log(&self, call_end: CallEnd, until: Instant) -> (Vec<Unstored>, Option<LogError>) {
        let Some(writer) = self.writer() else { return (Vec::new(), None) };
        let left = || until.saturating_duration_since(Instant::now());
        // A copy keeps the conversation unlocked during the wait.
        let mut manager = self.read(Clone::clone);
        let not_finished = writer.finish(&mut manager, call_end, left()).await.err();
        let unstored = writer.flush(left()).await;
        writer.acknowledge(&mut manager);
        let receipt = acknowledged(&manager);
        self.with_state(|state| state.core.manager.note_logged(&receipt));
        (unstored, not_finished)
    }

    pub(crate) fn writer(&self) -> Option<Arc<CallWriter>> {
        self.state().core.writer.clone()
    }
}

/// Returns the records that are acknowledged in the copy.
fn acknowledged(manager: &Manager) -> Receipt {
    let changes = manager.changes(LastMessage::Include);
    let pending: BTreeSet<MessageId> = changes.iter().map(|record| record.id()).collect();
    manager.records().iter().filter(|record| !pending.contains(&record.id())).collect()
}
