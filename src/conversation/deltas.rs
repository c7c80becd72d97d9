//! [`Deltas`]: a persistent list that grows at its end without a copy.

use std::sync::Arc;

/// A persistent list that grows at its end. Lists that grew from one list share its items.
pub(super) struct Deltas<T>(Option<Arc<Node<T>>>);

struct Node<T> {
    delta: T,
    before: Deltas<T>,
}

impl<T> Deltas<T> {
    pub const EMPTY: Self = Self(None);

    /// Returns the list with one more item at its end; this list stays as it is.
    pub fn with(&self, delta: T) -> Self {
        Self(Some(Arc::new(Node { delta, before: self.clone() })))
    }

    /// Returns the items from the first to the last.
    pub fn in_order(&self) -> impl Iterator<Item = &T> {
        let from_the_end = std::iter::successors(self.0.as_ref(), |node| node.before.0.as_ref());
        let all: Vec<&T> = from_the_end.map(|node| &node.delta).collect();
        all.into_iter().rev()
    }
}

impl<T> Clone for Deltas<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// Drops the nodes in a loop, because a recursive drop of a long list overflows the stack.
impl<T> Drop for Deltas<T> {
    fn drop(&mut self) {
        let mut last = self.0.take();
        while let Some(node) = last {
            last = Arc::into_inner(node).and_then(|mut node| node.before.0.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_lists_are_unchanged_and_long_lists_can_be_dropped() {
        let mut list = Deltas::EMPTY;
        let mut states = vec![list.clone()];
        for number in 0..100 {
            list = list.with(number);
            states.push(list.clone());
        }
        for (length, state) in states.iter().enumerate() {
            assert!(state.in_order().copied().eq(0..length));
        }
        let (left, right) = (states[3].with(101), states[3].with(102));
        assert!(left.in_order().eq(&[0, 1, 2, 101]) && right.in_order().eq(&[0, 1, 2, 102]));
        drop((0..1_000_000).fold(Deltas::EMPTY, |list, number| list.with(number)));
    }
}
