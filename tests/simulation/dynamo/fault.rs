//! [`Fault`]: what can go wrong with a request, and [`Window`]: when, and to whom.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use super::dice::hash;
use super::operation::Place;

/// What goes wrong. "Applied" means that the table has it, whatever the client is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Not applied, and never answered: a hang, which the client ends by its time-out.
    TimeoutBefore,
    /// Applied, and never answered.
    TimeoutAfter,
    /// Never answered; applied seconds to minutes later, after newer writes.
    Ghost,
    /// Status 500; not applied.
    Error500Before,
    /// Status 500; applied.
    Error500After,
    /// A page of HTML from something in between; not applied.
    Html502,
    /// The connection breaks; not applied.
    ResetBefore,
    /// The connection breaks; applied.
    ResetAfter,
    /// Applied, and the answer is cut in the middle.
    TruncatedBodyAfter,
    /// `ProvisionedThroughputExceededException`; not applied.
    Throttle,
    /// `ResourceNotFoundException`.
    TableMissing,
    /// `AccessDeniedException`.
    AccessDenied,
    /// `ExpiredTokenException`.
    ExpiredToken,
    /// `BatchWriteItem` leaves some of its items over, told as a success. Other operations do not know it.
    UnprocessedItems,
}

impl Fault {
    /// What comes and goes by itself, a request at a time.
    pub const PASSING: [Self; 11] = [
        Self::TimeoutBefore,
        Self::TimeoutAfter,
        Self::Ghost,
        Self::Error500Before,
        Self::Error500After,
        Self::Html502,
        Self::ResetBefore,
        Self::ResetAfter,
        Self::TruncatedBodyAfter,
        Self::Throttle,
        Self::UnprocessedItems,
    ];

    /// Whether the table has what was written in spite of it, at once or later.
    pub fn is_applied(self) -> bool {
        matches!(
            self,
            Self::TimeoutAfter
                | Self::Ghost
                | Self::Error500After
                | Self::ResetAfter
                | Self::TruncatedBodyAfter
                | Self::UnprocessedItems
        )
    }

    pub fn suits(self, operation: &str) -> bool {
        self != Self::UnprocessedItems || operation == "BatchWriteItem"
    }
}

/// A fault for a while: requests that arrive in it, and are in its scope, get it.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub fault: Fault,
    pub from: Duration,
    pub to: Duration,
    pub scope: Scope,
    /// Of 0 to 1.
    pub probability: f64,
}

/// Whom a window is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    Operation(&'static str),
    /// By its key.
    Partition(String),
    /// One partition of so many, whichever they are: a hot one.
    OnePartitionIn(u64),
}

impl Window {
    /// For all requests from one virtual time to another, counted from the start.
    pub fn new(fault: Fault, when: Range<Duration>) -> Self {
        Self { fault, from: when.start, to: when.end, scope: Scope::All, probability: 1.0 }
    }

    #[must_use]
    pub fn for_only(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    #[must_use]
    pub fn with_probability(mut self, probability: f64) -> Self {
        self.probability = probability;
        self
    }

    pub fn covers(&self, at: Duration, operation: &str, place: &Place) -> bool {
        (self.from..self.to).contains(&at)
            && match &self.scope {
                Scope::All => true,
                Scope::Operation(name) => *name == operation,
                Scope::Partition(partition) => *partition == place.0,
                Scope::OnePartitionIn(count) => hash(&place.0).is_multiple_of(*count),
            }
    }
}

/// What happens to one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    pub fault: Option<Fault>,
    /// Until it is applied, and from then until the answer is back.
    pub there: Duration,
    pub back: Duration,
}

/// How late a [`Fault::Ghost`] lands, in milliseconds.
pub const GHOST_MS: RangeInclusive<u64> = 3_000..=180_000;
