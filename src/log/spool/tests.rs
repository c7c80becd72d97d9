//! Changes of a spool, and reads after them.

mod damage;
#[cfg(feature = "encryption")]
mod encryption;
mod file;
mod history;

use std::collections::BTreeSet;
use std::slice;

use serde_json::json;

use super::*;
use crate::log::{CallEnd, CallHeader, CallId, LogErrorKind, Span, Tenant, Tenure, WriterLease};
use crate::message::Record;
use crate::testing::SpoolMemory;

fn call(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

fn lease(id: &str) -> WriterLease {
    WriterLease::from(call(id))
}

fn record(seq: u32, revision: u32, text: &str) -> Record {
    serde_json::from_value(json!({
        "id": crate::MessageId::from(u128::from(seq) + 1).to_string(), "seq": seq, "revision": revision, "later": [1.5],
        "message": {"role": "user", "contents": [text]}, "metadata": {"timing": {"creation": 5}},
    }))
    .unwrap()
}

fn summary(after: u32, number: u32) -> Record {
    serde_json::from_value(json!({
        "id": crate::MessageId::from(u128::from(number) << 64).to_string(), "after": after, "summary": number,
        "revision": 1, "message": {"role": "summary", "contents": ["They greeted."]},
        "metadata": {"timing": {"creation": 5}, "coversFrom": 0, "previousSummary": crate::MessageId::from(1).to_string()},
    }))
    .unwrap()
}

fn put(id: &str, record: &Record) -> SpoolChange {
    SpoolChange::Put(lease(id), record.clone())
}

fn stored(id: &str, record: &Record) -> SpoolChange {
    SpoolChange::Stored(call(id), RecordKey::of(record))
}

fn put_dead_letter(id: &str, record: &Record) -> SpoolChange {
    SpoolChange::DeadLetter { call_id: call(id), key: RecordKey::of(record), reason: "too large".into() }
}

fn index(record: &Record) -> (RecordKey, u64) {
    (RecordKey::of(record), serde_json::to_string(record).unwrap().len() as u64)
}

fn bytes<'a>(records: impl IntoIterator<Item = &'a Record>) -> u64 {
    records.into_iter().map(|record| index(record).1).sum()
}

fn batch(spool: &Spool, id: &str) -> Vec<Record> {
    spool.batch(&call(id), &BTreeSet::new(), &[], usize::MAX, usize::MAX).unwrap()
}

fn in_memory() -> (SpoolMemory, Spool) {
    let memory = SpoolMemory::default();
    let spool = memory.open(SpoolSettings::default()).unwrap();
    (memory, spool)
}

/// Opens the state that a crash leaves.
fn after_crash(memory: &SpoolMemory) -> Spool {
    memory.copy().open(SpoolSettings::default()).unwrap()
}

#[test]
fn records_are_read_in_order_and_unchanged() {
    let (memory, spool) = in_memory();
    let other = record(1, 7, "another call");
    let all = [record(0, 1, "Hi"), record(1, 3, "ü\u{0}\""), summary(1, 1), summary(1, 2), record(2, 1, "Bye")];
    let puts: Vec<SpoolChange> = all.iter().rev().map(|record| put("CA", record)).collect();
    spool.commit(&[put("C", &other), put("CA1", &other)]).unwrap();
    spool.commit(&puts).unwrap();
    for spool in [spool, after_crash(&memory)] {
        assert_eq!(batch(&spool, "CA"), all);
        assert_eq!(spool.batch(&call("CA"), &BTreeSet::new(), &[], 2, usize::MAX).unwrap(), all[..2]);
        assert_eq!(spool.batch(&call("CA"), &BTreeSet::new(), &[], 0, 0).unwrap(), all[..1]);
        let three = bytes(&all[..3]) as usize;
        assert_eq!(spool.batch(&call("CA"), &BTreeSet::new(), &[], usize::MAX, three).unwrap(), all[..3]);
        assert_eq!(spool.batch(&call("CA"), &BTreeSet::new(), &[], usize::MAX, three - 1).unwrap(), all[..2]);
        assert_eq!(batch(&spool, "nobody"), []);
        assert_eq!(spool.pending_bytes(), bytes(&all) + 2 * bytes([&other]));
    }
}

