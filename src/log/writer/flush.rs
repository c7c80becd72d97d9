//! Flushing: waiting until parts are stored, and returning those that are not.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::call::{CallState, Key, key_of};
use super::shared::{Command, Commands, Shared};
use super::{Durability, LogWriter, Part, Unstored, WriterTask};
use crate::clock::from_now;
use crate::log::CallId;

/// A flush that waits until all parts up to a number are stored, of one call or of all calls.
pub(super) struct Flush {
    pub call_id: Option<CallId>,
    pub up_to: u64,
    pub deadline: Instant,
    pub reply: oneshot::Sender<Vec<Unstored>>,
}

/// Asks the task to flush. If the task has ended, returns the parts that it left unstored.
pub(super) async fn flush(
    commands: &Commands,
    shared: &Shared,
    call_id: Option<CallId>,
    timeout: Duration,
) -> Vec<Unstored> {
    let (reply, receiver) = oneshot::channel();
    let deadline = from_now(timeout);
    let command = Command::Flush { call_id: call_id.clone(), deadline: from_now(timeout - head_start(timeout)), reply };
    let reply = if commands.send(command).is_ok() { reply_by(deadline, receiver).await } else { Reply::Ended };
    let matches = |unstored: &&Unstored| call_id.is_none() || unstored.call_id == call_id;
    match reply {
        Reply::Received(unstored) => unstored,
        Reply::Ended => shared.leftovers.get().into_iter().flatten().filter(matches).cloned().collect(),
        Reply::Late => vec![Unstored::unanswered(call_id)],
    }
}

impl LogWriter {
    /// Flushes, then ends the task, and returns the parts that are not stored. Handles that still exist report
    /// [`Stopped`](crate::log::LogErrorKind::Stopped).
    ///
    /// A returned part is in the spool if it was [spooled](Durability::Spooled). A record that does not [count as
    /// logged](crate::log::WriterSettings::with_acknowledge_at) yet is still pending in its manager.
    pub async fn stop(&self, timeout: Duration) -> Vec<Unstored> {
        let deadline = from_now(timeout);
        let unstored = self.flush(timeout).await;
        // The task ends before the caller's deadline, so that its reply arrives in time.
        let ends_at = from_now(deadline.saturating_duration_since(Instant::now()) / 2);
        match self.ask_by(deadline, |ended| Command::Stop { deadline: ends_at, ended }).await {
            // The leftovers include changes that were accepted after the flush.
            Reply::Ended => self.shared.leftovers.get().cloned().unwrap_or_default(),
            Reply::Received(_) | Reply::Late => unstored,
        }
    }
}

/// The reply of the task.
pub(super) enum Reply<T> {
    Received(T),
    /// The task has ended.
    Ended,
    /// The deadline has passed: nothing runs the task.
    Late,
}

/// Waits for a reply of the task until the deadline.
pub(super) async fn reply_by<T>(deadline: Instant, receiver: oneshot::Receiver<T>) -> Reply<T> {
    let late = async {
        sleep_until(deadline).await;
        // A task on the same thread gets some turns to reply first.
        for _ in 0..TURNS {
            yield_now().await;
        }
    };
    tokio::select! {
        biased;
        reply = receiver => reply.map_or(Reply::Ended, Reply::Received),
        () = late => Reply::Late,
    }
}

const TURNS: usize = 8;

/// Returns how long before the caller's deadline the task replies. A reply that is late then means that nothing runs
/// the task.
fn head_start(timeout: Duration) -> Duration {
    (timeout / 20).min(Duration::from_millis(20))
}

impl WriterTask {
    /// Schedules all waiting calls now, or the given one.
    pub(super) fn schedule_now(&mut self, call_id: Option<&CallId>) {
        let waiting = self.states(call_id).filter(|state| state.has_work());
        let keys: Vec<Key> = waiting.map(|state| key_of(&state.lease)).collect();
        for key in keys {
            self.schedule(&key, Duration::ZERO);
        }
    }

    /// Answers the flushes that are complete or have reached their deadline.
    pub(super) fn answer_flushes(&mut self) {
        let now = Instant::now();
        let oldest = self.outstanding.keys().next().copied().unwrap_or(u64::MAX);
        let mut open = Vec::new();
        for flush in std::mem::take(&mut self.flushes) {
            let is_done = self.is_spool_read(flush.call_id.as_ref())
                && match &flush.call_id {
                    None => oldest > flush.up_to,
                    id => self.states(id.as_ref()).all(|state| state.unstored(flush.up_to).next().is_none()),
                };
            if is_done || now >= flush.deadline {
                // The caller may have gone away.
                let _ = flush.reply.send(self.unstored(flush.call_id.as_ref(), flush.up_to));
            } else {
                open.push(flush);
            }
        }
        self.flushes = open;
    }

    /// Returns the parts up to a number that are not stored, and the dead letters, of one call or of all calls.
    pub(super) fn unstored(&self, call_id: Option<&CallId>, up_to: u64) -> Vec<Unstored> {
        let matches = |id: &CallId| call_id.is_none_or(|call_id| call_id == id);
        let dead = self.unstored_dead_letters().filter(|unstored| unstored.call_id.as_ref().is_some_and(matches));
        let unread = (!self.is_spool_read(call_id)).then(|| Unstored::new(None, Part::Unknown, Durability::Spooled));
        unread.into_iter().chain(self.states(call_id).flat_map(|state| state.unstored(up_to))).chain(dead).collect()
    }

    /// Returns the states of one call, one for each epoch, or of all calls.
    fn states(&self, call_id: Option<&CallId>) -> impl Iterator<Item = &CallState> {
        let all = call_id.is_none().then(|| self.calls.values());
        let one = call_id.map(|id| self.calls.range((id.clone(), 0)..=(id.clone(), u32::MAX)).map(|(_, state)| state));
        all.into_iter().flatten().chain(one.into_iter().flatten()).map(|state| &**state)
    }
}
