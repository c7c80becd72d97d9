//! Takeover of a call in DynamoDB while its older writer, a third process or a fault interferes between two requests.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_sdk_dynamodb::error::ConnectorError;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
use tokio::sync::oneshot;
use verbale::Record;
use verbale::dynamodb::{Cost, DynamoLog, Item};
use verbale::log::{CallChange, CallHeader, CallId, CallLog, LogError, LogErrorKind, LoggedCall, Put, WriterLease};

use super::dynamodb::{items, log_and_client};
use super::resumed::{resume, resume_within};
use super::support::{START_MS, assert_fenced, call, call_end, header, message, open, put_as, read, summary};

type Between = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An event that disturbs a request.
enum Event {
    /// Another action runs before the request.
    Before(Between),
    /// The request never arrives.
    Lost,
    /// The request is applied, but its response never arrives.
    Unanswered,
}

/// A client that disturbs one of its requests.
#[derive(Clone)]
struct DisturbingClient {
    inner: SharedHttpClient,
    connector: Option<SharedHttpConnector>,
    /// The number of the request, from 0, and its event, which is taken when it happens.
    event: Arc<Mutex<(usize, Option<Event>)>>,
    requests: Arc<AtomicUsize>,
}

impl fmt::Debug for DisturbingClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DisturbingClient")
    }
}

impl HttpClient for DisturbingClient {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let connector = Some(self.inner.http_connector(settings, components));
        SharedHttpConnector::new(Self { connector, ..self.clone() })
    }
}

impl HttpConnector for DisturbingClient {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let number = self.requests.fetch_add(1, Ordering::Relaxed);
        let event = {
            let mut event = self.event.lock().unwrap();
            if event.0 == number { event.1.take() } else { None }
        };
        let connector = self.connector.clone().unwrap();
        HttpConnectorFuture::new(async move {
            let late = || Err(ConnectorError::timeout("late".into()));
            match event {
                Some(Event::Lost) => late(),
                Some(Event::Unanswered) => connector.call(request).await.and(late()),
                Some(Event::Before(between)) => {
                    // A task completes even if this request is cancelled because another one failed.
                    tokio::spawn(between).await.unwrap();
                    connector.call(request).await
                }
                None => connector.call(request).await,
            }
        })
    }
}

/// A log whose request `number` is disturbed.
struct Disturbed {
    log: DynamoLog,
    event: Arc<Mutex<(usize, Option<Event>)>>,
}

impl Disturbed {
    fn new(client: &Client, number: usize, event: Event) -> Self {
        let event = Arc::new(Mutex::new((number, Some(event))));
        let inner = client.config().http_client().unwrap();
        let disturbing = DisturbingClient { inner, connector: None, event: event.clone(), requests: Arc::default() };
        let config = client.config().to_builder().http_client(disturbing).build();
        Self { log: DynamoLog::new(Client::from_conf(config)), event }
    }

    fn has_happened(&self) -> bool {
        self.event.lock().unwrap().1.is_none()
    }
}

async fn logged() -> (DynamoLog, Client, WriterLease) {
    let (log, client) = log_and_client().await;
    let lease = begin(&log, "CA1").await;
    (log, client, lease)
}

/// Opens a call with messages 0 to 4, two of them covered by a summary.
async fn begin(log: &DynamoLog, id: &str) -> WriterLease {
    let lease = open(log, &header(id, START_MS)).await;
    put_as(log, &lease, &begun()).await;
    lease
}

fn begun() -> Vec<Record> {
    vec![message(0, 1), message(1, 1), summary(1, 1), message(2, 1), message(3, 1), message(4, 1)]
}

