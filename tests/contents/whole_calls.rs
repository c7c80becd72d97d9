//! Whole calls, offloaded and restored with and without their contents.

use std::sync::Arc;

use serde_json::json;
use verbale::contents::{Cached, ContentId, ContentStore, DirectoryStore, MemoryStore};
use verbale::message::{Heard, HeardSource, Media, MediaKind, Source, ToolCall};
use verbale::{MessagesManager, PlainMessage, Record, Value};

use super::{Watched, block_on, hydrate_call, try_offload};

const INSTRUCTIONS: &str = "You answer the phone of a ferry company.";

fn picture() -> Media {
    Media::new(MediaKind::Image, Source::Bytes(vec![9; 3_000].into())).with_mime_type("image/png")
}

/// A call with large texts, instructions, a picture that occurs twice, a tool with a large result, and a barge-in.
fn call() -> MessagesManager<PlainMessage> {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_system(INSTRUCTIONS).unwrap();
    manager.add_user("I sent you a picture.").unwrap();
    let rows: Vec<u32> = (0..600).collect();
    let ask = ToolCall::new("call_1", "timetable", Value::list(rows.clone()).unwrap()).unwrap();
    manager.add_assistant([ask.clone()]).unwrap();
    let found = ask.success([Value::list(rows).unwrap()]);
    manager
        .add(verbale::Draft::new(verbale::Role::User, vec![found.into(), verbale::Content::from(picture())]))
        .unwrap();
    let speech = "Saturday at 7:15, Saturday at 10:30, or Sunday at noon. ".repeat(40);
    let mut entry = manager.add_assistant(speech).unwrap();
    entry.set_heard(Heard::new(800, HeardSource::WordTiming)).unwrap();
    manager.add_user([picture()]).unwrap();
    manager
}

fn records() -> Vec<Record> {
    call().records()
}

async fn offloaded(records: &[Record], store: Arc<dyn ContentStore>) -> Vec<Record> {
    let mut small = Vec::new();
    for record in records {
        small.push(try_offload(record, 1_024, store.clone()).await.unwrap());
    }
    small
}

#[tokio::test]
async fn call_is_restored_from_small_records_and_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Cached::new(DirectoryStore::open(directory.path()).unwrap(), 1_000_000));
    let records = records();
    let small = offloaded(&records, store.clone()).await;
    for record in &small {
        assert!(serde_json::to_vec(record).unwrap().len() < 1_000, "{record:?}");
    }
    for _ in 0..2 {
        let (hydrated, problems) = hydrate_call(&small, store.clone()).await;
        assert_eq!((&hydrated, problems.len()), (&records, 0));
        MessagesManager::<PlainMessage>::restore(hydrated).unwrap();
    }
    // The instructions, the rows (as arguments and as result), the picture and the speech are read once from the disk.
    let debug = format!("{store:?}");
    assert!(debug.contains("hits: 4, misses: 4,"), "{debug}");
}

#[test]
fn shared_content_is_stored_and_loaded_once() {
    let store = Arc::new(Watched::default());
    let small = block_on(offloaded(&records(), store.clone()));
    block_on(offloaded(&records(), store.clone()));
    assert_eq!(store.store.count(), 4);
    block_on(hydrate_call(&small, store.clone()));
    assert_eq!(store.asked.lock().unwrap().len(), 4);
}

#[test]
fn missing_or_corrupt_content_is_named_and_the_rest_loads() {
    let store = Arc::new(Watched::default());
    let records = records();
    let small = block_on(offloaded(&records, store.clone()));
    let (picture, instructions) = (ContentId::of(&[9; 3_000]), ContentId::of(INSTRUCTIONS.as_bytes()));
    store.lost.lock().unwrap().push(picture);
    store.corrupt.lock().unwrap().push(instructions);

    let (hydrated, problems) = block_on(hydrate_call(&small, store));
    let named: Vec<_> = problems.iter().map(|problem| (problem.message_id, problem.content_id)).collect();
    let of = |text: &ContentId, at: usize| (records[at].id(), *text);
    let results = records.iter().position(|record| record.contents().len() == 2).unwrap();
    assert_eq!(named, [of(&instructions, 0), of(&picture, results), of(&picture, records.len() - 1)]);
    assert!(problems[0].error.to_string().starts_with(&format!("content {instructions} is corrupt")));
    assert!(problems[1].error.to_string().starts_with(&format!("content {picture} is not in the store")));
    for (at, record) in hydrated.iter().enumerate() {
        match at {
            0 => assert_eq!(*record, small[0]),
            at if at == records.len() - 1 => assert_eq!(*record, small[at]),
            at if at == results => assert_eq!(record.contents()[0], records[at].contents()[0]),
            at => assert_eq!(*record, records[at]),
        }
    }
    MessagesManager::<PlainMessage>::restore(hydrated).unwrap();
}

#[test]
fn call_is_restored_without_its_contents() {
    let small = block_on(offloaded(&records(), Arc::new(MemoryStore::default())));
    let (hydrated, problems) = block_on(hydrate_call(&small, MemoryStore::default()));
    assert_eq!((&hydrated, problems.len()), (&small, 6));
    let restored = MessagesManager::<PlainMessage>::restore(hydrated).unwrap();
    assert!(restored.open_tool_calls().is_empty(), "the tool call still has its result");
}

#[test]
fn record_is_not_logged_before_its_contents_are_stored() {
    let store = Watched { refuses_puts: true, ..Watched::default() };
    let error = block_on(try_offload(&records()[0], 1_024, store)).unwrap_err();
    assert!(error.is_retryable() && error.to_string().contains("contents of call CA1"), "{error}");
}

#[test]
fn debug_output_hides_what_was_said() {
    let store = Arc::new(MemoryStore::default());
    let said = "my pin is 47-11 ".repeat(100);
    let record = super::record(json!({
        "id": "01JRZJ1675E4S7Y4ZD7RNWNXWB", "seq": 0, "revision": 1,
        "message": {"role": "user", "contents": [said]}, "metadata": {"timing": {"creation": 5}},
    }));
    let small = super::offload(&record, 1_024, store.clone());
    let (hydrated, problems) = super::hydrate(&small, MemoryStore::default());
    let cached = Cached::new(store, 10);
    let printed = format!("{small:?} {hydrated:?} {problems:?} {} {cached:?}", problems[0]);
    assert!(!printed.contains("47-11"), "{printed}");
}
