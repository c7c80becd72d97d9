//! [`Best`]: of all that matches, as many as are asked for.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::answer::Found;
use super::timeline::created_ms;
use crate::log::CallId;
use crate::message::{Message, MessageId};

/// Of all that matches, the oldest or the newest, and no more of it in memory than is asked for.
pub(super) struct Best {
    side: Side,
    kept: Kept,
}

/// Which ones are kept where there are more than are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Oldest,
    Newest,
}

enum Kept {
    All(Vec<Found>),
    /// The first to go is its greatest.
    Some {
        at_most: usize,
        heap: BinaryHeap<Ranked>,
    },
}

struct Ranked {
    found: Found,
    side: Side,
}

impl Best {
    pub fn new(limit: Option<usize>, recent: Option<usize>) -> Self {
        let kept = match recent.or(limit) {
            Some(at_most) => Kept::Some { at_most, heap: BinaryHeap::new() },
            None => Kept::All(Vec::new()),
        };
        Self { side: if recent.is_some() { Side::Newest } else { Side::Oldest }, kept }
    }

    /// From which end messages are best offered: once one is not wanted, none behind it is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// Whether a message would be kept, if it matched.
    pub fn wants(&self, conversation: &CallId, message: &Message) -> bool {
        self.has_room_before(|last, side| side.order((created_ms(message), message.id(), conversation), last).is_lt())
    }

    /// Whether a message created at `at_ms`, whatever its id, may be kept, if it matched.
    pub fn may_want(&self, at_ms: i64) -> bool {
        self.has_room_before(|last, side| match side {
            Side::Oldest => at_ms <= last.0,
            Side::Newest => at_ms >= last.0,
        })
    }

    /// Keeps a message that matches, as long as no better ones come.
    pub fn keep(&mut self, conversation: &CallId, message: Message) {
        let found = Found { conversation: conversation.clone(), message };
        match &mut self.kept {
            Kept::All(all) => all.push(found),
            Kept::Some { at_most, heap } => {
                heap.push(Ranked { found, side: self.side });
                if heap.len() > *at_most {
                    heap.pop();
                }
            }
        }
    }

    /// What was kept, the oldest first.
    pub fn into_found(self) -> Vec<Found> {
        let mut found: Vec<Found> = match self.kept {
            Kept::All(all) => all,
            Kept::Some { heap, .. } => heap.into_iter().map(|ranked| ranked.found).collect(),
        };
        // By keys, for what was found is large, and moved once so.
        found.sort_by_cached_key(|found| (created_ms(&found.message), found.message.id(), found.conversation.clone()));
        found
    }

    /// Whether there is room, or the last one to keep its place has to go for a better one.
    fn has_room_before(&self, is_better: impl Fn(Place<'_>, Side) -> bool) -> bool {
        match &self.kept {
            Kept::All(_) => true,
            Kept::Some { at_most, heap } => {
                heap.len() < *at_most || heap.peek().is_some_and(|last| is_better(last.found.place(), self.side))
            }
        }
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

impl Found {
    fn place(&self) -> Place<'_> {
        (created_ms(&self.message), self.message.id(), &self.conversation)
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        self.side.order(self.found.place(), other.found.place())
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
