//! [`Cut`]: a place where the window can be cut. Owns the rules for turn starts and for messages that stay together.

use super::window::ShownMessage;
use super::{MessagesManager, Summarizing};
use crate::message::{Content, Message, MessageWrapper, Role};

/// A place where the window can be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The index in the list of the first message after the cut.
    pub place: usize,
    /// The number of window messages before the cut.
    pub messages: usize,
    /// The number of turns that start after the cut.
    ///
    /// A turn starts at each window message in which the caller says something. Tool results alone and fakes start no
    /// turn. User messages around an unheard answer are one window message, and so start one turn.
    pub turns: usize,
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Returns the messages to summarize up to a chosen cut, or `None` if no cut is chosen.
    ///
    /// `choose` gets the window and the [cuts](Cut) where a summary can end, and returns the index of a cut.
    ///
    /// The cuts are sorted, from the one that covers least to the one that covers most. The message before a cut is an
    /// answer that was heard at least in part, and the message after it, if any, is a user message. So the caller's
    /// last, unanswered message is never covered, nor is a tool call without its result. Takes time in proportion to
    /// the window.
    pub(crate) fn summarizing_by(
        &self,
        choose: impl FnOnce(&[&Message], &[Cut]) -> Option<usize>,
    ) -> Option<Summarizing> {
        let window: Vec<_> = self.messages().collect();
        let window: Vec<&Message> = window.iter().map(|wrapper| wrapper.message()).collect();
        let cuts = self.cuts();
        let chosen = cuts.get(choose(&window, &cuts)?)?;
        Some(self.summarizing_before(chosen.place))
    }

    /// Returns the cuts where a summary can end, from the one that covers least to the one that covers most. O(window).
    pub(crate) fn cuts(&self) -> Vec<Cut> {
        let window = Shown::all(self);
        self.safe_places(self.window_start()).filter_map(|place| window.cut(place)).collect()
    }

    /// Returns the places where a turn starts after other messages of the window, in order.
    ///
    /// Removing the messages before such a place leaves a valid window. This keeps a request short while an open tool call
    /// delays the summary. A place that also suits a summary is among [`cuts`](Self::cuts). O(window).
    pub(crate) fn turn_starts(&self) -> Vec<Cut> {
        let window = Shown::all(self);
        let starts =
            window.0.iter().zip(window.0.iter().skip(1)).filter(|(_, next)| next.starts_turn && !next.answers_call);
        starts.filter_map(|(last, _)| window.cut(last.end)).collect()
    }

    /// Like [`summarizing`](Self::summarizing), but keeps at least the last `turns` turns in the window. A turn starts at
    /// each window message in which the caller says something.
    pub fn summarizing_keeping(&self, turns: usize) -> Option<Summarizing> {
        Some(self.summarizing_before(self.cut_between(self.window_start(), self.start_of_last(turns)?)?))
    }

    /// Returns the index at which the last `turns` turns begin, or `None` if there are fewer. Searches from the end, so it
    /// reads these turns only.
    fn start_of_last(&self, turns: usize) -> Option<usize> {
        let (mut start, mut left) = (self.list.end(), turns);
        // Where the user messages begin in which the caller says something, until the answer before them.
        let mut said = None;
        for (index, wrapper) in self.list.indexed(self.window_start()..self.list.end()).rev() {
            if left == 0 {
                return Some(start);
            }
            let message = wrapper.message();
            match message.role() {
                Role::User if said.is_some() || message.starts_turn() => said = Some(index),
                Role::Assistant if self.is_visible(message) => {
                    if let Some(first) = said.take() {
                        (start, left) = (first, left - 1);
                    }
                }
                _ => {}
            }
        }
        (left == usize::from(said.is_some())).then(|| said.unwrap_or(start))
    }

    fn summarizing_before(&self, place: usize) -> Summarizing {
        let range = self.list.range(self.window_start()..place);
        let previous = self.last_summary().map(|summary| summary.message().clone());
        Summarizing::new(previous, range.collect_map(|wrapper| wrapper.message().clone()))
    }

    /// Returns the last index up to `limit` at which a cut may remove the messages from `first` on.
    pub(super) fn cut_between(&self, first: usize, limit: usize) -> Option<usize> {
        self.safe_places(first).take_while(|place| *place <= limit).last()
    }

    /// Iterates, in order, over the indices at which a cut may remove the messages from `first` on.
    fn safe_places(&self, first: usize) -> impl Iterator<Item = usize> {
        let mut messages = self.list.indexed(first..self.list.end());
        // The index after an answer, until another assistant message follows.
        let mut after_answer = None;
        // The results of all calls seen so far have lower indices than this.
        let mut answered_before = first;
        std::iter::from_fn(move || {
            for (index, wrapper) in messages.by_ref() {
                let message = wrapper.message();
                match message.role() {
                    Role::User => {
                        if let Some(place) = after_answer.take().filter(|place| answered_before <= *place) {
                            return Some(place);
                        }
                    }
                    Role::Assistant => {
                        for tool_call in message.contents().iter().filter_map(Content::as_tool_call) {
                            let Some(result) = self.calls.get(tool_call.id()).and_then(|call| call.result) else {
                                // Messages from an open call on stay.
                                return None;
                            };
                            answered_before = answered_before.max(self.index_of(result) + 1);
                        }
                        after_answer = self.is_visible(message).then_some(index + 1);
                    }
                    Role::Summary | Role::System => {}
                }
            }
            // The end of the list is a cut if the last answer leaves nothing unanswered.
            after_answer.take().filter(|_| !self.is_unanswered())
        })
        .fuse()
    }
}

/// The messages of the window with their indices in the list.
struct Shown(Vec<ShownMessage>);

impl Shown {
    fn all<W: MessageWrapper>(manager: &MessagesManager<W>) -> Self {
        let mut messages = Vec::with_capacity(manager.uncovered().len());
        messages.extend(manager.window().places());
        Self(messages)
    }

    fn cut(&self, place: usize) -> Option<Cut> {
        let messages = self.0.partition_point(|message| message.end <= place);
        let covered = messages.checked_sub(1).and_then(|last| self.0.get(last))?;
        let turns = self.turns_after(covered);
        Some(Cut { place, messages, turns })
    }

    fn turns_after(&self, message: &ShownMessage) -> usize {
        self.0.last().map_or(0, |last| last.turns - message.turns)
    }
}
