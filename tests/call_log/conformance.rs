//! The contract of every `CallLog`, case by case. See `main.rs` for how a backend is checked.

use std::sync::Arc;

use serde_json::json;
use verbale::clock::ManualClock;
use verbale::log::{
    CallHeader, CallId, CallLog, CallPage, CallQuery, Cursor, Day, LogErrorKind, Put, Tenant, WriterLease,
};
use verbale::{LastMessage, MessageId, MessagesManager, PlainMessage, Record};

use super::changes;

/// 2025-04-16, 15:03:43.058 UTC.
pub const START_MS: i64 = 1_744_815_823_058;
const DAY_MS: i64 = 86_400_000;

/// Returns the clock for a log under test.
pub fn clock() -> Arc<ManualClock> {
    Arc::new(ManualClock::new(START_MS))
}

/// Runs every case against an empty log with this clock.
pub async fn all(log: &dyn CallLog, clock: &ManualClock) {
    puts_need_no_order(log).await;
    second_writer_gets_a_conflict(log).await;
    call_is_read_in_order_and_continues(log).await;
    calls_are_separate(log).await;
    header_is_written_once(log).await;
    calls_are_listed_by_day_and_tenant(log).await;
    pages_are_complete_and_ordered(log).await;
    erased_call_stays_erased(log).await;
    unknown_call_can_be_erased(log).await;
    changes::all(log, clock).await;
}

pub fn call(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

pub fn id(number: u32) -> MessageId {
    MessageId::from(u128::from(number))
}

/// Returns message `seq` at a revision. Its id follows from `seq`, and its text from the revision.
pub fn message(seq: u32, revision: u32) -> Record {
    record(json!({
        "id": id(seq).to_string(), "seq": seq, "revision": revision,
        "message": {"role": "user", "contents": [format!("secret words {revision}")]},
        "metadata": {"timing": {"creation": 5}},
    }))
}

pub fn summary(after: u32, number: u32) -> Record {
    record(json!({
        "id": id(1_000_000 + number).to_string(), "after": after, "summary": number, "revision": 1,
        "message": {"role": "summary", "contents": ["They greeted each other."]},
        "metadata": {"coversFrom": 0, "previousSummary": id(0).to_string(), "timing": {"creation": 5}},
    }))
}

fn record(json: serde_json::Value) -> Record {
    serde_json::from_value(json).unwrap()
}

/// Returns the lease of the first writer of a call without an expiry.
pub fn first(call_id: &CallId) -> WriterLease {
    WriterLease::first(call_id.clone())
}

pub async fn read(log: &dyn CallLog, call_id: &CallId) -> Vec<Record> {
    log.read_call(call_id).await.unwrap().records
}

/// Puts records as the first writer of a call.
pub async fn put(log: &dyn CallLog, call_id: &CallId, records: &[Record]) -> Vec<Put> {
    put_as(log, &first(call_id), records).await
}

pub async fn put_as(log: &dyn CallLog, lease: &WriterLease, records: &[Record]) -> Vec<Put> {
    let mut puts = Vec::with_capacity(records.len());
    for record in records {
        puts.push(log.put_record(lease, record).await.unwrap());
    }
    puts
}

async fn puts_need_no_order(log: &dyn CallLog) {
    let call_id = call("order");
    assert_eq!(read(log, &call_id).await, []);
    let records = [message(1, 2), message(0, 3), message(1, 1), message(1, 2), message(0, 4), message(0, 3)];
    let expected = [Put::Written, Put::Written, Put::NewerKept, Put::AlreadyThere, Put::Written, Put::NewerKept];
    assert_eq!(put(log, &call_id, &records).await, expected);
    assert_eq!(put(log, &call_id, &[message(0, 4)]).await, [Put::AlreadyThere]);
    assert_eq!(read(log, &call_id).await, [message(0, 4), message(1, 2)]);
}

async fn second_writer_gets_a_conflict(log: &dyn CallLog) {
    let call_id = call("conflict");
    put(log, &call_id, &[message(0, 2)]).await;
    let changed = |key: &str, value: serde_json::Value| {
        let mut json = serde_json::to_value(message(0, 2)).unwrap();
        json[key] = value;
        record(json)
    };
    let other_contents = changed("message", json!({"role": "user", "contents": ["other secret words"]}));
    let error = log.put_record(&first(&call_id), &other_contents).await.unwrap_err();
    assert!(error.kind() == LogErrorKind::Conflict && !error.is_retryable());
    let expected =
        format!("message 0 of call {call_id}, message {}, has other contents in the log at the same revision 2", id(0));
    assert!(error.to_string().starts_with(&expected), "{error}");
    assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");

    for revision in 1..4 {
        let mut other = serde_json::to_value(message(0, revision)).unwrap();
        other["id"] = id(7).to_string().into();
        let error = log.put_record(&first(&call_id), &record(other)).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Conflict);
        let expected = format!("message 0 of call {call_id} is message {} in the log, not {}", id(0), id(7));
        assert!(error.to_string().starts_with(&expected), "{error}");
    }
    assert_eq!(read(log, &call_id).await, [message(0, 2)]);
}

