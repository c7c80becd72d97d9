//! The invariants after each step, each flush, each crash and at the end.

use std::collections::BTreeSet;

use verbale::log::{CallId, CallLog, LogErrorKind, Status, Unstored};
use verbale::message::Position;
use verbale::{MessageId, Record};

use super::call::{Call, Manager, Newest};
use super::world::World;
use crate::dynamo::{Dynamo, ItemKey};

/// Asserts that the counters of a writer balance.
pub fn balanced(status: &Status) {
    let known = status.stored + status.dropped + status.queued + status.spooled + status.dead_letters;
    assert_eq!(status.accepted + status.recovered, known, "the counters do not balance: {status:?}");
}

/// Asserts that a resumed call has only records that were accepted, and that it has or names all promised ones. `apart`
/// are the messages with a dead letter: the promise of a dead letter passes to the code that takes it.
pub fn restored(call: &Call, manager: &Manager, apart: &BTreeSet<MessageId>) {
    let mut newest = Newest::new();
    for record in manager.records() {
        let key = (record.position(), record.id(), record.revision());
        let known = call.accepted.get(&key).is_some_and(|all| all.contains(&record));
        assert!(known, "call {} was resumed with a record that was never submitted: {key:?}", call.id);
        newest.insert(record.position(), (record.id(), record.revision()));
    }
    let named: BTreeSet<Position> = manager.left_out().iter().map(|left_out| left_out.position).collect();
    for (position, (id, revision)) in &call.promised {
        let is_kept = newest.get(position).is_some_and(|(found, at)| found == id && at >= revision);
        let is_named = call.has_large && (named.contains(position) || apart.contains(id));
        assert!(
            is_kept || is_named,
            "call {} lost {position:?} at revision {revision}, which was acknowledged",
            call.id
        );
    }
}

/// Asserts that a flush reports every record that is not in the table.
pub fn flushed(world: &World, process: usize, unstored: &[Unstored]) {
    let records = unstored.iter().filter_map(|unstored| {
        let text = unstored.to_string();
        let revision = text.strip_prefix("revision ")?.split(' ').next()?.parse().unwrap();
        Some((unstored.call_id.as_ref()?, unstored.message_id?, revision))
    });
    let letters = world.dead_letters.iter().filter_map(|letter| Some((&letter.call_id, letter.record.as_ref()?)));
    let taken = letters.map(|(call_id, record)| (call_id, record.id(), record.revision()));
    let reported: BTreeSet<(&CallId, MessageId, u32)> = records.chain(taken).collect();
    let stored = world.dynamo.revisions("verbale");
    for call in world.calls.iter().filter(|call| !call.is_erasing) {
        for owner in call.owners_in(process) {
            for (position, (id, revision)) in &owner.submitted {
                let in_table = stored.get(&key_in_table(&call.id, *position));
                let is_stored =
                    in_table.is_some_and(|(found, at)| *found == id.to_string() && *at >= u64::from(*revision));
                let is_reported = reported.contains(&(&call.id, *id, *revision));
                assert!(
                    is_stored || is_reported,
                    "call {}: {position:?}@{revision} is neither stored nor reported",
                    call.id
                );
            }
        }
    }
}

/// Asserts that the spool of the process that erased a call has no text of the call.
pub fn forgotten(world: &World, index: usize) {
    let call = &world.calls[index];
    if let Some(memory) = &world.processes[call.home].memory {
        assert!(!memory.contains(call.mark.as_bytes()), "call {} was erased, and is still in the spool", call.id);
    }
}

/// Asserts that the table equals the manager of a call, except for dead letters.
pub async fn stored(world: &World, index: usize) {
    let call = &world.calls[index];
    let logged = world.log.read_call(&call.id).await;
    if call.is_erasing {
        let is_erased = logged.is_err_and(|error| error.kind() == LogErrorKind::Erased);
        return assert!(is_erased, "call {} was erased, and is read", call.id);
    }
    let logged = logged.unwrap();
    written_once_and_in_order(&world.dynamo, call);
    let Some(owner) = &call.owner else { panic!("call {} is not resumed", call.id) };
    let dead_letters: BTreeSet<Key> = world
        .dead_letters
        .iter()
        .filter(|letter| letter.call_id == call.id)
        .filter_map(|letter| letter.record.as_ref())
        .map(key_of)
        .collect();
    let expected: Vec<Record> = owner.manager.records();
    let (taken, whole): (Vec<_>, Vec<_>) =
        expected.into_iter().partition(|record| dead_letters.contains(&key_of(record)));
    let apart: BTreeSet<Position> = taken.iter().map(|record| record.position()).collect();
    let found: Vec<_> = logged.records.iter().filter(|record| !apart.contains(&record.position())).cloned().collect();
    assert_eq!(keys_of(&found), keys_of(&whole), "call {}", call.id);
    assert_eq!(found, whole, "call {}", call.id);
    if apart.is_empty() {
        assert!(logged.clone().restore() == owner.manager, "call {}", call.id);
    }
    let header = logged.header.unwrap();
    assert!(header.is_opened_as(&call.header), "call {}", call.id);
    assert_eq!(header.call_end(), owner.call_end.as_ref(), "call {}", call.id);
}

/// Asserts that a call with one writer had each revision written once and in order, and its messages in list order.
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
    // A task that does not know the spans puts a message of a span on its own, after later ones.
    let spans = if call.has_lost_task { dynamo.spans("verbale", &partition) } else { Vec::new() };
    let is_in_span = |sort: &str| spans.iter().any(|(first, last)| **first < *sort && *sort <= **last);
    let is_first = |sort: &str| sort.starts_with("MSG#") && !sort.contains("#SUM#") && !is_in_span(sort);
    let messages: Vec<_> = first.iter().filter(|sort| is_first(sort)).collect();
    assert!(messages.is_sorted(), "{partition}: {messages:?}");
}

pub fn key_in_table(call_id: &CallId, position: Position) -> ItemKey {
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
