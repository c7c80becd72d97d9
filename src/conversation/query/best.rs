//! [`Best`]: of all that matches, as many as are asked for.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::answer::Found;
use super::timeline::created_ms;
use crate::log::CallId;
use crate::message::{Message, MessageId};

/// Of all that matches, the oldest or the newest, as many as are asked for, and no more than that in memory.
pub(super) struct Best {
    at_most: usize,
    side: Side,
    /// The first to go is its greatest.
    kept: BinaryHeap<Ranked>,
}

/// Which ones are kept where there are more than are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Oldest,
    Newest,
}

struct Ranked {
    found: Found,
    side: Side,
}

impl Best {
    pub fn new(limit: Option<usize>, recent: Option<usize>) -> Self {
        let (side, at_most) = match recent {
            Some(recent) => (Side::Newest, recent),
            None => (Side::Oldest, limit.unwrap_or(usize::MAX)),
        };
        Self { at_most, side, kept: BinaryHeap::new() }
    }

    /// From which end messages are best offered: once one is not wanted, none behind it is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Whether a message would be kept, if it matched.
    pub fn wants(&self, conversation: &CallId, message: &Message) -> bool {
        if self.kept.len() < self.at_most {
            return true;
        }
        let place = (created_ms(message), message.id(), conversation);
        self.kept.peek().is_some_and(|last| self.side.order(place, last.place()).is_lt())
    }

    /// Whether a message created at `at_ms`, wherever it is, would be kept, if it matched.
    pub fn wants_at(&self, at_ms: i64) -> bool {
        let is_near = |last: &Ranked| match self.side {
            Side::Oldest => at_ms <= last.place().0,
            Side::Newest => at_ms >= last.place().0,
        };
        self.kept.len() < self.at_most || self.kept.peek().is_some_and(is_near)
    }

    /// Keeps a message that matches, as long as no better ones come.
    pub fn keep(&mut self, conversation: &CallId, message: Message) {
        let found = Found { conversation: conversation.clone(), message };
        self.kept.push(Ranked { found, side: self.side });
        if self.kept.len() > self.at_most {
            self.kept.pop();
        }
    }

    /// What was kept, the oldest first.
    pub fn into_found(self) -> Vec<Found> {
        let mut found: Vec<Found> = self.kept.into_sorted_vec().into_iter().map(|ranked| ranked.found).collect();
        if self.side == Side::Newest {
            found.reverse();
        }
        found
    }
}

/// What the order of answers goes by.
type Place<'a> = (i64, MessageId, &'a CallId);

impl Side {
    fn order(self, one: Place<'_>, other: Place<'_>) -> Ordering {
        match self {
            Self::Oldest => one.cmp(&other),
            Self::Newest => other.cmp(&one),
        }
    }
}

impl Ranked {
    fn place(&self) -> Place<'_> {
        (created_ms(&self.found.message), self.found.message.id(), &self.found.conversation)
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.side.order(self.place(), other.place())
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
