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

    /// As [`summarizing`](Self::summarizing), but the last `turns` turns stay in the window. A turn begins with a
    /// user message that holds more than results of tools.
    pub fn summarizing_keeping(&self, turns: usize) -> Option<Summarizing> {
        let cut = self.cut_before(self.start_of_last(turns)?)?;
        let range = self.list.get(self.window_start..cut)?;
        Some(Summarizing::new(
            self.last_summary().map(|summary| summary.message().clone()),
            range.iter().map(|wrapper| wrapper.message().clone()).collect(),
        ))
    }

    /// Puts a summary right behind the last message that it covers; the window begins behind it.
    ///
    /// It covers what `summarizing` has read, up to the first message that has changed since. The conversation may
    /// have gone on meanwhile.
    ///
    /// Errors, which leave no trace: a blank text; stale, where nothing is left to be covered or another summary
    /// came first; a `summarizing` of another conversation; 10 thousand summaries.
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
        let number = u32::try_from(self.summaries.len()).ok().and_then(|n| NonZeroU32::MIN.checked_add(n));
        let number = number.filter(|number| number.get() <= Position::MAX_SUMMARIES);
        let full = ManagerError::Full { max: Position::MAX_SUMMARIES, what: "summaries" };
        let position = Position::summary(self.seq_before(cut), number.ok_or(full)?);
        let summary_ids = self.ids_covered_by(cut);

        let now_ms = self.clock.now_ms();
        let id = self.ids.next_id(now_ms).into();
        let mut message = Message::new(id, position, Role::Summary, text.into(), now_ms);
        message.metadata_mut().set_summary_ids(summary_ids);
        self.list.insert(cut, W::wrap(message));
        self.ledger.inserted(cut, position);
        self.handed_over.inserted(cut, position);
        self.summaries.push(position.seq());
        self.window_start = cut + 1;
        self.window_is_open = self.uncovered().iter().any(|wrapper| wrapper.role().is_spoken());
        Ok(Entry::new(self, cut))
    }

    /// Where a summary of this would stand.
    fn cut_for(&self, summarizing: &Summarizing) -> Result<usize, ManagerError> {
        let is_ours = |message: &Message| {
            self.list.get(self.index(message.position())).is_some_and(|ours| ours.id() == message.id())
        };
        if !summarizing.range().first().is_some_and(is_ours) {
            return Err(ManagerError::ForeignSummary);
        }
        // Behind another summary, the window begins with another message.
        let unchanged = |(ours, theirs): &(&W, &Message)| ours.message().says_the_same_as(theirs);
        let unchanged = self.uncovered().iter().zip(summarizing.range()).take_while(unchanged).count();
        self.cut_before(self.window_start + unchanged).ok_or(ManagerError::StaleSummary)
    }

    fn seq_before(&self, cut: usize) -> u32 {
        cut.checked_sub(1).and_then(|last| self.list.get(last)).map_or(0, |last| last.message().position().seq())
    }

    fn ids_covered_by(&self, cut: usize) -> Vec<MessageId> {
        let covered = self.list.get(self.window_start..cut).unwrap_or_default();
        let mut ids = Vec::with_capacity(covered.len() + 1);
        ids.extend(self.last_summary().map(W::id));
        let covered = covered.iter().map(W::message).filter(|message| message.role().is_spoken() && !message.is_fake());
        ids.extend(covered.map(Message::id));
        ids
    }
}
