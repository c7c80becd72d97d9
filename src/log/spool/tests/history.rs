//! Whole histories, compared with a model, with crashes between commits and at any write.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// The expected contents of a spool.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Model(BTreeMap<CallId, ModelCall>);

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ModelCall {
    lease: WriterLease,
    opening: Option<CallHeader>,
    call_end: Option<CallEnd>,
    refused_header: Option<(CallHeader, Box<str>)>,
    refused_end: Option<(CallEnd, Box<str>)>,
    records: BTreeMap<u32, Record>,
    dead_letters: BTreeMap<u32, Record>,
    spans: BTreeMap<u32, Span>,
}

impl Model {
    fn call_of(&mut self, lease: &WriterLease) -> &mut ModelCall {
        let call = self.0.entry(lease.call_id().clone()).or_insert_with(|| ModelCall {
            lease: lease.clone(),
            opening: None,
            call_end: None,
            refused_header: None,
            refused_end: None,
            records: BTreeMap::new(),
            dead_letters: BTreeMap::new(),
            spans: BTreeMap::new(),
        });
        call.update_lease(lease);
        call
    }

    fn commit(&mut self, changes: &[SpoolChange]) {
        for change in changes {
            self.change(change);
        }
        self.0.retain(|_, call| {
            let has_records = !(call.records.is_empty() && call.dead_letters.is_empty());
            let has_parts = call.opening.is_some() || call.call_end.is_some();
            has_records || has_parts || call.refused_header.is_some() || call.refused_end.is_some()
        });
    }

    fn change(&mut self, change: &SpoolChange) {
        let seq = |key: &RecordKey| key.position.seq();
        let has = |record: Option<&Record>, key: &RecordKey| record.is_some_and(|it| RecordKey::of(it) == *key);
        match change {
            SpoolChange::Open(header) => self.call_of(&WriterLease::from(header)).opening = Some(header.clone()),
            SpoolChange::RefuseHeader(header, reason) => {
                self.call_of(&WriterLease::from(header)).refused_header = Some((header.clone(), reason.clone()));
            }
            SpoolChange::Close(lease, call_end) => self.call_of(lease).call_end = Some(call_end.clone()),
            SpoolChange::Opened(lease) => {
                if let Some(call) = self.0.get_mut(lease.call_id()) {
                    call.update_lease(lease);
                    call.opening = None;
                }
            }
            SpoolChange::Put(lease, record) => {
                let call = self.call_of(lease);
                let (at, revision) = (record.position().seq(), record.revision());
                let known = [&call.records, &call.dead_letters].map(|them| them.get(&at).map_or(0, |it| it.revision()));
                if known.iter().all(|known| *known < revision) {
                    call.dead_letters.remove(&at);
                    call.records.insert(at, record.clone());
                }
            }
            SpoolChange::Forget(id) => drop(self.0.remove(id)),
            SpoolChange::Closed(id)
            | SpoolChange::RefuseEnd(id, _)
            | SpoolChange::DiscardParts(id)
            | SpoolChange::Stored(id, _)
            | SpoolChange::Span(id, _)
            | SpoolChange::Split(id, _)
            | SpoolChange::Discard(id, _)
            | SpoolChange::DeadLetter { call_id: id, .. } => {
                let Some(call) = self.0.get_mut(id) else { return };
                match change {
                    SpoolChange::Stored(_, key) if has(call.records.get(&seq(key)), key) => {
                        call.records.remove(&seq(key));
                    }
                    SpoolChange::Discard(_, key) if has(call.dead_letters.get(&seq(key)), key) => {
                        call.dead_letters.remove(&seq(key));
                    }
                    SpoolChange::DeadLetter { key, .. } if has(call.records.get(&seq(key)), key) => {
                        call.dead_letters.extend(call.records.remove_entry(&seq(key)));
                    }
                    SpoolChange::Closed(_) => call.call_end = None,
                    SpoolChange::RefuseEnd(_, reason) => {
                        let refused = call.call_end.take().map(|call_end| (call_end, reason.clone()));
                        call.refused_end = refused.or(call.refused_end.take());
                    }
                    SpoolChange::DiscardParts(_) => (call.refused_header, call.refused_end) = (None, None),
                    SpoolChange::Span(_, span) => drop(call.spans.insert(span.first(), *span)),
                    SpoolChange::Split(_, span) => drop(call.spans.remove(&span.first())),
                    _ => {}
                }
            }
        }
    }

