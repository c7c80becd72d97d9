//! A log with its large contents in a store keeps the contract, and both stay consistent after any failure.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use verbale::clock::ManualClock;
use verbale::contents::{Blob, Cached, ContentError, ContentFuture, ContentId, ContentStore, MemoryStore};
use verbale::dynamodb::{DynamoContents, DynamoLog, Item};
use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogErrorKind, LogFuture, LoggedCall, MemoryLog,
    Offloading, Put, Span, WriterLease,
};
use verbale::message::{Media, MediaKind, Source};
use verbale::testing::call_log_conformance;
use verbale::{LastMessage, MessagesManager, PlainMessage, Record};

use super::dynamodb::log_and_client;
use super::history;
use super::resumed::resume;
use super::support::{START_MS, call, day, first, header, message, put, put_as, read};

const PROMPT: &str = "You answer the phone of a ferry company.";

/// Returns a log and a store in one table. The store takes all texts that are not blank.
fn in_dynamodb(log: DynamoLog, client: Client) -> Offloading<DynamoLog, Cached<DynamoContents>> {
    Offloading::new(log, Cached::new(DynamoContents::new(client), 1 << 20)).with_threshold(1)
}

#[tokio::test]
async fn memory_log_with_offloading_keeps_the_contract() {
    for threshold in [1, 1_024] {
        call_log_conformance(async |clock| {
            Offloading::new(MemoryLog::with_clock(clock), MemoryStore::default()).with_threshold(threshold)
        })
        .await;
    }
}

#[tokio::test]
async fn dynamodb_log_with_offloading_keeps_the_contract() {
    let (log, client) = log_and_client().await;
    call_log_conformance(async |clock| in_dynamodb(log.clone().with_clock(clock), client.clone())).await;
}

#[test]
fn memory_log_with_offloading_follows_the_model() {
    history::check(128, Offloading::new(MemoryLog::default(), MemoryStore::default()).with_threshold(1));
}

#[test]
fn dynamodb_log_with_offloading_follows_the_model() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (log, client) = runtime.block_on(log_and_client());
    history::check(24, in_dynamodb(log, client));
}

/// Returns message `seq` with a text above the threshold.
fn large(seq: u32, revision: u32, word: &str) -> Record {
    let mut json = serde_json::to_value(message(seq, revision)).unwrap();
    json["message"]["contents"] = json!([word.repeat(2_000 / word.len()), "Hi"]);
    serde_json::from_value(json).unwrap()
}

fn content(word: &str) -> ContentId {
    ContentId::of(word.repeat(2_000 / word.len()).as_bytes())
}

#[tokio::test]
async fn repeated_put_is_found_and_another_threshold_is_a_conflict() {
    let memory = Arc::new(MemoryLog::default());
    let store = Arc::new(Failing::default());
    let log = Offloading::new(memory.clone(), Cached::new(store.clone(), 0));
    let call_id = call("CA1");
    let records = [large(0, 1, "terms"), large(1, 1, "terms"), message(2, 1)];
    assert_eq!(put(&log, &call_id, &records).await, [Put::Written; 3]);
    assert_eq!(put(&log, &call_id, &records).await, [Put::Kept; 3]);
    assert_eq!(store.puts.load(Ordering::Relaxed), 1, "the cache knows the content of the other three puts");
    assert_eq!(log.read_call(&call_id).await.unwrap(), LoggedCall::new(None, records.to_vec()));
    let small = memory.read_call(&call_id).await.unwrap().records;
    assert!(small.iter().all(|record| serde_json::to_string(record).unwrap().len() < 500));

    let other = Offloading::new(memory.clone(), MemoryStore::default()).with_threshold(4_000);
    for other in [&other as &dyn CallLog, &memory] {
        for large in &records[..2] {
            assert_eq!(other.put_record(&first(&call_id), large).await.unwrap_err().kind(), LogErrorKind::Conflict);
        }
        assert_eq!(put(other, &call_id, &records[2..]).await, [Put::Kept]);
    }
    assert_eq!(put(&other, &call_id, &[large(0, 2, "terms")]).await, [Put::Written]);
    assert_eq!(log.read_call(&call_id).await.unwrap().records[0], large(0, 2, "terms"));
}

/// A log that accepts a record only if the store has its contents.
struct Strict {
    log: MemoryLog,
    store: Arc<MemoryStore>,
}

impl CallLog for Strict {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        self.log.open_call(header)
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move {
            let small = Arc::new(MemoryLog::default());
            let read = Offloading::new(small.clone(), self.store.clone());
            small.put_record(lease, record).await?;
            assert_eq!(read.read_call(lease.call_id()).await?.problems, []);
            self.log.put_record(lease, record).await
        })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        self.log.change_call(call_id, change)
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        self.log.read_call(call_id)
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        self.log.list_calls(query)
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        self.log.erase_call(call_id)
    }
}

