//! [`Cut`]: where the window can be cut. The one home of where a turn starts, and of what a cut never parts.

use super::window::ShownMessage;
use super::{MessagesManager, Summarizing};
use crate::message::{Content, MessageId, MessageWrapper, Role};

/// A place where the window can be cut: the messages in front of it can go, those behind it stay.
///
/// [`MessagesManager::cuts`] returns the places for a summary, [`MessagesManager::turn_starts`] those for one shorter
/// request. A policy chooses among them by their sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The index in the list of the first message behind it.
    place: usize,
    /// The message in front of it.
    last: MessageId,
    messages: usize,
    turns: usize,
}

impl Cut {
    /// The number of messages in front of it, as [`messages`](MessagesManager::messages) has them.
    pub const fn messages(&self) -> usize {
        self.messages
    }

    /// The number of turns that start behind it.
    ///
    /// A turn starts at a message of the window in which the caller says something: not at results of tools alone, nor at
    /// a fake. What the caller says around answers that nobody heard is one message of the window, and so one turn.
    pub const fn turns(&self) -> usize {
        self.turns
    }
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// The places where a summary can cut the window, from the one that covers least to the one that covers most.
    ///
    /// In front of each place is an answer of which something was heard, so that the caller's last, unanswered message
    /// stays; behind it is a user message or nothing. No tool call is parted from its result, and none without a result
    /// is in front. [`summarizing_at`](Self::summarizing_at) takes what is in front. O(window).
    pub fn cuts(&self) -> Vec<Cut> {
        let window = Shown::all(self);
        self.safe_places(self.window_start).filter_map(|place| window.cut(self, place)).collect()
    }

    /// The places where a turn starts behind other messages of the window, in order.
    ///
    /// `window.drain(..cut.messages())` leaves a valid window, so a request stays short while an open tool call holds a
    /// summary back. A place that a summary can take too is among [`cuts`](Self::cuts). O(window).
    ///
    /// ```
    /// # use verbale::{ToolCall, MessageWrapper, MessagesManager, PlainMessage, Value};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut manager = MessagesManager::<PlainMessage>::new();
    /// manager.add_user("Book a table, please.")?;
    /// manager.add_assistant(ToolCall::new("call_1", "book", Value::Null)?)?; // and its result never comes
    /// manager.add_assistant("One moment.")?;
    /// manager.add_user("Are you open on Monday?")?;
    /// assert!(manager.cuts().is_empty());
    /// let mut window: Vec<_> = manager.messages().collect();
    /// let cuts = manager.turn_starts();
    /// window.drain(..cuts[0].messages());
    /// assert_eq!((window.len(), cuts[0].turns()), (1, 1));
    /// # Ok(()) }
    /// ```
    pub fn turn_starts(&self) -> Vec<Cut> {
        let window = Shown::all(self);
        let starts =
            window.0.iter().zip(window.0.iter().skip(1)).filter(|(_, next)| next.starts_turn && !next.answers_call);
        starts.filter_map(|(last, _)| window.cut(self, last.end)).collect()
    }

    /// What a summary covers that cuts here. `None` if a summary can no longer cut at this place, or never could.
    pub fn summarizing_at(&self, cut: &Cut) -> Option<Summarizing> {
        let is_safe = self.cut_between(self.window_start, cut.place) == Some(cut.place);
        let last = self.list.get(cut.place.checked_sub(1)?)?;
        (is_safe && last.id() == cut.last).then(|| self.summarizing_before(cut.place))
    }

    /// As [`summarizing`](Self::summarizing), but at least the last `turns` turns stay in the window, as [`Cut::turns`]
    /// counts them.
    pub fn summarizing_keeping(&self, turns: usize) -> Option<Summarizing> {
        let window = Shown::all(self);
        let before = window.0.iter().rfind(|message| window.turns_behind(message) >= turns)?;
        Some(self.summarizing_before(self.cut_between(self.window_start, before.end)?))
    }

    fn summarizing_before(&self, place: usize) -> Summarizing {
        let range = self.list.range(self.window_start..place);
        let previous = self.last_summary().map(|summary| summary.message().clone());
        Summarizing::new(previous, range.collect_map(|wrapper| wrapper.message().clone()))
    }

    /// The last place at or before `limit`, an index in the list, in front of which all can go that stands at index
    /// `first` or behind it.
    pub(super) fn cut_between(&self, first: usize, limit: usize) -> Option<usize> {
        self.safe_places(first).take_while(|place| *place <= limit).last()
    }

    /// The places in front of which all can go that stands at index `first` or behind it, in order.
    fn safe_places(&self, first: usize) -> impl Iterator<Item = usize> {
        let mut messages = self.list.indexed(first..self.list.end());
        // The place behind the last assistant message, as long as no other assistant message follows.
        let mut behind_answer = None;
        // Results of calls seen so far stand before this place.
        let mut answered_before = first;
        std::iter::from_fn(move || {
            for (index, wrapper) in messages.by_ref() {
                let message = wrapper.message();
                match message.role() {
                    Role::User => {
                        if let Some(place) = behind_answer.take().filter(|place| answered_before <= *place) {
                            return Some(place);
                        }
                    }
                    Role::Assistant => {
                        for tool_call in message.contents().iter().filter_map(Content::as_tool_call) {
                            let Some(result) = self.calls.get(tool_call.id()).and_then(|call| call.result) else {
                                // An open call holds back everything from it on.
                                return None;
                            };
                            answered_before = answered_before.max(self.index_of(result) + 1);
                        }
                        behind_answer = self.is_visible(message).then_some(index + 1);
                    }
                    Role::Summary | Role::System => {}
                }
            }
            // Nothing follows, no late result either.
            behind_answer.take().filter(|_| !self.is_unanswered())
        })
        .fuse()
    }
}

/// The messages of the window, by where they stand in the list.
struct Shown(Vec<ShownMessage>);

impl Shown {
    fn all<W: MessageWrapper>(manager: &MessagesManager<W>) -> Self {
        let mut messages = Vec::with_capacity(manager.uncovered().len());
        messages.extend(manager.messages().places());
        Self(messages)
    }

    fn cut<W: MessageWrapper>(&self, manager: &MessagesManager<W>, place: usize) -> Option<Cut> {
        let last = manager.list.get(place.checked_sub(1)?)?.id();
        let messages = self.0.partition_point(|message| message.end <= place);
        let in_front = messages.checked_sub(1).and_then(|last| self.0.get(last))?;
        let turns = self.turns_behind(in_front);
        Some(Cut { place, last, messages, turns })
    }

    fn turns_behind(&self, message: &ShownMessage) -> usize {
        self.0.last().map_or(0, |last| last.turns - message.turns)
    }
}
