//! [`List`]: the messages in their order. What stands in front may be shared with forks, and the oldest may be gone.

mod iter;
mod segment;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub(super) use iter::Iter;
use segment::Segment;

/// The messages of a conversation in their order. An index stays what it is when messages in front of it go.
#[derive(Clone)]
pub(super) struct List<W> {
    /// What stands in front of `own`. A conversation that has to do with no fork needs none.
    shared: Option<Box<Shared<W>>>,
    /// The index of the first of `own`.
    own_start: usize,
    own: Vec<W>,
}

/// The front of the lists of several conversations, as one of them sees it. It is never empty.
struct Shared<W> {
    /// The index of the first message that is not gone.
    first: usize,
    /// The segment with the last message.
    last: Arc<Segment<W>>,
    /// The whole list, once somebody asked for it as a slice.
    gathered: OnceLock<Vec<W>>,
}

impl<W> List<W> {
    pub const fn new() -> Self {
        Self { shared: None, own_start: 0, own: Vec::new() }
    }

    /// The index of the first message that is not gone.
    pub fn first(&self) -> usize {
        self.shared.as_ref().map_or(self.own_start, |shared| shared.first)
    }

    /// The index behind the last message.
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

    /// How many of the messages, which are sorted by it, are `before` some point. Nothing was forgotten.
    #[inline]
    pub fn partition_point(&self, before: impl Fn(&W) -> bool) -> usize {
        if self.shared.is_none() {
            return self.own_start + self.own.partition_point(before);
        }
        let (mut start, mut end) = (0, self.end());
        while start < end {
            let middle = start.midpoint(end);
            if self.get(middle).is_some_and(&before) { start = middle + 1 } else { end = middle }
        }
        start
    }

    pub fn iter(&self) -> Iter<'_, W> {
        self.range(self.first()..self.end())
    }

    /// The messages with these indices, as far as there are any.
    pub fn range(&self, indices: Range<usize>) -> Iter<'_, W> {
        let shared = indices.start.max(self.first())..indices.end.min(self.own_start);
        let own = indices.start.saturating_sub(self.own_start)..indices.end.saturating_sub(self.own_start);
        let own = own.start..own.end.min(self.own.len());
        Iter { list: self, shared, own: self.own.get(own).unwrap_or_default().iter() }
    }

    /// The same, each with its index.
    pub fn indexed(&self, indices: Range<usize>) -> impl DoubleEndedIterator<Item = (usize, &W)> {
        let start = indices.start.max(self.first());
        self.range(indices).numbered(start)
    }
}

impl<W: Clone> List<W> {
    /// All of them as a slice. Where they do not stand in one piece, they are gathered, and that is kept until the list
    /// changes.
    pub fn as_slice(&self) -> &[W] {
        let Some(shared) = &self.shared else { return &self.own };
        if self.own.is_empty()
            && let Some(all) = shared.last.range(shared.first..self.own_start)
        {
            return all;
        }
        shared.gathered.get_or_init(|| self.iter().collect_map(W::clone))
    }

    /// Puts a message behind the others, and gives its index.
    #[inline]
    pub fn push(&mut self, message: W) -> usize {
        if let Some(shared) = &mut self.shared {
            shared.gathered.take();
        }
        self.own.push(message);
        self.end() - 1
    }

    /// A message, to be changed. One that is shared becomes the list's own, and with it all behind it.
    #[inline]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut W> {
        if self.shared.is_some() {
            self.make_own(index);
        }
        self.own.get_mut(index.checked_sub(self.own_start)?)
    }

    /// Puts a message in front of the one at `index`, or behind the last one.
    pub fn insert(&mut self, index: usize, message: W) {
        self.make_own(index);
        self.own.insert(index.saturating_sub(self.own_start).min(self.own.len()), message);
    }

    /// The messages in front of `end`, which both lists share from now on: nothing is copied. O(log n) for a list of n
    /// segments, which has one for each fork that it was shared with.
    pub fn share(&mut self, end: usize) -> Self {
        self.give_away_own();
        let mut other = Self { shared: self.shared.clone(), own_start: self.own_start, own: Vec::new() };
        other.truncate_shared(end);
        other
    }

    /// Lets go of the messages in front of `first`. What others share stays in memory for them, and the list shares nothing
    /// any more.
    pub fn forget(&mut self, first: usize) {
        self.make_own(first);
        self.shared = None;
        let gone = first.saturating_sub(self.own_start).min(self.own.len());
        self.own.drain(..gone);
        if self.own.len() < self.own.capacity() / 4 {
            self.own.shrink_to(2 * self.own.len());
        }
        self.own_start += gone;
    }

    /// From this message on, if there is one, the list shares nothing.
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

    /// `own` begins at `end` from now on.
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

    fn give_away_own(&mut self) {
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
        // Once the forks that shared the last segment are gone, it takes in what follows.
        if let Some(last) = Arc::get_mut(&mut shared.last) {
            last.messages.truncate(start - last.start);
            last.messages.append(&mut own);
        } else {
            shared.last = Arc::new(Segment::new(start, own, Some(shared.last.clone())));
        }
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

/// What was gathered stays with the list that was asked.
impl<W: Clone> Clone for Shared<W> {
    fn clone(&self) -> Self {
        Self { first: self.first, last: self.last.clone(), gathered: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests;
