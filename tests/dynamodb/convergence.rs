//! Records that are written in any order, any number of times, end in the same table.

use std::collections::BTreeMap;

use proptest::collection;
use proptest::prelude::*;
use verbale::Record;
use verbale::log::{CallLog, LogErrorKind, Put, Span};

use super::{call, lease, log, message, summary};

/// Returns every revision of every message, shuffled and some more than once.
fn history() -> impl Strategy<Value = Vec<Record>> {
    let revisions = collection::vec(1..4u32, 1..6).prop_map(|revisions| {
        let all = (0..).zip(revisions);
        let mut records: Vec<_> = all
            .flat_map(|(seq, last)| (1..=last).map(move |revision| message(seq, revision, &format!("at {revision}"))))
            .collect();
        records.extend([summary(0, 1), summary(0, 2)]);
        records
    });
    revisions.prop_flat_map(|records| {
        let again = collection::vec(proptest::sample::select(records.clone()), 0..8);
        again.prop_flat_map(move |again| Just([records.clone(), again].concat()).prop_shuffle())
    })
}

#[test]
fn repeated_and_reordered_writes_converge() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let log = runtime.block_on(log());
    let number = std::cell::Cell::new(0);
    proptest!(ProptestConfig::with_cases(256), |(history in history())| {
        number.set(number.get() + 1);
        let call = call(&number.get().to_string());
        let mut newest = BTreeMap::new();
        for record in &history {
            let known: Option<&u32> = newest.get(&record.position());
            let expected = match known {
                Some(known) if *known >= record.revision() => Put::Kept,
                _ => Put::Written,
            };
            let put = runtime.block_on(log.put_record(&lease(&number.get().to_string()), record)).unwrap();
            prop_assert_eq!(put, expected);
            newest.insert(record.position(), record.revision().max(known.copied().unwrap_or_default()));
        }
        let records = runtime.block_on(log.read_call(&call)).unwrap().records;
        let found: BTreeMap<_, _> = records.iter().map(|record| (record.position(), record.revision())).collect();
        prop_assert_eq!(found, newest);
        prop_assert!(records.iter().all(|record| history.contains(record)));
        prop_assert!(records.is_sorted_by_key(|record| record.position()));
    });
}

type Write = (Span, Vec<Record>);

/// Returns the writes of a call's spans, shuffled and some more than once: one with all messages of each span, and changes of
/// some of them.
fn writes_of_spans() -> impl Strategy<Value = Vec<Write>> {
    let span = (1..4_usize).prop_flat_map(|messages| {
        let changed = collection::vec(collection::vec(0..5_u32, messages), 0..4);
        (collection::vec(1..4_u32, messages), changed)
    });
    let writes = collection::vec(span, 1..4).prop_map(|spans| {
        let (mut writes, mut first) = (Vec::new(), 0);
        for (all, changed) in spans {
            let span = Span::try_from(first..=first + all.len() as u32 - 1).unwrap();
            for revisions in std::iter::once(&all).chain(&changed) {
                // A message without a revision has not changed.
                let revised = (first..).zip(revisions).filter(|(_, revision)| **revision > 0);
                let records = revised.map(|(seq, revision)| message(seq, *revision, &format!("at {revision}")));
                let records: Vec<Record> = records.collect();
                writes.extend((!records.is_empty()).then_some((span, records)));
            }
            first += all.len() as u32;
        }
        writes
    });
    writes.prop_flat_map(|writes| {
        let again = collection::vec(proptest::sample::select(writes.clone()), 0..8);
        again.prop_flat_map(move |again| Just([writes.clone(), again].concat()).prop_shuffle())
    })
}

#[test]
fn repeated_and_reordered_writes_of_spans_converge() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let log = runtime.block_on(log()).with_layout(verbale::dynamodb::Layout::Spans);
    let number = std::cell::Cell::new(0);
    proptest!(ProptestConfig::with_cases(256), |(history in writes_of_spans())| {
        number.set(number.get() + 1);
        let lease = lease(&format!("spans {}", number.get()));
        let put = |(span, records): &Write| runtime.block_on(log.put_span(&lease, *span, records)).unwrap();
        // A change of a span that is not there is refused as a whole, and the writer puts it again.
        let is_early = |write: &&Write| {
            let results = put(write);
            let is_refused = |put: &Result<Put, _>| put.as_ref().is_err_and(|error: &verbale::log::LogError| {
                error.kind() == LogErrorKind::Conflict
            });
            assert!(results.iter().all(Result::is_ok) || results.iter().all(is_refused));
            results.iter().any(Result::is_err)
        };
        let early: Vec<&Write> = history.iter().filter(is_early).collect();
        for write in early {
            prop_assert!(put(write).iter().all(Result::is_ok));
        }
        let mut newest = BTreeMap::new();
        for record in history.iter().flat_map(|(_, records)| records) {
            let known = newest.entry(record.position()).or_insert(0);
            *known = record.revision().max(*known);
        }
        let records = runtime.block_on(log.read_call(lease.call_id())).unwrap().records;
        let found: BTreeMap<_, _> = records.iter().map(|record| (record.position(), record.revision())).collect();
        prop_assert_eq!(found, newest);
        prop_assert!(records.iter().all(|record| history.iter().any(|(_, records)| records.contains(record))));
    });
}
