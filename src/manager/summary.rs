//! Taking what is to be summarised, and putting the summary in its place.

use std::num::NonZeroU32;

use super::{Entry, ManagerError, MessagesManager, Summarizing};
use crate::message::{Message, MessageId, MessageWrapper, Position, Role, Text, is_blank};

impl<W: MessageWrapper> MessagesManager<W> {
    /// What can be summarised now: all but the caller's last, unanswered message, and tool calls without their
    /// results with all behind them. `None` where there is nothing.
    ///
    /// What is taken is a copy (texts are shared): the call can go on while it is summarised.
    pub fn summarizing(&self) -> Option<Summarizing> {
        self.summarizing_keeping(0)
    }

    /// Puts a summary right behind the last message that it covers; the window begins behind it.
    ///
    /// It covers what `summarizing` has read, up to the first message that has changed since. The conversation may
    /// have gone on meanwhile.
    ///
    /// Errors, which leave no trace: a blank text; stale, where nothing is left to be covered or another summary
    /// came first; a `summarizing` of another conversation, or of one that this one left before its end; 10 thousand
    /// summaries.
    pub fn add_summary(
        &mut self,
        text: impl Into<Text>,
        summarizing: &Summarizing,
    ) -> Result<Entry<'_, W>, ManagerError> {
        let text = text.into();
        if is_blank(&text) {
            return Err(ManagerError::Blank);
        }
        let cut = self.cut_for(summarizing)?;
        let number = u32::try_from(self.summaries.end()).ok().and_then(|n| NonZeroU32::MIN.checked_add(n));
        let number = number.filter(|number| number.get() <= Position::MAX_SUMMARIES);
        let full = ManagerError::Full { max: Position::MAX_SUMMARIES, what: "summaries" };
        let position = Position::summary(self.seq_before(cut), number.ok_or(full)?);
        let now_ms = self.clock.now_ms();
        let id = self.next_id(None, now_ms);
        let mut message = Message::new(id, position, Role::Summary, text.into(), now_ms);
        let first = summarizing.range().first().map(Message::position);
        first.into_iter().for_each(|first| message.metadata_mut().set_covers_from(first.seq()));
        let previous = summarizing.previous().map(Message::id);
        previous.into_iter().for_each(|id| message.metadata_mut().set_previous_summary(id));
        self.list.insert(cut, W::wrap(message));
        self.ledger.inserted(cut, position);
        self.submitted.inserted(cut, position);
        self.summaries.push(position.seq());
        self.window_start = cut + 1;
        self.window_is_open = self.has_open_window();
        Ok(Entry::new(self, cut))
    }

    /// Returns the ids of what a summary was made of: the summary before it, if any, and the messages that it covers, in
    /// order and without fakes. Empty if no summary has this id. Messages that were [pruned](Self::prune) are left out.
    ///
    /// A record keeps their range only, so that a summary of any number of messages fits in an item.
    pub fn summary_ids(&self, summary: &MessageId) -> Vec<MessageId> {
        let summary = self.find(summary).and_then(|index| self.list.get(index)).map(W::message);
        summary.into_iter().flat_map(|summary| self.ids_covered_by(summary)).collect()
    }

    /// As [`summary_ids`](Self::summary_ids). Empty for any other message.
    pub(super) fn ids_covered_by(&self, message: &Message) -> impl Iterator<Item = MessageId> {
        let first = message.metadata().covers_from().filter(|_| message.role() == Role::Summary);
        let range = first.map_or(0..0, |first| self.index_of(first)..self.index(message.position()));
        let covered =
            self.list.range(range).filter(|covered| covered.role().is_spoken() && !covered.message().is_fake());
        message.metadata().previous_summary().into_iter().chain(covered.map(W::id))
    }

    /// Where a summary of this would stand.
    fn cut_for(&self, summarizing: &Summarizing) -> Result<usize, ManagerError> {
        let range = summarizing.range();
        let index = |message: &Message| self.index(message.position());
        // What was pruned meanwhile is in no window.
        let pruned = match self.list.first() {
            0 => 0,
            first => range.partition_point(|message| index(message) < first),
        };
        let left = range.get(pruned..).unwrap_or_default();
        // A fork shares the first messages, but not what was read behind them.
        let last = left.last().ok_or(ManagerError::StaleSummary)?;
        if self.list.get(index(last)).is_none_or(|ours| ours.id() != last.id()) {
            return Err(ManagerError::ForeignSummary);
        }
        // Behind another summary, the window begins elsewhere.
        if summarizing.previous().map(Message::id) != self.last_summary().map(W::id) {
            return Err(ManagerError::StaleSummary);
        }
        let unchanged = |(ours, theirs): &(&W, &Message)| ours.message().says_the_same_as(theirs);
        let unchanged = self.uncovered().zip(left).take_while(unchanged).count();
        self.cut_between(self.window_start, self.window_start + unchanged).ok_or(ManagerError::StaleSummary)
    }

    fn seq_before(&self, cut: usize) -> u32 {
        cut.checked_sub(1).and_then(|last| self.list.get(last)).map_or(0, |last| last.message().position().seq())
    }
}
