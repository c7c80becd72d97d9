//! Records, headers and requests of the conformance suite.

use serde_json::json;

use crate::log::{
    CallChange, CallEnd, CallHeader, CallId, CallLog, CallPage, CallQuery, Cursor, Day, LogErrorKind, LoggedCall, Put,
    Tenant, WriterLease, take_over,
};
use crate::{MessageId, Record};

/// 2025-04-16, 15:03:43.058 UTC.
pub(super) const START_MS: i64 = 1_744_815_823_058;
pub(super) const DAY_MS: i64 = 86_400_000;

pub(super) fn call(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

pub(super) fn id(number: u32) -> MessageId {
    MessageId::from(u128::from(number))
}

/// Returns message `seq` at a revision. Its id follows from `seq`, and its text from the revision.
pub(super) fn message(seq: u32, revision: u32) -> Record {
    record(json!({
        "id": id(seq).to_string(), "seq": seq, "revision": revision,
        "message": {"role": "user", "contents": [format!("secret words {revision}")]},
        "metadata": {"timing": {"creation": 5}},
    }))
}

pub(super) fn summary(after: u32, number: u32) -> Record {
    record(json!({
        "id": id(1_000_000 + number).to_string(), "after": after, "summary": number, "revision": 1,
        "message": {"role": "summary", "contents": ["They greeted each other."]},
        "metadata": {"coversFrom": 0, "previousSummary": id(0).to_string(), "timing": {"creation": 5}},
    }))
}

pub(super) fn record(json: serde_json::Value) -> Record {
    serde_json::from_value(json).unwrap()
}

/// Returns the lease of the first writer of a call without an expiry.
pub(super) fn first(call_id: &CallId) -> WriterLease {
    WriterLease::from(call_id.clone())
}

pub(super) async fn read(log: &dyn CallLog, call_id: &CallId) -> Vec<Record> {
    log.read_call(call_id).await.unwrap().records
}

/// Puts records as the first writer of a call.
pub(super) async fn put(log: &dyn CallLog, call_id: &CallId, records: &[Record]) -> Vec<Put> {
    put_as(log, &first(call_id), records).await
}

pub(super) async fn put_as(log: &dyn CallLog, lease: &WriterLease, records: &[Record]) -> Vec<Put> {
    let mut puts = Vec::with_capacity(records.len());
    for record in records {
        puts.push(log.put_record(lease, record).await.unwrap());
    }
    puts
}

pub(super) fn header(id: &str, started_ms: i64) -> CallHeader {
    CallHeader::new(call(id), started_ms).unwrap()
}

pub(super) fn tenant(name: &str) -> Tenant {
    Tenant::new(name).unwrap()
}

pub(super) async fn calls_of(log: &dyn CallLog, query: &CallQuery) -> Vec<CallHeader> {
    let CallPage { calls, next, .. } = log.list_calls(query).await.unwrap();
    assert_eq!(next, None);
    calls
}

pub(super) fn of_tenant(query: &CallQuery, name: &str) -> CallQuery {
    let mut query = query.clone();
    query.tenant = Some(tenant(name));
    query
}

/// Returns a day and its query. Each case that lists calls uses days of its own.
pub(super) fn day(number: i64) -> (i64, CallQuery) {
    let at_ms = START_MS + number * DAY_MS;
    (at_ms, CallQuery::of_day(Day::of_ms(at_ms)))
}

/// Asserts that every read of a call is refused because it was erased.
pub(super) async fn assert_erased(log: &dyn CallLog, call_id: &CallId) {
    for error in [
        log.read_call(call_id).await.unwrap_err(),
        log.read_header(call_id).await.unwrap_err(),
        take_over(log, call_id).await.unwrap_err(),
    ] {
        assert!(error.kind() == LogErrorKind::Erased && !error.is_retryable(), "{error:?}");
        assert!(error.to_string().contains(call_id.as_str()), "{error}");
    }
}

/// Reads a call, and checks that its header read alone is the same.
pub(super) async fn read_call(log: &dyn CallLog, call_id: &CallId) -> LoggedCall {
    let call = log.read_call(call_id).await.unwrap();
    assert_eq!(log.read_header(call_id).await.unwrap(), call.header);
    call
}

pub(super) async fn open(log: &dyn CallLog, header: &CallHeader) -> WriterLease {
    log.open_call(header).await.unwrap();
    WriterLease::from(header)
}

pub(super) fn call_end(reason: &str) -> CallEnd {
    CallEnd::new(1_744_815_900_000, reason, 5, 2).unwrap()
}

pub(super) fn close(lease: &WriterLease, reason: &str) -> CallChange {
    CallChange::Close { lease: lease.clone(), call_end: call_end(reason) }
}

pub(super) async fn change(log: &dyn CallLog, lease: &WriterLease, change: CallChange) -> CallHeader {
    log.change_call(lease.call_id(), &change).await.unwrap()
}

/// Asserts that each record is refused because of a newer writer.
pub(super) async fn assert_fenced(log: &dyn CallLog, lease: &WriterLease, records: &[Record]) {
    for record in records {
        let error = log.put_record(lease, record).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Fenced, "{error:?}");
    }
}

/// Asserts that a query lists these calls in order, page by page, for each page size.
pub(super) async fn assert_pages(
    log: &dyn CallLog,
    query: &CallQuery,
    limits: impl IntoIterator<Item = u16>,
    expected: &[CallHeader],
) {
    for limit in limits {
        let mut query = query.clone();
        query.limit = limit;
        let mut found = Vec::new();
        loop {
            let page = log.list_calls(&query).await.unwrap();
            assert!(!page.calls.is_empty() && page.calls.len() <= usize::from(limit));
            found.extend(page.calls);
            assert!(found.len() <= expected.len(), "page size {limit}: a call is listed twice");
            let Some(next) = page.next else { break };
            // A client sends the cursor back as text.
            query.after = Some(next.to_string().parse::<Cursor>().unwrap());
        }
        assert_eq!(found, expected, "page size {limit}");
    }
}
