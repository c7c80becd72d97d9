//! [`RequestCounters`]: what has come and gone at a stand-in, and waiting for it.

use tokio::sync::watch;

/// What has come and gone so far. `requests` is the sum of `finished`, `cancelled` and what is on its way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestCounters {
    /// TCP connections that were accepted; none without a socket.
    pub connections: u64,
    /// Requests that came, whatever became of them.
    pub requests: u64,
    /// Requests that were refused: Bedrock would not take them, or the stand-in cannot read them.
    pub refused: u64,
    /// Answers that were given to their end, be it an error that the script says.
    pub finished: u64,
    /// Answers that the client gave up before their end, or that ended with their [`FakeBedrockServer`](super::FakeBedrockServer).
    pub cancelled: u64,
}

/// Counts for all who share it.
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
        // It fails when all senders are gone, and `self` is one.
        self.0.subscribe().wait_for(|counters| is_reached(counters)).await.map_or_else(|_| self.now(), |now| *now)
    }

    /// A request has come.
    pub(super) fn admit(&self) -> Ticket {
        let mut number = 0;
        self.count(|counters| {
            counters.requests += 1;
            number = counters.requests;
        });
        Ticket { tally: self.clone(), number, is_over: false }
    }
}

/// A request on its way. Dropped before it is over, it is one that the client gave up.
pub(super) struct Ticket {
    tally: Tally,
    number: u64,
    is_over: bool,
}

impl Ticket {
    /// How many have come, with this one.
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
