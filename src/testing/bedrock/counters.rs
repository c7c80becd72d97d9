//! [`RequestCounters`]: counters of requests and connections.

use tokio::sync::watch;

/// Counters of a [`FakeBedrock`](super::FakeBedrock) and all its clones, since it was created.
///
/// `requests` is the sum of `finished`, `cancelled` and the requests in progress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestCounters {
    /// Accepted TCP connections. Clients without a socket have none.
    pub connections: u64,
    /// All requests, including refused and unreadable ones.
    pub requests: u64,
    /// Requests refused because they break a rule of Bedrock or are unreadable. Scripted refusals do not count.
    pub refused: u64,
    /// Answers sent to their end, including refusals, scripted errors and scripted broken connections.
    pub finished: u64,
    /// Answers that the client or a dropped [`FakeBedrockServer`](super::FakeBedrockServer) ended early.
    pub cancelled: u64,
}

/// Shared counters.
#[derive(Clone)]
pub(super) struct Tally(watch::Sender<RequestCounters>);

impl Tally {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(RequestCounters::default()))
    }

    pub(super) fn now(&self) -> RequestCounters {
        *self.0.borrow()
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut RequestCounters)) {
        self.0.send_modify(change);
    }

    pub(super) async fn until(&self, mut is_reached: impl FnMut(&RequestCounters) -> bool) -> RequestCounters {
        // Fails only if all senders are dropped, and `self` is one.
        self.0.subscribe().wait_for(|counters| is_reached(counters)).await.map_or_else(|_| self.now(), |now| *now)
    }

    /// Counts a new request.
    pub(super) fn admit(&self) -> Ticket {
        let mut number = 0;
        self.count(|counters| {
            counters.requests += 1;
            number = counters.requests;
        });
        Ticket { tally: self.clone(), number, is_over: false }
    }
}

/// A request in progress. Dropping it unfinished counts as cancelled.
pub(super) struct Ticket {
    tally: Tally,
    number: u64,
    is_over: bool,
}

impl Ticket {
    /// Returns the number of the request, from 1.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    pub(super) fn finish(&mut self) {
        if !self.is_over {
            self.is_over = true;
            self.tally.count(|counters| counters.finished += 1);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_over {
            self.tally.count(|counters| counters.cancelled += 1);
        }
    }
}
