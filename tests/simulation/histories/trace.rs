//! [`Trace`]: the events of a history, merged with the journal of the fake.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::dynamo::{Dynamo, Journal};

/// The events of a history. It outlives a failed history, and clones share the events.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    dynamo: Option<Dynamo>,
    events: Vec<(u128, String)>,
    tally: BTreeMap<String, u64>,
}

/// The events that must occur in some history, besides the faults of DynamoDB.
pub const EVENTS: &[&str] = &[
    "call resumed",
    "span stored",
    "record left out",
    "dead letter taken early",
    "call taken over",
    "call taken back or given up",
    "call lost to a dead rival",
    "takeover died or gave up",
    "clock stepped back",
    "commit of the spool failed or found no room",
    "erased",
    "erased from elsewhere",
    "dead letter of an erased call forgotten",
    "dead letter stored after all",
    "dead letter refused again",
    "history with offloaded contents",
    "message resumed without a content",
    "use of an erased call swept",
    "fenced writer refused",
    "submission found no room",
    "held",
    "history with a spool",
    "late summary",
    "outage of hours",
    "process died",
    "record recovered from the spool",
    "dead letter",
    "revision replaced while it waited",
    "task died",
    "task of a fenced writer died",
    "trouble reported",
];

impl Trace {
    pub fn begin(&self, dynamo: &Dynamo) {
        self.0.lock().unwrap().dynamo = Some(dynamo.clone());
    }

    /// Records an event.
    pub fn say(&self, event: impl Into<String>) {
        let mut lines = self.0.lock().unwrap();
        let at = lines.dynamo.as_ref().map_or(0, |dynamo| dynamo.clock().elapsed().as_millis());
        lines.events.push((at, event.into()));
    }

    /// Counts an event of [`EVENTS`].
    pub fn count(&self, event: &str, times: u64) {
        if times > 0 {
            *self.0.lock().unwrap().tally.entry(event.to_owned()).or_default() += times;
        }
    }

    /// Returns the number of each event and each fault.
    pub fn tally(&self) -> BTreeMap<String, u64> {
        let journal = self.of_dynamo();
        let mut tally = self.0.lock().unwrap().tally.clone();
        tally.extend(journal.faults.iter().map(|(fault, times)| (format!("fault {fault:?}"), *times)));
        tally.extend(journal.refusals.iter().map(|(kind, times)| (format!("refused {kind}"), *times)));
        tally.insert("requests".to_owned(), journal.request_count());
        tally
    }

    /// Returns the last lines of all events and requests, ordered by time.
    pub fn journal(&self, lines: usize) -> String {
        let at =
            |line: &String| line.trim_start().split(' ').next().and_then(|ms| ms.parse::<u128>().ok()).unwrap_or(0);
        let journal = self.of_dynamo().to_string();
        let requests = journal.lines().map(str::to_owned).map(|line| (at(&line), line));
        let events = self.0.lock().unwrap().events.clone();
        let mut all: Vec<_> = events.into_iter().map(|(at, event)| (at, format!("{at:>9} ms  == {event}"))).collect();
        all.extend(requests);
        all.sort_by_key(|(at, _)| *at);
        let skipped = all.len().saturating_sub(lines);
        all.into_iter().skip(skipped).map(|(_, line)| line + "\n").collect()
    }

    fn of_dynamo(&self) -> Journal {
        // A failed history may poison the lock of the fake, but its journal is complete.
        let dynamo = self.0.lock().unwrap().dynamo.clone();
        dynamo.map(|dynamo| dynamo.journal()).unwrap_or_default()
    }
}
