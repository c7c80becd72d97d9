//! A log with its large contents in a store keeps the contract, and the two stay together whatever happens.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use verbale::contents::{
    Blob, Cached, ContentError, ContentFuture, ContentId, ContentStore, MemoryStore, Owner, hydrate,
};
use verbale::dynamodb::{DynamoContents, DynamoLog, Item};
use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogErrorKind, LogFuture, LoggedCall, MemoryLog,
    Offloading, Put, Remedy, WriterLease,
};
use verbale::message::{Media, MediaKind, Source};
use verbale::{LastMessage, MessagesManager, PlainMessage, Record};

use super::conformance::{self, call, day, first, header, message, put, put_as};
use super::dynamodb::log_and_client;
use super::history;

const PROMPT: &str = "You answer the phone of a ferry company.";

/// In one table, with all that is not blank in the store.
fn in_dynamodb(log: DynamoLog, client: Client) -> Offloading<DynamoLog, Cached<DynamoContents>> {
    Offloading::new(log, Cached::new(DynamoContents::new(client), 1 << 20)).with_threshold(1)
}

#[tokio::test]
async fn memory_with_contents_beside_it_keeps_the_contract() {
    for threshold in [1, 1_024] {
        let clock = conformance::clock();
        let log = Offloading::new(MemoryLog::with_clock(clock.clone()), MemoryStore::default());
        conformance::all(&log.with_threshold(threshold), &clock).await;
    }
}

#[tokio::test]
async fn dynamodb_with_contents_beside_it_keeps_the_contract() {
    let clock = conformance::clock();
    let (log, client) = log_and_client().await;
    conformance::all(&in_dynamodb(log.with_clock(clock.clone()), client), &clock).await;
}

#[test]
fn memory_with_contents_beside_it_follows_the_model() {
    history::check(128, &Offloading::new(MemoryLog::new(), MemoryStore::default()).with_threshold(1));
}

#[test]
fn dynamodb_with_contents_beside_it_follows_the_model() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (log, client) = runtime.block_on(log_and_client());
    history::check(24, &in_dynamodb(log, client));
}

/// Message `seq` with a text that is large enough.
fn large(seq: u32, revision: u32, word: &str) -> Record {
    let mut json = serde_json::to_value(message(seq, revision)).unwrap();
    json["message"]["contents"] = json!([word.repeat(2_000 / word.len()), "Hi"]);
    serde_json::from_value(json).unwrap()
}

fn content(word: &str) -> ContentId {
    ContentId::of(word.repeat(2_000 / word.len()).as_bytes())
}

#[tokio::test]
async fn a_record_put_again_is_found_there_and_one_in_another_form_is_a_conflict() {
    let memory = Arc::new(MemoryLog::new());
    let log = Offloading::new(memory.clone(), Cached::new(MemoryStore::default(), 0));
    let call_id = call("CA1");
    let records = [large(0, 1, "terms"), large(1, 1, "terms"), message(2, 1)];
    assert_eq!(put(&log, &call_id, &records).await, [Put::Written; 3]);
    assert_eq!(put(&log, &call_id, &records).await, [Put::AlreadyThere; 3]);
    assert_eq!(log.store().counts().known_puts, 3, "once for the second message, then for both");
    assert_eq!(log.read_call(&call_id).await.unwrap(), LoggedCall::new(None, records.to_vec()));
    let small = memory.read_call(&call_id).await.unwrap().records;
    assert!(small.iter().all(|record| serde_json::to_string(record).unwrap().len() < 500));

    let other = Offloading::new(memory.clone(), MemoryStore::default()).with_threshold(4_000);
    for other in [&other as &dyn CallLog, &memory] {
        for large in &records[..2] {
            assert_eq!(other.put_record(&first(&call_id), large).await.unwrap_err().kind(), LogErrorKind::Conflict);
        }
        assert_eq!(put(other, &call_id, &records[2..]).await, [Put::AlreadyThere]);
    }
    assert_eq!(put(&other, &call_id, &[large(0, 2, "terms")]).await, [Put::Written]);
    assert_eq!(log.read_call(&call_id).await.unwrap().records[0], large(0, 2, "terms"));
}

