//! The log in DynamoDB: its items and its cost.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use std::sync::Arc;
use verbale::clock::ManualClock;
use verbale::dynamodb::{DynamoLog, Item, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallChange, CallHeader, CallLog, CallQuery, CallerId, Day, LogErrorKind, Tenant, WriterLease};
use verbale::message::Map;

use super::resumed::resume;
use super::support::{START_MS, call, call_end, message, open, put, put_as, summary};

/// Returns a log in an empty table in memory.
pub async fn log() -> DynamoLog {
    log_and_client().await.0
}

pub async fn log_and_client() -> (DynamoLog, Client) {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    (DynamoLog::new(client.clone()), client)
}

/// Returns all items. The nonce of a header is left out, because it is random.
pub async fn items(client: &Client) -> Vec<Item> {
    let mut items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap();
    for header in items.iter_mut().filter(|item| item["entity"].as_s().unwrap() == "call") {
        assert_eq!(header.remove("nonce").unwrap().as_s().unwrap().len(), 32);
    }
    items.sort_by_key(|item| item["sk"].as_s().unwrap().clone());
    items
}

fn item(entries: &[(&str, &str)]) -> Item {
    let value = |text: &str| match text.parse::<i64>() {
        Ok(_) => AttributeValue::N(text.to_owned()),
        Err(_) => AttributeValue::S(text.to_owned()),
    };
    entries.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect()
}

#[tokio::test]
async fn header_has_the_documented_attributes() {
    let (log, client) = log_and_client().await;
    let header = CallHeader::new(call("CA#1"), START_MS).unwrap().with_tenant(Tenant::new("bank").unwrap());
    log.open_call(&header).await.unwrap();
    let cost = log.cost();
    // One unit for the table and one for the index.
    assert_eq!((cost.requests, cost.write_units as u32), (1, 2));
    assert_eq!(
        items(&client).await,
        [item(&[
            ("pk", "CALL#CA#1"),
            ("sk", "CALL"),
            ("entity", "call"),
            ("v", "1"),
            ("started", "1744815823058"),
            ("tenant", "bank"),
            ("gsi1pk", "bank#DAY#2025-04-16"),
            ("gsi1sk", "1744815823058#CA#1"),
        ])]
    );
}

#[tokio::test]
async fn header_with_a_caller_is_in_both_indexes() {
    let caller = CallerId::new("+4930123456", b"0123456789abcdef").unwrap();
    let attributes = Map::new([("language".to_owned(), "de".into())].into()).unwrap();
    let header = CallHeader::new(call("CA1"), START_MS).unwrap().with_caller(caller).with_attributes(attributes);
    let of_bank = header.clone().with_tenant(Tenant::new("bank").unwrap());
    for (header, partition) in [(header, "CALLER#"), (of_bank, "CALLER#bank#")] {
        let (log, client) = log_and_client().await;
        log.open_call(&header).await.unwrap();
        // One unit for the table and one for each index.
        let cost = log.cost();
        assert_eq!((cost.requests, cost.write_units as u32), (1, 3));
        let found = items(&client).await.remove(0);
        let hash = found["caller"].as_s().unwrap();
        assert!(hash.len() == 32 && !format!("{found:?}").contains("30123456"), "{found:?}");
        assert_eq!(found["gsi2pk"].as_s().unwrap(), &format!("{partition}{hash}"));
        assert_eq!(found["gsi2sk"], found["gsi1sk"]);
        assert_eq!(found["attributes"].as_m().unwrap()["language"].as_s().unwrap(), "de");
    }
}

