//! Encrypted spools.

use std::collections::BTreeSet;

use redb::ReadableTable;

use super::*;

const SECRET: &str = "my card is 4929 7000 1234";

fn with_key(byte: u8) -> SpoolSettings {
    SpoolSettings::default().with_key(&[byte; 32])
}

/// Commits every kind of change.
fn fill(spool: &Spool) {
    let header = CallHeader::new(call("CA"), 7).unwrap().with_tenant(Tenant::new(SECRET).unwrap());
    let call_end = CallEnd::new(8, SECRET, 1, 0).unwrap();
    let [first, second] = [record(0, 1, SECRET), record(1, 1, SECRET)];
    spool.commit(&[SpoolChange::Open(header), SpoolChange::Close(lease("CA"), call_end)]).unwrap();
    spool.commit(&[put("CA", &first), put("CA", &second), put_dead_letter("CA", &second)]).unwrap();
}

#[test]
fn nothing_that_was_said_is_readable_in_the_file() {
    for is_encrypted in [false, true] {
        let memory = SpoolMemory::default();
        let settings = if is_encrypted { with_key(1) } else { SpoolSettings::default() };
        let spool = memory.open(settings.clone()).unwrap();
        fill(&spool);
        assert_eq!(memory.contains(SECRET.as_bytes()), !is_encrypted);
        assert!(!memory.contains(b"Hello") && memory.contains(b"too large"));
        let found = spool.calls(None, usize::MAX).unwrap();
        spool.commit(&[SpoolChange::Forget(call("CB"))]).unwrap();
        let spool = memory.copy().open(settings).unwrap();
        assert_eq!(batch(&spool, "CA"), [record(0, 1, SECRET)]);
        assert_eq!(spool.dead_letters(9).unwrap()[0].record, Some(record(1, 1, SECRET)));
        assert_eq!(spool.calls(None, usize::MAX).unwrap(), found);
        assert_eq!(found[0].call_end.as_ref().unwrap().reason.as_ref(), SECRET);
        assert!(!format!("{spool:?}").contains("[1, 1"), "{spool:?}");
    }
}

#[test]
fn equal_records_are_encrypted_differently() {
    let memory = SpoolMemory::default();
    let spool = memory.open(with_key(1)).unwrap();
    let hello = record(0, 1, SECRET);
    let seal = || {
        let open = unpoisoned(&spool.open);
        let place = tables::place(0, &RecordKey::of(&hello));
        open.as_ref().unwrap().sealing.seal(sealing::Sealed::Record(place, 1), b"Hello").unwrap().into_owned()
    };
    let [first, second] = [seal(), seal()];
    assert!(first[..24] != second[..24] && first[24..] != second[24..]);
}

#[test]
fn wrong_or_missing_key_is_named() {
    let refused = |memory: &SpoolMemory, settings, expected: &str| {
        let error = memory.open(settings).unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::NeedsOperator);
        assert_eq!(error.to_string(), format!("the spool (in memory) {expected}"));
    };
    let memory = SpoolMemory::default();
    let spool = memory.open(with_key(1)).unwrap();
    for is_filled in [false, true] {
        if is_filled {
            fill(&spool);
        }
        let memory = memory.copy();
        refused(&memory, with_key(2), "is encrypted with another key; open it with that key");
        refused(&memory, SpoolSettings::default(), "is encrypted; open it with its key");
        memory.open(with_key(1)).unwrap();
    }

    let memory = SpoolMemory::default();
    drop(memory.open(SpoolSettings::default()).unwrap());
    // An empty spool takes a key.
    drop(memory.copy().open(with_key(1)).unwrap());
    fill(&memory.open(SpoolSettings::default()).unwrap());
    refused(&memory, with_key(1), "has records that are not encrypted; open it without a key until they are stored");
}

#[test]
fn value_at_another_place_is_refused() {
    let memory = SpoolMemory::default();
    let spool = memory.open(with_key(1)).unwrap();
    spool.commit(&[put("CA", &record(0, 1, "first")), put("CA", &record(1, 1, "second"))]).unwrap();
    {
        let open = unpoisoned(&spool.open);
        let transaction = open.as_ref().unwrap().database.begin_write().unwrap();
        {
            let mut table = transaction.open_table(tables::RECORDS).unwrap();
            let [first, second] = [0, 1].map(|seq| tables::place(0, &RecordKey::of(&record(seq, 1, ""))));
            let moved = table.get(first).unwrap().unwrap().value().1.to_vec();
            table.insert(second, (1, moved.as_slice())).unwrap();
        }
        transaction.commit().unwrap();
    }
    assert_eq!(spool.batch(&call("CA"), &BTreeSet::new(), &[], 1, 0).unwrap(), [record(0, 1, "first")]);
    let error = spool.batch(&call("CA"), &BTreeSet::new(), &[], 2, usize::MAX).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Damaged);
}
