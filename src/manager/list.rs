//! [`List`]: the messages in order. Its front may be shared with forks, and its oldest messages may be pruned. The
//! memory of a conversation shares its entries in the same way.

mod iter;
mod segment;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub(crate) use iter::Iter;
use segment::Segment;

/// The messages of a conversation in order. Indices stay the same when earlier messages are removed.
#[derive(Clone)]
pub(crate) struct List<W> {
    /// The messages before `own`, if they are shared with forks.
    shared: Option<Box<Shared<W>>>,
    /// The index of the first message in `own`.
    own_start: usize,
    own: Vec<W>,
}

/// The front of a list that several conversations share, as one of them sees it. Never empty.
struct Shared<W> {
    /// The index of the first message that is not removed.
    first: usize,
    /// The segment that holds the last message.
    last: Arc<Segment<W>>,
    /// A copy of the whole list, once it was requested as a slice.
    gathered: OnceLock<Vec<W>>,
}

impl<W> List<W> {
    pub const fn new() -> Self {
        Self { shared: None, own_start: 0, own: Vec::new() }
    }

    /// Returns the index of the first message that is not removed.
    pub fn first(&self) -> usize {
        self.shared.as_ref().map_or(self.own_start, |shared| shared.first)
    }

    /// Returns the index after the last message.
    #[inline]
    pub fn end(&self) -> usize {
        self.own_start + self.own.len()
    }

    #[inline]
    pub fn get(&self, index: usize) -> Option<&W> {
        match index.checked_sub(self.own_start) {
            Some(index) => self.own.get(index),
            None => self.shared.as_ref()?.get(index),
        }
    }

    #[inline]
    pub fn last(&self) -> Option<&W> {
        match self.own.last() {
            None => self.shared.as_ref()?.get(self.own_start.checked_sub(1)?),
            last => last,
        }
    }

    /// Returns the index of the first message for which `before` does not hold. The list must be sorted by it.
    #[inline]
    pub fn partition_point(&self, before: impl Fn(&W) -> bool) -> usize {
        if self.shared.is_none() {
            return self.own_start + self.own.partition_point(before);
        }
        let (mut start, mut end) = (self.first(), self.end());
        while start < end {
            let middle = start.midpoint(end);
            if self.get(middle).is_some_and(&before) { start = middle + 1 } else { end = middle }
        }
        start
    }

    pub fn iter(&self) -> Iter<'_, W> {
        self.range(self.first()..self.end())
    }

    /// Iterates over the messages with these indices. Ignores indices outside the list.
    pub fn range(&self, indices: Range<usize>) -> Iter<'_, W> {
        let shared = indices.start.max(self.first())..indices.end.min(self.own_start);
        let own = indices.start.saturating_sub(self.own_start)..indices.end.saturating_sub(self.own_start);
        let own = own.start..own.end.min(self.own.len());
        Iter { list: self, shared, own: self.own.get(own).unwrap_or_default().iter() }
    }

    /// Like [`range`](Self::range), each message with its index.
    pub fn indexed(&self, indices: Range<usize>) -> impl DoubleEndedIterator<Item = (usize, &W)> {
        let start = indices.start.max(self.first());
        self.range(indices).numbered(start)
    }
}

impl<W: Clone> List<W> {
    /// Returns all messages as a slice. A list in several pieces is copied once, and the copy is kept until it changes.
    pub fn as_slice(&self) -> &[W] {
        let Some(shared) = &self.shared else { return &self.own };
        if self.own.is_empty()
            && let Some(all) = shared.last.range(shared.first..self.own_start)
        {
            return all;
        }
        shared.gathered.get_or_init(|| self.iter().collect_map(W::clone))
    }

    /// Appends a message and returns its index.
    #[inline]
    pub fn push(&mut self, message: W) -> usize {
        if let Some(shared) = &mut self.shared {
            shared.gathered.take();
        }
        // A short list grows in small steps, because a process has many of them.
        if self.own.len() == self.own.capacity() {
            self.own.reserve_exact(self.step(8));
        }
        self.own.push(message);
        self.end() - 1
    }