/// A log that takes no record whose contents are not in the store.
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
            assert_eq!(hydrate(vec![record.clone()], &self.store).await.problems, []);
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
async fn a_record_comes_behind_its_contents() {
    let store = Arc::new(MemoryStore::default());
    let log = Offloading::new(Strict { log: MemoryLog::new(), store: store.clone() }, store).with_threshold(1);
    // Fewer than are put at a time, and more.
    for (seq, texts) in [(0, 1), (1, 8), (2, 9), (3, 100)] {
        let mut json = serde_json::to_value(message(seq, 1)).unwrap();
        json["message"]["contents"] = (0..texts).map(|text| format!("text {text}")).collect();
        let record: Record = serde_json::from_value(json).unwrap();
        put(&log, &call("many contents"), std::slice::from_ref(&record)).await;
        assert_eq!(log.read_call(&call("many contents")).await.unwrap().records[seq as usize], record);
    }
    assert_eq!(log.store().len(), 100);
    log.erase_call(&call("many contents")).await.unwrap();
    assert!(log.store().is_empty());
}

/// A store that fails where it is told to.
#[derive(Default)]
struct Failing {
    store: MemoryStore,
    unput: Mutex<HashSet<ContentId>>,
    unread: Mutex<HashSet<ContentId>>,
    keeps_all: AtomicBool,
    is_denied: AtomicBool,
}

impl Failing {
    fn error(&self, action: &'static str, id: ContentId) -> ContentError {
        let retryable = !self.is_denied.load(Ordering::Relaxed);
        ContentError::Store { action, id, retryable, source: Arc::new(std::io::Error::other("out of reach")) }
    }
}

impl ContentStore for Failing {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a Owner) -> ContentFuture<'a, ()> {
        if self.unput.lock().unwrap().contains(&blob.id()) {
            return Box::pin(std::future::ready(Err(self.error("put", blob.id()))));
        }
        self.store.put(blob, owner)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        if self.unread.lock().unwrap().contains(&id) {
            return Box::pin(std::future::ready(Blob::verified(id, &b"other bytes"[..]).map(Some)));
        }
        self.store.get(id)
    }

    fn release<'a>(&'a self, owner: &'a Owner) -> ContentFuture<'a, ()> {
        if self.keeps_all.load(Ordering::Relaxed) {
            let source = Arc::new(std::io::Error::other("out of reach"));
            let retryable = !self.is_denied.load(Ordering::Relaxed);
            let error = ContentError::Release { owner: owner.clone(), retryable, source };
            return Box::pin(std::future::ready(Err(error)));
        }
        self.store.release(owner)
    }
}

fn failing() -> Offloading<MemoryLog, Failing> {
    Offloading::new(MemoryLog::new(), Failing::default())
}

#[tokio::test]
async fn a_record_whose_contents_are_not_stored_is_not_either() {
    for (is_denied, remedy) in [(false, Remedy::Retry), (true, Remedy::Operator)] {
        let log = failing();
        log.store().is_denied.store(is_denied, Ordering::Relaxed);
        log.store().unput.lock().unwrap().insert(content("secret"));
        let records = [message(0, 1), large(1, 1, "secret"), message(2, 1), message(3, 1)];
        assert_eq!(put(&log, &call("CA1"), &records[..1]).await, [Put::Written]);
        let error = log.put_record(&first(&call("CA1")), &records[1]).await.unwrap_err();
        assert_eq!(error.remedy(), remedy);
        assert!(!format!("{error:?} {error}").contains("secretsecret"));
        assert!(error.to_string().starts_with("putting contents of call CA1 failed"), "{error}");
        assert_eq!(log.log().read_call(&call("CA1")).await.unwrap().records, records[..1]);

        log.store().unput.lock().unwrap().clear();
        assert_eq!(put(&log, &call("CA1"), &records).await.len(), 4);
        assert_eq!(log.read_call(&call("CA1")).await.unwrap().records, records);
    }
}

