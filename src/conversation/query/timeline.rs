//! [`Timeline`]: the messages of one conversation in the order of time.

use super::best::{Best, Side};
use super::matcher::Matcher;
use crate::log::CallId;
use crate::manager::MessagesManager;
use crate::message::{Message, MessageId, MessageWrapper, PlainMessage, Timing};

/// The messages that a conversation has in memory, in the order of time, and how far they reach.
///
/// The list has an order of its own: a summary is younger than what stands behind it, and a clock may step back.
pub(in crate::conversation) struct Timeline {
    /// Places among the messages in memory, by time, then id; without fakes.
    order: Vec<u32>,
    span: Option<Span>,
}

/// How far messages reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub oldest_ms: i64,
    pub newest_ms: i64,
    pub lowest_id: MessageId,
    pub greatest_id: MessageId,
}

impl Timeline {
    /// That of a conversation. To be made anew when that has changed.
    pub fn of(manager: &MessagesManager<PlainMessage>) -> Self {
        let mut places: Vec<(i64, MessageId, u32)> = (0..)
            .zip(manager.all())
            .map(|(index, wrapper)| (index, wrapper.message()))
            .filter(|(_, message)| !message.is_fake())
            .map(|(index, message)| (created_ms(message), message.id(), index))
            .collect();
        // Nearly sorted, which this sort likes.
        places.sort();
        let ids = || places.iter().map(|(_, id, _)| *id);
        let span = || {
            Some(Span {
                oldest_ms: places.first()?.0,
                newest_ms: places.last()?.0,
                lowest_id: ids().min()?,
                greatest_id: ids().max()?,
            })
        };
        Self { span: span(), order: places.into_iter().map(|(.., index)| index).collect() }
    }

    /// Looks through the conversation that it is of, from the end at which the best are.
    pub(super) fn search(
        &self,
        manager: &MessagesManager<PlainMessage>,
        conversation: &CallId,
        matcher: &Matcher<'_>,
        best: &mut Best,
    ) {
        let Some(span) = self.span.filter(|span| matcher.may_match_in(span)) else { return };
        let nearest_ms = if best.side() == Side::Newest { span.newest_ms } else { span.oldest_ms };
        if !best.may_want(nearest_ms) {
            return;
        }
        let message = |index: &u32| manager.nth(*index as usize).map(PlainMessage::message);
        let is_before = |index: &u32, at_ms| message(index).is_some_and(|message| created_ms(message) < at_ms);
        let start_of = |at_ms| self.order.partition_point(|index| is_before(index, at_ms));
        let range = matcher.range(start_of, self.order.len());
        let mut messages = self.order.get(range).unwrap_or_default().iter().filter_map(message);
        while let Some(message) = if best.side() == Side::Newest { messages.next_back() } else { messages.next() } {
            if !best.wants(conversation, message) {
                return;
            }
            if matcher.matches(message) {
                best.keep(conversation, message.clone());
            }
        }
    }
}

/// When a message was created, in milliseconds since the Unix epoch; always set.
pub(in crate::conversation) fn created_ms(message: &Message) -> i64 {
    message.metadata().timing(Timing::Creation).unwrap_or_default()
}