#[tokio::test]
async fn contents_are_stored_before_their_record() {
    let store = Arc::new(MemoryStore::default());
    let log =
        Offloading::new(Strict { log: MemoryLog::default(), store: store.clone() }, store.clone()).with_threshold(1);
    // Fewer contents than are put at a time, and more.
    for (seq, texts) in [(0, 1), (1, 8), (2, 9), (3, 100)] {
        let mut json = serde_json::to_value(message(seq, 1)).unwrap();
        json["message"]["contents"] = (0..texts).map(|text| format!("text {text}")).collect();
        let record: Record = serde_json::from_value(json).unwrap();
        put(&log, &call("many contents"), std::slice::from_ref(&record)).await;
        assert_eq!(log.read_call(&call("many contents")).await.unwrap().records[seq as usize], record);
    }
    assert_eq!(store.count(), 100);
    log.erase_call(&call("many contents")).await.unwrap();
    assert_eq!(store.count(), 0);
}

/// A store that fails for some contents.
#[derive(Default)]
struct Failing {
    store: MemoryStore,
    puts: AtomicUsize,
    unput: Mutex<HashSet<ContentId>>,
    unread: Mutex<HashSet<ContentId>>,
    keeps_all: AtomicBool,
    is_denied: AtomicBool,
}

impl Failing {
    fn error(&self, action: &str) -> ContentError {
        let retryable = !self.is_denied.load(Ordering::Relaxed);
        ContentError::store(action, retryable, std::io::Error::other("out of reach"))
    }
}

impl ContentStore for Failing {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> ContentFuture<'a, ()> {
        self.puts.fetch_add(1, Ordering::Relaxed);
        if self.unput.lock().unwrap().contains(&blob.id()) {
            return Box::pin(std::future::ready(Err(self.error("put"))));
        }
        self.store.put(blob, owner)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        if self.unread.lock().unwrap().contains(&id) {
            return Box::pin(std::future::ready(Blob::verified(id, &b"other bytes"[..]).map(Some)));
        }
        self.store.get(id)
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        if self.keeps_all.load(Ordering::Relaxed) {
            return Box::pin(std::future::ready(Err(self.error("release"))));
        }
        self.store.release(owner)
    }
}

/// A log over a failing store, and its two parts.
struct Parts {
    whole: Offloading<Arc<MemoryLog>, Arc<Failing>>,
    log: Arc<MemoryLog>,
    store: Arc<Failing>,
}

fn failing() -> Parts {
    let (log, store) = (Arc::new(MemoryLog::default()), Arc::new(Failing::default()));
    Parts { whole: Offloading::new(log.clone(), store.clone()), log, store }
}

#[tokio::test]
async fn record_is_written_without_its_contents_but_not_stored() {
    for (is_denied, kind) in [(false, LogErrorKind::Unavailable), (true, LogErrorKind::NeedsOperator)] {
        let Parts { whole: log, log: small_log, store } = failing();
        store.is_denied.store(is_denied, Ordering::Relaxed);
        store.unput.lock().unwrap().insert(content("secret"));
        let records = [message(0, 1), large(1, 1, "secret"), message(2, 1), message(3, 1)];
        assert_eq!(put(&log, &call("CA1"), &records[..1]).await, [Put::Written]);
        let error = log.put_record(&first(&call("CA1")), &records[1]).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(!format!("{error:?} {error}").contains("secretsecret"));
        assert!(error.to_string().starts_with("putting contents of call CA1 failed"), "{error}");
        // The next records need not wait for it.
        assert_eq!(put(&log, &call("CA1"), &records[2..3]).await, [Put::Written]);
        assert_eq!(small_log.read_call(&call("CA1")).await.unwrap().records.len(), 3);
        let read = log.read_call(&call("CA1")).await.unwrap();
        assert_eq!(read.problems.iter().map(|problem| problem.message_id).collect::<Vec<_>>(), [records[1].id()]);

        store.unput.lock().unwrap().clear();
        assert_eq!(put(&log, &call("CA1"), &records).await.len(), 4);
        assert_eq!(log.read_call(&call("CA1")).await.unwrap().records, records);
    }
}

