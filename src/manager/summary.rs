//! Taking what is to be summarised, and putting the summary in its place.

use std::num::NonZeroU32;

use super::{Entry, ManagerError, MessagesManager, Summarizing};
use crate::message::{Message, MessageWrapper, Position, Role, Text, is_blank};

impl<W: MessageWrapper> MessagesManager<W> {
    /// What can be summarised now: all but the caller's last, unanswered message, and tool calls without their
    /// results with all behind them. `None` where there is nothing.
    ///
    /// What is taken is a copy (texts are shared): the call can go on while it is summarised.
    pub fn summarizing(&self) -> Option<Summarizing> {
        self.summarizing_keeping(0)
    }

    /// As [`summarizing`](Self::summarizing), but at least the last `turns` turns stay in the window, as
    /// [`Cut::turns`](super::Cut::turns) counts them.
    pub fn summarizing_keeping(&self, turns: usize) -> Option<Summarizing> {
        let cuts = self.cuts();
        self.summarizing_at(cuts.iter().rfind(|cut| cut.turns() >= turns)?)
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
        let (cut, covers) = self.cut_for(summarizing)?;
        let number = u32::try_from(self.summaries.end()).ok().and_then(|n| NonZeroU32::MIN.checked_add(n));
        let number = number.filter(|number| number.get() <= Position::MAX_SUMMARIES);
        let full = ManagerError::Full { max: Position::MAX_SUMMARIES, what: "summaries" };
        let position = Position::summary(self.seq_before(cut), number.ok_or(full)?);
        let covered = summarizing.range().iter().take(covers);
        let covered = covered.filter(|message| message.role().is_spoken() && !message.is_fake());
        let mut summary_ids = Vec::with_capacity(covers + 1);
        summary_ids.extend(self.last_summary().map(W::id));
        summary_ids.extend(covered.map(Message::id));

        let now_ms = self.clock.now_ms();
        let id = self.ids.next_id(now_ms).into();
        let mut message = Message::new(id, position, Role::Summary, text.into(), now_ms);
        message.metadata_mut().set_summary_ids(summary_ids);
        self.list.insert(cut, W::wrap(message));
        self.ledger.inserted(cut, position);
        self.handed_over.inserted(cut, position);
        self.summaries.push(position.seq());
        self.window_start = cut + 1;
        self.window_is_open = self.has_open_window();
        Ok(Entry::new(self, cut))
    }

    /// Where a summary of this would stand, and how many of the messages in it it would cover.
    fn cut_for(&self, summarizing: &Summarizing) -> Result<(usize, usize), ManagerError> {
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
        let cut =
            self.cut_between(self.window_start, self.window_start + unchanged).ok_or(ManagerError::StaleSummary)?;
        Ok((cut, pruned + cut - self.window_start))
    }

    fn seq_before(&self, cut: usize) -> u32 {
        cut.checked_sub(1).and_then(|last| self.list.get(last)).map_or(0, |last| last.message().position().seq())
    }
}
