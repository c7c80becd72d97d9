//! Puts and reads of records.

use std::sync::Arc;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::json;
use verbale::clock::ManualClock;
use verbale::dynamodb::{Cost, DynamoLog, item_size};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallLog, LogErrorKind, Put, WriterLease};
use verbale::{LastMessage, MessagesManager, PlainMessage, Record};

use super::{call, id, lease, log, log_in, message, record, summary, to_item};

async fn puts(log: &DynamoLog, record: &Record) -> Put {
    log.put_record(&lease("CA1"), record).await.unwrap()
}

async fn reads(log: &DynamoLog) -> Vec<Record> {
    log.read_call(&call("CA1")).await.unwrap().records
}

async fn puts_all(log: &DynamoLog, records: &[Record]) {
    for record in records {
        puts(log, record).await;
    }
}

#[tokio::test]
async fn only_newer_revisions_are_written() {
    let log = log().await;
    let [first, second, third] = [1, 2, 3].map(|revision| message(0, revision, &format!("at {revision}")));
    assert_eq!(puts(&log, &second).await, Put::Written);
    assert_eq!(puts(&log, &second).await, Put::Kept);
    assert_eq!(puts(&log, &first).await, Put::Kept);
    assert_eq!(reads(&log).await, [second]);
    assert_eq!(puts(&log, &third).await, Put::Written);
    assert_eq!(reads(&log).await, [third]);
}

#[tokio::test]
async fn restored_call_continues() {
    let log = log().await;
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_assistant("Hello!").unwrap();
    manager.add_user("Hi").unwrap();
    manager.add_assistant("How can I help you?").unwrap();
    manager.add_summary("They met.", &manager.summarizing().unwrap()).unwrap();
    manager.add_user("My card is lost").unwrap();
    puts_all(&log, &manager.changes(LastMessage::Include)).await;
    let mut restored = MessagesManager::<PlainMessage>::restore(reads(&log).await).unwrap();
    assert!(restored == manager && restored.changes(LastMessage::Include).is_empty());
    restored.add_assistant("I have locked it.").unwrap();
    puts_all(&log, &restored.changes(LastMessage::Include)).await;
    assert!(MessagesManager::restore(reads(&log).await).unwrap() == restored);
    assert!(log.read_call(&call("CA2")).await.unwrap().is_empty());
}

#[tokio::test]
async fn refused_write_costs_the_size_of_the_item() {
    let log = log().await;
    let long = message(0, 2, &"x".repeat(3_000));
    for expected in [Put::Written, Put::Kept] {
        let before = log.cost();
        assert_eq!(puts(&log, &long).await, expected);
        let cost = log.cost() - before;
        assert_eq!(cost.requests, 1);
        assert!((cost.write_units, cost.read_units) == (4.0, 0.0), "{cost}");
    }
}

#[tokio::test]
async fn second_writer_gets_a_conflict() {
    let log = log().await;
    puts(&log, &message(0, 2, "the caller's words")).await;
    let error = log.put_record(&lease("CA1"), &message(0, 2, "other words")).await.unwrap_err();
    assert!(error.kind() == LogErrorKind::Conflict && !error.is_retryable());
    assert_eq!(
        error.to_string(),
        "message 0 of call CA1, message 00000000000000000000000000, has other contents in the log at the same \
         revision 2; nothing was written: two writers log this call, stop one and restore the call from the log"
    );
    assert!(!format!("{error:?}").contains("words"));
    for revision in [1, 2, 3] {
        let other = record(json!({
            "id": id(7), "seq": 0, "revision": revision,
            "message": {"role": "user", "contents": ["other"]}, "metadata": {"timing": {"creation": 5}},
        }));
        let error = log.put_record(&lease("CA1"), &other).await.unwrap_err();
        assert!(error.kind() == LogErrorKind::Conflict);
        assert_eq!(
            error.to_string(),
            "message 0 of call CA1 is message 00000000000000000000000000 in the log, not 00000000000000000000000007; \
             nothing was written: two writers log this call, stop one and restore the call from the log"
        );
    }
    assert_eq!(reads(&log).await, [message(0, 2, "the caller's words")]);
}

#[tokio::test]
async fn long_call_is_read_in_order_over_several_pages() {
    let log = log().await;
    let text = "x".repeat(5_100);
    let mut records: Vec<_> = (0..420).map(|seq| message(seq, 1, &text)).collect();
    records.extend([summary(5, 1), summary(5, 2), summary(419, 3)]);
    records.reverse();
    puts_all(&log, &records).await;
    // Each message takes a little more than 5 KB, which is 6 units.
    let written = log.cost();
    assert_eq!(written.requests, 423);
    assert!((written.write_units, written.read_units) == (420.0 * 6.0 + 3.0, 0.0), "{written}");

    let found = reads(&log).await;
    let cost = log.cost() - written;
    records.sort_by_key(|record| record.position());
    assert!(found == records);
    assert_eq!(cost.requests, 2 + 1, "2 MB are two pages and the rest");
    assert!((525.0..560.0).contains(&cost.read_units), "{cost}");
}