#[test]
fn newest_revision_is_kept_until_it_is_stored() {
    let (_, spool) = in_memory();
    let [first, second, third] = [1, 2, 3].map(|revision| record(4, revision, &"x".repeat(revision as usize)));
    spool.commit(&[put("CA", &second), put("CA", &first)]).unwrap();
    assert_eq!(batch(&spool, "CA"), slice::from_ref(&second));
    spool.commit(&[put("CA", &third), stored("CA", &second)]).unwrap();
    assert_eq!(batch(&spool, "CA"), slice::from_ref(&third));
    assert_eq!(spool.pending_bytes(), bytes([&third]));
    spool.commit(&[stored("CA", &third), stored("nobody", &third)]).unwrap();
    assert_eq!((spool.calls(None, usize::MAX).unwrap(), spool.pending_bytes()), (vec![], 0));
}

#[test]
fn two_messages_at_one_position_are_both_kept() {
    let (_, spool) = in_memory();
    let mine = record(4, 1, "mine");
    let mut theirs = serde_json::to_value(&mine).unwrap();
    theirs["id"] = json!(crate::MessageId::from(99).to_string());
    let theirs: Record = serde_json::from_value(theirs).unwrap();
    spool.commit(&[put("CA", &theirs), put("CA", &mine)]).unwrap();
    assert_eq!(batch(&spool, "CA"), [mine.clone(), theirs.clone()]);
    spool.commit(&[stored("CA", &theirs)]).unwrap();
    assert_eq!(batch(&spool, "CA"), [mine]);
}

#[test]
fn dead_letters_are_kept_until_they_are_discarded() {
    let (memory, spool) = in_memory();
    let [first, second] = [1, 2].map(|revision| record(0, revision, "private words"));
    let [next, last] = [record(1, 1, "next"), record(2, 1, "last")];
    spool.commit(&[put("CA", &first), put("CA", &next), put("CB", &last)]).unwrap();
    spool
        .commit(&[put_dead_letter("CA", &first), put_dead_letter("CA", &second), put_dead_letter("CB", &last)])
        .unwrap();
    spool.commit(&[put("CA", &first)]).unwrap();
    let letter = |id, record: &Record| DeadLetter::of_record(call(id), record.clone(), "too large".into());
    for spool in [&spool, &after_crash(&memory)] {
        assert_eq!(batch(spool, "CA"), slice::from_ref(&next));
        assert_eq!(spool.dead_letters(9).unwrap(), [letter("CA", &first), letter("CB", &last)]);
        assert_eq!(spool.dead_letters(1).unwrap(), [letter("CA", &first)]);
        assert_eq!((spool.pending_bytes(), spool.dead_letter_bytes()), (bytes([&next]), bytes([&first, &last])));
        let calls = spool.calls(None, usize::MAX).unwrap();
        assert_eq!((&calls[0].records, &calls[0].dead_letters), (&vec![index(&next)], &vec![index(&first)]));
    }
    assert!(!format!("{:?}{spool:?}", spool.dead_letters(9).unwrap()).contains("private"));

    // A newer revision replaces the dead letter.
    spool.commit(&[put("CA", &second)]).unwrap();
    assert_eq!(batch(&spool, "CA"), [second, next]);
    assert_eq!(spool.dead_letters(9).unwrap(), [letter("CB", &last)]);
    let discard = |id, record: &Record| SpoolChange::Discard(call(id), RecordKey::of(record));
    spool.commit(&[discard("CA", &first), discard("CB", &last)]).unwrap();
    assert_eq!((spool.dead_letters(9).unwrap(), spool.dead_letter_bytes()), (vec![], 0));
    assert_eq!(spool.calls(None, usize::MAX).unwrap().len(), 1);
}

#[test]
fn call_is_kept_while_it_has_work() {
    let (memory, spool) = in_memory();
    let header = CallHeader::new(call("CA"), 7).unwrap().with_tenant(Tenant::new("A bank").unwrap());
    let header = header.with_expires_at(900);
    let call_end = CallEnd::new(8, "hangup", 1, 0).unwrap();
    let held =
        header.clone().with_state(Tenure { epoch: 3, served: 3, ..Tenure::default() }, Some(call_end.clone()), true);
    let hello = record(0, 1, "Hello");
    spool.commit(&[SpoolChange::Open(header.clone()), SpoolChange::Open(held.clone())]).unwrap();
    spool.commit(&[SpoolChange::Close(lease("CA"), call_end.clone()), put("CA", &hello)]).unwrap();
    let mut whole = SpooledCall {
        lease: WriterLease::from(&held),
        opening: Some(held),
        call_end: Some(call_end),
        refused_header: None,
        refused_end: None,
        records: vec![index(&hello)],
        dead_letters: vec![],
        spans: vec![],
    };
    assert_eq!(after_crash(&memory).calls(None, usize::MAX).unwrap(), [whole.clone()]);

    let newer = WriterLease::restored(call("CA"), 4, 4, Some(5));
    spool.commit(&[SpoolChange::Opened(newer.clone()), SpoolChange::Opened(lease("nobody"))]).unwrap();
    (whole.lease, whole.opening) = (newer, None);
    assert_eq!(spool.calls(None, usize::MAX).unwrap(), [whole.clone()]);
    spool.commit(&[stored("CA", &hello), SpoolChange::Opened(lease("CA"))]).unwrap();
    whole.records.clear();
    assert_eq!(after_crash(&memory).calls(None, usize::MAX).unwrap(), [whole]);
    spool.commit(&[SpoolChange::Closed(call("CA")), SpoolChange::Closed(call("nobody"))]).unwrap();
    assert_eq!(spool.calls(None, usize::MAX).unwrap(), []);
}

