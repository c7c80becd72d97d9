//! [`Timeline`]: the parts of the messages of one conversation in the order of time.

use std::collections::HashSet;

use super::QueryOrder;
use super::best::Best;
use super::matcher::Matcher;
use crate::log::CallId;
use crate::manager::MessagesManager;
use crate::message::{Message, MessageId, MessageWrapper, Part, PlainMessage};

/// The parts of the messages that a conversation has in memory, in the order of time, and how far they reach.
///
/// The list has an order of its own: a summary is younger than the messages behind it, and a clock may step back.
pub(in crate::conversation) struct Timeline {
    /// By time, then id of the message; without fakes.
    order: Vec<Place>,
    span: Option<Span>,
}

/// A part: the place of its message among those in memory, and its own in the message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    message: u32,
    part: u32,
}

/// How far parts reach.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub oldest_ms: i64,
    pub newest_ms: i64,
    pub lowest_id: MessageId,
    pub greatest_id: MessageId,
}

impl Timeline {
    /// Returns the timeline of a conversation. It is valid until that changes.
    pub fn of(manager: &MessagesManager<PlainMessage>) -> Self {
        let said = (0..).zip(manager.all().map(PlainMessage::message)).filter(|(_, message)| !message.is_fake());
        let parts = said.clone().flat_map(|(index, message)| {
            let places = (0..).map(move |part| Place { message: index, part });
            message.parts().zip(places).map(|(part, place)| (part.created_ms(), message.id(), place))
        });
        let mut places: Vec<_> = parts.collect();
        // Nearly sorted, which this sort likes.
        places.sort();
        let ids = || said.clone().flat_map(|(_, message)| message.parts()).map(Part::id);
        let span = || {
            Some(Span {
                oldest_ms: places.first()?.0,
                newest_ms: places.last()?.0,
                lowest_id: ids().min()?,
                greatest_id: ids().max()?,
            })
        };
        Self { span: span(), order: places.into_iter().map(|(.., place)| place).collect() }
    }

    /// Searches the conversation that it is of, from the end at which the best are.
    pub(super) fn search(
        &self,
        manager: &MessagesManager<PlainMessage>,
        conversation: &CallId,
        matcher: &Matcher<'_>,
        best: &mut Best,
    ) {
        let Some(span) = self.span.filter(|span| matcher.may_match_in(span)) else { return };
        let is_newest_first = best.order() == QueryOrder::NewestFirst;
        if !best.may_want(if is_newest_first { span.newest_ms } else { span.oldest_ms }) {
            return;
        }
        let message = |place: &Place| manager.nth(place.message as usize).map(PlainMessage::message);
        let part = |place: &Place| message(place)?.part(place.part as usize);
        let is_before = |place: &Place, at_ms| part(place).is_some_and(|part| part.created_ms() < at_ms);
        let start_of = |at_ms| self.order.partition_point(|place| is_before(place, at_ms));
        let mut places = self.order.get(matcher.range(start_of, self.order.len())).unwrap_or_default().iter();
        let mut found = HashSet::new();
        while let Some(place) = if is_newest_first { places.next_back() } else { places.next() } {
            let (Some(message), Some(part)) = (message(place), part(place)) else { continue };
            if !best.wants(conversation, part.created_ms(), message.id()) {
                return;
            }
            if !found.contains(&place.message) && matcher.matches(message, part) {
                if is_merged(message) {
                    found.insert(place.message);
                }
                matcher.find(conversation, message).into_iter().for_each(|found| best.keep(found));
            }
        }
    }
}

fn is_merged(message: &Message) -> bool {
    message.parts().len() > 1
}