#[tokio::test]
async fn calls_are_separate() {
    let log = log().await;
    // Some ids are prefixes of others, and one equals the sort key of a header.
    for name in ["CA", "CA1", "CA#MSG#0", "CALL"] {
        log.put_record(&lease(name), &message(0, 1, name)).await.unwrap();
    }
    for name in ["CA", "CA1", "CA#MSG#0", "CALL"] {
        assert_eq!(log.read_call(&call(name)).await.unwrap().records, [message(0, 1, name)], "{name}");
    }
    assert_eq!(log.read_call(&call("C")).await.unwrap().records, []);
}

#[tokio::test]
async fn header_is_no_message() {
    let log = log().await;
    puts(&log, &message(0, 1, "Hi")).await;
    let header = CallHeader::new(call("CA1"), 5).unwrap();
    log.open_call(&header).await.unwrap();
    let before: Cost = log.cost();
    let found = log.read_call(&call("CA1")).await.unwrap();
    assert_eq!((found.header, found.records), (Some(header), vec![message(0, 1, "Hi")]));
    assert_eq!((log.cost() - before).requests, 1);
}

#[tokio::test]
async fn values_without_json_form_have_their_attribute_type() {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    let log = log_in(client.clone()).await;
    let long = "12345678901234567890123456789012345678";
    let record = record(json!({
        "id": id(0), "seq": 0, "revision": 1, "message": {"role": "user", "contents": ["", "Hi"]},
        "metadata": {"timing": {"creation": 5}, "aux": {
            "long": {"$number": long}, "tiny": {"$number": "1.5E-130"}, "none": null, "empty": "",
            "bytes": {"$bytes": "aGk="},
        }},
    }));
    puts(&log, &record).await;
    assert_eq!(reads(&log).await, [record]);
    let item = client.scan().table_name(log.table()).send().await.unwrap().items.unwrap().remove(0);
    let aux = item["aux"].as_m().unwrap();
    for (key, attribute) in [
        ("long", AttributeValue::N(long.to_owned())),
        ("none", AttributeValue::Null(true)),
        ("empty", AttributeValue::S(String::new())),
        ("bytes", AttributeValue::B(Blob::new("hi"))),
    ] {
        assert_eq!(aux[key], attribute);
    }
}

#[tokio::test]
async fn item_has_400_kb_at_most() {
    let log = log().await;
    let empty = item_size(&to_item(&call("CA1"), &message(0, 1, "")));
    let largest = message(0, 1, &"x".repeat(409_560 - empty));
    assert_eq!(puts(&log, &largest).await, Put::Written);

    // A request to this table would fail with another error.
    let nowhere = log.with_table("nowhere");
    let too_large = message(0, 1, &"x".repeat(401 * 1024));
    let error = nowhere.put_record(&lease("CA1"), &too_large).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "MSG#00000000 of call CA1 takes {} bytes and an item has room for 409560; nothing was written: offload \
             large contents to a content store and keep custom data small; then change the message, or retry its dead \
             letter with a smaller record",
            empty + 401 * 1024
        )
    );
}

#[tokio::test]
async fn error_names_the_request_and_the_table() {
    let error = log().await.with_table("nowhere").put_record(&lease("CA1"), &message(0, 1, "a")).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::NeedsOperator, "{error:?}");
    assert_eq!(
        error.to_string(),
        "PutItem of MSG#00000000 of call CA1 to table nowhere failed: there is no such table; create it, or check its \
         name, region and account"
    );
}

#[tokio::test]
async fn expired_items_are_not_read() {
    let clock = Arc::new(ManualClock::new(1_000_999));
    let log = log().await.with_clock(clock.clone());
    let expiring = WriterLease::from(&CallHeader::new(call("CA1"), 5).unwrap().with_expires_at(1_001));
    log.put_record(&expiring, &message(0, 1, "a")).await.unwrap();
    puts(&log, &message(1, 1, "b")).await;
    assert_eq!(reads(&log).await, [message(0, 1, "a"), message(1, 1, "b")]);
    clock.advance(1);
    assert_eq!(reads(&log).await, [message(1, 1, "b")]);
    // Records are equal even if their expiry differs.
    assert_eq!(puts(&log, &message(0, 1, "a")).await, Put::Kept);
}

#[tokio::test]
async fn reopened_directory_holds_all_records() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a").join("b");
    let records = [message(0, 1, "Hi"), message(1, 2, "perché"), summary(1, 1)];
    {
        let log = log_in(EmbeddedDynamo::open(&path).unwrap().client()).await;
        puts_all(&log, &records).await;
    }
    let log = log_in(EmbeddedDynamo::open(&path).unwrap().client()).await;
    assert_eq!(reads(&log).await, records);

    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = EmbeddedDynamo::open(&file).unwrap_err();
    assert!(error.to_string().contains("its directory cannot be created"), "{error}");
}