#[tokio::test]
async fn an_erasing_that_was_cut_off_is_finished_by_the_next() {
    let log = failing();
    put(&log, &call("CA1"), &[large(0, 1, "secret")]).await;
    for (is_denied, remedy) in [(false, Remedy::Retry), (true, Remedy::Operator)] {
        log.store().keeps_all.store(true, Ordering::Relaxed);
        log.store().is_denied.store(is_denied, Ordering::Relaxed);
        let error = log.erase_call(&call("CA1")).await.unwrap_err();
        assert_eq!(error.remedy(), remedy);
        assert!(error.to_string().contains("CA1"), "{error}");
        assert!(log.read_call(&call("CA1")).await.unwrap().is_empty());

        // What comes late is refused, once it has left nothing.
        let late = large(1, 1, "another");
        let error = log.put_record(&first(&call("CA1")), &late).await.unwrap_err();
        assert_eq!(error.remedy(), remedy);
        assert_eq!(log.store().store.len(), 2);
        log.store().keeps_all.store(false, Ordering::Relaxed);
        if is_denied {
            log.erase_call(&call("CA1")).await.unwrap();
        }
        assert_eq!(log.put_record(&first(&call("CA1")), &late).await.unwrap_err().kind(), LogErrorKind::Erased);
        assert!(log.store().store.is_empty());
        let blob = Blob::new("secret".repeat(333).into_bytes());
        log.store().store.put(&blob, &Owner::new("CA1").unwrap()).await.unwrap();
    }
    // A put that was cut off itself, and landed behind.
    log.erase_call(&call("CA1")).await.unwrap();
    assert!(log.store().store.is_empty());
}

#[tokio::test]
async fn what_is_held_keeps_its_contents() {
    let log = failing();
    let opened = header("CA1", day(0).0);
    log.open_call(&opened).await.unwrap();
    put(&log, &call("CA1"), &[large(0, 1, "terms")]).await;
    log.change_call(&call("CA1"), &CallChange::Hold).await.unwrap();
    assert_eq!(log.erase_call(&call("CA1")).await.unwrap_err().kind(), LogErrorKind::Held);
    assert_eq!(conformance::read(&log, &call("CA1")).await, [large(0, 1, "terms")]);
}

#[tokio::test]
async fn what_is_missing_or_corrupt_is_named_and_the_rest_of_the_call_loads() {
    let log = failing();
    let opened = header("CA1", day(0).0);
    log.open_call(&opened).await.unwrap();
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_system(PROMPT).unwrap();
    manager.add_user("terms ".repeat(400)).unwrap();
    let picture = Media::new(MediaKind::Image, Source::Bytes(vec![9; 3_000].into()));
    manager.add_assistant("Hello!").unwrap();
    manager.add_user([picture]).unwrap();
    let whole = manager.records();
    put_as(&log, &WriterLease::of(&opened), &whole).await;

    let (prompt, image) = (ContentId::of(PROMPT.as_bytes()), ContentId::of(&[9; 3_000]));
    log.store().unread.lock().unwrap().extend([prompt, image]);
    let small = log.log().read_call(&call("CA1")).await.unwrap().records;
    for call in [log.read_call(&call("CA1")).await.unwrap(), log.resume_call(&call("CA1")).await.unwrap()] {
        let problems: Vec<_> = call.problems.iter().map(|one| (one.message_id, one.content_id)).collect();
        assert_eq!(problems, [(whole[0].id(), prompt), (whole[3].id(), image)]);
        assert!(matches!(call.problems[0].error, ContentError::Corrupt { .. }));
        assert_eq!(call.records, [&small[0], &whole[1], &whole[2], &small[3]].map(Record::clone));

        // The call goes on; what is missing is written back as it is, and there again once the store is mended.
        let mut restored = MessagesManager::<PlainMessage>::restore(call.records).unwrap();
        restored.entry(&whole[3].id()).unwrap().set_data("seen", true).unwrap();
        if let Some(lease) = call.header.as_ref().map(WriterLease::of).filter(|lease| lease.epoch() == 2) {
            put_as(&log, &lease, restored.changes(LastMessage::Include).records()).await;
        }
    }
    log.store().unread.lock().unwrap().clear();
    let mended = log.read_call(&call("CA1")).await.unwrap();
    manager.entry(&whole[3].id()).unwrap().set_data("seen", true).unwrap();
    assert_eq!((mended.records, mended.problems), (manager.records(), Vec::new()));
}

