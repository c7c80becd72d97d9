//! [`Iter`]: iterates over a range of a [`List`].

use std::ops::Range;
use std::slice;

use super::List;

/// An iterator over a range of a [`List`].
pub(crate) struct Iter<'a, W> {
    pub(super) list: &'a List<W>,
    /// The indices of the shared messages.
    pub(super) shared: Range<usize>,
    pub(super) own: slice::Iter<'a, W>,
}

impl<'a, W> Iter<'a, W> {
    /// Collects the mapped messages. Messages that are not shared are as fast as those of a slice.
    pub fn collect_map<T>(self, map: impl Fn(&W) -> T) -> Vec<T> {
        let Self { list, shared, own } = self;
        let mut all = Vec::with_capacity(shared.len() + own.len());
        all.extend(shared.filter_map(|index| list.get(index)).map(&map));
        all.extend(own.map(map));
        all
    }

    /// Numbers the messages, starting at `start`.
    pub(super) fn numbered(self, start: usize) -> impl DoubleEndedIterator<Item = (usize, &'a W)> {
        (start..start + self.len()).zip(self)
    }
}

impl<W> Clone for Iter<'_, W> {
    fn clone(&self) -> Self {
        Self { list: self.list, shared: self.shared.clone(), own: self.own.clone() }
    }
}

impl<'a, W> Iterator for Iter<'a, W> {
    type Item = &'a W;

    #[inline]
    fn next(&mut self) -> Option<&'a W> {
        match self.shared.next() {
            None => self.own.next(),
            Some(index) => self.list.get(index),
        }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.shared.len() + self.own.len();
        (left, Some(left))
    }
}

impl<W> DoubleEndedIterator for Iter<'_, W> {
    #[inline]
    fn next_back(&mut self) -> Option<Self::Item> {
        match self.own.next_back() {
            None => self.list.get(self.shared.next_back()?),
            last => last,
        }
    }
}

impl<W> ExactSizeIterator for Iter<'_, W> {}
