//! Spans: the messages of a turn in one item.

use aws_sdk_dynamodb::Client;
use verbale::dynamodb::{DynamoLog, Item, Layout};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallChange, CallHeader, CallLog, LogErrorKind, Put, Span, WriterLease};
use verbale::{LastMessage, MessagesManager, PlainMessage, Record};

use super::resumed::resume;
use super::{call, lease, log_in, message};

fn span(first: u32, last: u32) -> Span {
    Span::try_from(first..=last).unwrap()
}

async fn opened() -> (DynamoLog, Client) {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let log = log_in(client.clone()).await.with_layout(Layout::Spans);
    log.open_call(&CallHeader::new(call("CA1"), 1_744_815_823_058).unwrap()).await.unwrap();
    (log, client)
}

async fn put(log: &DynamoLog, lease: &WriterLease, of: Span, records: &[Record]) -> Vec<Result<Put, LogErrorKind>> {
    let put = log.put_span(lease, of, records).await.unwrap();
    put.into_iter().map(|put| put.map_err(|error| error.kind())).collect()
}

async fn texts(log: &DynamoLog) -> Vec<String> {
    let texts = |record: Record| {
        let json = serde_json::to_value(record).unwrap();
        json["message"]["contents"][0].as_str().unwrap().to_owned()
    };
    log.read_call(&call("CA1")).await.unwrap().records.into_iter().map(texts).collect()
}

/// The sort keys and kinds of all items but the header.
async fn items(client: &Client) -> Vec<(String, String)> {
    let items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap();
    let text = |item: &Item, name: &str| item[name].as_s().unwrap().clone();
    let mut items: Vec<_> = items.iter().map(|item| (text(item, "sk"), text(item, "entity"))).collect();
    items.retain(|(sort_key, _)| sort_key != "CALL");
    items.sort();
    items
}

fn named(items: &[(&str, &str)]) -> Vec<(String, String)> {
    items.iter().map(|(sort_key, entity)| ((*sort_key).to_owned(), (*entity).to_owned())).collect()
}

const WRITTEN: Result<Put, LogErrorKind> = Ok(Put::Written);
const KEPT: Result<Put, LogErrorKind> = Ok(Put::Kept);
const CONFLICT: Result<Put, LogErrorKind> = Err(LogErrorKind::Conflict);

#[tokio::test]
async fn messages_of_a_span_are_one_item_and_one_request() {
    let (log, client) = opened().await;
    let records: Vec<_> = (0..3).map(|seq| message(seq, 1, "words")).collect();
    let before = log.cost();
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &records).await, [WRITTEN; 3]);
    let cost = log.cost() - before;
    assert_eq!((cost.requests, cost.write_units as u32), (1, 1));
    assert_eq!(items(&client).await, named(&[("MSG#00000000", "span")]));
    assert_eq!(log.read_call(&call("CA1")).await.unwrap().records, records);
    // Again, as after a lost answer.
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &records).await, [KEPT; 3]);
}

#[tokio::test]
async fn later_change_writes_only_newer_revisions() {
    let (log, _) = opened().await;
    let first: Vec<_> = (0..3).map(|seq| message(seq, 2, "first")).collect();
    put(&log, &lease("CA1"), span(0, 2), &first).await;
    let before = log.cost();
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &[message(1, 5, "later")]).await, [WRITTEN]);
    assert_eq!((log.cost() - before).requests, 1);
    // Of these, the log has one revision, and a newer one.
    let changed = [message(0, 2, "first"), message(1, 4, "late"), message(2, 3, "later")];
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &changed).await, [KEPT, KEPT, WRITTEN]);
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &changed[1..]).await, [KEPT; 2]);
    // The first write comes late.
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &first).await, [KEPT; 3]);
    assert_eq!(texts(&log).await, ["first", "later", "later"]);
    // All have changed.
    let all: Vec<_> = (0..3).map(|seq| message(seq, 9, "last")).collect();
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &all).await, [WRITTEN; 3]);
    assert_eq!(texts(&log).await, ["last"; 3]);
}

#[tokio::test]
async fn span_of_one_message_is_replaced_with_one_request() {
    let (log, _) = opened().await;
    put(&log, &lease("CA1"), span(0, 0), &[message(0, 1, "first")]).await;
    let before = log.cost();
    assert_eq!(put(&log, &lease("CA1"), span(0, 0), &[message(0, 2, "later")]).await, [WRITTEN]);
    assert_eq!((log.cost() - before).requests, 1);
    assert_eq!(put(&log, &lease("CA1"), span(0, 0), &[message(0, 1, "first")]).await, [KEPT]);
    assert_eq!(texts(&log).await, ["later"]);
}

