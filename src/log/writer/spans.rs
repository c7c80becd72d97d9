//! [`Spans`]: which messages of a call the log stores as one item.

use std::ops::Range;

use crate::log::Span;
use crate::message::Position;

/// The maximum size of the records of a span, in bytes, unless its only record is larger.
pub(super) const MAX_BYTES: usize = 16 << 10;

/// The spans of a call in a log that [stores them](crate::log::CallLog::stores_spans).
///
/// A put whose response was lost may be in the log, so the messages of a span never change: a span keeps its messages
/// from the moment at which it is closed, only messages that were never put can begin one, and the spool stores a span
/// before the log does. Every other message is an item of its own.
#[derive(Debug, Clone, Default)]
pub(super) struct Spans {
    /// Whether new messages go into spans. A writer that does not know which messages the log has forms no spans.
    forms: bool,
    /// Whether the caller has spoken. Earlier messages belong to the first turn.
    has_caller: bool,
    /// The first `seq` from which no message was ever put.
    new_from: u32,
    /// In order, without overlaps; `true` if the log has the span.
    known: Vec<(Span, bool)>,
}

impl Spans {
    /// Creates the spans of a call that was read: those that the log has, and the number of the next message. A log
    /// that forms no spans may still have spans from another log, and changes of their messages go to them.
    pub fn resumed(mut known: Vec<Span>, next: u32, forms: bool) -> Self {
        known.sort_unstable();
        let known: Vec<_> = known.into_iter().map(|span| (span, true)).collect();
        Self { forms, has_caller: true, new_from: next.max(after(&known)), known }
    }

    /// Adds the spans that the log and the spool have of the call.
    pub fn merge(&mut self, other: Self) {
        self.forms |= other.forms;
        self.has_caller |= other.has_caller;
        self.new_from = self.new_from.max(other.new_from);
        for (span, is_written) in other.known {
            self.insert(span, is_written);
        }
    }

    /// Forms spans from now on, because the log has nothing of the call except what was put here.
    pub fn begin(&mut self) {
        self.forms = true;
    }

    /// Notes that the caller has spoken.
    pub fn note_caller(&mut self) {
        self.has_caller = true;
    }

    /// Returns whether the caller has not spoken yet.
    pub fn begins(&self) -> bool {
        self.forms && !self.has_caller
    }

    /// Adds a span that an earlier process has closed. It may be in the log.
    pub fn restore(&mut self, span: Span) {
        self.insert(span, false);
        self.new_from = self.new_from.max(after(&self.known));
    }

    fn insert(&mut self, span: Span, is_written: bool) {
        let at = self.known.partition_point(|(known, _)| known.last() < span.first());
        if self.known.get(at).is_none_or(|(known, _)| span.last() < known.first()) {
            self.known.insert(at, (span, is_written));
        }
    }

    /// The first position that may belong to a new span; `None` if no spans are formed.
    pub fn new_from(&self) -> Option<Position> {
        self.forms.then(|| Position::message(self.new_from))
    }

    /// Notes that messages before a position are put.
    pub fn note_put(&mut self, before: u32) {
        self.new_from = self.new_from.max(before);
    }

    /// Returns the span of a message.
    pub fn of(&self, position: Position) -> Option<Span> {
        self.find(position).map(|(span, _)| span)
    }

    /// Returns the spans of the first `records` messages, and of all others in these spans.
    pub fn of_first(&self, positions: impl Iterator<Item = Position>, records: usize) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for (index, position) in positions.enumerate() {
            if index >= records && !spans.last().is_some_and(|span| span.has(position)) {
                break;
            }
            spans.extend(self.of(position).filter(|span| !spans.contains(span)));
        }
        spans
    }

    pub fn is_written(&self, span: Span) -> bool {
        self.find(Position::message(span.first())) == Some((span, true))
    }

    fn find(&self, position: Position) -> Option<(Span, bool)> {
        self.known.get(self.index_of(position)).copied().filter(|(span, _)| span.contains(position))
    }

    fn index_of(&self, position: Position) -> usize {
        self.known.partition_point(|(span, _)| span.last() < position.seq())
    }

    /// Returns the number of the first message after the spans that may not be in the log. The messages of such a span
    /// are put together.
    pub fn after_unwritten(&self) -> u32 {
        let last = self.known.last().filter(|(_, is_written)| !is_written);
        last.map_or(0, |(span, _)| span.last() + 1)
    }

    /// Closes spans of new messages, each given with its size, until they have about `records` records. Returns the
    /// spans.
    pub fn close(&mut self, messages: impl Iterator<Item = (Position, usize)>, records: usize) -> Vec<Span> {
        if !self.forms {
            return Vec::new();
        }
        let (mut closed, mut count) = (Vec::new(), 0);
        for (span, _) in Runs(messages.peekable()) {
            count += (span.end - span.start) as usize;
            closed.extend(Span::new(span.start, span.end - 1));
            if count >= records {
                break;
            }
        }
        self.known.extend(closed.iter().map(|span| (*span, false)));
        self.note_put(after(&self.known));
        closed
    }

    /// Notes that the log has the span of a message.
    pub fn note_written(&mut self, position: Position) {
        let at = self.index_of(position);
        if let Some((_, is_written)) = self.known.get_mut(at).filter(|(span, _)| span.contains(position)) {
            *is_written = true;
        }
    }

    /// Makes each message of a span an item of its own.
    pub fn split(&mut self, span: Span) {
        self.known.retain(|(known, _)| *known != span);
    }
}

