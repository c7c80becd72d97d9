//! [`List`]: the messages in their order. What stands in front may be shared with forks, and the oldest may be gone.

mod iter;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub(super) use iter::Iter;

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
    /// Without gaps.
    segments: Vec<Segment<W>>,
    /// The whole list, once somebody asked for it as a slice.
    gathered: OnceLock<Vec<W>>,
}

/// Messages that several lists share, each up to an end of its own.
#[derive(Clone)]
struct Segment<W> {
    start: usize,
    end: usize,
    messages: Arc<Vec<W>>,
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
        match shared.segments.as_slice() {
            [one] if self.own.is_empty() => one.range(shared.first..one.end),
            _ => shared.gathered.get_or_init(|| self.iter().collect_map(W::clone)),
        }
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

    /// The messages in front of `end`, which both lists share from now on: nothing is copied.
    pub fn share(&mut self, end: usize) -> Self {
        self.give_away_own();
        let shared = self.shared.as_ref().map(|shared| (**shared).clone());
        let mut other = Self { shared: shared.map(Box::new), own_start: self.own_start, own: Vec::new() };
        other.truncate_shared(end);
        other
    }

    /// Lets go of the messages in front of `first`.
    pub fn forget(&mut self, first: usize) {
        match &mut self.shared {
            Some(shared) if first < self.own_start => shared.forget(first),
            _ => {
                let gone = first.saturating_sub(self.own_start).min(self.own.len());
                self.own.drain(..gone);
                if self.own.len() < self.own.capacity() / 4 {
                    self.own.shrink_to(2 * self.own.len());
                }
                self.own_start += gone;
                self.shared = None;
            }
        }
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
            shared.truncate(end);
            self.shared.take_if(|shared| shared.segments.is_empty());
        }
        self.own_start = end;
    }

    fn give_away_own(&mut self) {
        let mut own = std::mem::take(&mut self.own);
        if own.is_empty() {
            return;
        }
        let (start, end) = (self.own_start, self.own_start + own.len());
        self.own_start = end;
        let shared = self.shared.get_or_insert_with(|| Box::new(Shared::new(start)));
        // Where the forks before this one are gone, so are their segments.
        if let Some(last) = shared.segments.last_mut()
            && let Some(messages) = Arc::get_mut(&mut last.messages)
        {
            messages.truncate(last.end - last.start);
            messages.append(&mut own);
            last.end = end;
        } else {
            shared.segments.push(Segment { start, end, messages: Arc::new(own) });
        }
    }
}

impl<W> Shared<W> {
    fn new(first: usize) -> Self {
        Self { first, segments: Vec::new(), gathered: OnceLock::new() }
    }

    fn get(&self, index: usize) -> Option<&W> {
        if index < self.first {
            return None;
        }
        let segment = self.segments.get(self.segments.partition_point(|segment| segment.end <= index))?;
        segment.messages.get(index.checked_sub(segment.start)?)
    }

    fn truncate(&mut self, end: usize) {
        self.gathered.take();
        self.segments.truncate(self.segments.partition_point(|segment| segment.start.max(self.first) < end));
        if let Some(last) = self.segments.last_mut() {
            last.end = last.end.min(end);
        }
    }

    fn forget(&mut self, first: usize) {
        self.gathered.take();
        self.first = first;
        self.segments.drain(..self.segments.partition_point(|segment| segment.end <= first));
        // What others still hold stays in memory for them.
        if let Some(segment) = self.segments.first_mut()
            && let Some(messages) = Arc::get_mut(&mut segment.messages)
        {
            messages.drain(..first.saturating_sub(segment.start).min(messages.len()));
            segment.start = first;
        }
    }
}

impl<W> Segment<W> {
    fn range(&self, indices: Range<usize>) -> &[W] {
        self.messages.get(indices.start - self.start..indices.end - self.start).unwrap_or_default()
    }
}

/// What was gathered stays with the list that was asked.
impl<W: Clone> Clone for Shared<W> {
    fn clone(&self) -> Self {
        Self { first: self.first, segments: self.segments.clone(), gathered: OnceLock::new() }
    }
}

#[cfg(test)]
mod tests;
