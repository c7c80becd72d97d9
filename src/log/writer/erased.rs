//! [`ErasedCalls`]: the calls that this process erased most recently.

use std::collections::{BTreeSet, VecDeque};

use crate::log::CallId;

/// The calls that this process erased most recently. Their new handles are refused at once. The log refuses those of
/// calls that were erased earlier.
#[derive(Debug, Default)]
pub(super) struct ErasedCalls {
    known: BTreeSet<CallId>,
    /// The same calls, oldest first.
    order: VecDeque<CallId>,
}

impl ErasedCalls {
    const MOST: usize = 1_000;

    pub fn insert(&mut self, call_id: CallId) {
        if self.known.insert(call_id.clone()) {
            self.order.push_back(call_id);
        }
        if self.order.len() > Self::MOST
            && let Some(earliest) = self.order.pop_front()
        {
            self.known.remove(&earliest);
        }
    }

    pub fn contains(&self, call_id: &CallId) -> bool {
        self.known.contains(call_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_were_erased_long_ago_are_forgotten() {
        let id = |number: usize| CallId::new(format!("CA{number}")).unwrap();
        let mut erased = ErasedCalls::default();
        for number in 0..3 * ErasedCalls::MOST {
            erased.insert(id(number));
            erased.insert(id(number));
        }
        assert_eq!((erased.known.len(), erased.order.len()), (ErasedCalls::MOST, ErasedCalls::MOST));
        assert!(erased.contains(&id(3 * ErasedCalls::MOST - 1)) && !erased.contains(&id(0)));
    }
}