#[tokio::test]
async fn other_messages_and_contents_are_conflicts_of_their_record_alone() {
    let (log, _) = opened().await;
    put(&log, &lease("CA1"), span(0, 2), &[0, 1, 2].map(|seq| message(seq, 1, "words"))).await;
    let mut other = serde_json::to_value(message(0, 2, "words")).unwrap();
    other["id"] = super::id(77).into();
    let records = [super::record(other), message(1, 1, "other words"), message(2, 2, "newer")];
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &records).await, [CONFLICT, CONFLICT, WRITTEN]);
    assert_eq!(texts(&log).await, ["words", "words", "newer"]);
}

#[tokio::test]
async fn span_needs_its_place_and_all_its_messages() {
    let (log, _) = opened().await;
    assert_eq!(put(&log, &lease("CA1"), span(0, 1), &[message(1, 1, "alone")]).await, [CONFLICT]);
    log.put_record(&lease("CA1"), &message(0, 1, "an item of its own")).await.unwrap();
    let both = [0, 1].map(|seq| message(seq, 2, "words"));
    assert_eq!(put(&log, &lease("CA1"), span(0, 1), &both).await, [CONFLICT; 2]);
    assert_eq!(texts(&log).await, ["an item of its own"]);
}

#[tokio::test]
async fn both_forms_live_in_a_call() {
    let (log, client) = opened().await;
    let old = log.clone().with_layout(Layout::Messages);
    old.put_record(&lease("CA1"), &message(0, 1, "old")).await.unwrap();
    put(&log, &lease("CA1"), span(1, 2), &[1, 2].map(|seq| message(seq, 1, "new"))).await;
    old.put_record(&lease("CA1"), &message(3, 1, "old")).await.unwrap();
    // The item of the first message is the span.
    assert_eq!(old.put_record(&lease("CA1"), &message(1, 2, "changed")).await.unwrap(), Put::Written);
    assert_eq!(texts(&old).await, ["old", "changed", "new", "old"]);
    let kinds = named(&[("MSG#00000000", "message"), ("MSG#00000001", "span"), ("MSG#00000003", "message")]);
    assert_eq!(items(&client).await, kinds);
    // A message in two items: the newer one counts.
    old.put_record(&lease("CA1"), &message(2, 2, "newer")).await.unwrap();
    assert_eq!(texts(&log).await, ["old", "changed", "newer", "old"]);
}

#[tokio::test]
async fn takeover_stamps_spans_and_fences_no_message_in_them() {
    let (log, client) = opened().await;
    let old = lease("CA1");
    put(&log, &old, span(0, 2), &[0, 1, 2].map(|seq| message(seq, 1, "words"))).await;
    let (manager, writer) = resume(&log, &call("CA1")).await.unwrap();
    assert_eq!(manager.records().len(), 3);
    let new = writer.lease();
    let fences = ["MSG#00000000#SUM#0001", "MSG#00000001#SUM#0001", "MSG#00000002#SUM#0001", "MSG#00000003"];
    let mut expected = named(&fences.map(|fence| (fence, "fence")));
    expected.insert(0, ("MSG#00000000".to_owned(), "span".to_owned()));
    assert_eq!(items(&client).await, expected);
    // Nothing of the old writer is stored any more.
    let fenced = Err(LogErrorKind::Fenced);
    assert_eq!(put(&log, &old, span(0, 2), &[message(1, 2, "late")]).await, [fenced]);
    assert_eq!(put(&log, &old, span(3, 4), &[3, 4].map(|seq| message(seq, 1, "late"))).await, [fenced; 2]);
    // The new writer changes the old span and follows it.
    assert_eq!(put(&log, new, span(0, 2), &[message(1, 2, "changed")]).await, [WRITTEN]);
    assert_eq!(put(&log, new, span(3, 4), &[3, 4].map(|seq| message(seq, 1, "new"))).await, [WRITTEN; 2]);
    assert_eq!(texts(&log).await, ["words", "changed", "words", "new", "new"]);
}

#[tokio::test]
async fn late_span_of_an_old_writer_is_replaced_and_not_merged() {
    let (log, _) = opened().await;
    let old = lease("CA1");
    put(&log, &old, span(0, 0), &[message(0, 1, "words")]).await;
    let (_, writer) = resume(&log, &call("CA1")).await.unwrap();
    let new = writer.lease();
    // Out of order, after the fence.
    assert_eq!(put(&log, &old, span(2, 4), &[2, 3, 4].map(|seq| message(seq, 7, "late"))).await, [WRITTEN; 3]);
    assert_eq!(texts(&log).await, ["words"]);
    // A change does not bring the late span back.
    assert_eq!(put(&log, new, span(2, 4), &[message(3, 8, "changed")]).await, [CONFLICT]);
    put(&log, new, span(1, 1), &[message(1, 1, "new")]).await;
    assert_eq!(put(&log, new, span(2, 3), &[2, 3].map(|seq| message(seq, 1, "new"))).await, [WRITTEN; 2]);
    assert_eq!(texts(&log).await, ["words", "new", "new", "new"]);
    // A second takeover reads the same.
    assert_eq!(resume(&log, &call("CA1")).await.unwrap().0.records().len(), 4);
}

