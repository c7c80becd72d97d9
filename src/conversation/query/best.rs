//! [`Best`]: the first matches in the order of a query, up to its limit.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::answer::Found;
use super::{HistoryQuery, QueryOrder};
use crate::log::CallId;
use crate::message::MessageId;

/// The first matches in the order of a query. Holds at most the limit of the query in memory.
pub(super) struct Best {
    order: QueryOrder,
    limit: Option<usize>,
    /// A max-heap: over the limit, the greatest match is dropped.
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

    /// Returns the order. If messages are offered in this order, none is wanted after the first that is not.
    pub fn order(&self) -> QueryOrder {
        self.order
    }

    /// Returns whether a message would be among the first if a part with this time determined its rank.
    pub fn wants(&self, conversation: &CallId, at_ms: i64, id: MessageId) -> bool {
        self.has_room_before(|last, order| order.compare((at_ms, id, conversation), last).is_lt())
    }

    /// Returns whether some message with this time may be among the first.
    pub fn may_want(&self, at_ms: i64) -> bool {
        self.has_room_before(|last, order| match order {
            QueryOrder::OldestFirst => at_ms <= last.0,
            QueryOrder::NewestFirst => at_ms >= last.0,
        })
    }

    /// Keeps a match until better ones arrive.
    pub fn keep(&mut self, found: Found) {
        self.kept.push(Ranked { found, order: self.order });
        if self.limit.is_some_and(|limit| self.kept.len() > limit) {
            self.kept.pop();
        }
    }

    /// Returns the matches, in the order of the query.
    pub fn into_found(self) -> Vec<Found> {
        self.kept.into_sorted_vec().into_iter().map(|ranked| ranked.found).collect()
    }

    /// Returns whether there is room, or whether the match is better than the last one.
    fn has_room_before(&self, is_better: impl Fn(SortKey<'_>, QueryOrder) -> bool) -> bool {
        self.limit.is_none_or(|limit| self.kept.len() < limit)
            || self.kept.peek().is_some_and(|last| is_better(last.found.sort_key(), self.order))
    }
}

/// The sort key of a match: time, message, conversation.
type SortKey<'a> = (i64, MessageId, &'a CallId);

impl QueryOrder {
    fn compare(self, one: SortKey<'_>, other: SortKey<'_>) -> Ordering {
        match self {
            Self::OldestFirst => one.cmp(&other),
            Self::NewestFirst => other.cmp(&one),
        }
    }
}

impl Found {
    fn sort_key(&self) -> SortKey<'_> {
        (self.at_ms, self.message.id(), &self.conversation)
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.compare(self.found.sort_key(), other.found.sort_key())
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