async fn call_is_read_in_order_and_continues(log: &dyn CallLog) {
    let call_id = call("order of the list");
    let records = [summary(10, 2), message(10, 1), message(2, 1), summary(2, 1), message(11, 1)];
    put(log, &call_id, &records).await;
    let expected = [message(2, 1), summary(2, 1), message(10, 1), summary(10, 2), message(11, 1)];
    assert_eq!(read(log, &call_id).await, expected);

    let call_id = call("restored");
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_assistant("Hello!").unwrap();
    manager.add_user("Hi").unwrap();
    manager.add_assistant("How can I help you?").unwrap();
    manager.add_summary("They met.", &manager.summarizing().unwrap()).unwrap();
    manager.add_user("My card is lost").unwrap();
    let changes = manager.changes(LastMessage::Include);
    put(log, &call_id, &changes).await;
    let mut restored = MessagesManager::restore(read(log, &call_id).await).unwrap();
    assert!(restored == manager);
    restored.add_assistant("I have locked it.").unwrap();
    put(log, &call_id, &restored.changes(LastMessage::Include)).await;
    assert!(MessagesManager::restore(read(log, &call_id).await).unwrap() == restored);
}

async fn calls_are_separate(log: &dyn CallLog) {
    let long = "X".repeat(1_000);
    let names = ["CA", "CA1", "ca1", "CA#MSG#0", "CALL", "../x", "%43+a.jsonl", "con", "ü", "a/b", long.as_str()];
    for (revision, name) in (1..).zip(names) {
        put(log, &call(name), &[message(0, revision)]).await;
    }
    log.erase_call(&call("CA")).await.unwrap();
    for (revision, name) in (1..).zip(names).skip(1) {
        assert_eq!(read(log, &call(name)).await, [message(0, revision)], "{name}");
    }
}

pub fn header(id: &str, started_ms: i64) -> CallHeader {
    CallHeader::new(call(id), started_ms).unwrap()
}

pub fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

pub async fn calls_of(log: &dyn CallLog, query: &CallQuery) -> Vec<CallHeader> {
    let CallPage { calls, next, .. } = log.list_calls(query).await.unwrap();
    assert_eq!(next, None);
    calls
}

fn of_tenant(query: &CallQuery, name: &str) -> CallQuery {
    let mut query = query.clone();
    query.tenant = Some(tenant(name));
    query
}

/// Returns a day and its query. Each case that lists calls uses days of its own.
pub fn day(number: i64) -> (i64, CallQuery) {
    let at_ms = START_MS + number * DAY_MS;
    (at_ms, CallQuery::of_day(Day::of_ms(at_ms)))
}

async fn header_is_written_once(log: &dyn CallLog) {
    let (at_ms, query) = day(1);
    let opened = header("opened", at_ms);
    // The messages before and after the opening both stay.
    put(log, &call("opened"), &[message(0, 1)]).await;
    assert_eq!(calls_of(log, &query).await, []);
    assert_eq!(log.open_call(&opened).await.unwrap(), Put::Written);
    assert_eq!(log.open_call(&opened).await.unwrap(), Put::AlreadyThere);
    put(log, &call("opened"), &[message(1, 1)]).await;
    let others =
        [header("opened", at_ms + 1), opened.clone().with_tenant(tenant("A bank")), opened.clone().with_expires_at(7)];
    for other in others {
        let error = log.open_call(&other).await.unwrap_err();
        assert!(error.to_string().starts_with("call opened was opened with another start"), "{error}");
        assert!(error.kind() == LogErrorKind::Conflict && !error.is_retryable());
    }
    assert_eq!(log.read_call(&call("opened")).await.unwrap().header, Some(opened.clone()));
    assert_eq!(calls_of(log, &query).await, [opened]);
    assert_eq!(calls_of(log, &of_tenant(&query, "A bank")).await, []);
    assert_eq!(read(log, &call("opened")).await, [message(0, 1), message(1, 1)]);
}

