//! [`Trace`]: what happened in a history, beside the journal of the stand-in.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use crate::dynamo::{Dynamo, Journal};

/// Outlives the history, so that one that failed can be told. Clones are the same.
#[derive(Clone, Default)]
pub struct Trace(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    dynamo: Option<Dynamo>,
    happenings: Vec<(u128, String)>,
    tally: BTreeMap<String, u64>,
}

/// What happens in some history of many, beside the faults of DynamoDB.
pub const HAPPENINGS: &[&str] = &[
    "call resumed",
    "call taken over",
    "clock stepped back",
    "commit of the spool failed or found no room",
    "erased",
    "fenced writer told",
    "hand-over found no room",
    "held",
    "history with a spool",
    "late summary",
    "outage of hours",
    "process died",
    "record recovered from the spool",
    "record set aside",
    "revision replaced while it waited",
    "task died",
    "task of a fenced writer died",
    "trouble told",
];

impl Trace {
    pub fn begin(&self, dynamo: &Dynamo) {
        self.0.lock().unwrap().dynamo = Some(dynamo.clone());
    }

    /// Takes note of something that happened.
    pub fn say(&self, what: impl Into<String>) {
        let mut lines = self.0.lock().unwrap();
        let at = lines.dynamo.as_ref().map_or(0, |dynamo| dynamo.clock().elapsed().as_millis());
        lines.happenings.push((at, what.into()));
    }

    /// Counts something that is to happen in some history.
    pub fn count(&self, what: &str, times: u64) {
        if times > 0 {
            *self.0.lock().unwrap().tally.entry(what.to_owned()).or_default() += times;
        }
    }

    /// How often things happened, the faults of DynamoDB too.
    pub fn tally(&self) -> BTreeMap<String, u64> {
        let journal = self.of_dynamo();
        let mut tally = self.0.lock().unwrap().tally.clone();
        tally.extend(journal.faults.iter().map(|(fault, times)| (format!("fault {fault:?}"), *times)));
        tally.extend(journal.refusals.iter().map(|(kind, times)| (format!("refused {kind}"), *times)));
        tally.insert("requests".to_owned(), journal.request_count());
        tally
    }

    /// The last lines of all that happened, in the order of time.
    pub fn journal(&self, lines: usize) -> String {
        let at =
            |line: &String| line.trim_start().split(' ').next().and_then(|ms| ms.parse::<u128>().ok()).unwrap_or(0);
        let journal = self.of_dynamo().to_string();
        let requests = journal.lines().map(str::to_owned).map(|line| (at(&line), line));
        let happenings = self.0.lock().unwrap().happenings.clone();
        let mut all: Vec<_> = happenings.into_iter().map(|(at, what)| (at, format!("{at:>9} ms  == {what}"))).collect();
        all.extend(requests);
        all.sort_by_key(|(at, _)| *at);
        let skipped = all.len().saturating_sub(lines);
        all.into_iter().skip(skipped).map(|(_, line)| line + "\n").collect()
    }

    fn of_dynamo(&self) -> Journal {
        // A history that failed may have left the stand-in poisoned: its journal is whole all the same.
        let dynamo = self.0.lock().unwrap().dynamo.clone();
        dynamo.map(|dynamo| dynamo.journal()).unwrap_or_default()
    }
}