#[tokio::test]
async fn failing_content_fails_its_record_of_a_span_alone() {
    let (small_log, store) = (Arc::new(MemoryLog::default().with_spans()), Arc::new(Failing::default()));
    let log = Offloading::new(small_log.clone(), store.clone());
    assert!(log.stores_spans());
    let lease = first(&call("CA1"));
    store.unput.lock().unwrap().insert(content("secret"));
    let records = [message(0, 1), large(1, 1, "secret"), large(2, 1, "public")];
    let span = Span::try_from(0..=2).unwrap();
    let put = log.put_span(&lease, span, &records).await.unwrap();
    let kinds: Vec<_> = put.iter().map(|put| put.as_ref().err().map(|error| error.kind())).collect();
    assert_eq!(kinds, [None, Some(LogErrorKind::Unavailable), None]);
    assert_eq!(small_log.read_call(&call("CA1")).await.unwrap().records.len(), 3);
    let read = log.read_call(&call("CA1")).await.unwrap();
    assert_eq!(read.problems.iter().map(|problem| problem.message_id).collect::<Vec<_>>(), [records[1].id()]);

    store.unput.lock().unwrap().clear();
    assert_eq!(log.put_span(&lease, span, &records[1..2]).await.unwrap()[0].as_ref().ok(), Some(&Put::Kept));
    assert_eq!(log.read_call(&call("CA1")).await.unwrap().records, records);
    log.erase_call(&call("CA1")).await.unwrap();
    assert!(log.put_span(&lease, span, &records).await.unwrap().iter().all(Result::is_err));
    assert_eq!(store.store.count(), 0);
}

#[tokio::test]
async fn interrupted_erasure_is_completed_by_the_next() {
    let Parts { whole: log, store, .. } = failing();
    put(&log, &call("CA1"), &[large(0, 1, "secret")]).await;
    for (is_denied, kind) in [(false, LogErrorKind::Unavailable), (true, LogErrorKind::NeedsOperator)] {
        store.keeps_all.store(true, Ordering::Relaxed);
        store.is_denied.store(is_denied, Ordering::Relaxed);
        let error = log.erase_call(&call("CA1")).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert!(error.to_string().contains("CA1"), "{error}");
        assert_eq!(log.read_call(&call("CA1")).await.unwrap_err().kind(), LogErrorKind::Erased);

        // A late put is refused after its contents are released.
        let late = large(1, 1, "another");
        let error = log.put_record(&first(&call("CA1")), &late).await.unwrap_err();
        assert_eq!(error.kind(), kind);
        assert_eq!(store.store.count(), 2);
        store.keeps_all.store(false, Ordering::Relaxed);
        if is_denied {
            log.erase_call(&call("CA1")).await.unwrap();
        }
        assert_eq!(log.put_record(&first(&call("CA1")), &late).await.unwrap_err().kind(), LogErrorKind::Erased);
        assert_eq!(store.store.count(), 0);
        let blob = Blob::new("secret".repeat(333).into_bytes());
        store.store.put(&blob, "CA1").await.unwrap();
    }
    // A put that was cut off arrives after the erasure.
    log.erase_call(&call("CA1")).await.unwrap();
    assert_eq!(store.store.count(), 0);
}

#[tokio::test]
async fn held_call_keeps_its_contents() {
    let Parts { whole: log, .. } = failing();
    let opened = header("CA1", day(0).0);
    log.open_call(&opened).await.unwrap();
    put(&log, &call("CA1"), &[large(0, 1, "terms")]).await;
    log.change_call(&call("CA1"), &CallChange::Hold).await.unwrap();
    assert_eq!(log.erase_call(&call("CA1")).await.unwrap_err().kind(), LogErrorKind::Held);
    assert_eq!(read(&log, &call("CA1")).await, [large(0, 1, "terms")]);
}

#[tokio::test]
async fn missing_or_corrupt_content_is_named_and_the_rest_loads() {
    let Parts { whole: log, log: small_log, store } = failing();
    let opened = header("CA1", day(0).0);
    log.open_call(&opened).await.unwrap();
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_system(PROMPT).unwrap();
    manager.add_user("terms ".repeat(400)).unwrap();
    let picture = Media::new(MediaKind::Image, Source::Bytes(vec![9; 3_000].into()));
    manager.add_assistant("Hello!").unwrap();
    manager.add_user([picture]).unwrap();
    let whole = manager.records();
    put_as(&log, &WriterLease::from(&opened), &whole).await;

    let (prompt, image) = (ContentId::of(PROMPT.as_bytes()), ContentId::of(&[9; 3_000]));
    store.unread.lock().unwrap().extend([prompt, image]);
    let small = small_log.read_call(&call("CA1")).await.unwrap().records;
    let log = Arc::new(log);
    let read = log.read_call(&call("CA1")).await.unwrap();
    let (mut restored, writer) = resume(&log, &call("CA1")).await.unwrap();
    assert_eq!(restored.records(), read.records);
    for call in [read, log.fence_call(writer.lease()).await.unwrap()] {
        let problems: Vec<_> = call.problems.iter().map(|one| (one.message_id, one.content_id)).collect();
        assert_eq!(problems, [(whole[0].id(), prompt), (whole[3].id(), image)]);
        let error = call.problems[0].error.to_string();
        assert!(error.contains("is corrupt"), "{error}");
        assert_eq!(call.records, [&small[0], &whole[1], &whole[2], &small[3]].map(Record::clone));
    }

    // The call continues. References to missing contents are written back, and resolve after the store is repaired.
    restored.entry(&whole[3].id()).unwrap().set_data("seen", true).unwrap();
    put_as(&log, writer.lease(), &restored.changes(LastMessage::Include)).await;
    store.unread.lock().unwrap().clear();
    let repaired = log.read_call(&call("CA1")).await.unwrap();
    manager.entry(&whole[3].id()).unwrap().set_data("seen", true).unwrap();
    assert_eq!((repaired.records, repaired.problems), (manager.records(), Vec::new()));
}

