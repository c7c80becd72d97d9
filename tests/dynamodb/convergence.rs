//! Records that are written in any order, any number of times, end in the same table.

use std::collections::BTreeMap;

use proptest::collection;
use proptest::prelude::*;
use verbale::Record;
use verbale::log::{CallLog, Put};

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