/// Returns the late writes of an older writer: in the order of its list, and out of order.
fn late() -> Vec<Vec<Record>> {
    vec![
        vec![message(0, 2)],
        vec![message(4, 2)],
        vec![message(5, 1)],
        vec![message(5, 1), message(6, 1)],
        vec![summary(2, 2)],
        vec![summary(4, 2), message(5, 1), summary(5, 3)],
        vec![summary(1, 1), message(3, 3)],
        // Message 5 is a dead letter.
        vec![message(6, 1)],
    ]
}

/// Puts records in order, as a writer does, until one is refused. Returns how many were stored.
async fn put_in_order(log: &DynamoLog, lease: &WriterLease, records: &[Record]) -> (usize, Option<LogError>) {
    for (stored, record) in records.iter().enumerate() {
        if let Err(error) = log.put_record(lease, record).await {
            return (stored, Some(error));
        }
    }
    (records.len(), None)
}

#[tokio::test]
async fn late_write_is_read_by_the_new_writer_or_never() {
    let (log, client) = log_and_client().await;
    for (history, records) in late().into_iter().enumerate() {
        for number in 0.. {
            let old = begin(&log, &format!("{history} {number}")).await;
            let (ghost, lease, put) = (log.clone(), old.clone(), records.clone());
            let (sender, outcome) = oneshot::channel();
            let event = Event::Before(Box::pin(async move {
                sender.send(put_in_order(&ghost, &lease, &put).await).unwrap();
            }));
            let disturbed = Disturbed::new(&client, number, event);
            let (manager, writer) = resume(&disturbed.log, old.call_id()).await.unwrap();
            if !disturbed.has_happened() {
                assert!(number > 8, "{number} requests");
                break;
            }
            let context = format!("{records:?} before request {number}");
            let resumed = log.read_call(old.call_id()).await.unwrap();
            assert_eq!(resumed.records, manager.records(), "{context}");
            assert_eq!(resumed.lease().as_ref(), Some(writer.lease()), "{context}");
            // Stored records are read and refused ones are not, unless the writer wrote out of order.
            let (stored, error) = outcome.await.unwrap();
            if let Some(error) = error {
                assert!(error.kind() == LogErrorKind::Fenced, "{error:?} {context}");
                let refused = &records[stored];
                assert!(!resumed.records.contains(refused) || begun().contains(refused), "{context}");
            }
            if records[0] != message(6, 1) {
                let is_read = |stored: &Record| {
                    let newest = resumed.records.iter().find(|record| record.id() == stored.id());
                    newest.is_some_and(|newest| newest.revision() >= stored.revision())
                };
                assert!(records[..stored].iter().all(is_read), "{context}: {stored}");
            }
            // Later writes of the older writer change nothing.
            for records in late() {
                let (_, error) = put_in_order(&log, &old, &records).await;
                let next = resumed.records.iter().map(|record| record.position().seq()).max().unwrap() + 1;
                let position = records[0].position();
                let is_known = resumed.records.iter().any(|record| record.position() == position);
                if is_known || (position.seq(), position.summary_number()) == (next, None) {
                    assert!(error.unwrap().kind() == LogErrorKind::Fenced, "{context}, then {records:?}");
                }
                assert_eq!(log.read_call(old.call_id()).await.unwrap(), resumed, "{context}, then {records:?}");
            }
            // The new writer replaces them.
            let new = resumed.lease().unwrap();
            let next = resumed.records.iter().map(|record| record.position().seq()).max().unwrap() + 1;
            let own = [message(next, 1), message(next + 1, 1), summary(next, 9), message(0, 7)];
            assert_eq!(put_as(&log, &new, &own).await, [Put::Written; 4], "{context}");
            let mut expected: Vec<Record> =
                resumed.records.iter().filter(|one| one.id() != own[3].id()).cloned().collect();
            expected.extend(own);
            expected.sort_by_key(|record| record.position());
            assert_eq!(read(&log, old.call_id()).await, expected, "{context}");
            // The next writer reads the same records.
            assert_eq!(resume(&log, old.call_id()).await.unwrap().0.records(), expected, "{context}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_of_two_concurrent_takeovers_gets_the_call() {
    let (mut firsts, mut seconds) = (0, 0);
    for number in 0.. {
        let (log, client, old) = logged().await;
        let (sender, outcome) = oneshot::channel();
        let (second, call_id) = (log.clone(), old.call_id().clone());
        let event = Event::Before(Box::pin(async move {
            // The first process is alive meanwhile, and outlives this timeout.
            sender.send(resume_within(&second, &call_id, Duration::from_secs(20)).await).unwrap();
        }));
        let disturbed = Disturbed::new(&client, number, event);
        let first = resume(&disturbed.log, old.call_id()).await;
        if !disturbed.has_happened() {
            break;
        }
        let (manager, writer) = match (first, outcome.await.unwrap()) {
            // The first process had not read the call yet.
            (Ok(first), Ok((_, second))) => {
                assert_eq!((number, first.1.lease().epoch()), (0, 3));
                assert_fenced(&log, second.lease(), &[message(5, 1)], 3).await;
                first
            }
            // The second process waited for the first one, which had committed.
            (Ok(first), Err(error)) => {
                assert!(error.is_retryable(), "{error} before request {number}");
                firsts += 1;
                first
            }
            (Err(error), Ok(second)) => {
                assert_eq!(error.kind(), LogErrorKind::Fenced, "{error} before request {number}");
                seconds += 1;
                second
            }
            (Err(first), Err(second)) => panic!("{first} and {second} before request {number}"),
        };
        assert_fenced(&log, &old, &[message(5, 1)], writer.lease().epoch()).await;
        let call = log.read_call(old.call_id()).await.unwrap();
        assert_eq!((&call.records, call.lease().as_ref()), (&manager.records(), Some(writer.lease())));
        assert_eq!(put_as(&log, writer.lease(), &[message(5, 1)]).await, [Put::Written]);
    }
    assert!(firsts > 6 && seconds > 0, "{firsts} and {seconds}");
}

#[tokio::test(start_paused = true)]
async fn call_erased_during_a_takeover_stays_erased() {
    for number in 0.. {
        let (log, client, old) = logged().await;
        let (eraser, call_id) = (log.clone(), old.call_id().clone());
        let (sender, erased) = oneshot::channel();
        let event = Event::Before(Box::pin(async move {
            sender.send(eraser.erase_call(&call_id).await).unwrap();
        }));
        let disturbed = Disturbed::new(&client, number, event);
        let resumed = resume(&disturbed.log, old.call_id()).await;
        if !disturbed.has_happened() {
            break;
        }
        erased.await.unwrap().unwrap();
        assert!(resumed.unwrap_err().kind() == LogErrorKind::Erased, "before request {number}");
        assert_eq!(log.read_call(old.call_id()).await.unwrap_err().kind(), LogErrorKind::Erased);
        for item in items(&client).await {
            assert!(["erased", "fence"].contains(&item["entity"].as_s().unwrap().as_str()), "before request {number}");
        }
    }
}

/// Runs an action on a call with a fault at each of its requests, and asserts that a repetition completes it.
async fn assert_repeatable<F: Future<Output = Result<(), LogError>>>(
    prepare: impl AsyncFn(&DynamoLog, &WriterLease),
    act: impl Fn(DynamoLog, WriterLease) -> F,
) {
    let expiring = CallHeader::new(call("CA1"), START_MS).unwrap().with_expires_at(9_999_999_999);
    let prepared = async || {
        let (log, client) = log_and_client().await;
        let lease = open(&log, &expiring).await;
        put_as(&log, &lease, &begun()).await;
        prepare(&log, &lease).await;
        (log, client, lease)
    };
    let (log, client, lease) = prepared().await;
    act(log, lease).await.unwrap();
    let undisturbed = without_times(items(&client).await);
    for number in 0.. {
        for event in [Event::Lost, Event::Unanswered] {
            let (log, client, lease) = prepared().await;
            let disturbed = Disturbed::new(&client, number, event);
            let outcome = act(disturbed.log.clone(), lease.clone()).await;
            if !disturbed.has_happened() {
                assert!(number > 0);
                return;
            }
            assert!(outcome.unwrap_err().is_retryable(), "request {number}");
            act(log, lease).await.unwrap();
            let mut items = without_times(items(&client).await);
            if items.iter().all(is_mark) {
                // A repeated erasure may mark more free places.
                items.retain(|item| undisturbed.contains(item));
            }
            assert_eq!(items, undisturbed, "request {number}");
        }
    }
}

/// Removes the times of erasures.
fn without_times(mut items: Vec<Item>) -> Vec<Item> {
    for item in items.iter_mut().filter(|item| is_mark(item)) {
        item.remove("gsi1sk");
    }
    items
}

fn is_mark(item: &Item) -> bool {
    item["entity"].as_s().is_ok_and(|entity| entity == "erased")
}

async fn changed(log: DynamoLog, lease: WriterLease, change: CallChange) -> Result<(), LogError> {
    log.change_call(lease.call_id(), &change).await.map(drop)
}

async fn hold(log: &DynamoLog, lease: &WriterLease) {
    changed(log.clone(), lease.clone(), CallChange::Hold).await.unwrap();
}

#[tokio::test]
async fn failed_change_can_be_repeated() {
    let nothing = async |_: &DynamoLog, _: &WriterLease| ();
    let close = |log, lease: WriterLease| {
        changed(log, lease.clone(), CallChange::Close { lease, call_end: call_end("hangup") })
    };
    assert_repeatable(nothing, close).await;
    assert_repeatable(async |log: &DynamoLog, lease: &WriterLease| hold(log, lease).await, close).await;
    assert_repeatable(nothing, |log, lease| changed(log, lease, CallChange::Hold)).await;
    let held = async |log: &DynamoLog, lease: &WriterLease| hold(log, lease).await;
    assert_repeatable(held, |log, lease| changed(log, lease, CallChange::Release)).await;
    let erase = |log: DynamoLog, lease: WriterLease| async move { log.erase_call(lease.call_id()).await };
    assert_repeatable(nothing, erase).await;
}

/// Asserts that only the new writer can write.
async fn assert_taken_over(log: &DynamoLog, old: &WriterLease, new: &WriterLease) {
    assert_fenced(log, old, &[message(5, 1)], new.epoch()).await;
    assert_eq!(put_as(log, new, &[message(5, 1)]).await, [Put::Written]);
}

#[tokio::test(start_paused = true)]
async fn takeover_repeats_a_failed_request() {
    for number in 0.. {
        for event in [Event::Lost, Event::Unanswered] {
            let (log, client, old) = logged().await;
            let disturbed = Disturbed::new(&client, number, event);
            let (manager, writer) = resume(&disturbed.log, old.call_id()).await.unwrap();
            if !disturbed.has_happened() {
                return assert!(number > 8, "{number} requests");
            }
            assert_eq!((manager.records(), writer.lease().epoch()), (begun(), 2), "request {number}");
            assert_taken_over(&log, &old, writer.lease()).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn failed_takeover_can_be_repeated() {
    // Shorter than the wait before a retry.
    let timeout = Duration::from_millis(20);
    for number in 0.. {
        for event in [Event::Lost, Event::Unanswered] {
            let (log, client, old) = logged().await;
            let disturbed = Disturbed::new(&client, number, event);
            let failed = resume_within(&disturbed.log, old.call_id(), timeout).await;
            if !disturbed.has_happened() {
                return assert!(number > 8, "{number} requests");
            }
            assert!(failed.unwrap_err().is_retryable(), "request {number}");
            // No record is lost in between.
            assert_eq!(read(&log, old.call_id()).await, begun());
            let (manager, writer) = resume(&log, old.call_id()).await.unwrap();
            assert_eq!(manager.records(), begun());
            assert_taken_over(&log, &old, writer.lease()).await;
        }
    }
}

#[tokio::test]
async fn concurrent_hold_or_erasure_is_refused() {
    for number in 0.. {
        let (log, client, old) = logged().await;
        let (holder, call_id) = (log.clone(), old.call_id().clone());
        let (sender, outcome) = oneshot::channel();
        let event = Event::Before(Box::pin(async move {
            sender.send(holder.change_call(&call_id, &CallChange::Hold).await).unwrap();
        }));
        let disturbed = Disturbed::new(&client, number, event);
        let erased = disturbed.log.erase_call(old.call_id()).await;
        if !disturbed.has_happened() {
            break;
        }
        let held = outcome.await.unwrap();
        let call = log.read_call(old.call_id()).await;
        match (held, erased) {
            (Ok(held), Err(error)) if error.kind() == LogErrorKind::Held => {
                assert_eq!(call.unwrap(), LoggedCall::new(Some(held), begun()))
            }
            (Err(error), Ok(())) if error.kind() == LogErrorKind::Erased => {
                assert_eq!(call.unwrap_err().kind(), LogErrorKind::Erased)
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn takeover_costs_one_write_per_item_and_later_puts_cost_the_same() {
    let (log, _, old) = logged().await;
    let call_id: CallId = call("long");
    let first = open(&log, &header("long", START_MS)).await;
    assert_eq!(first.call_id(), &call_id);
    // 80 messages with a summary after every 13: two messages are not covered.
    let mut records: Vec<Record> = (0..80).map(|seq| message(seq, 1)).collect();
    records.extend((1..=6).map(|number| summary(13 * number - 1, number)));
    let cost_of = |before: Cost| log.cost() - before;
    let before = log.cost();
    put_as(&log, &first, &records).await;
    let cost = cost_of(before);
    assert_eq!((cost.requests, cost.write_units as u32), (86, 86));

    let before = log.cost();
    let (_, writer) = resume(&log, &call_id).await.unwrap();
    let cost = cost_of(before);
    // Two queries; two writes of the header, each in the table and in the index; 86 items; fences after 78 and 79 and
    // for the next message.
    assert_eq!((cost.requests, cost.write_units as u32), (2 + 2 + 86 + 3, 2 * 2 + 86 + 3), "{cost}");
    assert!(cost.read_units < 10.0, "{cost}");
    for lease in [writer.lease(), &old] {
        let before = log.cost();
        let put = log.put_record(lease, &message(80, 1)).await.unwrap();
        let cost = cost_of(before);
        assert_eq!((put, cost.requests, cost.write_units as u32), (Put::Written, 1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn hold_before_each_request_of_a_takeover_is_kept() {
    for number in 0.. {
        let (log, client) = log_and_client().await;
        let old = open(&log, &header("CA1", START_MS).with_expires_at(9_999_999_999)).await;
        put_as(&log, &old, &begun()).await;
        let (holder, call_id) = (log.clone(), old.call_id().clone());
        let event = Event::Before(Box::pin(async move {
            holder.change_call(&call_id, &CallChange::Hold).await.unwrap();
        }));
        let disturbed = Disturbed::new(&client, number, event);
        let (manager, writer) = resume(&disturbed.log, old.call_id()).await.unwrap();
        if !disturbed.has_happened() {
            assert!(number > 8, "{number} requests");
            break;
        }
        let call = log.read_call(old.call_id()).await.unwrap();
        assert!(call.header.unwrap().is_held(), "before request {number}");
        assert_eq!((call.records, manager.records()), (begun(), begun()));
        let expires = items(&client).await.iter().any(|item| item.contains_key("expires_at"));
        assert!(!expires, "an item of a held call expires, before request {number}");
        assert_taken_over(&log, &old, writer.lease()).await;
    }
}
