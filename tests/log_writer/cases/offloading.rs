//! Contents that are too large for an item pass through the writer into a table and are read back unchanged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use verbale::clock::{ManualClock, SequentialIds};
use verbale::contents::{Cached, ContentId, ContentStore, MemoryStore};
use verbale::dynamodb::{DynamoContents, DynamoLog, create_table, item_size};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{
    CallEnd, CallHeader, CallLog, CardNumbers, LogWriter, MemoryLog, Offloading, SpoolSettings, redact,
};
use verbale::message::{Media, MediaKind, Source, ToolCall};
use verbale::testing::SpoolMemory;
use verbale::{Content, LastMessage, Record, Role, Value};

use super::{Manager, START_MS, balanced, call_id, lease, settings};

/// Starts of the card's number. Fewer digits may also be part of a time or an id.
const CARD: [&[u8]; 2] = [b"4111 1111", b"1111 1111"];
/// A watchdog, not a measurement: the embedded DynamoDB runs in real time.
const LONG: Duration = Duration::from_secs(1_200);

/// Text that is unique per number.
fn text(number: usize, bytes: usize) -> String {
    format!("{number}: what was said. ").repeat(bytes / 16 + 1)[..bytes].to_owned()
}

/// The arguments and the result of a tool: a table of 600 KB as JSON.
fn rows() -> Value {
    let row = |number: usize| BTreeMap::from([("name".to_owned(), Value::from(text(number, 580)))]);
    let rows = (0..1_000).map(|number| Value::map(row(number)).unwrap());
    Value::list(rows).unwrap()
}

fn large_call() -> Manager {
    let mut manager = Manager::new();
    manager.add_system(text(0, 50_000)).unwrap();
    let contents: Vec<Content> = (0..300).map(|number| text(number, 2_048).into()).collect();
    manager.add(verbale::Draft::new(Role::User, contents)).unwrap();
    let ask = ToolCall::new("call_1", "timetable", rows()).unwrap();
    manager.add_assistant([ask.clone()]).unwrap();
    let picture = Source::Bytes((0..5 << 20).map(|at: usize| (at * 31 % 251) as u8).collect());
    let picture = Media::new(MediaKind::Image, picture).with_mime_type("image/png");
    manager.add(verbale::Draft::new(Role::User, vec![ask.success([rows()]).into(), Content::from(picture)])).unwrap();
    manager.add_assistant(text(7, 1 << 20)).unwrap();
    manager
}

#[tokio::test]
async fn contents_larger_than_an_item_are_read_back_unchanged() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    let contents = Cached::new(DynamoContents::new(client.clone()), 1 << 20);
    let log = Arc::new(Offloading::new(DynamoLog::new(client.clone()), contents));
    let (writer, task) = LogWriter::new(log.clone(), settings().with_retries(LONG, LONG));
    tokio::spawn(task);

    let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = large_call();
    let whole = manager.records();
    let call_end = CallEnd::of(&manager, START_MS + 9_000, "hangup").unwrap();
    call.finish(&mut manager, call_end.clone(), LONG).await.unwrap();
    assert_eq!(writer.flush(LONG).await, []);
    let logged = log.read_call(&call_id("CA1")).await.unwrap();
    assert_eq!(logged.problems, []);
    assert!(logged.records == whole);
    assert_eq!(logged.header.unwrap().call_end(), Some(&call_end));
    let mut pages = client.scan().table_name("verbale").into_paginator().send();
    let mut bytes = 0;
    while let Some(page) = pages.next().await {
        for item in page.unwrap().items() {
            assert!(item_size(item) <= 400 * 1024);
            bytes += item_size(item);
        }
    }
    // The picture, the long text, the tool's arguments and result, which are equal, and 300 texts.
    let said = (5 << 20) + (1 << 20) + 600_000 + 600_000 + 50_000;
    assert!((said..said + said / 20).contains(&bytes), "{bytes} of {said}");

    // Custom data is not offloaded: a record with too much of it becomes a dead letter.
    let clock = Arc::new(ManualClock::new(START_MS));
    let mut other = Manager::new().with_clock(clock, Arc::new(SequentialIds::default()));
    other.add_user("Hi").unwrap().set_data("trace", text(1, 500_000)).unwrap();
    other.add_assistant("Hello!").unwrap();
    let call = writer.call(lease("CA2"));
    call.submit(&mut other, LastMessage::Include).unwrap();
    let unstored = writer.flush(LONG).await;
    assert!(unstored.len() == 1 && unstored[0].is_dead_letter, "{unstored:?}");
    let reason = unstored[0].to_string();
    let size = reason.split_once("takes ").and_then(|(_, rest)| rest.split(' ').next()?.parse::<usize>().ok());
    assert!(size.is_some_and(|bytes| (500_000..501_000).contains(&bytes)), "{reason}");
    assert!(reason.contains("an item has room for") && !reason.contains("what was said"), "{reason}");
    assert_eq!(log.read_call(&call_id("CA2")).await.unwrap().records, other.records()[1..]);
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn redacted_text_reaches_no_content_store() {
    let memory = SpoolMemory::default();
    let store = Arc::new(MemoryStore::default());
    let log = Arc::new(Offloading::new(MemoryLog::default(), store.clone()));
    let spool = Arc::new(memory.open(SpoolSettings::default()).unwrap());
    let (writer, task) = LogWriter::new(log.clone(), settings().with_spool(spool).with_redactor(Arc::new(CardNumbers)));
    tokio::spawn(task);
    let mut manager = Manager::new();
    manager.add_system("Test with 4111 1111 1111 1111.").unwrap();
    manager.add_user(format!("{} 4111 1111", text(0, 2_000))).unwrap();
    manager.add_user(format!("1111 1111 {}", text(1, 2_000))).unwrap();
    let call = writer.call(lease("CA1"));
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(LONG).await, []);

    let expected: Vec<Record> = manager.records().iter().map(|record| redact(record, &CardNumbers).unwrap()).collect();
    assert_eq!(log.read_call(&call_id("CA1")).await.unwrap().records, expected);
    assert_eq!(store.count(), 3);
    for said in manager.records().iter().flat_map(|record| record.contents().texts()) {
        assert_eq!(store.get(ContentId::of(said.as_bytes())).await.unwrap(), None);
    }
    assert!(!CARD.iter().any(|digits| memory.contains(digits)));

    writer.erase(&call_id("CA1")).await.unwrap();
    assert_eq!(store.count(), 0);
    manager.add_user("4111").unwrap();
    assert!(call.submit(&mut manager, LastMessage::Include).is_err());
}
