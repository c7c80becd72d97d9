//! A call through the stores, and what of it is left when contents are gone.

use serde_json::json;
use verbale::contents::{Cached, ContentError, ContentId, DirectoryStore, MemoryStore, Offload, hydrate};
use verbale::message::{Heard, HeardSource, Media, MediaKind, Source, ToolCall};
use verbale::{MessagesManager, PlainMessage, Record, Value};

use super::{Watched, block_on, owner};

const INSTRUCTIONS: &str = "You answer the phone of a ferry company.";

fn picture() -> Media {
    Media::new(MediaKind::Image, Source::Bytes(vec![9; 3_000].into())).with_mime_type("image/png")
}

/// With large texts, instructions, a picture that comes twice, a tool with much to say, and a barge-in.
fn call() -> MessagesManager<PlainMessage> {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_system(INSTRUCTIONS).unwrap();
    manager.add_user("I sent you a picture.").unwrap();
    let rows: Vec<u32> = (0..600).collect();
    let ask = ToolCall::new("call_1", "timetable", Value::list(rows.clone()).unwrap()).unwrap();
    manager.add_assistant([ask.clone()]).unwrap();
    let found = ask.success([Value::list(rows).unwrap()]);
    manager.add_message(verbale::Role::User, vec![found.into(), verbale::Content::from(picture())]).unwrap();
    let speech = "Saturday at 7:15, Saturday at 10:30, or Sunday at noon. ".repeat(40);
    let mut entry = manager.add_assistant(speech).unwrap();
    entry.set_heard(Heard::bytes(800, HeardSource::WordTiming)).unwrap();
    manager.add_user([picture()]).unwrap();
    manager
}

fn records() -> Vec<Record> {
    call().records()
}

async fn offloaded(records: &[Record], store: &dyn verbale::contents::ContentStore) -> Vec<Record> {
    let mut small = Vec::new();
    for record in records {
        small.push(Offload::default().offload(record, store, &owner("CA1")).await.unwrap());
    }
    small
}

#[tokio::test]
async fn a_call_is_restored_from_small_records_and_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let store = Cached::new(DirectoryStore::open(directory.path()).unwrap(), 1_000_000);
    let records = records();
    let small = offloaded(&records, &store).await;
    for record in &small {
        assert!(serde_json::to_vec(record).unwrap().len() < 1_000, "{record:?}");
    }
    for _ in 0..2 {
        let hydrated = hydrate(small.clone(), &store).await;
        assert_eq!((&hydrated.records, hydrated.problems.len()), (&records, 0));
        MessagesManager::<PlainMessage>::restore(hydrated.records).unwrap();
    }
    // Instructions, the rows as arguments and as result, the picture, the speech: each once from the disk.
    let counts = store.counts();
    assert_eq!((counts.hits, counts.misses), (4, 4));
}

#[test]
fn one_content_is_stored_and_loaded_once_however_often_it_is_used() {
    let store = Watched::default();
    let small = block_on(offloaded(&records(), &store));
    let other_call = block_on(offloaded(&records(), &store));
    assert_eq!(store.store.len(), 4);
    block_on(hydrate(small.into_iter().chain(other_call), &store));
    assert_eq!(store.asked.lock().unwrap().len(), 4);
}

#[test]
fn what_is_missing_or_corrupt_is_named_and_the_rest_loads() {
    let mut store = Watched::default();
    let records = records();
    let small = block_on(offloaded(&records, &store));
    let (picture, instructions) = (ContentId::of(&[9; 3_000]), ContentId::of(INSTRUCTIONS.as_bytes()));
    store.lost.push(picture);
    store.corrupt.push(instructions);

    let hydrated = block_on(hydrate(small.clone(), &store));
    let problems: Vec<_> = hydrated.problems.iter().map(|problem| (problem.message_id, problem.content_id)).collect();
    let of = |text: &ContentId, at: usize| (records[at].id(), *text);
    let results = records.iter().position(|record| record.contents().len() == 2).unwrap();
    assert_eq!(problems, [of(&instructions, 0), of(&picture, results), of(&picture, records.len() - 1)]);
    assert!(matches!(hydrated.problems[0].error, ContentError::Corrupt { id, .. } if id == instructions));
    assert!(matches!(hydrated.problems[1].error, ContentError::Missing { id } if id == picture));
    for (at, record) in hydrated.records.iter().enumerate() {
        match at {
            0 => assert_eq!(*record, small[0]),
            at if at == records.len() - 1 => assert_eq!(*record, small[at]),
            at if at == results => assert_eq!(record.contents()[0], records[at].contents()[0]),
            at => assert_eq!(*record, records[at]),
        }
    }
    MessagesManager::<PlainMessage>::restore(hydrated.records).unwrap();
}

#[test]
fn a_call_is_restored_without_any_of_its_contents() {
    let small = block_on(offloaded(&records(), &MemoryStore::default()));
    let hydrated = block_on(hydrate(small.clone(), &MemoryStore::default()));
    assert_eq!((&hydrated.records, hydrated.problems.len()), (&small, 6));
    let restored = MessagesManager::<PlainMessage>::restore(hydrated.records).unwrap();
    assert!(restored.open_tool_calls().is_empty(), "the call and its result are still a pair");
}

#[test]
fn a_record_is_not_made_small_while_its_contents_are_not_stored() {
    let store = Watched { refuses_puts: true, ..Watched::default() };
    let error = block_on(Offload::default().offload(&records()[0], &store, &owner("CA1"))).unwrap_err();
    assert!(error.is_retryable() && error.content_id() == Some(ContentId::of(INSTRUCTIONS.as_bytes())));
}

#[test]
fn nothing_that_was_said_is_printed() {
    let store = MemoryStore::default();
    let said = "my pin is 4711 ".repeat(100);
    let record = super::record(json!({
        "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 0, "revision": 1,
        "message": {"role": "user", "contents": [said]}, "metadata": {"timing": {"creation": 5}},
    }));
    let detached = Offload::default().detach(&record);
    let hydrated = block_on(hydrate([detached.record.clone()], &store));
    let cached = Cached::new(store, 10);
    let printed = format!("{detached:?} {hydrated:?} {} {cached:?}", hydrated.problems[0]);
    assert!(!printed.contains("4711"), "{printed}");
}