    /// Returns a message for editing. First copies shared messages from `index` on, so that forks do not see the edit.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut W> {
        if self.shared.is_some() {
            self.make_own(index);
        }
        self.own.get_mut(index.checked_sub(self.own_start)?)
    }

    /// Removes the messages from `end` on.
    pub fn truncate(&mut self, end: usize) {
        if end < self.own_start {
            self.own.clear();
            self.truncate_shared(end);
        } else {
            if let Some(shared) = &mut self.shared {
                shared.gathered.take();
            }
            self.own.truncate(end - self.own_start);
        }
    }

    /// Inserts a message at `index`, or appends it.
    pub fn insert(&mut self, index: usize, message: W) {
        self.make_own(index);
        self.own.insert(index.saturating_sub(self.own_start).min(self.own.len()), message);
    }

    /// Returns a list of the messages before `end` and shares them with it, without copying any. O(log n) for n segments;
    /// each fork adds at most one segment.
    pub fn share(&mut self, end: usize) -> Self {
        self.share_own();
        let mut other = Self { shared: self.shared.clone(), own_start: self.own_start, own: Vec::new() };
        other.truncate_shared(end);
        other
    }

    /// Removes the messages before `first`. Other lists keep the messages that they share; this list shares none any more.
    pub fn forget(&mut self, first: usize) {
        if first <= self.first() {
            return;
        }
        self.make_own(first);
        self.shared = None;
        let gone = first.saturating_sub(self.own_start).min(self.own.len());
        self.own.drain(..gone);
        let room = self.step(4);
        if self.own.capacity() - self.own.len() > self.own.len() + room {
            self.own.shrink_to(self.own.len() + room);
        }
        self.own_start += gone;
    }

    /// Returns for how many more messages the list gets room: at least for `least`. A long list doubles.
    fn step(&self, least: usize) -> usize {
        match self.own.len() {
            0..64 => least,
            long => long,
        }
    }

    /// Copies the shared messages from `index` on into `own`.
    fn make_own(&mut self, index: usize) {
        let Some(shared) = &mut self.shared else { return };
        shared.gathered.take();
        if !(shared.first..self.own_start).contains(&index) {
            return;
        }
        let mut own = Vec::with_capacity(self.end() - index + 1);
        own.extend(self.range(index..self.own_start).cloned());
        own.append(&mut self.own);
        self.own = own;
        self.truncate_shared(index);
    }

    /// Ends the shared part at `end`, where `own` begins.
    fn truncate_shared(&mut self, end: usize) {
        if let Some(shared) = &mut self.shared {
            shared.gathered.take();
            match end
                .checked_sub(1)
                .filter(|last| *last >= shared.first)
                .and_then(|last| Segment::with(&shared.last, last))
            {
                Some(last) => shared.last = last.clone(),
                None => self.shared = None,
            }
        }
        self.own_start = end;
    }

    fn share_own(&mut self) {
        if self.own.is_empty() {
            return;
        }
        let (start, mut own) = (self.own_start, std::mem::take(&mut self.own));
        self.own_start += own.len();
        let Some(shared) = &mut self.shared else {
            let last = Arc::new(Segment::new(start, own, None));
            self.shared = Some(Box::new(Shared { first: start, last, gathered: OnceLock::new() }));
            return;
        };
        shared.gathered.take();
        // If no fork shares the last segment any more, append to it.
        if let Some(last) = Arc::get_mut(&mut shared.last) {
            last.messages.truncate(start - last.start);
            last.messages.append(&mut own);
        } else {
            shared.last = Arc::new(Segment::new(start, own, Some(shared.last.clone())));
        }
    }
}

impl<W> Default for List<W> {
    fn default() -> Self {
        Self::new()
    }
}

/// Prints the indices.
impl<W> fmt::Debug for List<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.first()..self.end()).fmt(f)
    }
}

impl<W> Shared<W> {
    fn get(&self, index: usize) -> Option<&W> {
        if index < self.first {
            return None;
        }
        let segment = Segment::with(&self.last, index)?;
        segment.messages.get(index.checked_sub(segment.start)?)
    }
}

/// The clone drops the copy of the list, which it may never need.
impl<W: Clone> Clone for Shared<W> {
    fn clone(&self) -> Self {
        Self { first: self.first, last: self.last.clone(), gathered: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests;
