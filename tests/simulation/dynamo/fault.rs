//! [`Fault`]: a fault of a request. [`Window`]: the time and scope of a fault.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use super::dice::hash;
use super::operation::ItemKey;

/// A fault of a request. "Applied" means that the table has the write, regardless of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Not applied, and no response: a hang that the client's timeout ends.
    TimeoutBefore,
    /// Applied, and no response.
    TimeoutAfter,
    /// No response; applied seconds to minutes later, after newer writes.
    Ghost,
    /// Status 500; not applied.
    Error500Before,
    /// Status 500; applied.
    Error500After,
    /// An HTML page of a proxy; not applied.
    Html502,
    /// The connection breaks; not applied.
    ResetBefore,
    /// The connection breaks; applied.
    ResetAfter,
    /// Applied, and the response is cut off.
    TruncatedBodyAfter,
    /// `ProvisionedThroughputExceededException`; not applied.
    Throttle,
    /// `ResourceNotFoundException`.
    TableMissing,
    /// `AccessDeniedException`.
    AccessDenied,
    /// `ExpiredTokenException`.
    ExpiredToken,
    /// `BatchWriteItem` succeeds but leaves some items unprocessed. Other operations ignore this fault.
    UnprocessedItems,
}

impl Fault {
    /// The faults that pass by themselves and affect single requests.
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

    /// Returns whether the write is applied despite the fault, at once or later.
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

/// A fault for some time: requests that arrive in the window and are in its scope have the fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    pub fault: Fault,
    pub from: Duration,
    pub to: Duration,
    pub scope: Scope,
    /// The probability, from 0 to 1.
    pub probability: f64,
}

/// The scope of a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    All,
    Operation(&'static str),
    /// One partition, by its key.
    Partition(String),
    /// One partition in `n`, chosen by hash: a hot partition.
    OnePartitionIn(u64),
}

impl Window {
    /// Creates a window for all requests between two virtual times, counted from the start.
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

    pub fn covers(&self, at: Duration, operation: &str, item_key: &ItemKey) -> bool {
        (self.from..self.to).contains(&at)
            && match &self.scope {
                Scope::All => true,
                Scope::Operation(name) => *name == operation,
                Scope::Partition(partition) => *partition == item_key.0,
                Scope::OnePartitionIn(count) => hash(&item_key.0).is_multiple_of(*count),
            }
    }
}

/// The fate of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    pub fault: Option<Fault>,
    /// The delay until the request is applied, and from then until the response.
    pub there: Duration,
    pub back: Duration,
}

/// The delay of a [`Fault::Ghost`], in milliseconds.
pub const GHOST_MS: RangeInclusive<u64> = 3_000..=180_000;
