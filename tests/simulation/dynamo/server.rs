//! The server: its tables, plan and journal.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use super::clock::VirtualClock;
use super::dice::{Dice, hash};
use super::error::ServiceError;
use super::fault::{Fate, Fault};
use super::journal::Journal;
use super::operation::{Answer, Effects, Request, Tables};
use super::plan::FaultPlan;

pub struct Server {
    pub clock: VirtualClock,
    pub plan: FaultPlan,
    pub journal: Journal,
    pub tables: Tables,
    /// The faults of the next requests, which precede the plan.
    pub next: VecDeque<Option<Fault>>,
    /// The tables that throttle all requests.
    pub throttled: Vec<String>,
    /// The number of requests for each operation and key.
    seen: HashMap<u64, u64>,
    /// The random ids of the chunks of contents, in the order in which they arrived.
    generations: HashMap<String, usize>,
    throughput: Throughput,
}

/// A request in flight.
pub struct Visit {
    pub number: u64,
    pub operation: String,
    pub fate: Fate,
    request: Result<Request, ServiceError>,
    /// Whether each item of a batch stays unprocessed.
    leaves_over: Option<Dice>,
    partition: String,
}

impl Server {
    pub fn new(plan: FaultPlan) -> Self {
        Self {
            clock: VirtualClock::new(plan.clock_steps.clone()),
            plan,
            journal: Journal::default(),
            tables: Tables::new(),
            next: VecDeque::new(),
            throttled: Vec::new(),
            seen: HashMap::new(),
            generations: HashMap::new(),
            throughput: Throughput::default(),
        }
    }

    pub fn forget_requests(&mut self) {
        self.journal.forget_requests();
        self.seen.clear();
        self.throughput = Throughput::default();
    }

    /// Accepts a request and decides its fate.
    pub fn arrive(&mut self, operation: &str, body: &[u8]) -> Visit {
        let request = Request::read(operation, body);
        let item_key = request.as_ref().map(Request::item_key).unwrap_or_default();
        let item_key = (item_key.0, self.repeatable(item_key.1));
        let seen =
            self.seen.entry(hash(operation) ^ hash(&item_key.0).rotate_left(1) ^ hash(&item_key.1).rotate_left(2));
        let nth = seen.or_default();
        *nth += 1;
        let at = self.clock.elapsed();
        let fate = self.plan.fate(at, operation, &item_key, *nth, self.next.pop_front());
        let leaves_over =
            (fate.fault == Some(Fault::UnprocessedItems)).then(|| self.plan.dice("left over", &item_key, *nth));
        let number = self.journal.arrived(at, operation, &item_key, &fate);
        Visit { number, operation: operation.to_owned(), fate, request, leaves_over, partition: item_key.0 }
    }

    /// Returns a sort key with a number in place of a random id, so that equal seeds give equal histories.
    fn repeatable(&mut self, sort: String) -> String {
        let Some((generation, at)) = sort.strip_prefix("CHUNK#").and_then(|rest| rest.split_once('#')) else {
            return sort;
        };
        let next = self.generations.len();
        let number = *self.generations.entry(generation.to_owned()).or_insert(next);
        format!("CHUNK#{number}#{at}")
    }

    /// Applies the request.
    pub fn apply(&mut self, visit: Visit) -> Result<Answer, ServiceError> {
        let at = self.clock.elapsed();
        let mut effects = Effects::default();
        let outcome = self.run(visit.request, visit.leaves_over, &visit.partition, &mut effects, at);
        match &outcome {
            Ok(_) => self.journal.applied(at, visit.number, effects),
            Err(error) => self.journal.refused(at, visit.number, error.kind),
        }
        outcome
    }

    fn run(
        &mut self,
        request: Result<Request, ServiceError>,
        leaves_over: Option<Dice>,
        partition: &str,
        effects: &mut Effects,
        at: Duration,
    ) -> Result<Answer, ServiceError> {
        let mut request = request?;
        if request.table().is_some_and(|name| self.throttled.iter().any(|throttled| throttled == name)) {
            return Err(ServiceError::throttled());
        }
        if let Some(limit) = self.plan.partition_limit
            && request.is_write()
            && self.throughput.is_used_up(partition, limit, at)
        {
            return Err(ServiceError::throttled());
        }
        let left = match (&mut request, leaves_over) {
            (Request::BatchWrite(batch), Some(mut dice)) => batch.leave_over(|| dice.chance(0.5)),
            _ => Default::default(),
        };
        let mut answer = request.run(&mut self.tables, effects)?;
        if !left.is_empty() {
            answer.unprocessed_items = Some(left);
        }
        self.throughput.take(partition, effects.write_units, at);
        Ok(answer)
    }
}

/// The write units that each partition has used in the current second.
#[derive(Default)]
struct Throughput(HashMap<String, (u64, u64)>);

impl Throughput {
    fn is_used_up(&self, partition: &str, limit: u64, at: Duration) -> bool {
        self.0.get(partition).is_some_and(|(second, units)| *second == at.as_secs() && *units >= limit)
    }

    fn take(&mut self, partition: &str, units: u64, at: Duration) {
        let used = match self.0.get_mut(partition) {
            Some(used) => used,
            None => self.0.entry(partition.to_owned()).or_default(),
        };
        if used.0 != at.as_secs() {
            *used = (at.as_secs(), 0);
        }
        used.1 += units;
    }
}