async fn calls_are_listed_by_day_and_tenant(log: &dyn CallLog) {
    let (at_ms, query) = day(10);
    let midnight = query.day.start_ms();
    let mine = |id: &str, at_ms| header(id, at_ms).with_tenant(tenant("A#bank"));
    let [first, noon, last] =
        [("z", midnight), ("y", at_ms), ("x", midnight + DAY_MS - 1)].map(|(id, at)| header(id, at));
    let [before, after] = [("before", midnight - 1), ("after", midnight + DAY_MS)].map(|(id, at)| header(id, at));
    let [own, other] = [mine("w", at_ms), header("v", at_ms).with_tenant(tenant("DAY"))];
    for header in [&noon, &before, &own, &first, &last, &after, &other] {
        assert_eq!(log.open_call(header).await.unwrap(), Put::Written);
    }
    assert_eq!(calls_of(log, &query).await, [last, noon, first]);
    assert_eq!(calls_of(log, &of_tenant(&query, "A#bank")).await, [own]);
    assert_eq!(calls_of(log, &of_tenant(&query, "DAY")).await, [other]);
    assert_eq!(calls_of(log, &day(9).1).await, [before]);
    assert_eq!(calls_of(log, &day(11).1).await, [after]);
    // The starts of the first day of the epoch have fewer digits.
    let [first, second] = [header("first", 9), header("second", 10)];
    for header in [&first, &second] {
        log.open_call(header).await.unwrap();
    }
    assert_eq!(calls_of(log, &CallQuery::of_day(Day::of_ms(0))).await, [second, first]);
}

async fn pages_are_complete_and_ordered(log: &dyn CallLog) {
    let (at_ms, query) = day(20);
    // Pairs of calls start in the same millisecond.
    let mut headers: Vec<_> = (0..7).map(|number| header(&format!("page {number}"), at_ms + number / 2)).collect();
    for header in &headers {
        log.open_call(header).await.unwrap();
    }
    headers.reverse();
    for limit in [1, 2, 3, 6, 7, 8] {
        let mut query = query.clone();
        query.limit = limit;
        let mut found = Vec::new();
        loop {
            let page = log.list_calls(&query).await.unwrap();
            assert!(!page.calls.is_empty() && page.calls.len() <= usize::from(limit));
            found.extend(page.calls);
            assert!(found.len() <= headers.len(), "page size {limit}: a call is listed twice");
            let Some(next) = page.next else { break };
            // A client sends the cursor back as text.
            query.after = Some(next.to_string().parse::<Cursor>().unwrap());
        }
        assert_eq!(found, headers, "page size {limit}");
    }
    // Calls that were opened or erased since the first page do not shift the second.
    let mut query = query;
    query.limit = 3;
    let page = log.list_calls(&query).await.unwrap();
    assert_eq!(page.calls, headers[..3]);
    log.open_call(&header("page 9", at_ms + 9)).await.unwrap();
    log.erase_call(headers[2].call_id()).await.unwrap();
    query.after = page.next;
    let page = log.list_calls(&query).await.unwrap();
    assert_eq!(page.calls, headers[3..6]);
}

async fn erased_call_stays_erased(log: &dyn CallLog) {
    let (at_ms, query) = day(30);
    let call_id = call("erased");
    // More than one batch of DynamoDB.
    let records: Vec<Record> = (0..60).map(|seq| message(seq, 2)).chain([summary(3, 1)]).collect();
    put(log, &call_id, &records).await;
    log.open_call(&header("erased", at_ms)).await.unwrap();
    log.erase_call(&call_id).await.unwrap();
    assert_eq!(read(log, &call_id).await, []);
    assert_eq!(calls_of(log, &query).await, []);

    for late in [message(0, 1), message(0, 2), message(0, 3), message(59, 9), summary(3, 1)] {
        let error = log.put_record(&first(&call_id), &late).await.unwrap_err();
        assert!(error.kind() == LogErrorKind::Erased && !error.is_retryable(), "{error:?}");
    }
    // A record that the log had never seen may be stored, but must not be read.
    let _ = log.put_record(&first(&call_id), &message(60, 1)).await;
    assert_eq!(log.open_call(&header("erased", at_ms)).await.unwrap_err().kind(), LogErrorKind::Erased);
    assert_eq!(log.open_call(&header("erased", at_ms + 1)).await.unwrap_err().kind(), LogErrorKind::Erased);
    assert_eq!(read(log, &call_id).await, []);
    assert_eq!(calls_of(log, &query).await, []);

    log.erase_call(&call_id).await.unwrap();
    assert_eq!(read(log, &call_id).await, []);
    assert_eq!(log.put_record(&first(&call_id), &message(60, 2)).await.unwrap_err().kind(), LogErrorKind::Erased);
}

async fn unknown_call_can_be_erased(log: &dyn CallLog) {
    let (at_ms, query) = day(40);
    log.erase_call(&call("never")).await.unwrap();
    let _ = log.put_record(&first(&call("never")), &message(0, 1)).await;
    assert_eq!(log.open_call(&header("never", at_ms)).await.unwrap_err().kind(), LogErrorKind::Erased);
    assert_eq!(read(log, &call("never")).await, []);
    assert_eq!(calls_of(log, &query).await, []);
}
