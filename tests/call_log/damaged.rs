//! Items that another program has damaged: the call is resumed with everything else, and continues.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use verbale::Record;
use verbale::dynamodb::{DynamoLog, Item, Layout};
use verbale::log::{CallChange, CallLog, LogErrorKind, Span, WriterLease};

use super::dynamodb::log_and_client;
use super::resumed::resume;
use super::support::{START_MS, assert_fenced, call_end, header, message, open, put_as, summary};

/// Stores a call of five messages and a summary that has ended.
async fn ended(log: &DynamoLog, id: &str, has_spans: bool) -> (WriterLease, Vec<Record>) {
    let lease = open(log, &header(id, START_MS)).await;
    let messages = [0, 1, 2, 3, 4].map(|seq| message(seq, 1));
    if has_spans {
        for (first, last) in [(0, 2), (3, 4)] {
            let of = first as usize..=last as usize;
            log.put_span(&lease, Span::try_from(first..=last).unwrap(), &messages[of]).await.unwrap();
        }
    } else {
        put_as(log, &lease, &messages).await;
    }
    put_as(log, &lease, &[summary(1, 1)]).await;
    let mut call_end = call_end("hangup");
    call_end.summaries = 1;
    let change = CallChange::Close { lease: lease.clone(), call_end };
    log.change_call(lease.call_id(), &change).await.unwrap();
    let mut records = messages.to_vec();
    records.insert(2, summary(1, 1));
    (lease, records)
}

/// The item without each of its attributes, and without each attribute of its messages.
fn without_one(item: &Item) -> Vec<(String, Item)> {
    let mut damaged = Vec::new();
    for (name, value) in item.iter().filter(|(name, _)| *name != "pk" && *name != "sk") {
        let mut without = item.clone();
        without.remove(name);
        damaged.push((name.clone(), without));
        for inner in value.as_m().into_iter().flat_map(|map| map.keys()) {
            let mut map = value.as_m().unwrap().clone();
            map.remove(inner);
            let mut without = item.clone();
            without.insert(name.clone(), AttributeValue::M(map));
            damaged.push((format!("{name}.{inner}"), without));
        }
    }
    damaged
}

/// The positions of the records in an item.
fn positions(item: &Item, records: &[Record]) -> BTreeSet<verbale::message::Position> {
    let sort_key = item["sk"].as_s().unwrap();
    let is_in = |record: &&Record| match record.position().summary_number() {
        Some(_) => sort_key.contains("#SUM#"),
        None => {
            let own = *sort_key == format!("MSG#{:08}", record.position().seq());
            own || item.contains_key(&format!("m{}", record.position().seq()))
        }
    };
    records.iter().filter(is_in).map(|record| record.position()).collect()
}

#[tokio::test]
async fn call_with_a_damaged_item_is_resumed_without_it_and_goes_on() {
    let mut damages = 0;
    for has_spans in [false, true] {
        let (log, client) = log_and_client().await;
        let log = log.with_layout(if has_spans { Layout::Spans } else { Layout::Messages });
        ended(&log, "CA", has_spans).await;
        let items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap();
        for (item, (name, mut damaged)) in
            items.iter().flat_map(|item| without_one(item).into_iter().map(move |it| (item, it)))
        {
            let is_header = item["sk"].as_s().unwrap() == "CALL";
            damages += 1;
            let (old, records) = ended(&log, &format!("CA{damages}"), has_spans).await;
            damaged.insert("pk".to_owned(), AttributeValue::S(format!("CALL#CA{damages}")));
            client.put_item().table_name("verbale").set_item(Some(damaged)).send().await.unwrap();
            let context = format!("{:?} without {name}, spans: {has_spans}", item["sk"]);
            let read = log.read_call(old.call_id()).await.unwrap_or_else(|error| panic!("{error} {context}"));
            let resumed = resume(&log, old.call_id()).await;
            let (manager, writer) = resumed.unwrap_or_else(|error| panic!("{error} {context}"));
            let resumed = manager.records();
            assert_eq!((&read.records, writer.ended().is_some()), (&resumed, name != "ended"), "{context}");
            let lost = if is_header { BTreeSet::new() } else { positions(item, &records) };
            for record in records.iter().filter(|record| !lost.contains(&record.position())) {
                assert!(resumed.contains(record), "{context}: {:?}", record.position());
            }
            let given = resumed.iter().map(|record| record.position());
            let known: BTreeSet<_> = given.chain(manager.left_out().iter().map(|it| it.position)).collect();
            assert_eq!(known, records.iter().map(|record| record.position()).collect(), "{context}");
            put_as(&log, writer.lease(), &[message(5, 1)]).await;
            assert_fenced(&log, &old, &[message(5, 1)], 2).await;
            assert!(log.read_call(old.call_id()).await.unwrap().records.contains(&message(5, 1)), "{context}");
        }
    }
    assert!(damages > 60, "{damages}");
}

#[tokio::test]
async fn item_of_another_program_is_no_part_of_a_call() {
    let (log, client) = log_and_client().await;
    let (old, records) = ended(&log, "CA1", false).await;
    let text = |text: &str| AttributeValue::S(text.to_owned());
    for sort_key in ["MSG#7", "MSG#00000009#NOTE"] {
        let item = client.put_item().table_name("verbale").item("pk", text("CALL#CA1")).item("sk", text(sort_key));
        item.item("v", AttributeValue::N("1".to_owned())).item("note", text("checked")).send().await.unwrap();
    }
    assert_eq!(log.read_call(old.call_id()).await.unwrap().records, records);
    let (resumed, _) = resume(&log, old.call_id()).await.unwrap();
    assert_eq!((resumed.records(), resumed.left_out().len()), (records, 0));
}

#[tokio::test]
async fn damaged_mark_of_an_erased_call_still_says_that_it_was_erased() {
    let (log, client) = log_and_client().await;
    let (old, records) = ended(&log, "CA1", true).await;
    log.erase_call(old.call_id()).await.unwrap();
    let items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap();
    let mark = items.into_iter().find(|item| item["sk"].as_s().unwrap() == "CALL").unwrap();
    for (name, damaged) in without_one(&mark) {
        client.put_item().table_name("verbale").set_item(Some(damaged)).send().await.unwrap();
        let read = log.read_call(old.call_id()).await.unwrap_err();
        let resumed = resume(&log, old.call_id()).await.unwrap_err();
        let opened = log.open_call(&header("CA1", START_MS)).await.unwrap_err();
        let put = log.put_record(&old, &records[0]).await.unwrap_err();
        for error in [read, resumed, opened, put] {
            assert_eq!(error.kind(), LogErrorKind::Erased, "without {name}: {error}");
        }
    }
}
