//! [`Span`]: consecutive messages that a log stores as one item.

use std::ops::RangeInclusive;

use super::LogError;
use crate::message::Position;

/// Consecutive messages of a call that a [log](super::CallLog::put_span) stores as one item, by their numbers. Spans
/// are ordered by their first message, and the spans of a call do not overlap. A span always keeps the same messages.
/// Summaries are never in a span.
///
/// It converts from a range of message numbers, and into one:
///
/// ```
/// # fn main() -> Result<(), verbale::log::LogError> {
/// let span = verbale::log::Span::try_from(3..=5)?;
/// assert_eq!(std::ops::RangeInclusive::from(span), 3..=5);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    first: u32,
    last: u32,
}

impl Span {
    /// Returns the span of the messages from `first` to `last`, or `None` if `last` is less than `first` or is not a
    /// message number.
    pub(crate) const fn new(first: u32, last: u32) -> Option<Self> {
        if first <= last && last <= Position::MAX_SEQ { Some(Self { first, last }) } else { None }
    }

    /// Returns the number of the first message.
    pub(crate) const fn first(self) -> u32 {
        self.first
    }

    /// Returns the number of the last message.
    pub(crate) const fn last(self) -> u32 {
        self.last
    }

    /// Returns whether the message at a position is in the span. A summary never is.
    pub(crate) const fn contains(self, position: Position) -> bool {
        position.summary_number().is_none() && self.has(position)
    }

    /// Returns whether the message at a position is in the span, or the last message that a summary covers.
    pub(crate) const fn has(self, position: Position) -> bool {
        self.first <= position.seq() && position.seq() <= self.last
    }
}

/// Returns [`LogErrorKind::Invalid`](super::LogErrorKind::Invalid) if the range is empty, or if its end is not a
/// message number.
impl TryFrom<RangeInclusive<u32>> for Span {
    type Error = LogError;

    fn try_from(messages: RangeInclusive<u32>) -> Result<Self, LogError> {
        Self::new(*messages.start(), *messages.end()).ok_or_else(|| {
            LogError::invalid("a span", "it has at least one message, and message numbers of 8 digits at most")
        })
    }
}

impl From<Span> for RangeInclusive<u32> {
    fn from(span: Span) -> Self {
        span.first..=span.last
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn span_has_its_messages_and_no_summary() {
        let span = Span::new(2, 4).unwrap();
        let contained = (0..7).filter(|seq| span.contains(Position::message(*seq)));
        assert_eq!(contained.collect::<Vec<_>>(), [2, 3, 4]);
        assert!(!span.contains(Position::summary(3, NonZeroU32::MIN)));
        assert_eq!((Span::new(3, 2), Span::new(0, Position::MAX_SEQ + 1)), (None, None));
    }
}