async fn items(client: &Client) -> Vec<Item> {
    let mut pages = client.scan().table_name("verbale").into_paginator().send();
    let mut items = Vec::new();
    while let Some(page) = pages.next().await {
        items.extend(page.unwrap().items.unwrap_or_default());
    }
    items
}

/// Whether a text is somewhere in a value.
fn says(value: &AttributeValue, text: &str) -> bool {
    let has = |bytes: &[u8]| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    match value {
        AttributeValue::S(found) => has(found.as_bytes()),
        AttributeValue::B(found) => has(found.as_ref()),
        AttributeValue::L(values) => values.iter().any(|value| says(value, text)),
        AttributeValue::M(values) => values.iter().any(|(name, value)| has(name.as_bytes()) || says(value, text)),
        _ => false,
    }
}

async fn table_says(client: &Client, text: &str) -> bool {
    items(client).await.iter().flat_map(|item| item.values()).any(|value| says(value, text))
}

fn with_prompt(words: &str) -> Vec<Record> {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_system(PROMPT).unwrap();
    manager.add_user(words.repeat(200)).unwrap();
    manager.records()
}

#[tokio::test]
async fn what_two_calls_use_goes_with_the_last() {
    let (log, client) = log_and_client().await;
    let log = in_dynamodb(log, client.clone());
    let [one, other] = ["CA1", "CA2"].map(call);
    let [first_call, second_call] = ["my pin is 4711 ", "my pin is 0815 "].map(with_prompt);
    put(&log, &one, &first_call).await;
    put(&log, &other, &second_call).await;
    assert!(table_says(&client, PROMPT).await && table_says(&client, "4711").await);
    let prompts = items(&client).await.iter().filter(|item| item.values().any(|value| says(value, PROMPT))).count();
    assert_eq!(prompts, 1, "once for both");

    log.erase_call(&one).await.unwrap();
    assert!(!table_says(&client, "4711").await);
    assert_eq!(log.read_call(&other).await.unwrap(), LoggedCall::new(None, second_call));
    log.erase_call(&other).await.unwrap();
    assert!(!table_says(&client, PROMPT).await && !table_says(&client, "0815").await);
    let left: Vec<_> = items(&client).await.iter().map(|item| item["entity"].as_s().unwrap().clone()).collect();
    assert!(left.iter().all(|entity| entity == "erased"), "{left:?}");

    // A message that had never arrived is stored behind the mark, unread: its contents go with it.
    put(&log, &other, &[large(9, 1, "too late")]).await;
    assert!(log.read_call(&other).await.unwrap().is_empty());
    log.erase_call(&other).await.unwrap();
    assert!(!table_says(&client, "too late").await);
    let error = log.put_record(&first(&other), &large(9, 2, "too late")).await.unwrap_err();
    assert!(error.kind() == LogErrorKind::Erased && !table_says(&client, "too late").await);
}

#[tokio::test]
async fn of_an_expired_call_the_contents_go_when_it_is_erased() {
    let clock = conformance::clock();
    let (log, client) = log_and_client().await;
    let log = in_dynamodb(log.with_clock(clock.clone()), client.clone());
    let opened = header("CA1", conformance::START_MS).with_expires_at(conformance::START_MS / 1_000 + 10);
    log.open_call(&opened).await.unwrap();
    put_as(&log, &WriterLease::of(&opened), &with_prompt("my pin is 4711 ")).await;
    clock.advance(1_000_000);
    assert!(log.read_call(&call("CA1")).await.unwrap().is_empty());
    assert!(table_says(&client, "4711").await);
    log.erase_call(&call("CA1")).await.unwrap();
    assert!(!table_says(&client, "4711").await && !table_says(&client, PROMPT).await);
}
