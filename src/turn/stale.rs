//! [`Stale`]: changes of the messages from outside the engine, and how the memory follows them.

use super::core::Core;
use crate::message::{MessageWrapper, PlainMessage};

/// The messages that were changed from outside the engine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Stale {
    #[default]
    Nothing,
    /// Messages were added from this `seq` on.
    From(u32),
    /// Any message may have changed.
    All,
}

impl Core {
    /// Notes that any message may have been changed from outside the engine.
    pub fn changed(&mut self) {
        self.added_from(0);
        self.stale = Stale::All;
    }

    /// Notes that messages were added from outside the engine, from this `seq` on.
    pub fn added_from(&mut self, seq: u32) {
        self.stale = match self.stale {
            Stale::Nothing => Stale::From(seq),
            Stale::From(earlier) => Stale::From(earlier.min(seq)),
            Stale::All => Stale::All,
        };
        self.is_to_be_logged = true;
        // One of the messages may be the result of a tool.
        self.results.notify_waiters();
    }

    /// Notes that data, marks and times of messages were changed from outside the engine, and that messages were added from
    /// `added_from` on.
    pub fn edited(&mut self, messages: &[u32], added_from: u32) {
        messages.iter().for_each(|seq| self.facts.search_one_again(*seq));
        self.added_from(added_from);
    }

    /// Returns the `seq` of the last message, into which the next one may be merged.
    pub fn last_seq(&self) -> u32 {
        self.manager.next_seq().saturating_sub(1)
    }

    /// Updates the memory after changes from outside the engine.
    pub(super) fn refresh(&mut self) {
        let manager = &self.manager;
        let first = match std::mem::take(&mut self.stale) {
            Stale::Nothing => return,
            Stale::From(seq) => {
                self.tools_used.extend(manager.since(seq).map(PlainMessage::message));
                seq
            }
            Stale::All => {
                self.tools_used.rebuild(manager.all().map(PlainMessage::message), |id| manager.has_left(id));
                manager.all().next().map_or(0, |first| first.message().position().seq())
            }
        };
        self.facts.search_again(first);
        self.covered.count_again(first);
    }
}