#[tokio::test]
async fn erased_call_leaves_only_marks() {
    let (log, client) = log_and_client().await;
    let log = log.with_clock(Arc::new(ManualClock::new(START_MS)));
    let header = CallHeader::new(call("CA1"), START_MS).unwrap();
    log.open_call(&header).await.unwrap();
    put(&log, &call("CA1"), &[message(0, 1), message(1, 1), summary(0, 1)]).await;
    log.erase_call(&call("CA1")).await.unwrap();
    let mark = |sort_key| item(&[("pk", "CALL#CA1"), ("sk", sort_key), ("entity", "erased"), ("v", "1")]);
    // The items, the next message and its next summary.
    let places = ["MSG#00000000", "MSG#00000000#SUM#0001", "MSG#00000001", "MSG#00000001#SUM#0002", "MSG#00000002"];
    let mut marks = places.map(mark).to_vec();
    let mut found = items(&client).await;
    let listed = item(&[("gsi1pk", "ERASED#2025-04-16"), ("gsi1sk", &format!("{START_MS}#CA1"))]);
    let of_call: Item = mark("CALL").into_iter().chain(listed).collect();
    assert_eq!(found.remove(0), of_call, "the mark of the call is listed by the day of its erasure");
    assert_eq!(found, marks);

    // A message after the next one is stored but not read, and a sweep removes it.
    put(&log, &call("CA1"), &[message(4, 1)]).await;
    assert_eq!(log.read_call(&call("CA1")).await.unwrap_err().kind(), LogErrorKind::Erased);
    let spent = log.cost();
    assert_eq!(log.sweep("2025-04-16".parse().unwrap()).await.unwrap(), [call("CA1")]);
    assert_eq!((log.cost() - spent).requests, 10, "the index, two queries, six free places, one batch");
    let summaries = [1, 2, 3, 4].map(|after| format!("MSG#{after:08}#SUM#0001"));
    marks.extend(["MSG#00000003", "MSG#00000004", "MSG#00000005"].map(mark));
    marks.extend(summaries.iter().map(|sort_key| mark(sort_key)));
    marks.sort_by_key(|item| item["sk"].as_s().unwrap().clone());
    assert_eq!(items(&client).await[1..], marks);
    // Nothing is left to erase.
    let spent = log.cost();
    log.erase_call(&call("CA1")).await.unwrap();
    assert_eq!((log.cost() - spent).requests, 2, "the mark of the call, a query");
}

#[tokio::test]
async fn mark_outlives_the_expiry() {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let log = log().await.with_clock(clock.clone());
    let header = CallHeader::new(call("CA1"), START_MS).unwrap().with_expires_at(1_001);
    let lease = WriterLease::from(&header);
    log.open_call(&header).await.unwrap();
    put_as(&log, &lease, &[message(0, 1)]).await;
    log.erase_call(&call("CA1")).await.unwrap();
    clock.advance(2_000);
    assert_eq!(log.put_record(&lease, &message(0, 2)).await.unwrap_err().kind(), LogErrorKind::Erased);
}

#[tokio::test]
async fn expired_call_is_not_listed() {
    let clock = Arc::new(ManualClock::new(1_000_999));
    let log = log().await.with_clock(clock.clone());
    let header = |id: &str, at_ms| CallHeader::new(call(id), at_ms).unwrap();
    for number in 0..5 {
        log.open_call(&header(&format!("{number}"), 10 + number).with_expires_at(1_001)).await.unwrap();
    }
    let [older, newer] = [header("older", 1), header("newer", 12)];
    log.open_call(&older).await.unwrap();
    log.open_call(&newer).await.unwrap();
    let query = CallQuery::of_day(Day::of_ms(0)).with_limit(2);
    assert_eq!(log.list_calls(&query).await.unwrap().calls.len(), 2);
    clock.advance(1);
    let page = log.list_calls(&query).await.unwrap();
    assert_eq!((page.calls, page.next), (vec![newer, older], None));
}

fn names_of(items: &[Item], name: &str) -> Vec<String> {
    let with = items.iter().filter(|item| item.contains_key(name));
    with.map(|item| item["sk"].as_s().unwrap().clone()).collect()
}

