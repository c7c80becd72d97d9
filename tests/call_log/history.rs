//! Random histories of one call, compared with a model: puts in any order, repeated puts, puts of older writers, opens,
//! changes, erasures and late puts.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection;
use proptest::prelude::*;
use verbale::Record;
use verbale::log::{CallChange, CallHeader, CallLog, CallQuery, Day, LogErrorKind, LoggedCall, Put, WriterLease};
use verbale::message::Position;

use super::resumed::resume;
use super::support::{START_MS, call_end, calls_of, first, header, message, put_as, summary, tenant};

/// A step of a history. `lag` is the number of epochs between the writer and the newest one.
#[derive(Debug, Clone)]
enum Step {
    Put { lag: u32, records: Vec<Record> },
    Open,
    Resume,
    Close { lag: u32, reason: &'static str },
    Hold,
    Release,
    Erase,
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        6 => (0..5u32, 1..4u32).prop_map(|(seq, revision)| message(seq, revision)),
        1 => (0..5u32, 1..3u32).prop_map(|(after, number)| summary(after, number)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let lag = || prop_oneof![3 => Just(0), 1 => 1..3u32];
    prop_oneof![
        8 => (lag(), collection::vec(record(), 0..4)).prop_map(|(lag, records)| Step::Put { lag, records }),
        2 => Just(Step::Open),
        3 => Just(Step::Resume),
        1 => (lag(), prop_oneof![Just("hangup"), Just("transfer")]).prop_map(|(lag, reason)| Step::Close { lag, reason }),
        1 => Just(Step::Hold),
        1 => Just(Step::Release),
        1 => Just(Step::Erase),
    ]
}

/// Checks random histories, each of its own call in one log.
pub fn check(cases: u32, log: impl CallLog + 'static) {
    let log: Arc<dyn CallLog> = Arc::new(log);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let number = Cell::new(0);
    proptest!(ProptestConfig::with_cases(cases), |(steps in collection::vec(step(), 0..20))| {
        number.set(number.get() + 1);
        runtime.block_on(Model::new(log.clone(), &format!("history {}", number.get())).follow(&steps));
    });
}

/// The expected state of the call.
struct Model {
    log: Arc<dyn CallLog>,
    opened: CallHeader,
    header: Option<CallHeader>,
    records: BTreeMap<Position, Record>,
    /// The positions of all records that were put. After an erasure the log refuses records at these positions.
    seen: Vec<Position>,
    is_erased: bool,
    /// The newest epochs of records that came after the erasure, where the log had no mark. They are never read, but fence.
    late: BTreeMap<Position, u32>,
    /// The leases of epochs 1, 2 and so on.
    leases: Vec<WriterLease>,
}

impl Model {
    fn new(log: Arc<dyn CallLog>, name: &str) -> Self {
        let opened = header(name, START_MS).with_tenant(tenant(name));
        let leases = vec![first(opened.call_id())];
        Self {
            log,
            opened,
            header: None,
            records: BTreeMap::new(),
            seen: Vec::new(),
            is_erased: false,
            late: BTreeMap::new(),
            leases,
        }
    }

    async fn follow(mut self, steps: &[Step]) {
        for step in steps {
            self.take(step).await;
            let read = self.log.read_call(self.opened.call_id()).await;
            if self.is_erased {
                assert_eq!(read.unwrap_err().kind(), LogErrorKind::Erased, "after {step:?}");
                continue;
            }
            let expected = LoggedCall::new(self.header.clone(), self.records.values().cloned().collect());
            assert_eq!(read.unwrap(), expected, "after {step:?}");
        }
        let query = CallQuery::of_day(Day::of_ms(self.opened.started_ms())).with_tenant(self.opened.tenant().cloned());
        assert_eq!(calls_of(&self.log, &query).await, Vec::from_iter(self.header));
    }

    async fn take(&mut self, step: &Step) {
        match step {
            Step::Put { lag, records } => self.put(&self.lease(*lag), records).await,
            Step::Open => {
                assert_eq!(self.log.open_call(&self.opened).await.is_err(), self.is_erased);
                if !self.is_erased {
                    self.header.get_or_insert_with(|| self.opened.clone());
                }
            }
            Step::Resume => self.resume().await,
            Step::Close { lag, reason } => {
                self.change(&CallChange::Close { lease: self.lease(*lag), call_end: call_end(reason) }).await;
            }
            Step::Hold => self.change(&CallChange::Hold).await,
            Step::Release => self.change(&CallChange::Release).await,
            Step::Erase => {
                let erased = self.log.erase_call(self.opened.call_id()).await;
                if self.header.as_ref().is_some_and(CallHeader::is_held) {
                    assert_eq!(erased.unwrap_err().kind(), LogErrorKind::Held);
                } else {
                    erased.unwrap();
                    (self.header, self.is_erased) = (None, true);
                    self.records.clear();
                }
            }
        }
    }

    async fn resume(&mut self) {
        let resumed = resume(&self.log, self.opened.call_id()).await;
        let Some(before) = self.header.take() else {
            let expected = if self.is_erased { LogErrorKind::Erased } else { LogErrorKind::NotOpened };
            return assert_eq!(resumed.unwrap_err().kind(), expected);
        };
        let (manager, writer) = resumed.unwrap();
        let header = self.log.read_header(self.opened.call_id()).await.unwrap().unwrap();
        assert!(header.is_opened_as(&before));
        let expected = (before.epoch() + 1, before.is_held(), None);
        assert_eq!((header.epoch(), header.is_held(), header.call_end()), expected);
        assert_eq!((writer.lease(), writer.ended()), (&WriterLease::from(&header), before.call_end()));
        let expected = LoggedCall::new(Some(before), self.records.values().cloned().collect());
        assert!(manager == expected.restore());
        self.leases.push(writer.lease().clone());
        self.header = Some(header);
    }

    fn lease(&self, lag: u32) -> WriterLease {
        let index = self.leases.len().saturating_sub(1 + lag as usize);
        self.leases[index].clone()
    }

    fn changed(&self, change: &CallChange) -> Option<CallHeader> {
        self.header.clone()?.changed(change).ok()
    }

    async fn change(&mut self, change: &CallChange) {
        let expected = self.changed(change);
        assert_eq!(self.log.change_call(self.opened.call_id(), change).await.ok(), expected);
        self.header = expected.or(self.header.take());
    }

    async fn put(&mut self, lease: &WriterLease, records: &[Record]) {
        if self.is_erased || (lease.epoch() as usize) < self.leases.len() {
            // A late record at an unknown position may be stored, but must not be read.
            for record in records {
                let position = record.position();
                let is_known = if self.is_erased { self.seen.contains(&position) } else { self.is_fenced(position) };
                match self.log.put_record(lease, record).await {
                    Ok(put) => {
                        assert!(!is_known, "{put:?}");
                        if self.is_erased {
                            let newest = self.late.entry(position).or_default();
                            *newest = lease.epoch().max(*newest);
                        }
                    }
                    // A writer stops at the first refused record.
                    Err(error) => {
                        let is_fenced = self.late.get(&position).is_some_and(|epoch| *epoch > lease.epoch());
                        let expected =
                            if self.is_erased && !is_fenced { LogErrorKind::Erased } else { LogErrorKind::Fenced };
                        return assert_eq!(error.kind(), expected);
                    }
                }
                if !self.is_erased {
                    self.seen.push(record.position());
                }
            }
            return;
        }
        let mut expected = Vec::new();
        for record in records {
            self.seen.push(record.position());
            let known = self.records.get(&record.position()).map(|known| known.revision());
            expected.push(match known {
                Some(known) if known >= record.revision() => Put::Kept,
                _ => Put::Written,
            });
            if expected.last() == Some(&Put::Written) {
                self.records.insert(record.position(), record.clone());
            }
        }
        assert_eq!(put_as(&self.log, lease, records).await, expected);
    }

    /// Returns whether the log must refuse an older writer at a position.
    fn is_fenced(&self, position: Position) -> bool {
        self.records.contains_key(&position)
    }
}
