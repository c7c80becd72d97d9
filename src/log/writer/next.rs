//! The next attempt for a call.

use std::collections::BTreeSet;
use std::ops::Bound;

use tokio::time::Instant;

use super::call::{CallState, Route};
use crate::log::silence::Watch;
use crate::log::{CallEnd, CallHeader, Span};
use crate::message::{Position, Record};

/// The next attempt for a call.
pub(super) enum Operation {
    Open(CallHeader),
    Put {
        records: Vec<Record>,
        spans: Vec<Span>,
    },
    /// The spooled records before a position, or all of them, except those at the positions in the set.
    PutSpooled {
        until: Option<Position>,
        except: BTreeSet<Position>,
        spans: Vec<Span>,
    },
    Close(CallEnd),
    /// Finds out which process writes the call.
    Contest(Option<Watch>),
    Renew,
    /// Finds out whether the call is erased.
    Check,
    Erase,
}

impl CallState {
    /// Returns whether the next attempt can put records.
    pub(super) fn puts_next(&self) -> bool {
        !self.is_busy && self.erase_replies.is_empty() && !self.is_contested && self.opening.is_none()
    }

    /// Returns the next attempt, if there is one to make now. Records from `held_from` on wait.
    pub(super) fn next_operation(&mut self, batch: usize, held_from: Option<Position>) -> Option<Operation> {
        if self.is_busy {
            return None;
        }
        // A new message waits until its span is closed.
        let held_from = held_from.into_iter().chain(self.spans.new_from()).min();
        if !self.erase_replies.is_empty() {
            return Some(Operation::Erase);
        }
        if self.is_contested {
            return Some(Operation::Contest(self.watch));
        }
        // A call without a header cannot be resumed, so no record counts as stored before the header.
        if let Some((_, header)) = &self.opening {
            return Some(Operation::Open((**header).clone()));
        }
        let ready = (Bound::Unbounded, held_from.map_or(Bound::Unbounded, Bound::Excluded));
        let is_unfinished = |at: &Position| self.unfinished.contains(at);
        let mut spooled = self.spooled.range(ready).peekable();
        if spooled.peek().is_some() {
            let has_others = spooled.any(|(at, _)| !is_unfinished(at));
            let mut except = if has_others { self.unfinished.clone() } else { BTreeSet::new() };
            // A commit that reported an error may have brought a record to the file. It goes from memory to the log, with
            // the others of its span.
            except.extend(self.waiting.keys().filter(|at| !self.spooled.contains_key(at)));
            let due = self.spooled.range(ready).map(|(at, _)| *at).filter(|at| !except.contains(at));
            let spans = self.spans.of_first(due, batch);
            if let Some((last, _)) = self.spooled.range(ready).next_back() {
                self.spans.note_put(last.seq() + 1);
            }
            return Some(Operation::PutSpooled { until: held_from, except, spans });
        }
        // Records that are being spooled were accepted first, so they reach the log first.
        let is_spooling = self.waiting.values().any(|waiting| waiting.route == Route::Spool);
        if !is_spooling {
            let first = self.waiting.range(ready).filter(|(at, _)| !is_unfinished(at));
            let last = self.waiting.range(ready).filter(|(at, _)| is_unfinished(at));
            let mut records: Vec<Record> = Vec::new();
            for (at, waiting) in first.chain(last) {
                let joins = |last: &Record| {
                    // A summary may be between the messages of a span.
                    let last = Position::message(last.position().seq());
                    self.spans.of(last).is_some_and(|span| span.has(*at))
                };
                if records.len() >= batch.max(1) && !records.last().is_some_and(joins) {
                    break;
                }
                records.push(waiting.record.clone());
            }
            if let Some(last) = records.iter().map(|record| record.position()).max() {
                let spans = self.spans.of_first(records.iter().map(|record| record.position()), usize::MAX);
                self.spans.note_put(last.seq() + 1);
                return Some(Operation::Put { records, spans });
            }
        }
        let call_end = self.call_end.as_ref().filter(|_| self.waiting.is_empty() && self.spooled.is_empty());
        let renewal = self.renew_at.filter(|at| *at <= Instant::now()).map(|_| Operation::Renew);
        let check = self.may_be_erased.then_some(Operation::Check);
        call_end.map(|(_, call_end)| Operation::Close(call_end.clone())).or(renewal).or(check)
    }
}
