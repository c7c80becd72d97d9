//! Closing spans: due new messages become items. The spool stores a span before the log does.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::Duration;

use super::WriterTask;
use super::call::{CallState, Key, Route};
use super::spans::{MAX_BYTES, last_begin};
use crate::log::spool::SpoolChange;
use crate::log::{LogError, LogErrorKind, Span};
use crate::message::{MessageId, Position, Record};

impl CallState {
    /// Returns the first message that waits for the end of a reply whose messages from `open_from` on will change. With
    /// spans, all new messages wait, so that a turn is one item, unless they are enough for an item.
    pub fn waits_from(&self, open_from: Position) -> Position {
        let Some(new_from) = self.spans.new_from() else { return open_from };
        let spooled = self.spooled.range(new_from..).map(|(at, spooled)| (*at, spooled.bytes));
        let waiting = self.waiting.range(new_from..).map(|(at, waiting)| (*at, waiting.bytes));
        let new: BTreeMap<Position, usize> = spooled.chain(waiting).collect();
        let last = (new.values().sum::<usize>() > MAX_BYTES).then(|| last_begin(new.into_iter())).flatten();
        let waits_from = last.filter(|last| *last > new_from.seq()).map_or(open_from.min(new_from), Position::message);
        // The first put of a span has all its messages.
        waits_from.max(Position::message(self.spans.after_unwritten()))
    }

    /// Returns whether the call holds only a greeting so far, which is put with the first turn.
    pub fn has_only_greeted(&self) -> bool {
        self.spans.begins() && !self.handles.is_empty() && self.call_end.is_none()
    }

    /// Closes the spans of the next attempt. Returns those that the spool has to store first, or `None` if new messages
    /// are on their way to the spool.
    fn close_spans(&mut self, batch: usize, held_from: Option<Position>) -> Option<Vec<Span>> {
        let Some(new_from) = self.spans.new_from().filter(|new_from| held_from.is_none_or(|held| *new_from < held))
        else {
            return Some(Vec::new());
        };
        let due = (Bound::Included(new_from), held_from.map_or(Bound::Unbounded, Bound::Excluded));
        let mut new = self.waiting.range(due).filter(|(at, _)| !self.spooled.contains_key(at));
        if new.any(|(_, waiting)| waiting.route == Route::Spool) {
            return None;
        }
        let spooled = self.spooled.range(due).map(|(at, spooled)| (*at, spooled.bytes));
        let closed = self.spans.close(spooled, batch);
        if closed.is_empty() {
            let waiting = self.waiting.range(due).map(|(at, waiting)| (*at, waiting.bytes));
            self.spans.close(waiting, batch);
        }
        Some(closed)
    }
}

impl WriterTask {
    /// Closes the spans of new messages that are due. Returns `true` if the call waits for the spool.
    pub(super) fn close_spans(&mut self, key: &Key, held_from: Option<Position>) -> bool {
        let batch = self.settings.batch;
        let Some(state) = self.calls.get_mut(key).filter(|state| state.puts_next()) else { return false };
        let Some(closed) = state.close_spans(batch, held_from) else { return true };
        for span in &closed {
            self.queue_change(SpoolChange::Span(key.0.clone(), *span));
        }
        if !closed.is_empty() {
            self.hold_for_commit(key);
        }
        !closed.is_empty()
    }

    /// Splits the spans of a failed commit, because the log must not have them before the spool. Returns the changes to
    /// make instead.
    pub(super) fn split_unspooled(&mut self, mut changes: Vec<SpoolChange>) -> Vec<SpoolChange> {
        for change in &mut changes {
            if let SpoolChange::Span(call_id, span) = change {
                let epochs = self.calls.range_mut((call_id.clone(), 0)..=(call_id.clone(), u32::MAX));
                epochs.for_each(|(_, state)| state.spans.split(*span));
                *change = SpoolChange::Split(call_id.clone(), *span);
            }
        }
        changes
    }

    /// Splits the spans that the log has refused and does not have, and returns them, so that only the messages that
    /// are refused by themselves become dead letters. A lost put that arrives late is harmless: it finds one of the
    /// messages at its position, or stores messages that are put again later.
    pub(super) fn split_refused(
        &mut self,
        key: &Key,
        records: &[Record],
        failed: &[(MessageId, LogError)],
    ) -> Vec<Span> {
        let mut split = Vec::new();
        let Some(state) = self.calls.get_mut(key) else { return split };
        for (id, error) in failed {
            let is_of_call = matches!(error.kind(), LogErrorKind::Fenced | LogErrorKind::Erased);
            let record = records.iter().find(|record| record.id() == *id && error.is_permanent() && !is_of_call);
            let span = record.and_then(|record| state.spans.of(record.position()));
            if let Some(span) = span.filter(|span| !state.spans.is_written(*span)) {
                state.spans.split(span);
                split.push(span);
            }
        }
        for span in &split {
            self.queue_change(SpoolChange::Split(key.0.clone(), *span));
            self.schedule(key, Duration::ZERO);
        }
        split
    }
}