#[test]
fn batch_ends_with_a_span() {
    let (_, spool) = in_memory();
    let all = [record(0, 1, "a"), record(1, 1, "b"), summary(1, 1), record(2, 1, "c"), record(3, 1, "d")];
    spool.commit(&all.iter().map(|record| put("CA", record)).collect::<Vec<_>>()).unwrap();
    let [one, two] = [(0, 2), (3, 3)].map(|(first, last)| Span::new(first, last).unwrap());
    for (spans, records, expected) in [(&[][..], 1, 1), (&[one, two], 1, 4), (&[one, two], 5, 5), (&[two], 4, 4)] {
        let read = spool.batch(&call("CA"), &BTreeSet::new(), spans, records, usize::MAX).unwrap();
        assert_eq!(read, all[..expected]);
        let read = spool.batch(&call("CA"), &BTreeSet::new(), spans, usize::MAX, bytes(&all[..records]) as usize);
        assert_eq!(read.unwrap(), all[..expected]);
    }
    // The rest of a span does not come with others.
    spool.commit(&[stored("CA", &all[1]), stored("CA", &all[2]), stored("CA", &all[3])]).unwrap();
    assert_eq!(spool.batch(&call("CA"), &BTreeSet::new(), &[one, two], 1, 0).unwrap(), all[..1]);
}

#[test]
fn spool_without_spans_is_read_written_and_copied() {
    let memory = SpoolMemory::default();
    let hello = record(0, 1, "Hello");
    memory.open(SpoolSettings::default()).unwrap().commit(&[put("CA", &hello)]).unwrap();
    let older = memory.copy();
    let transaction = Home::open(&older).unwrap().begin_write().unwrap();
    assert!(transaction.delete_table(tables::SPANS).unwrap());
    transaction.commit().unwrap();

    let spool = older.open(SpoolSettings::default()).unwrap();
    assert_eq!(spool.calls(None, 9).unwrap()[0].spans, []);
    spool.commit(&[SpoolChange::Forget(call("CB"))]).unwrap();
    assert_eq!(batch(&spool, "CA"), slice::from_ref(&hello));
    let span = Span::new(0, 1).unwrap();
    spool.commit(&[SpoolChange::Span(call("CA"), span), SpoolChange::Forget(call("CB"))]).unwrap();
    assert_eq!(after_crash(&older).calls(None, 9).unwrap()[0].spans, [span]);
}

#[test]
fn dead_letters_count_towards_the_limit() {
    let hello = record(0, 1, "Hello");
    let settings = SpoolSettings::default().with_max_bytes(2 * bytes([&hello]));
    let spool = SpoolMemory::default().open(settings).unwrap();
    spool.commit(&[put("CA", &hello), put("CB", &hello), put_dead_letter("CB", &hello)]).unwrap();
    assert!(spool.has_room_for(0) && !spool.has_room_for(1));
    spool.commit(&[stored("CA", &hello)]).unwrap();
    assert!(spool.has_room_for(bytes([&hello])) && !spool.has_room_for(bytes([&hello]) + 1));
}

#[test]
fn full_disk_refuses_commits_until_there_is_room() {
    let (memory, spool) = in_memory();
    let [kept, refused] = [record(0, 1, "kept"), record(1, 1, "private words")];
    spool.commit(&[put("CA", &kept)]).unwrap();
    memory.fail_after(Some(0));
    for change in [put("CA", &refused), SpoolChange::Forget(call("CB"))] {
        let error = spool.commit(&[change]).unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::NeedsOperator);
        assert_eq!(error.to_string(), "the disk of the spool (in memory) is full; free some space, then retry");
    }
    memory.fail_after(None);
    assert_eq!(batch(&spool, "CA"), slice::from_ref(&kept));
    assert_eq!(spool.pending_bytes(), bytes([&kept]));
    spool.commit(&[put("CA", &refused)]).unwrap();
    assert_eq!(batch(&after_crash(&memory), "CA"), [kept, refused]);
}
