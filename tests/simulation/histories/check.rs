//! What must hold, after each step and each flush, after a crash, and in the end.

use std::collections::BTreeSet;

use verbale::log::{CallId, CallLog, Part, Status, Unstored};
use verbale::message::Position;
use verbale::{MessageId, Record};

use super::call::{Call, Newest};
use super::world::World;
use crate::dynamo::{Dynamo, Place};

/// Nothing is counted twice, and nothing is missing.
pub fn balanced(status: &Status) {
    let known = status.stored + status.replaced + status.queued + status.spooled + status.dead_letters + status.taken;
    assert_eq!(status.accepted + status.recovered, known + status.erased, "the counters do not balance: {status:?}");
}

/// A call that another life goes on with has all that was promised, and nothing that nobody ever accepted.
pub fn restored(call: &Call, records: &[Record]) {
    for record in records {
        let key = (record.position(), record.id(), record.revision());
        let known = call.accepted.get(&key).is_some_and(|all| all.contains(record));
        assert!(known, "call {} was resumed with what nobody handed over: {key:?}", call.id);
    }
    // What is set aside leaves its promise to whoever takes it from there.
    if !call.has_large {
        let newest: Newest =
            records.iter().map(|record| (record.position(), (record.id(), record.revision()))).collect();
        for (place, (id, revision)) in &call.promised {
            let is_kept = newest.get(place).is_some_and(|(found, at)| found == id && at >= revision);
            assert!(is_kept, "call {} lost {place:?} at revision {revision}, which was acknowledged", call.id);
        }
    }
}

/// A flush tells all that is not in the table: what it does not tell is there.
pub fn flushed(world: &World, process: usize, told: &[Unstored]) {
    let records = told.iter().filter_map(|unstored| match unstored.part {
        Part::Record { id, revision, .. } => Some((unstored.call_id.as_ref()?, id, revision)),
        _ => None,
    });
    let taken = world.aside.iter().map(|aside| (&aside.call_id, aside.record.id(), aside.record.revision()));
    let told: BTreeSet<(&CallId, MessageId, u32)> = records.chain(taken).collect();
    let stored = world.dynamo.revisions("verbale");
    for call in world.calls.iter().filter(|call| !call.is_erasing) {
        for owner in call.owners_in(process) {
            for (position, (id, revision)) in &owner.told {
                let in_table = stored.get(&place(&call.id, *position));
                let is_stored =
                    in_table.is_some_and(|(found, at)| *found == id.to_string() && *at >= u64::from(*revision));
                let is_told = told.contains(&(&call.id, *id, *revision));
                assert!(is_stored || is_told, "call {}: {position:?}@{revision} is neither stored nor told", call.id);
            }
        }
    }
}

/// Nothing that was said is left in the spool of the process that erased the call.
pub fn forgotten(world: &World, index: usize) {
    let call = &world.calls[index];
    if let Some(memory) = &world.processes[call.home].memory {
        assert!(!memory.contains(call.mark.as_bytes()), "call {} was erased, and is still in the spool", call.id);
    }
}

/// The table holds a call as its manager does, but for what was set aside.
pub async fn stored(world: &World, index: usize) {
    let call = &world.calls[index];
    let logged = world.log.read_call(&call.id).await.unwrap();
    if call.is_erasing {
        return assert!(logged.is_empty(), "call {} was erased, and is read", call.id);
    }
    written_once_and_in_order(&world.dynamo, call);
    let Some(owner) = &call.owner else { return restored(call, &logged.records) };
    let aside: BTreeSet<Key> =
        world.aside.iter().filter(|aside| aside.call_id == call.id).map(|aside| key_of(&aside.record)).collect();
    let expected: Vec<Record> = owner.manager.records();
    let (taken, whole): (Vec<_>, Vec<_>) = expected.into_iter().partition(|record| aside.contains(&key_of(record)));
    let apart: BTreeSet<Position> = taken.iter().map(|record| record.position()).collect();
    let found: Vec<_> = logged.records.iter().filter(|record| !apart.contains(&record.position())).cloned().collect();
    assert_eq!(keys_of(&found), keys_of(&whole), "call {}", call.id);
    assert_eq!(found, whole, "call {}", call.id);
    if apart.is_empty() {
        assert!(World::restored(logged.records) == owner.manager, "call {}", call.id);
    }
    let header = logged.header.unwrap();
    assert!(header.is_opened_as(&call.header), "call {}", call.id);
    assert_eq!(header.call_end(), owner.call_end.as_ref(), "call {}", call.id);
}

/// Of a call that had one writer: each revision was written once, in its order, and the messages in that of the list.
fn written_once_and_in_order(dynamo: &Dynamo, call: &Call) {
    if call.was_resumed {
        return;
    }
    let journal = dynamo.journal();
    let partition = format!("CALL#{}", call.id);
    for ((_, sort), revisions) in journal.writes.iter().filter(|((of, _), _)| *of == partition) {
        let revisions: Vec<u64> = revisions.iter().flatten().copied().collect();
        assert!(revisions.is_sorted_by(|one, next| one < next), "{partition} {sort}: {revisions:?}");
    }
    let first = journal.first_writes(&partition);
    let messages: Vec<_> = first.iter().filter(|sort| sort.starts_with("MSG#") && !sort.contains("#SUM#")).collect();
    assert!(messages.is_sorted(), "{partition}: {messages:?}");
}

pub fn place(call_id: &CallId, position: Position) -> Place {
    let seq = position.seq();
    let sort_key = match position.summary_number() {
        None => format!("MSG#{seq:08}"),
        Some(number) => format!("MSG#{seq:08}#SUM#{number:04}"),
    };
    (format!("CALL#{call_id}"), sort_key)
}

pub type Key = (Position, MessageId, u32);

pub fn key_of(record: &Record) -> Key {
    (record.position(), record.id(), record.revision())
}

fn keys_of(records: &[Record]) -> Vec<Key> {
    records.iter().map(key_of).collect()
}
