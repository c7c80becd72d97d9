//! [`Journal`]: the requests, faults and writes of a history.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use super::fault::{Fate, Fault};
use super::operation::{Effects, ItemKey};

/// Counters, and each request with its outcome. `Display` prints one line per event, equal for equal histories.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Journal {
    /// The number of requests that have arrived, by operation.
    pub requests: BTreeMap<String, u64>,
    /// The number of faults, by kind.
    pub faults: BTreeMap<Fault, u64>,
    /// The number of refused requests, by type of error.
    pub refusals: BTreeMap<&'static str, u64>,
    /// The number of requests with a waiting client.
    pub in_flight: u64,
    pub max_in_flight: u64,
    /// The revisions written to each item, in order. Refused writes are not included. `None` is a write without a revision,
    /// or a deletion.
    pub writes: BTreeMap<ItemKey, Vec<Option<u64>>>,
    pub write_units: u64,
    pub read_units: f64,
    events: Vec<Event>,
}

#[derive(Debug, Clone, PartialEq)]
struct Event {
    at: Duration,
    request: u64,
    kind: EventKind,
}

#[derive(Debug, Clone, PartialEq)]
enum EventKind {
    Arrived { operation: String, item_key: ItemKey, fate: Fate },
    Applied { items: Vec<(ItemKey, Option<u64>)>, write_units: u64 },
    Refused { kind: &'static str },
}

impl Journal {
    /// Records a request and returns its number.
    pub fn arrived(&mut self, at: Duration, operation: &str, item_key: &ItemKey, fate: &Fate) -> u64 {
        *self.requests.entry(operation.to_owned()).or_default() += 1;
        if let Some(fault) = fate.fault {
            *self.faults.entry(fault).or_default() += 1;
        }
        self.in_flight += 1;
        self.max_in_flight = self.max_in_flight.max(self.in_flight);
        let request = self.requests.values().sum();
        let kind =
            EventKind::Arrived { operation: operation.to_owned(), item_key: item_key.clone(), fate: fate.clone() };
        self.events.push(Event { at, request, kind });
        request
    }

    pub fn applied(&mut self, at: Duration, request: u64, effects: Effects) {
        self.write_units += effects.write_units;
        self.read_units += effects.read_units;
        let write_units = effects.write_units;
        let mut items = Vec::new();
        for write in effects.writes {
            let revision = write.revision.filter(|_| !write.is_deletion).and_then(|text| text.parse().ok());
            self.writes.entry(write.item_key.clone()).or_default().push(revision);
            items.push((write.item_key, revision));
        }
        self.events.push(Event { at, request, kind: EventKind::Applied { items, write_units } });
    }

    pub fn refused(&mut self, at: Duration, request: u64, kind: &'static str) {
        *self.refusals.entry(kind).or_default() += 1;
        self.events.push(Event { at, request, kind: EventKind::Refused { kind } });
    }

    pub fn forget_requests(&mut self) {
        self.events.clear();
        self.writes.clear();
    }

    /// Returns the number of requests with a fault.
    pub fn count(&self, fault: Fault) -> u64 {
        self.faults.get(&fault).copied().unwrap_or_default()
    }

    /// Returns the number of all requests that have arrived.
    pub fn request_count(&self) -> u64 {
        self.requests.values().sum()
    }

    /// Returns the sort keys of a partition, ordered by their first write.
    pub fn first_writes(&self, partition: &str) -> Vec<&str> {
        let mut first = Vec::new();
        for event in &self.events {
            let EventKind::Applied { items, .. } = &event.kind else { continue };
            for ((of, sort), _) in items {
                if of == partition && !first.contains(&sort.as_str()) {
                    first.push(sort);
                }
            }
        }
        first
    }

    /// Returns the number of writes of an item.
    pub fn writes_of(&self, partition: &str, sort: &str) -> usize {
        self.writes.get(&(partition.to_owned(), sort.to_owned())).map_or(0, Vec::len)
    }
}

impl fmt::Display for Journal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.events.iter().try_for_each(|event| writeln!(f, "{event}"))
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>9} ms  #{:<4} ", self.at.as_millis(), self.request)?;
        match &self.kind {
            EventKind::Arrived { operation, item_key, fate } => {
                write!(f, "{operation} {} {}", item_key.0, item_key.1)?;
                if let Some(fault) = fate.fault {
                    write!(f, "  {fault:?}")?;
                }
                write!(f, "  {} + {} ms", fate.there.as_millis(), fate.back.as_millis())
            }
            EventKind::Applied { items, write_units } => {
                write!(f, "    applied, {write_units} units")?;
                for ((_, sort), revision) in items {
                    // The id of a chunk is random.
                    write!(f, " {}", if sort.starts_with("CHUNK#") { "chunk" } else { sort })?;
                    if let Some(revision) = revision {
                        write!(f, "@{revision}")?;
                    }
                }
                Ok(())
            }
            EventKind::Refused { kind } => write!(f, "    {kind}"),
        }
    }
}
