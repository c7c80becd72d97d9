//! Where a summary may cut: what it covers in front, the window behind.

use super::MessagesManager;
use crate::message::{Content, Message, MessageWrapper, Role};

impl<W: MessageWrapper> MessagesManager<W> {
    /// The last place at or before `limit`, an index in the list, in front of which all may be covered; `None` where
    /// there is nothing to cover.
    ///
    /// In front of a cut stands an assistant message of which something was heard, so that the caller's last,
    /// unanswered message stays; behind it a user message or nothing at all; and no call is parted from its result.
    pub(super) fn cut_before(&self, limit: usize) -> Option<usize> {
        self.cut_between(self.window_start, limit)
    }

    /// The same, for what stands at index `first` and behind it.
    pub(super) fn cut_between(&self, first: usize, limit: usize) -> Option<usize> {
        let mut best = None;
        // The place behind the last assistant message, as long as no other assistant message follows.
        let mut behind_answer = None;
        // Results of calls seen so far stand before this place.
        let mut answered_before = first;
        for (index, wrapper) in self.list.indexed(first..self.list.end()) {
            let message = wrapper.message();
            match message.role() {
                Role::User => best = behind_answer.take().filter(|place| answered_before <= *place).or(best),
                Role::Assistant if index >= limit => return best,
                Role::Assistant => {
                    for invocation in message.contents().iter().filter_map(Content::as_invocation) {
                        // An open call holds back everything from it on.
                        let Some(result) = self.calls.get(invocation.id()).and_then(|call| call.result) else {
                            return best;
                        };
                        answered_before = answered_before.max(self.index_of(result) + 1);
                    }
                    behind_answer = self.is_visible(message).then_some(index + 1);
                }
                Role::Summary | Role::Supervisor => {}
            }
        }
        // Nothing follows, no late result either.
        behind_answer.or(best)
    }

    /// Where the last `turns` turns begin, as an index in the list; the end of the list for none. A turn begins with
    /// a user message that holds more than results of tools.
    pub(super) fn start_of_last(&self, turns: usize) -> Option<usize> {
        let Some(nth) = turns.checked_sub(1) else { return Some(self.list.end()) };
        let starts_turn = |message: &Message| {
            message.role() == Role::User
                && !message.is_fake()
                && message.contents().iter().any(|c| c.as_result().is_none())
        };
        let window = self.list.indexed(self.window_start..self.list.end());
        window.rev().filter(|(_, wrapper)| starts_turn(wrapper.message())).map(|(index, _)| index).nth(nth)
    }
}