    /// Reads the model from a spool through all of its methods.
    pub(super) fn of(spool: &Spool) -> Self {
        let letters = spool.dead_letters(usize::MAX).unwrap();
        let calls = spool.calls(None, usize::MAX).unwrap().into_iter().map(|call| {
            let id = call.lease.call_id().clone();
            let records = spool.batch(&id, &BTreeSet::new(), &[], usize::MAX, usize::MAX).unwrap();
            assert_eq!(call.records, records.iter().map(index).collect::<Vec<_>>());
            let dead_letters: Vec<Record> =
                letters.iter().filter(|it| it.call_id == id).filter_map(|it| it.record.clone()).collect();
            assert_eq!(call.dead_letters, dead_letters.iter().map(index).collect::<Vec<_>>());
            let by_seq = |records: Vec<Record>| records.into_iter().map(|it| (it.position().seq(), it)).collect();
            let parts: Vec<_> = letters.iter().filter(|it| it.call_id == id && it.record.is_none()).collect();
            let headers = parts.iter().filter_map(|it| Some((it.header.clone()?, it.reason.clone())));
            assert!(headers.eq(call.refused_header.clone()));
            let ends = parts.iter().filter_map(|it| Some((it.call_end.clone()?, it.reason.clone())));
            assert!(ends.eq(call.refused_end.clone()));
            let spans = call.spans.into_iter().map(|span| (span.first(), span)).collect();
            let SpooledCall { lease, opening, call_end, refused_header, refused_end, .. } = call;
            let (records, dead_letters) = (by_seq(records), by_seq(dead_letters));
            (id, ModelCall { lease, opening, call_end, refused_header, refused_end, records, dead_letters, spans })
        });
        let model = Self(calls.collect());
        assert_eq!(spool.pending_bytes(), bytes(model.0.values().flat_map(|call| call.records.values())));
        assert_eq!(spool.dead_letter_bytes(), bytes(model.0.values().flat_map(|call| call.dead_letters.values())));
        model
    }
}

impl ModelCall {
    fn update_lease(&mut self, lease: &WriterLease) {
        if lease.epoch() >= self.lease.epoch() {
            self.lease = lease.clone();
        }
    }
}

fn some_change() -> impl Strategy<Value = SpoolChange> {
    // One of the ids is a prefix of another.
    let id = prop::sample::select(vec!["CA", "CA1", "ü"]).prop_map(call);
    let text = prop_oneof![4 => Just(3_usize), 1 => Just(9_000)].prop_map(|length| "x".repeat(length));
    (0..25, id, 0..4_u32, 1..4_u32, 1..4_u32, text).prop_map(|(kind, call_id, seq, revision, epoch, text)| {
        let record = record(seq, revision, &text);
        let key = RecordKey::of(&record);
        let lease = WriterLease::restored(call_id.clone(), epoch, epoch, (epoch == 2).then_some(7));
        match kind {
            0 => SpoolChange::Open(CallHeader::new(call_id, i64::from(seq)).unwrap().with_state(
                Tenure { epoch, served: epoch, ..Tenure::default() },
                None,
                false,
            )),
            1 => SpoolChange::Opened(lease),
            2 => SpoolChange::Close(lease, CallEnd::new(5, "hangup", seq, 0).unwrap()),
            3 => SpoolChange::Closed(call_id),
            4 => SpoolChange::Forget(call_id),
            5 => SpoolChange::Discard(call_id, key),
            6..8 => SpoolChange::DeadLetter { call_id, key, reason: "too large".into() },
            8..11 => SpoolChange::Stored(call_id, key),
            11..13 => SpoolChange::Span(call_id, Span::new(seq, seq + revision).unwrap()),
            22 => SpoolChange::RefuseEnd(call_id, "another process writes the call".into()),
            23 => SpoolChange::DiscardParts(call_id),
            24 => {
                let header = CallHeader::new(call_id, i64::from(seq)).unwrap();
                SpoolChange::RefuseHeader(header, "too many attributes".into())
            }
            13 => SpoolChange::Split(call_id, Span::new(seq, seq + revision).unwrap()),
            _ => SpoolChange::Put(lease, record),
        }
    })
}

