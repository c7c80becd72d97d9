//! [`Best`]: of all that matches, as many as are asked for.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::answer::Found;
use super::{HistoryQuery, QueryOrder};
use crate::log::CallId;
use crate::message::MessageId;

/// The first messages in the order of a query, and no more of them in memory than are asked for.
pub(super) struct Best {
    order: QueryOrder,
    limit: Option<usize>,
    /// With a limit, the first to go is the greatest.
    kept: BinaryHeap<Ranked>,
}

struct Ranked {
    found: Found,
    order: QueryOrder,
}

impl Best {
    pub fn new(query: &HistoryQuery) -> Self {
        Self { order: query.order, limit: query.limit, kept: BinaryHeap::new() }
    }

    /// From which end messages are best offered: once one is not wanted, none after it is.
    pub fn order(&self) -> QueryOrder {
        self.order
    }

    /// Whether a message would be kept, if a part of this time places it.
    pub fn wants(&self, conversation: &CallId, at_ms: i64, id: MessageId) -> bool {
        self.has_room_before(|last, order| order.compare((at_ms, id, conversation), last).is_lt())
    }

    /// Whether a message placed at `at_ms`, whatever its id, may be kept, if it matches.
    pub fn may_want(&self, at_ms: i64) -> bool {
        self.has_room_before(|last, order| match order {
            QueryOrder::OldestFirst => at_ms <= last.0,
            QueryOrder::NewestFirst => at_ms >= last.0,
        })
    }

    /// Keeps a message that matches, as long as no better ones come.
    pub fn keep(&mut self, found: Found) {
        self.kept.push(Ranked { found, order: self.order });
        if self.limit.is_some_and(|limit| self.kept.len() > limit) {
            self.kept.pop();
        }
    }

    /// Returns the kept messages, in the order of the query.
    pub fn into_found(self) -> Vec<Found> {
        self.kept.into_sorted_vec().into_iter().map(|ranked| ranked.found).collect()
    }

    /// Whether there is room, or the last one to keep its place has to go for a better one.
    fn has_room_before(&self, is_better: impl Fn(Place<'_>, QueryOrder) -> bool) -> bool {
        self.limit.is_none_or(|limit| self.kept.len() < limit)
            || self.kept.peek().is_some_and(|last| is_better(last.found.place(), self.order))
    }
}

/// The sort key of an answer.
type Place<'a> = (i64, MessageId, &'a CallId);

impl QueryOrder {
    fn compare(self, one: Place<'_>, other: Place<'_>) -> Ordering {
        match self {
            Self::OldestFirst => one.cmp(&other),
            Self::NewestFirst => other.cmp(&one),
        }
    }
}

impl Found {
    fn place(&self) -> Place<'_> {
        (self.at_ms, self.message.id(), &self.conversation)
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.compare(self.found.place(), other.found.place())
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}
