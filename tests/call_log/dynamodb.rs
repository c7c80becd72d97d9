//! What is DynamoDB's own about the contract: what stands in the table, and what it costs.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use std::sync::Arc;
use verbale::clock::ManualClock;
use verbale::dynamodb::{DynamoLog, Item, Table, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallHeader, CallLog, CallQuery, Claim, Day, Tenant};

use super::conformance::{START_MS, call, message, put, put_as, read, summary};

/// A log in an empty table in memory.
pub async fn log() -> DynamoLog {
    log_and_client().await.0
}

async fn log_and_client() -> (DynamoLog, Client) {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, &Table::default()).await.unwrap();
    (DynamoLog::new(client.clone()), client)
}

async fn items(client: &Client) -> Vec<Item> {
    let mut items = client.scan().table_name("verbale").send().await.unwrap().items.unwrap();
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
async fn a_header_is_the_item_that_the_design_says() {
    let (log, client) = log_and_client().await;
    let header = CallHeader::new(call("CA#1"), START_MS).unwrap().with_tenant(Tenant::new("bank").unwrap());
    let (_, cost) = log.open(&header).await.unwrap();
    // One for the table, one for the index.
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
async fn of_an_erased_call_only_its_places_are_left() {
    let (log, client) = log_and_client().await;
    let header = CallHeader::new(call("CA1"), START_MS).unwrap();
    log.open_call(&header).await.unwrap();
    put(&log, &call("CA1"), &[message(0, 1), message(1, 1), summary(0, 1)]).await;
    log.erase_call(&call("CA1")).await.unwrap();
    let mark = |sort_key| item(&[("pk", "CALL#CA1"), ("sk", sort_key), ("entity", "erased"), ("v", "1")]);
    let marks = ["CALL", "MSG#00000000", "MSG#00000000#SUM#0001", "MSG#00000001"].map(mark);
    assert_eq!(items(&client).await, marks);

    // What had never arrived is stored, not read, and gone with the next erasing: that is the limit of it.
    put(&log, &call("CA1"), &[message(2, 1)]).await;
    assert_eq!(read(&log, &call("CA1")).await, []);
    let cost = log.erase(&call("CA1")).await.unwrap();
    assert_eq!(cost.requests, 3, "the mark of the call, a query, one batch");
    let mut marks = marks.to_vec();
    marks.push(mark("MSG#00000002"));
    assert_eq!(items(&client).await, marks);
    // Erased already: nothing is written over again but the call's mark.
    assert_eq!(log.erase(&call("CA1")).await.unwrap().requests, 2);
}

#[tokio::test]
async fn a_mark_outlives_the_time_to_live() {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let log = log().await.with_clock(clock.clone());
    let header = CallHeader::new(call("CA1"), START_MS).unwrap().with_expires_at(1_001);
    let claim = Claim::of(&header);
    log.open_call(&header).await.unwrap();
    put_as(&log, &claim, &[message(0, 1)]).await;
    log.erase_call(&call("CA1")).await.unwrap();
    clock.advance(2_000);
    let late = log.put_records(&claim, &[message(0, 2)]).await.unwrap_err();
    assert!(late.failed[0].1.is_erased());
}

#[tokio::test]
async fn what_has_expired_is_not_listed() {
    let clock = Arc::new(ManualClock::new(1_000_999));
    let log = log().await.with_clock(clock.clone());
    let header = |id: &str, at_ms| CallHeader::new(call(id), at_ms).unwrap();
    for number in 0..5 {
        log.open(&header(&format!("{number}"), 10 + number).with_expires_at(1_001)).await.unwrap();
    }
    let [older, newer] = [header("older", 1), header("newer", 12)];
    log.open(&older).await.unwrap();
    log.open(&newer).await.unwrap();
    let query = CallQuery::of_day(Day::of_ms(0)).with_limit(2);
    assert_eq!(log.list_calls(&query).await.unwrap().calls.len(), 2);
    clock.advance(1);
    let page = log.list_calls(&query).await.unwrap();
    assert_eq!((page.calls, page.next), (vec![newer, older], None));
}
