//! Messages of a reply that wait for its end and for the report that it was played, because both change them again.

use std::ops::Bound;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::call::{CallState, Key};
use super::{WriterTask, unpoisoned};
use crate::message::Position;

impl CallState {
    /// Returns the first message that will change again.
    pub fn open_from(&self) -> Option<Position> {
        self.handles.iter().filter_map(|handle| *unpoisoned(&handle.open_from)).min()
    }

    /// Returns the number of the first accepted record from a position on.
    pub fn first_number_from(&self, position: Position) -> Option<u64> {
        let spooled = self.spooled.range(position..).map(|(_, spooled)| spooled.number);
        spooled.chain(self.waiting.range(position..).map(|(_, waiting)| waiting.number)).min()
    }

    /// Returns whether work other than records from `held_from` on is left.
    pub fn has_work_before(&self, held_from: Position) -> bool {
        self.is_contested
            || self.opening.is_some()
            || !self.erase_replies.is_empty()
            || self.waiting.range(..held_from).next().is_some()
            || self.spooled.range(..held_from).next().is_some()
    }

    /// Returns whether more records are ready than one attempt in memory takes. Those from `held_from` on wait.
    pub fn has_backlog(&self, batch: usize, held_from: Option<Position>) -> bool {
        let ready = (Bound::Unbounded, held_from.map_or(Bound::Unbounded, Bound::Excluded));
        self.spooled.range(ready).next().is_some() || self.waiting.range(ready).count() > batch
    }
}

impl WriterTask {
    /// Returns the first message of a call that waits for its last change, and how long it may still wait.
    pub(super) fn held(&self, state: &CallState) -> Option<(Position, Duration)> {
        /// A larger reply is written while it is spoken.
        const MAX_BYTES: usize = 64 << 10;
        let bytes: usize = state.handles.iter().map(|handle| handle.bytes.load(Ordering::Relaxed)).sum();
        let is_flushing = self.is_flushing_call(state.lease.call_id());
        let greeting = state.spans.new_from().filter(|_| state.has_only_greeted());
        let open_from = state.open_from().or(greeting).filter(|_| !is_flushing && bytes <= MAX_BYTES)?;
        let held_from = state.waits_from(open_from);
        let since = self.outstanding.get(&state.first_number_from(held_from)?)?;
        let left = self.settings.turn_wait(state.spans.new_from().is_some()).saturating_sub(since.elapsed());
        (!left.is_zero()).then_some((held_from, left))
    }

    /// Returns how long the work of a call waits: for a newer revision, or for the last change of a reply.
    pub(super) fn wait(&self, key: &Key) -> Duration {
        let held = self.calls.get(key).and_then(|state| Some((state, self.held(state)?)));
        match held {
            Some((state, (held_from, left))) if !state.has_work_before(held_from) => left.max(self.linger()),
            _ => self.linger(),
        }
    }
}
