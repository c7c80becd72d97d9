//! [`Cut`]: a place where the window can be cut. Owns the rules for turn starts and for messages that stay together.

use super::window::ShownMessage;
use super::{MessagesManager, Summarizing};
use crate::message::{Content, MessageId, MessageWrapper, Role};

/// A place where a summary can cut the window: it covers the messages before the cut, and the messages after it stay.
///
/// [`MessagesManager::cuts`] returns all cuts. A [`Policy`](crate::policy::Policy) chooses one by size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The index in the list of the first message after the cut.
    place: usize,
    /// The message before the cut.
    last: MessageId,
    messages: usize,
    turns: usize,
}

impl Cut {
    /// Returns the number of messages before the cut, as counted in [`messages`](MessagesManager::messages).
    pub const fn messages(&self) -> usize {
        self.messages
    }

    /// Returns the number of turns that start after the cut.
    ///
    /// A turn starts at each window message in which the caller says something. Tool results alone and fakes start no
    /// turn. User messages around an unheard answer are one window message, and so one turn.
    pub const fn turns(&self) -> usize {
        self.turns
    }
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Returns the cuts where a summary can end, from the one that covers least to the one that covers most.
    ///
    /// The message before a cut is an answer that was heard at least in part, and the message after it is a user message
    /// or missing. So the caller's last, unanswered message is never covered, nor is a tool call without its result. Pass
    /// a cut to [`summarizing_at`](Self::summarizing_at). O(window).
    pub fn cuts(&self) -> Vec<Cut> {
        let window = Shown::all(self);
        self.safe_places(self.window_start).filter_map(|place| window.cut(self, place)).collect()
    }

    /// Returns the places where a turn starts after other messages of the window, in order.
    ///
    /// Removing the messages before such a place leaves a valid window. This keeps a request short while an open tool call
    /// delays the summary. A place that also suits a summary is among [`cuts`](Self::cuts). O(window).
    pub(crate) fn turn_starts(&self) -> Vec<Cut> {
        let window = Shown::all(self);
        let starts =
            window.0.iter().zip(window.0.iter().skip(1)).filter(|(_, next)| next.starts_turn && !next.answers_call);
        starts.filter_map(|(last, _)| window.cut(self, last.end)).collect()
    }

    /// Returns the messages before a cut for summarising, or `None` if a summary can no longer end there.
    pub fn summarizing_at(&self, cut: &Cut) -> Option<Summarizing> {
        let is_safe = self.cut_between(self.window_start, cut.place) == Some(cut.place);
        let last = self.list.get(cut.place.checked_sub(1)?)?;
        (is_safe && last.id() == cut.last).then(|| self.summarizing_before(cut.place))
    }

    /// Like [`summarizing`](Self::summarizing), but keeps at least the last `turns` turns in the window, as counted by
    /// [`Cut::turns`].
    pub fn summarizing_keeping(&self, turns: usize) -> Option<Summarizing> {
        let window = Shown::all(self);
        let before = window.0.iter().rfind(|message| window.turns_after(message) >= turns)?;
        Some(self.summarizing_before(self.cut_between(self.window_start, before.end)?))
    }

    fn summarizing_before(&self, place: usize) -> Summarizing {
        let range = self.list.range(self.window_start..place);
        let previous = self.last_summary().map(|summary| summary.message().clone());
        Summarizing::new(previous, range.collect_map(|wrapper| wrapper.message().clone()))
    }

    /// Returns the last index up to `limit` such that a cut there may remove the messages from `first` on.
    pub(super) fn cut_between(&self, first: usize, limit: usize) -> Option<usize> {
        self.safe_places(first).take_while(|place| *place <= limit).last()
    }

    /// Iterates, in order, over the indices such that a cut there may remove the messages from `first` on.
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

    fn cut<W: MessageWrapper>(&self, manager: &MessagesManager<W>, place: usize) -> Option<Cut> {
        let last = manager.list.get(place.checked_sub(1)?)?.id();
        let messages = self.0.partition_point(|message| message.end <= place);
        let covered = messages.checked_sub(1).and_then(|last| self.0.get(last))?;
        let turns = self.turns_after(covered);
        Some(Cut { place, last, messages, turns })
    }

    fn turns_after(&self, message: &ShownMessage) -> usize {
        self.0.last().map_or(0, |last| last.turns - message.turns)
    }
}
