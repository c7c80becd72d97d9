//! [`Timeline`]: the parts of a conversation's messages, sorted by time.

use std::collections::HashSet;

use super::QueryOrder;
use super::best::Best;
use super::matcher::Matcher;
use crate::log::CallId;
use crate::manager::MessagesManager;
use crate::message::{Message, MessageId, MessageWrapper, Part, PlainMessage};

/// The parts of the messages that a conversation has in memory, sorted by time, and their span.
///
/// The list is not sorted by time: a summary is newer than the messages after it, and a clock may be set back.
pub(in crate::conversation) struct Timeline {
    /// Sorted by time, then by message id; without fakes.
    order: Vec<Place>,
    span: Option<Span>,
}

/// The index of a message in memory, and of a part in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    message: u32,
    part: u32,
}

/// The bounds of the times and ids of parts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub oldest_ms: i64,
    pub newest_ms: i64,
    pub lowest_id: MessageId,
    pub greatest_id: MessageId,
}

impl Timeline {
    /// Returns the timeline of a conversation, valid until the next change.
    pub fn of(manager: &MessagesManager<PlainMessage>) -> Self {
        let said = (0..).zip(manager.all().map(PlainMessage::message)).filter(|(_, message)| !message.is_fake());
        let parts = said.clone().flat_map(|(index, message)| {
            let places = (0..).map(move |part| Place { message: index, part });
            message.parts().zip(places).map(|(part, place)| (part.created_ms(), message.id(), place))
        });
        let mut places: Vec<_> = parts.collect();
        // A stable sort is fast, because the parts are nearly sorted.
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

    /// Searches the conversation from the end where the best matches are.
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
