//! Records, headers and requests of the tests.

use serde_json::json;
use verbale::log::{
    CallEnd, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogErrorKind, Put, Tenant, WriterLease,
};
use verbale::{MessageId, MessagesManager, PlainMessage, Record};

/// 2025-04-16, 15:03:43.058 UTC.
pub const START_MS: i64 = 1_744_815_823_058;
const DAY_MS: i64 = 86_400_000;

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
    WriterLease::from(call_id.clone())
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

/// Returns a day and its query. Each case that lists calls uses days of its own.
pub fn day(number: i64) -> (i64, CallQuery) {
    let at_ms = START_MS + number * DAY_MS;
    (at_ms, CallQuery::of_day(Day::of_ms(at_ms)))
}

pub async fn open(log: &dyn CallLog, header: &CallHeader) -> WriterLease {
    log.open_call(header).await.unwrap();
    WriterLease::from(header)
}

pub fn call_end(reason: &str) -> CallEnd {
    let mut call_end = CallEnd::of(&MessagesManager::<PlainMessage>::new(), 1_744_815_900_000, reason).unwrap();
    (call_end.messages, call_end.summaries) = (5, 2);
    call_end
}

/// Asserts that each record is refused because of the writer of epoch `by`.
pub async fn assert_fenced(log: &dyn CallLog, lease: &WriterLease, records: &[Record], by: u32) {
    for record in records {
        let error = log.put_record(lease, record).await.unwrap_err();
        let (call_id, epoch) = (lease.call_id(), lease.epoch());
        let known = format!("call {call_id} is written by its writer {by} now, and this is writer {epoch};");
        // An item does not say whether the other process serves already.
        let by_item = format!(
            "call {call_id} is being taken over by another process with epoch {by}, or was, and this writer has epoch {epoch};"
        );
        assert_eq!(error.kind(), LogErrorKind::Fenced, "{error:?}");
        assert!([known, by_item].iter().any(|text| error.to_string().starts_with(text)), "{error}");
    }
}