fn after(known: &[(Span, bool)]) -> u32 {
    known.last().map_or(0, |(span, _)| span.last() + 1)
}

/// Returns the start of the last span that these new messages would form. A later message may join that span.
pub(super) fn last_begin(messages: impl Iterator<Item = (Position, usize)>) -> Option<u32> {
    Runs(messages.peekable()).last().map(|(span, _)| span.start)
}

/// The spans that messages form, each with its size: consecutive messages, up to the maximum size.
struct Runs<I: Iterator<Item = (Position, usize)>>(std::iter::Peekable<I>);

impl<I: Iterator<Item = (Position, usize)>> Iterator for Runs<I> {
    type Item = (Range<u32>, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let is_summary = |(position, _): &(Position, usize)| position.summary_number().is_some();
        while self.0.next_if(is_summary).is_some() {}
        let (first, mut bytes) = self.0.next()?;
        let mut span = first.seq()..first.seq() + 1;
        loop {
            // A summary follows the message that it covers, and is never in a span.
            while self.0.next_if(is_summary).is_some() {}
            let joins = |(position, more): &(Position, usize)| position.seq() == span.end && bytes + more <= MAX_BYTES;
            let Some((_, more)) = self.0.next_if(joins) else { return Some((span, bytes)) };
            (span.end, bytes) = (span.end + 1, bytes + more);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn span(first: u32, last: u32) -> Span {
        Span::new(first, last).unwrap()
    }

    fn messages(sizes: &[(u32, usize)]) -> impl Iterator<Item = (Position, usize)> {
        sizes.iter().map(|(seq, bytes)| (Position::message(*seq), *bytes))
    }

    fn opened() -> Spans {
        let mut spans = Spans::default();
        spans.begin();
        spans
    }

    #[test]
    fn span_has_consecutive_messages_up_to_a_size() {
        let mut spans = opened();
        let half = MAX_BYTES / 2;
        let new = [(0, half), (1, half), (2, 1), (3, MAX_BYTES), (4, 2 * MAX_BYTES), (6, 1)];
        let closed = spans.close(messages(&new), 100);
        assert_eq!(closed, [span(0, 1), span(2, 2), span(3, 3), span(4, 4), span(6, 6)]);
        assert_eq!(spans.new_from(), Some(Position::message(7)));
        assert_eq!(spans.of(Position::message(1)), Some(span(0, 1)));
        // The message arrives after later ones were put, so it is an item of its own.
        assert_eq!(spans.of(Position::message(5)), None);
        assert_eq!(last_begin(messages(&[(7, half), (8, half), (9, half)])), Some(9));
    }

    #[test]
    fn summary_separates_no_messages() {
        let summary = (Position::summary(0, NonZeroU32::MIN), 1);
        let new = [(Position::message(0), 1), summary, (Position::message(1), 1)];
        assert_eq!(opened().close(new.into_iter(), 100), [span(0, 1)]);
        assert_eq!(opened().close([summary].into_iter(), 100), []);
    }

    #[test]
    fn nothing_is_closed_that_may_have_been_put() {
        let mut spans = Spans::default();
        assert_eq!((spans.close(messages(&[(0, 1)]), 100), spans.new_from()), (vec![], None));
        let resumed = Spans::resumed(vec![span(4, 5), span(1, 2)], 9, true);
        assert_eq!(resumed.new_from(), Some(Position::message(9)));
        let found = [0, 1, 3, 4, 5, 6].map(|seq| resumed.of(Position::message(seq)));
        assert_eq!(found, [None, Some(span(1, 2)), None, Some(span(4, 5)), Some(span(4, 5)), None]);
        assert!(resumed.is_written(span(4, 5)));
    }

    #[test]
    fn spooled_span_does_not_replace_a_written_one() {
        let mut spans = Spans::resumed(vec![span(0, 2)], 3, true);
        spans.restore(span(0, 2));
        spans.restore(span(3, 5));
        assert!(spans.is_written(span(0, 2)) && !spans.is_written(span(3, 5)));
        assert_eq!(spans.after_unwritten(), 6);
        spans.note_written(Position::message(4));
        assert_eq!((spans.after_unwritten(), spans.new_from()), (0, Some(Position::message(6))));
    }
}