fn some_history() -> impl Strategy<Value = Vec<Vec<SpoolChange>>> {
    prop::collection::vec(prop::collection::vec(some_change(), 1..8), 1..12)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn spool_matches_the_model_after_commits_and_restarts(
        history in some_history(), restarts in prop::collection::vec(0..4, 12),
    ) {
        let (mut memory, mut spool) = in_memory();
        let mut model = Model::default();
        for (changes, restart) in history.iter().zip(restarts) {
            spool.commit(changes).unwrap();
            model.commit(changes);
            match restart {
                0 => {
                    memory = memory.copy();
                    spool = memory.open(SpoolSettings::default()).unwrap();
                }
                1 => {
                    drop(spool);
                    spool = memory.open(SpoolSettings::default()).unwrap();
                }
                2 => {
                    spool.commit(changes).unwrap();
                    model.commit(changes);
                }
                _ => {}
            }
            prop_assert_eq!(&Model::of(&spool), &model);
        }
    }

    #[test]
    fn changes_are_idempotent(changes in prop::collection::vec(some_change(), 1..12)) {
        let mut model = Model::default();
        for change in changes {
            model.commit(slice::from_ref(&change));
            let once = model.clone();
            model.commit(slice::from_ref(&change));
            prop_assert_eq!(&model, &once);
        }
    }

    #[test]
    fn crash_at_any_write_keeps_whole_commits_only(
        history in some_history(), writes in 0..400_u64,
    ) {
        let (memory, spool) = in_memory();
        memory.fail_after(Some(writes));
        let mut model = Model::default();
        for changes in &history {
            let before = model.clone();
            model.commit(changes);
            if spool.commit(changes).is_err() {
                let found = Model::of(&after_crash(&memory));
                prop_assert!(found == model || found == before);
                // The process lives and the disk has room again: it makes the same commit in either case.
                memory.fail_after(None);
                spool.commit(changes).unwrap();
                if found == model {
                    model.commit(changes);
                }
            }
            prop_assert_eq!(&Model::of(&spool), &model);
        }
    }
}

#[test]
fn first_opening_survives_a_crash_at_any_write() {
    let opened = |writes| {
        let memory = SpoolMemory::default();
        memory.fail_after(Some(writes));
        let is_open = memory.open(SpoolSettings::default()).is_ok();
        assert_eq!(Model::of(&after_crash(&memory)), Model::default(), "after {writes} writes");
        is_open
    };
    assert!((0..200).any(opened), "there are not so many writes");
}

#[test]
fn no_byte_of_an_erased_call_remains_after_a_crash() {
    let secret = "my card is 4929 7000 1234";
    let history = |memory: &SpoolMemory, spool: &Spool| {
        let changes = [put("CA", &record(0, 1, secret)), put("CB", &record(1, 1, "kept"))];
        spool.commit(&changes).unwrap();
        spool.commit(&[stored("CA", &record(0, 1, secret)), put("CA", &record(0, 2, secret))]).unwrap();
        spool.commit(&[put("CA", &record(7, 1, secret)), put_dead_letter("CA", &record(0, 2, secret))]).unwrap();
        // Many pages, with other pages after them, so that freed pages are neither overwritten at once nor cut off.
        let long = |text: &str| format!("{text}{}", "x".repeat(2_000));
        let many = |id, text: &str| (8..28).map(|seq| put(id, &record(seq, 1, &long(text)))).collect::<Vec<_>>();
        spool.commit(&many("CA", secret)).unwrap();
        spool.commit(&many("CB", "kept")).unwrap();
        assert!(memory.contains(secret.as_bytes()));
    };
    for writes in 0.. {
        let (memory, spool) = in_memory();
        history(&memory, &spool);
        memory.fail_after(Some(writes));
        let is_done = spool.commit(&[SpoolChange::Forget(call("CA"))]).is_ok();
        let crashed = memory.copy();
        let found = Model::of(&crashed.open(SpoolSettings::default()).unwrap());
        if found.0.contains_key(&call("CA")) {
            assert!(!is_done, "after {writes} writes");
        } else {
            assert!(!crashed.contains(secret.as_bytes()), "after {writes} writes");
        }
        if is_done {
            assert!(!memory.contains(secret.as_bytes()) && memory.contains(b"kept"));
            assert!(writes > 5, "there are more writes to crash at");
            return;
        }
    }
}

#[test]
fn stored_records_are_scrubbed_by_an_erasure_and_by_opening_an_empty_spool() {
    let secret = "my card is 4929 7000 1234";
    let store_all = |spool: &Spool| {
        spool.commit(&[put("CA", &record(0, 1, secret))]).unwrap();
        spool.commit(&[stored("CA", &record(0, 1, secret))]).unwrap();
    };
    let (memory, spool) = in_memory();
    store_all(&spool);
    let crashed = memory.copy();
    assert!(crashed.contains(secret.as_bytes()), "otherwise this test proves nothing");
    spool.commit(&[SpoolChange::Forget(call("CA"))]).unwrap();
    assert!(!memory.contains(secret.as_bytes()));

    crashed.open(SpoolSettings::default()).unwrap();
    assert!(!crashed.contains(secret.as_bytes()));
}