#[tokio::test]
async fn erased_span_stays_erased() {
    let (log, client) = opened().await;
    let records = [0, 1, 2].map(|seq| message(seq, 1, "secret"));
    put(&log, &lease("CA1"), span(0, 2), &records).await;
    log.erase_call(&call("CA1")).await.unwrap();
    let erased = Err(LogErrorKind::Erased);
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &records).await, [erased; 3]);
    assert_eq!(put(&log, &lease("CA1"), span(0, 2), &[message(1, 2, "late")]).await, [erased]);
    assert_eq!(put(&log, &lease("CA1"), span(3, 4), &[3, 4].map(|seq| message(seq, 1, "late"))).await, [erased; 2]);
    let items = items(&client).await;
    assert!(items.iter().all(|(_, entity)| entity == "erased"), "{items:?}");
    // One mark for the span, none for each of its messages.
    assert_eq!(items.iter().filter(|(sort_key, _)| !sort_key.contains("SUM")).count(), 2, "{items:?}");
}

#[tokio::test]
async fn held_span_does_not_expire() {
    let (log, client) = opened().await;
    let id = call("CA2");
    let header = CallHeader::new(id.clone(), 1_744_815_823_058).unwrap().with_expires_at(4_000_000_000);
    log.open_call(&header).await.unwrap();
    let lease = WriterLease::from(&header);
    put(&log, &lease, span(0, 1), &[0, 1].map(|seq| message(seq, 1, "words"))).await;
    let expiries = async || {
        let items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap();
        items.iter().filter(|item| item.contains_key("expires_at")).count()
    };
    assert_eq!(expiries().await, 2);
    log.change_call(&id, &CallChange::Hold).await.unwrap();
    put(&log, &lease, span(0, 1), &[message(1, 2, "changed")]).await;
    assert_eq!(expiries().await, 0);
    log.change_call(&id, &CallChange::Release).await.unwrap();
    assert_eq!(expiries().await, 2);
}

#[tokio::test]
async fn message_that_is_too_large_fails_alone_once_its_span_is_stored() {
    let (log, _) = opened().await;
    let large = message(1, 2, &"x".repeat(410_000));
    let first = [message(0, 1, "words"), message(1, 1, "words")];
    let refused = Err(LogErrorKind::Refused);
    assert_eq!(put(&log, &lease("CA1"), span(0, 1), &[first[0].clone(), large.clone()]).await, [refused; 2]);
    put(&log, &lease("CA1"), span(0, 1), &first).await;
    assert_eq!(put(&log, &lease("CA1"), span(0, 1), &[message(0, 2, "newer"), large]).await, [WRITTEN, refused]);
    // Each has room for itself, and the item has not room for both.
    let half = |seq| message(seq, 3, &"x".repeat(250_000));
    assert_eq!(put(&log, &lease("CA1"), span(0, 1), &[half(0), half(1)]).await, [WRITTEN, refused]);
}

#[tokio::test]
async fn span_of_many_messages_changes_in_several_requests() {
    let (log, _) = opened().await;
    let of = |revision, text: &str| (0..100).map(|seq| message(seq, revision, text)).collect::<Vec<_>>();
    assert_eq!(put(&log, &lease("CA1"), span(0, 99), &of(1, "first")).await, [WRITTEN; 100]);
    assert_eq!(put(&log, &lease("CA1"), span(0, 99), &of(2, "later")).await, [WRITTEN; 100]);
    assert_eq!(texts(&log).await, ["later"; 100]);
}

#[tokio::test]
async fn conversation_in_spans_is_restored() {
    let (log, _) = opened().await;
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("Hi").unwrap();
    manager.add_assistant("How can I help you?").unwrap();
    manager.add_summary("They met.", &manager.summarizing().unwrap()).unwrap();
    manager.add_user("My card is lost").unwrap();
    let changes = manager.changes(LastMessage::Include);
    let (messages, summaries): (Vec<_>, Vec<_>) =
        changes.into_iter().partition(|record| record.position().summary_number().is_none());
    put(&log, &lease("CA1"), span(0, 2), &messages).await;
    for summary in &summaries {
        log.put_record(&lease("CA1"), summary).await.unwrap();
    }
    let call = log.read_call(&call("CA1")).await.unwrap();
    assert!(MessagesManager::restore(call.records).unwrap() == manager);
}