#[tokio::test]
async fn held_call_has_no_expiry() {
    let (log, client) = log_and_client().await;
    let lease = open(&log, &CallHeader::new(call("CA1"), START_MS).unwrap().with_expires_at(2_000_000_000)).await;
    put_as(&log, &lease, &[message(0, 1), summary(0, 1)]).await;
    resume(&log, lease.call_id()).await.unwrap();
    let all = ["CALL", "MSG#00000000", "MSG#00000000#SUM#0001", "MSG#00000001"];
    let before = items(&client).await;
    assert_eq!(names_of(&before, "expires_at"), all, "header, message, summary, fence");

    log.change_call(lease.call_id(), &CallChange::Hold).await.unwrap();
    let held = items(&client).await;
    assert_eq!((names_of(&held, "expires_at"), names_of(&held, "expiry").len()), (Vec::new(), 1));
    let lease = WriterLease::from(
        &log.read_call(lease.call_id()).await.unwrap().header.unwrap().with_expires_at(2_000_000_000),
    );
    assert_eq!(lease.expires_at_s(), None);
    let spent = log.cost();
    log.change_call(lease.call_id(), &CallChange::Hold).await.unwrap();
    assert_eq!((log.cost() - spent).requests, 3, "a read and a write of the header, and a query");

    log.change_call(lease.call_id(), &CallChange::Release).await.unwrap();
    assert_eq!(items(&client).await, before);
}

#[tokio::test]
async fn close_corrects_the_expiry_of_items_with_an_old_lease() {
    let (log, client) = log_and_client().await;
    let lease = open(&log, &CallHeader::new(call("CA1"), START_MS).unwrap().with_expires_at(2_000_000_000)).await;
    put_as(&log, &lease, &[message(0, 1)]).await;
    let held = log.change_call(lease.call_id(), &CallChange::Hold).await.unwrap();
    put_as(&log, &lease, &[message(1, 1)]).await;
    assert_eq!(names_of(&items(&client).await, "expires_at"), ["MSG#00000001"]);
    let close = |lease: &WriterLease| CallChange::Close { lease: lease.clone(), call_end: call_end("hangup") };
    log.change_call(lease.call_id(), &close(&lease)).await.unwrap();
    assert_eq!(names_of(&items(&client).await, "expires_at"), Vec::<String>::new());

    // The close also corrects items that a lease from during the hold wrote after the release.
    log.change_call(lease.call_id(), &CallChange::Release).await.unwrap();
    put_as(&log, &WriterLease::from(&held), &[message(2, 1)]).await;
    assert_eq!(names_of(&items(&client).await, "expires_at").len(), 3);
    log.change_call(lease.call_id(), &close(&WriterLease::from(&held))).await.unwrap();
    assert_eq!(names_of(&items(&client).await, "expires_at").len(), 4);
}

#[tokio::test]
async fn closing_updates_the_header_for_two_units() {
    let (log, client) = log_and_client().await;
    let lease = open(&log, &CallHeader::new(call("CA1"), START_MS).unwrap()).await;
    let lease = resume(&log, lease.call_id()).await.unwrap().1.lease().clone();
    let change = CallChange::Close { lease: lease.clone(), call_end: call_end("hangup") };
    let spent = log.cost();
    log.change_call(lease.call_id(), &change).await.unwrap();
    let cost = log.cost() - spent;
    // One unit for the table and one for the index.
    assert_eq!((cost.requests, cost.write_units as u32), (1, 2));
    let header = item(&[
        ("pk", "CALL#CA1"),
        ("sk", "CALL"),
        ("entity", "call"),
        ("v", "1"),
        ("started", "1744815823058"),
        ("gsi1pk", "DAY#2025-04-16"),
        ("gsi1sk", "1744815823058#CA1"),
        ("epoch", "2"),
        ("fenced", "2"),
        ("ended", "1744815900000"),
        ("reason", "hangup"),
        ("messages", "5"),
        ("summaries", "2"),
        ("last_seq", "4"),
    ]);
    let fence = [("pk", "CALL#CA1"), ("sk", "MSG#00000000"), ("entity", "fence"), ("v", "1"), ("epoch", "2")];
    assert_eq!(items(&client).await, [header, item(&fence)]);
    put_as(&log, &lease, &[message(0, 1)]).await;
    assert_eq!(items(&client).await[1]["epoch"], AttributeValue::N("2".to_owned()));
}

