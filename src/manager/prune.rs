//! Prunes the oldest messages from memory.

use std::sync::Arc;

use super::MessagesManager;
use crate::message::{MessageWrapper, Role};

/// The messages that may be pruned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prune {
    /// Of the logged messages, those that the last summary covers.
    Covered,
    /// Messages whose newest revision is acknowledged, so that the log has them.
    Logged,
    /// Any message. A message that is not logged is lost.
    Anything,
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Removes the oldest messages from memory, system messages too, until about `keep` are left. Returns the number of
    /// messages removed. A message that is not logged is lost; [`prune_logged`](Self::prune_logged) and
    /// [`prune_covered`](Self::prune_covered) keep it.
    ///
    /// It cuts only where a summary could end: a tool call leaves together with its result, the window still begins
    /// with a user message, and the last turn stays. The last summary and the messages after it stay too, so a
    /// conversation with a summary loses only messages that the summary covers.
    ///
    /// Removed messages are no longer in [`meta_messages`](Self::meta_messages), [`changes`](Self::changes) or
    /// [`records`](Self::records), but system messages stay in [`system_messages`](Self::system_messages).
    /// Acknowledgements of removed messages, and summaries that also cover later ones, are still accepted. The ids of
    /// removed tool calls stay used. [Forks](Self::fork) keep shared messages; this conversation then copies the
    /// remaining messages, about 100 bytes each without texts. [Restore](Self::restore) the conversation from its log
    /// to get all messages back.
    pub fn prune(&mut self, keep: usize) -> usize {
        self.prune_only(keep, Prune::Anything)
    }

    /// Removes the oldest messages that the last summary covers, up to the first whose newest revision is not
    /// [acknowledged](Self::acknowledge), so that the log has all of them. Returns the number of messages removed: 0 before
    /// the first summary.
    ///
    /// The window stays as it is, so a service may call this after each turn. A [`Conversation`](crate::conversation::Conversation)
    /// with a log does it by itself.
    pub fn prune_covered(&mut self) -> usize {
        self.prune_only(0, Prune::Covered)
    }

    /// Removes the oldest messages as [`prune`](Self::prune) does, but only those whose newest revision is
    /// [acknowledged](Self::acknowledge), so that the log has them. Without a summary, this shortens the window.
    pub fn prune_logged(&mut self, keep: usize) -> usize {
        self.prune_only(keep, Prune::Logged)
    }

    pub(crate) fn prune_only(&mut self, keep: usize, which: Prune) -> usize {
        let Some(cut) = self.prunable(keep, which) else { return 0 };
        let first = self.list.first();

        let still_counts = |wrapper: &&W| wrapper.role() == Role::System || wrapper.metadata().forked_from().is_some();
        let mut still_counting = self.list.range(first..cut).filter(still_counts).peekable();
        if still_counting.peek().is_some() {
            let kept = self.kept_of_pruned().iter().chain(still_counting).cloned();
            self.kept_of_pruned = Some(Arc::new(kept.collect()));
        }
        let mut known = [std::mem::take(&mut self.logged), std::mem::take(&mut self.submitted)];
        known.iter_mut().for_each(|known| known.forget_before(cut, |position| self.index(position)));
        [self.logged, self.submitted] = known;
        self.list.forget(cut);
        self.set_window_start(self.window_start().max(cut));
        cut - first
    }

    /// Returns the index before which [`prune`](Self::prune) removes all messages.
    pub(crate) fn prunable(&self, keep: usize, which: Prune) -> Option<usize> {
        let (first, end) = (self.list.first(), self.list.end());
        let mut limit = end.saturating_sub(keep);
        if self.last_summary().is_some() {
            limit = limit.min(self.window_start() - 1);
        } else if which == Prune::Covered {
            return None;
        } else {
            let last_turn = self.cuts().into_iter().rfind(|cut| cut.turns > 0).map_or(first, |cut| cut.place);
            limit = limit.min(last_turn);
        }
        if which != Prune::Anything {
            limit = limit.min(self.first_not_logged());
        }
        self.cut_between(first, limit)
    }

    /// Returns the `seq` of the first message that [`prune_only`](Self::prune_only) keeps, ignoring summaries.
    pub(crate) fn first_kept(&self, keep: usize, which: Prune) -> u32 {
        let cut = self.prunable(keep, which).unwrap_or_else(|| self.list.first());
        let mut kept = self.list.range(cut..self.list.end()).map(W::message);
        kept.find(|message| message.role() != Role::Summary)
            .map_or_else(|| self.next_seq(), |kept| kept.position().seq())
    }

    /// Iterates over the system messages in order, including pruned ones, which stay in force.
    pub fn system_messages(&self) -> impl Iterator<Item = &W> {
        self.kept_of_pruned().iter().chain(self.list.iter()).filter(|wrapper| wrapper.role() == Role::System)
    }

    /// The pruned messages that still count, in order: system messages, and messages marked with a fork's source.
    pub(super) fn kept_of_pruned(&self) -> &[W] {
        self.kept_of_pruned.as_ref().map_or(&[], |kept| kept)
    }

    /// Returns the number of pruned messages, including summaries.
    pub fn pruned(&self) -> usize {
        self.list.first()
    }

    /// Returns the index of the first message whose newest revision is not logged.
    fn first_not_logged(&self) -> usize {
        let (mut dirty, unknown_from) = self.logged.dirty();
        dirty.next().map_or(unknown_from, |position| self.index(position).min(unknown_from))
    }
}
