//! [`Segment`]: messages that several lists share.

use std::ops::Range;
use std::sync::Arc;

/// Messages that several lists share, behind those of other segments. Nobody changes them.
///
/// Each list sees of a segment what stands in front of the next one in its own chain. `far` skips segments so that any
/// message is found in O(log n) steps, and a segment is put behind others in O(1): Myers, "An applicative random-access
/// stack", 1983.
pub(super) struct Segment<W> {
    /// The index of the first message.
    pub start: usize,
    pub messages: Vec<W>,
    before: Option<Arc<Self>>,
    far: Option<Arc<Self>>,
    /// How many segments there are in front.
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

    /// The segment with the message at this index, which stands in front of the end of `last`.
    #[inline]
    pub fn with(last: &Arc<Self>, index: usize) -> Option<&Arc<Self>> {
        let mut segment = last;
        while segment.start > index {
            segment = segment.next_towards(index)?;
        }
        Some(segment)
    }

    /// A segment further in front, which does not stand in front of this index.
    #[inline]
    pub fn next_towards(&self, index: usize) -> Option<&Arc<Self>> {
        self.far.as_ref().filter(|far| far.start > index).or(self.before.as_ref())
    }

    /// The messages with these indices, if all of them are here.
    pub fn range(&self, indices: Range<usize>) -> Option<&[W]> {
        self.messages.get(indices.start.checked_sub(self.start)?..indices.end - self.start)
    }

    /// How many segments there are in front.
    #[cfg(test)]
    pub fn depth(&self) -> usize {
        self.depth
    }

    fn skipped(&self) -> usize {
        self.far.as_ref().map_or(0, |far| self.depth - far.depth)
    }
}

/// One segment after the other: dropping ten thousand of them within each other would overflow the stack.
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