#[tokio::test]
async fn day_with_more_shards_lists_all_calls() {
    let (log, client) = log_and_client().await;
    let mut expected = Vec::new();
    for (number, shards) in (0..30).zip([1_u8, 1, 1, 2, 2, 5, 5, 5, 12, 12].into_iter().cycle().take(30)) {
        let header = CallHeader::new(call(&format!("CA{number}")), START_MS + number / 2).unwrap();
        log.clone().with_day_shards(shards.try_into().unwrap()).open_call(&header).await.unwrap();
        expected.push(header);
    }
    let shards: std::collections::BTreeSet<_> =
        items(&client).await.iter().map(|item| item["gsi1pk"].as_s().unwrap().clone()).collect();
    assert!(
        shards.len() > 5 && shards.contains("DAY#2025-04-16") && shards.contains("DAY#2025-04-16#11"),
        "{shards:?}"
    );
    expected.sort_by_key(|header| (header.started_ms(), header.call_id().clone()));
    expected.reverse();
    let log = log.with_day_shards(12.try_into().unwrap());
    let mut query = CallQuery::of_day(Day::of_ms(START_MS)).with_limit(7);
    let mut found = Vec::new();
    loop {
        let spent = log.cost();
        let page = log.list_calls(&query).await.unwrap();
        assert_eq!((log.cost() - spent).requests, 12);
        found.extend(page.calls);
        let Some(next) = page.next else { break };
        query = query.with_after(next);
    }
    assert_eq!(found, expected);
}

#[tokio::test]
async fn item_that_cannot_be_read_is_left_out() {
    let (log, client) = log_and_client().await;
    let lease = open(&log, &CallHeader::new(call("CA1"), START_MS).unwrap()).await;
    put_as(&log, &lease, &[message(0, 1), message(1, 1), message(2, 1), summary(0, 1)]).await;
    for (sort_key, name) in [("MSG#00000001", "message"), ("MSG#00000000#SUM#0001", "id")] {
        let mut broken = items(&client).await.into_iter().find(|item| item["sk"].as_s().unwrap() == sort_key).unwrap();
        broken.insert(name.to_owned(), AttributeValue::S("my pin is 4711".to_owned()));
        client.put_item().table_name("verbale").set_item(Some(broken)).send().await.unwrap();
    }
    let found = log.read_call(lease.call_id()).await.unwrap();
    assert_eq!(found.records, [message(0, 1), message(2, 1)]);
    let left_out: Vec<_> = found.left_out.iter().map(|it| it.position).collect();
    assert_eq!(left_out, [summary(0, 1).position(), message(1, 1).position()]);
    for left_out in &found.left_out {
        let left_out = left_out.to_string();
        assert!(left_out.contains("is not a valid record") && !left_out.contains("pin"), "{left_out}");
    }
    let (resumed, _) = resume(&log, lease.call_id()).await.unwrap();
    assert_eq!(resumed.left_out(), found.left_out);
    assert_eq!((resumed.records(), resumed.message_count()), (found.records, 3));
    // A schema of a newer version is not damaged.
    let mut newer = items(&client).await.into_iter().find(|item| item["sk"].as_s().unwrap() == "MSG#00000002").unwrap();
    newer.insert("v".to_owned(), AttributeValue::N("2".to_owned()));
    client.put_item().table_name("verbale").set_item(Some(newer)).send().await.unwrap();
    assert_eq!(log.read_call(lease.call_id()).await.unwrap_err().kind(), LogErrorKind::Damaged);
}