async fn items(client: &Client) -> Vec<Item> {
    let mut pages = client.scan().table_name("verbale").into_paginator().send();
    let mut items = Vec::new();
    while let Some(page) = pages.next().await {
        items.extend(page.unwrap().items.unwrap_or_default());
    }
    items
}

/// Returns whether a value contains a text.
fn contains_text(value: &AttributeValue, text: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    match value {
        AttributeValue::S(found) => has(found.as_bytes()),
        AttributeValue::B(found) => has(found.as_ref()),
        AttributeValue::L(values) => values.iter().any(|value| contains_text(value, text)),
        AttributeValue::M(values) => {
            values.iter().any(|(name, value)| has(name.as_bytes()) || contains_text(value, text))
        }
        _ => false,
    }
}

async fn table_contains(client: &Client, text: &str) -> bool {
    items(client).await.iter().flat_map(|item| item.values()).any(|value| contains_text(value, text))
}

fn with_prompt(words: &str) -> Vec<Record> {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_system(PROMPT).unwrap();
    manager.add_user(words.repeat(200)).unwrap();
    manager.records()
}

#[tokio::test]
async fn shared_content_is_deleted_with_its_last_call() {
    let (log, client) = log_and_client().await;
    // The marks of erased calls have the day.
    let log = in_dynamodb(log.with_clock(Arc::new(ManualClock::new(START_MS))), client.clone());
    let [one, other] = ["CA1", "CA2"].map(call);
    let [first_call, second_call] = ["my pin is 47-11 ", "my pin is 08-15 "].map(with_prompt);
    put(&log, &one, &first_call).await;
    put(&log, &other, &second_call).await;
    assert!(table_contains(&client, PROMPT).await && table_contains(&client, "47-11").await);
    let prompts =
        items(&client).await.iter().filter(|item| item.values().any(|value| contains_text(value, PROMPT))).count();
    assert_eq!(prompts, 1, "stored once for both calls");

    log.erase_call(&one).await.unwrap();
    assert!(!table_contains(&client, "47-11").await);
    assert_eq!(log.read_call(&other).await.unwrap(), LoggedCall::new(None, second_call));
    log.erase_call(&other).await.unwrap();
    assert!(!table_contains(&client, PROMPT).await && !table_contains(&client, "08-15").await);
    let left: Vec<_> = items(&client).await.iter().map(|item| item["entity"].as_s().unwrap().clone()).collect();
    // A use remains without contents, until it expires or a sweep has deleted what came late.
    assert!(left.iter().all(|entity| entity == "erased" || entity == "use"), "{left:?}");

    // A message after the next one is stored after the mark but not read. A sweep removes it and its contents.
    put(&log, &other, &[large(9, 1, "too late")]).await;
    assert_eq!(log.read_call(&other).await.unwrap_err().kind(), LogErrorKind::Erased);
    assert!(log.sweep(Day::of_ms(START_MS)).await.unwrap().contains(&other));
    assert!(!table_contains(&client, "too late").await);
    let error = log.put_record(&first(&other), &large(9, 2, "too late")).await.unwrap_err();
    assert!((error.kind() == LogErrorKind::Erased) && !table_contains(&client, "too late").await);
}

#[tokio::test]
async fn contents_of_an_expired_call_are_deleted_when_it_is_erased() {
    let clock = Arc::new(ManualClock::new(START_MS));
    let (log, client) = log_and_client().await;
    let log = in_dynamodb(log.with_clock(clock.clone()), client.clone());
    let opened = header("CA1", START_MS).with_expires_at(START_MS / 1_000 + 10);
    log.open_call(&opened).await.unwrap();
    put_as(&log, &WriterLease::from(&opened), &with_prompt("my pin is 47-11 ")).await;
    clock.advance(1_000_000);
    assert!(log.read_call(&call("CA1")).await.unwrap().is_empty());
    assert!(table_contains(&client, "47-11").await);
    log.erase_call(&call("CA1")).await.unwrap();
    assert!(!table_contains(&client, "47-11").await && !table_contains(&client, PROMPT).await);
}
