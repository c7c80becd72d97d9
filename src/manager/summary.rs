//! Takes the messages to summarize and inserts the finished summary.

use std::num::NonZeroU32;

use super::{Entry, ManagerError, MessagesManager, Refusal, Summarizing};
use crate::message::{Message, MessageId, MessageWrapper, Position, Role, Text, is_blank};

impl<W: MessageWrapper> MessagesManager<W> {
    /// Returns the messages that can be summarized now, or `None` if there are none.
    ///
    /// Leaves out the caller's last, unanswered message and everything from the first open tool call on. The result is a
    /// copy with shared texts, so the call continues while it is summarized.
    pub fn summarizing(&self) -> Option<Summarizing> {
        self.summarizing_keeping(0)
    }

    /// Inserts a summary after the last message that it covers. The window then begins after the summary.
    ///
    /// The summary covers the messages of `summarizing` up to the first one that has changed since. Messages added
    /// meanwhile stay in the window.
    ///
    /// Returns an error, and leaves the conversation as it was,
    ///
    /// - if the text is blank ([`is_blank`](ManagerError::is_blank)),
    /// - if no message is left to cover, if another summary was added first, or if `summarizing` belongs to another
    ///   conversation ([`is_stale`](ManagerError::is_stale)), and
    /// - after 10 thousand summaries.
    pub fn add_summary(
        &mut self,
        text: impl Into<Text>,
        summarizing: &Summarizing,
    ) -> Result<Entry<'_, W>, ManagerError> {
        let text = text.into();
        if is_blank(&text) {
            return Err(Refusal::Blank.into());
        }
        let cut = self.cut_for(summarizing)?;
        let number = NonZeroU32::MIN.checked_add(self.summary_count());
        let number = number.filter(|number| number.get() <= Position::MAX_SUMMARIES);
        let full = Refusal::Full { max: Position::MAX_SUMMARIES, what: "summaries" };
        let position = Position::summary(self.seq_before(cut), number.ok_or(full)?);
        let now_ms = self.sources.clock.now_ms();
        let id = self.next_id(None, now_ms);
        let mut message = Message::new(id, position, Role::Summary, text.into(), now_ms);
        let first = summarizing.range().first().map(Message::position);
        first.into_iter().for_each(|first| message.metadata_mut().set_covers_from(first.seq()));
        let previous = summarizing.previous().map(Message::id);
        previous.into_iter().for_each(|id| message.metadata_mut().set_previous_summary(id));
        self.list.insert(cut, W::from(message));
        self.logged.insert(cut, position);
        self.submitted.insert(cut, position);
        self.summaries += 1;
        self.set_window_start(cut + 1);
        Ok(Entry::new(self, cut))
    }

    /// Returns the ids that a summary was made from: the summary before it, if any, and the messages that it covers, in
    /// order. Leaves out fakes and [pruned](Self::prune) messages. Empty if no summary has this id.
    ///
    /// A record stores only their range, so a summary of any number of messages fits into an item.
    pub fn summary_ids(&self, summary: &MessageId) -> Vec<MessageId> {
        let summary = self.find(summary).and_then(|index| self.list.get(index)).map(W::message);
        summary.into_iter().flat_map(|summary| self.ids_covered_by(summary)).collect()
    }

    /// Like [`summary_ids`](Self::summary_ids). Empty for other messages.
    pub(super) fn ids_covered_by(&self, message: &Message) -> impl Iterator<Item = MessageId> {
        let first = message.metadata().covers_from().filter(|_| message.role() == Role::Summary);
        let range = first.map_or(0..0, |first| self.index_of(first)..self.index(message.position()));
        let covered =
            self.list.range(range).filter(|covered| covered.role().is_spoken() && !covered.message().is_fake());
        message.metadata().previous_summary().into_iter().chain(covered.map(|wrapper| wrapper.id()))
    }

    /// Returns the index at which a summary of `summarizing` belongs.
    fn cut_for(&self, summarizing: &Summarizing) -> Result<usize, Refusal> {
        let range = summarizing.range();
        let index = |message: &Message| self.index(message.position());
        // Messages that were pruned meanwhile are in no window.
        let pruned = match self.list.first() {
            0 => 0,
            first => range.partition_point(|message| index(message) < first),
        };
        let left = range.get(pruned..).unwrap_or_default();
        // A fork shares the first messages, but not the last ones.
        let last = left.last().ok_or(Refusal::StaleSummary)?;
        if self.list.get(index(last)).is_none_or(|ours| ours.id() != last.id()) {
            return Err(Refusal::StaleSummary);
        }
        // Another summary has moved the start of the window.
        if summarizing.previous().map(Message::id) != self.last_summary().map(|wrapper| wrapper.id()) {
            return Err(Refusal::StaleSummary);
        }
        let unchanged = |(ours, theirs): &(&W, &Message)| ours.message().says_the_same_as(theirs);
        let unchanged = self.uncovered().zip(left).take_while(unchanged).count();
        let end = self.window_start() + unchanged;
        // Usually, nothing changed meanwhile, and the range still ends at a cut.
        let is_cut = || unchanged == left.len() && self.cut_between(end - 1, end) == Some(end);
        Some(end)
            .filter(|_| is_cut())
            .or_else(|| self.cut_between(self.window_start(), end))
            .ok_or(Refusal::StaleSummary)
    }

    fn seq_before(&self, cut: usize) -> u32 {
        cut.checked_sub(1).and_then(|last| self.list.get(last)).map_or(0, |last| last.message().position().seq())
    }
}
