//! Waiting for all to be stored, and telling what is not.

use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::call::{CallState, Key, key_of};
use super::shared::{Order, Orders, Shared};
use super::{Durability, Part, Unstored, WriterTask};
use crate::clock::from_now;
use crate::log::CallId;

/// Somebody waits until nothing up to a number is outstanding, of one call or of all.
pub(super) struct Flush {
    pub of: Option<CallId>,
    pub up_to: u64,
    pub until: Instant,
    pub reply: oneshot::Sender<Vec<Unstored>>,
}

/// Asks the task for it, and takes its last word where it has ended.
pub(super) async fn flush(orders: &Orders, shared: &Shared, of: Option<CallId>, within: Duration) -> Vec<Unstored> {
    let (reply, answer) = oneshot::channel();
    let until = from_now(within);
    let sent = orders.send(Order::Flush { of: of.clone(), until: from_now(within - head_start(within)), reply });
    let answer = if sent.is_ok() { answer_by(until, answer).await } else { Answer::Ended };
    let is_of = |unstored: &&Unstored| of.is_none() || unstored.call_id == of;
    match answer {
        Answer::Given(unstored) => unstored,
        Answer::Ended => shared.left.get().into_iter().flatten().filter(is_of).cloned().collect(),
        Answer::Late => vec![Unstored::unanswered(of)],
    }
}

/// What comes back from the task.
pub(super) enum Answer<T> {
    Given(T),
    /// The task has ended.
    Ended,
    /// The deadline has passed, and nobody runs the task.
    Late,
}

impl<T> Answer<T> {
    pub fn given(self) -> Option<T> {
        if let Self::Given(answer) = self { Some(answer) } else { None }
    }
}

/// Waits for an answer of the task until the deadline.
pub(super) async fn answer_by<T>(until: Instant, answer: oneshot::Receiver<T>) -> Answer<T> {
    let deadline = async {
        sleep_until(until).await;
        // A task that was just asked gets its turn.
        for _ in 0..TURNS {
            yield_now().await;
        }
    };
    tokio::select! {
        biased;
        given = answer => given.map_or(Answer::Ended, Answer::Given),
        () = deadline => Answer::Late,
    }
}

const TURNS: usize = 8;

/// The task answers so much before the deadline of the one who waits, so that a late answer means a task that is not run.
fn head_start(within: Duration) -> Duration {
    (within / 20).min(Duration::from_millis(20))
}

impl WriterTask {
    /// Has all that waits attempted now.
    pub(super) fn hurry(&mut self, of: Option<&CallId>) {
        let waits = self.calls_of(of).filter(|state| state.has_work());
        let keys: Vec<Key> = waits.map(|state| key_of(&state.lease)).collect();
        for key in keys {
            self.schedule(&key, Duration::ZERO);
        }
    }

    pub(super) fn answer_flushes(&mut self) {
        let now = Instant::now();
        let oldest = self.outstanding.keys().next().copied().unwrap_or(u64::MAX);
        let is_spool_known = self.is_spool_known();
        let mut left = Vec::new();
        for flush in std::mem::take(&mut self.flushes) {
            let is_done = is_spool_known
                && match &flush.of {
                    None => oldest > flush.up_to,
                    of => self.calls_of(of.as_ref()).all(|state| state.unstored(flush.up_to).next().is_none()),
                };
            if is_done || now >= flush.until {
                // Whoever asked and is gone does not want to know.
                let _ = flush.reply.send(self.unstored(flush.of.as_ref(), flush.up_to));
            } else {
                left.push(flush);
            }
        }
        self.flushes = left;
    }

    /// What was accepted up to a number and is not stored, of one call or of all; and what is set aside.
    pub(super) fn unstored(&self, of: Option<&CallId>, up_to: u64) -> Vec<Unstored> {
        let is_of = |call_id: &CallId| of.is_none_or(|of| of == call_id);
        let aside = self.unstored_dead_letters().filter(|unstored| unstored.call_id.as_ref().is_some_and(is_of));
        let unknown = (!self.is_spool_known()).then_some(Unstored {
            call_id: None,
            part: Part::Spool,
            level: Durability::Spooled,
            is_dead_letter: false,
            error: None,
        });
        unknown.into_iter().chain(self.calls_of(of).flat_map(|state| state.unstored(up_to))).chain(aside).collect()
    }

    /// What is known of a call, of each of its epochs, or of all calls.
    fn calls_of(&self, of: Option<&CallId>) -> impl Iterator<Item = &CallState> {
        let all = of.is_none().then(|| self.calls.values());
        let one = of.map(|of| self.calls.range((of.clone(), 0)..=(of.clone(), u32::MAX)).map(|(_, state)| state));
        all.into_iter().flatten().chain(one.into_iter().flatten())
    }
}
