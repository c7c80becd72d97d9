//! [`Segment`]: immutable messages that several lists share.

use std::ops::Range;
use std::sync::Arc;

/// Immutable messages that several lists share, linked to the segment before.
///
/// Each list sees the messages of a segment up to the start of the next segment in its own chain. `far` skips segments, so
/// that any message is found in O(log n) steps and a segment is appended in O(1): Myers, "An applicative random-access
/// stack", 1983.
pub(super) struct Segment<W> {
    /// The index of the first message.
    pub start: usize,
    pub messages: Vec<W>,
    before: Option<Arc<Self>>,
    far: Option<Arc<Self>>,
    /// The number of segments before this one.
    depth: usize,
}

impl<W> Segment<W> {
    pub fn new(start: usize, messages: Vec<W>, before: Option<Arc<Self>>) -> Self {
        let far = before.as_ref().map(|before| match &before.far {
            Some(far) if before.depth - far.depth == far.skipped() => far.far.as_ref().unwrap_or(far).clone(),
            _ => before.clone(),
        });
        let depth = before.as_ref().map_or(0, |before| before.depth + 1);
        Self { start, messages, before, far, depth }
    }

    /// Returns the segment that holds the message at this index, searching back from `last`.
    #[inline]
    pub fn with(last: &Arc<Self>, index: usize) -> Option<&Arc<Self>> {
        let mut segment = last;
        while segment.start > index {
            segment = segment.next_towards(index)?;
        }
        Some(segment)
    }

    /// Returns an earlier segment that is not too early for this index.
    #[inline]
    pub fn next_towards(&self, index: usize) -> Option<&Arc<Self>> {
        self.far.as_ref().filter(|far| far.start > index).or(self.before.as_ref())
    }

    /// Returns the messages with these indices if the segment holds all of them.
    pub fn range(&self, indices: Range<usize>) -> Option<&[W]> {
        self.messages.get(indices.start.checked_sub(self.start)?..indices.end - self.start)
    }

    /// Returns the number of segments before this one.
    #[cfg(test)]
    pub fn depth(&self) -> usize {
        self.depth
    }

    fn skipped(&self) -> usize {
        self.far.as_ref().map_or(0, |far| self.depth - far.depth)
    }
}

/// Drops a chain in a loop, because 10,000 nested drops would overflow the stack.
impl<W> Drop for Segment<W> {
    fn drop(&mut self) {
        let mut left: Vec<Arc<Self>> = self.before.take().into_iter().chain(self.far.take()).collect();
        while let Some(segment) = left.pop() {
            if let Some(mut segment) = Arc::into_inner(segment) {
                left.extend(segment.before.take());
                left.extend(segment.far.take());
            }
        }
    }
}
