//! The invariants after each step, each flush, each crash and at the end.

use std::collections::BTreeSet;

use verbale::log::{CallId, CallLog, LogErrorKind, Status, Unstored};
use verbale::message::Position;
use verbale::{MessageId, Record};

use super::call::{Call, Manager, Newest};
use super::world::World;
use crate::dynamo::{Attribute, Dynamo, ItemKey};

/// Asserts that the counters of a writer balance.
pub fn balanced(status: &Status) {
    let known = status.stored + status.dropped + status.queued + status.spooled + status.dead_letters;
    assert_eq!(status.accepted + status.recovered, known, "the counters do not balance: {status:?}");
}

/// Asserts that a resumed call has only records that were accepted, and that it has or names all promised ones. `apart`
/// are the messages with a dead letter: the promise of a dead letter passes to the code that takes it. Returns the number
/// of messages whose contents could not be loaded.
pub fn restored(call: &Call, manager: &Manager, apart: &BTreeSet<MessageId>) -> u64 {
    let (mut newest, mut incomplete) = (Newest::new(), 0);
    for record in manager.records() {
        let key = key_of(&record);
        let known = call.accepted.get(&key).is_some_and(|all| all.iter().any(|known| is_same(known, &record)));
        assert!(known, "call {} was resumed with a record that was never submitted: {key:?}", call.id);
        incomplete += u64::from(is_incomplete(&record));
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
    incomplete
}

/// Returns whether a record has a reference in place of a content that could not be loaded.
pub fn is_incomplete(record: &Record) -> bool {
    serde_json::to_string(record).unwrap().contains("\"contentId\"")
}

/// Returns whether two records are equal, as far as their contents were loaded.
fn is_same(one: &Record, other: &Record) -> bool {
    one == other || key_of(one) == key_of(other) && (is_incomplete(one) || is_incomplete(other))
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

/// Asserts that the spool of a process that knows of a call's erasure has no text of the call.
pub fn forgotten(world: &World, process: usize, index: usize) {
    let call = &world.calls[index];
    if let Some(memory) = &world.processes[process].memory {
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
    let retried = call.retried.iter().map(|record| record.position());
    let apart: BTreeSet<Position> = taken.iter().map(|record| record.position()).chain(retried).collect();
    for retried in &call.retried {
        let is_kept = |found: &Record| found.id() == retried.id() && found.revision() >= retried.revision();
        assert!(logged.records.iter().any(is_kept), "call {} lost a dead letter that was retried", call.id);
    }
    let whole: Vec<_> = whole.into_iter().filter(|record| !apart.contains(&record.position())).collect();
    // A process may die after a record and before its contents, which then were not promised.
    for problem in &logged.problems {
        let is_known = |record: &Record| record.id() != problem.message_id || is_incomplete(record);
        let is_unpromised = !call.whole.contains(&problem.message_id) && whole.iter().all(is_known);
        assert!(is_unpromised, "call {} lost a content that was acknowledged: {problem:?}", call.id);
    }
    let found: Vec<_> = logged.records.iter().filter(|record| !apart.contains(&record.position())).cloned().collect();
    assert_eq!(keys_of(&found), keys_of(&whole), "call {}", call.id);
    for (found, whole) in found.iter().zip(&whole) {
        assert!(is_same(found, whole), "call {}: {found:?} differs from {whole:?}", call.id);
    }
    if apart.is_empty() && !whole.iter().any(is_incomplete) {
        assert!(logged.clone().restore() == owner.manager, "call {}", call.id);
    }
    let header = logged.header.unwrap();
    assert!(header.is_opened_as(&call.header), "call {}", call.id);
    assert_eq!(header.call_end(), owner.call_end.as_ref(), "call {}", call.id);
}

/// Asserts that the table has nothing of the erased calls but marks, and no content that no call uses.
pub fn swept(world: &World) {
    let is_erased = |id: &str| world.calls.iter().any(|call| call.id.as_str() == id && call.is_erasing);
    let items = world.dynamo.items("verbale");
    let used: BTreeSet<&str> = items
        .keys()
        .filter_map(|(partition, sort)| {
            let owner = sort.strip_prefix("USE#")?;
            assert!(!is_erased(owner), "{partition} is used by the erased call {owner}");
            Some(partition.as_str())
        })
        .collect();
    for ((partition, sort), item) in &items {
        if let Some(id) = partition.strip_prefix("CALL#") {
            let is_mark = item.get("entity") == Some(&Attribute::S("erased".to_owned()));
            assert!(!is_erased(id) || is_mark, "{sort} of the erased call {id} is left");
        } else if let Some(owner) = partition.strip_prefix("OWNER#") {
            assert!(!is_erased(owner), "{partition} is left");
        } else {
            assert!(used.contains(partition.as_str()), "{sort} of {partition} is an orphan");
        }
    }
}

/// Asserts that a call with one writer had each revision written once and in order, and its messages in list order.
fn written_once_and_in_order(dynamo: &Dynamo, call: &Call) {
    if call.was_resumed || call.has_retried {
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
