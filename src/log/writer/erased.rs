//! [`ErasedCalls`]: the calls that this process most recently erased, or found erased.

use std::collections::{BTreeSet, VecDeque};

use super::LogWriter;
use super::shared::Command;
use crate::log::{CallId, LogError, LogErrorKind};

/// The calls that this process most recently erased, or found erased. Their new handles are refused at once. The log
/// refuses those of calls that were erased earlier.
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

impl LogWriter {
    /// Makes the task drop what it and its spool have of a call, if the log answers that the call is erased. The task
    /// itself drops it when a request of its own is refused.
    pub(super) fn noting_erasure<T>(&self, call_id: &CallId, answer: Result<T, LogError>) -> Result<T, LogError> {
        if answer.as_ref().is_err_and(|error| error.kind() == LogErrorKind::Erased) {
            // If the task has ended, the next one learns it in the same way.
            let _ = self.commands.send(Command::Forget(call_id.clone()));
        }
        answer
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
