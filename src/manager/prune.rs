//! Pruning: letting the oldest messages go from memory.

use super::MessagesManager;
use crate::message::{MessageWrapper, Role};

/// Which messages may be pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prune {
    /// Those that are [acknowledged](MessagesManager::acknowledge), with all that changed in them: the log has them.
    Logged,
    /// All, whatever a log has of them: they are lost.
    Anything,
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Lets go of the oldest messages, supervisor messages too, so that `keep` are left, or a few more; says how many
    /// went.
    ///
    /// It cuts where a summary could: a call goes with its result or stays, as long as it has none; what is left
    /// of the window begins with a user message; the caller's last, unanswered message stays. The last summary
    /// stays too, with all behind it: the window goes on from what it tells, so where there is one, only what it
    /// covers can go.
    ///
    /// What went is in no view any more: not in [`meta_messages`](Self::meta_messages), nor in the window,
    /// [`changes`](Self::changes) or [`records`](Self::records). Receipts for it and summaries of it may still come.
    /// Its invocation ids stay used. What [forks](Self::fork) share stays in memory for them; this conversation copies what is
    /// left, about 100 bytes a message and no text. [Restored](Self::restore) from its log, the conversation is whole again.
    pub fn prune(&mut self, keep: usize, which: Prune) -> usize {
        let (first, end) = (self.list.first(), self.list.end());
        let mut limit = end.saturating_sub(keep);
        if self.last_summary().is_some() {
            limit = limit.min(self.window_start - 1);
        }
        if which == Prune::Logged {
            limit = limit.min(self.first_not_logged());
        }
        let Some(cut) = self.cut_between(first, limit) else { return 0 };

        let holds_on = |wrapper: &&W| wrapper.role() == Role::System || wrapper.metadata().forked_from().is_some();
        for wrapper in self.list.range(first..cut).filter(holds_on) {
            self.kept_of_pruned.push(wrapper.clone());
        }
        let mut ledgers = [std::mem::take(&mut self.ledger), std::mem::take(&mut self.submitted)];
        ledgers.iter_mut().for_each(|ledger| ledger.forget(cut, |position| self.index(position)));
        [self.ledger, self.submitted] = ledgers;
        self.list.forget(cut);
        self.window_start = self.window_start.max(cut);
        self.window_is_open = self.has_open_window();
        cut - first
    }

    /// The system instructions, in order, those too that were pruned: they hold as long as the conversation.
    pub fn supervisors(&self) -> impl Iterator<Item = &W> {
        self.kept_of_pruned.iter().chain(self.list.iter()).filter(|wrapper| wrapper.role() == Role::System)
    }

    /// How many were pruned, summaries among them.
    pub fn pruned(&self) -> usize {
        self.list.first()
    }

    /// The index of the first message of which the log does not have the newest revision.
    fn first_not_logged(&self) -> usize {
        let (dirty, unknown_from) = self.ledger.dirty();
        dirty.first().map_or(unknown_from, |position| self.index(*position).min(unknown_from))
    }
}
