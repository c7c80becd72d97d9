//! The rules for the messages of a span, in a log that stores them as one item and in any other.

use super::support::{assert_erased, day, header, message, open, put_as, read, summary};
use crate::Record;
use crate::log::{CallLog, LogErrorKind, Put, Span, WriterLease, take_over};

async fn put_span(log: &dyn CallLog, lease: &WriterLease, span: Span, records: &[Record]) -> Vec<Option<Put>> {
    let put = log.put_span(lease, span, records).await.unwrap();
    put.into_iter().map(Result::ok).collect()
}

fn span(first: u32, last: u32) -> Span {
    Span::new(first, last).unwrap()
}

pub(super) async fn span_keeps_the_newest_revisions(log: &dyn CallLog) {
    let lease = open(log, &header("span", day(70).0)).await;
    put_as(log, &lease, &[message(0, 1)]).await;
    let all = [message(1, 1), message(2, 2), message(3, 1)];
    assert_eq!(put_span(log, &lease, span(1, 3), &all).await, [Some(Put::Written); 3]);
    assert_eq!(put_span(log, &lease, span(1, 3), &all).await, [Some(Put::Kept); 3]);
    put_as(log, &lease, &[summary(2, 1)]).await;
    let changed = [message(1, 3), message(2, 1), message(3, 2)];
    let expected = [Some(Put::Written), Some(Put::Kept), Some(Put::Written)];
    assert_eq!(put_span(log, &lease, span(1, 3), &changed).await, expected);
    assert_eq!(put_span(log, &lease, span(1, 3), &[message(2, 3)]).await, [Some(Put::Written)]);
    assert_eq!(put_span(log, &lease, span(4, 4), &[message(4, 1)]).await, [Some(Put::Written)]);
    let all = [message(0, 1), message(1, 3), message(2, 3), summary(2, 1), message(3, 2), message(4, 1)];
    assert_eq!(read(log, lease.call_id()).await, all);
}

pub(super) async fn other_message_in_a_span_is_a_conflict(log: &dyn CallLog) {
    let lease = open(log, &header("other in a span", day(71).0)).await;
    let all = [message(0, 1), message(1, 1)];
    put_span(log, &lease, span(0, 1), &all).await;
    let mut json = serde_json::to_value(message(1, 2)).unwrap();
    json["id"] = super::support::id(99).to_string().into();
    let other: Record = super::support::record(json);
    let put = log.put_span(&lease, span(0, 1), &[message(0, 2), other]).await.unwrap();
    assert_eq!(put[0].as_ref().ok(), Some(&Put::Written));
    assert_eq!(put[1].as_ref().unwrap_err().kind(), LogErrorKind::Conflict);
    assert_eq!(read(log, lease.call_id()).await, [message(0, 2), message(1, 1)]);
}

/// A message that its writer puts alone, because it does not know the span.
pub(super) async fn single_record_of_a_span_is_kept(log: &dyn CallLog) {
    let lease = open(log, &header("single of a span", day(72).0)).await;
    put_span(log, &lease, span(0, 2), &[message(0, 1), message(1, 1), message(2, 1)]).await;
    put_as(log, &lease, &[message(0, 1), message(0, 2), message(1, 2), message(0, 1)]).await;
    assert_eq!(read(log, lease.call_id()).await, [message(0, 2), message(1, 2), message(2, 1)]);
    assert_eq!(put_span(log, &lease, span(0, 2), &[message(0, 3), message(1, 3)]).await, [Some(Put::Written); 2]);
    assert_eq!(read(log, lease.call_id()).await, [message(0, 3), message(1, 3), message(2, 1)]);
}

pub(super) async fn span_of_an_older_writer_is_refused(log: &dyn CallLog) {
    let old = open(log, &header("span of an older writer", day(73).0)).await;
    let stored = [message(0, 1), message(1, 1)];
    put_span(log, &old, span(0, 1), &stored).await;
    let resumed = take_over(log, old.call_id()).await.unwrap();
    assert_eq!(resumed.records, stored);
    let new = resumed.lease().unwrap();
    for (late, records) in [(span(0, 1), vec![message(1, 9)]), (span(2, 3), vec![message(2, 1), message(3, 1)])] {
        let put = log.put_span(&old, late, &records).await;
        let errors = put.map_or_else(|error| vec![error], |put| put.into_iter().filter_map(Result::err).collect());
        assert!(!errors.is_empty() && errors.iter().all(|error| error.kind() == LogErrorKind::Fenced), "{errors:?}");
    }
    assert_eq!(put_span(log, &new, span(0, 1), &[message(1, 2)]).await, [Some(Put::Written)]);
    assert_eq!(put_span(log, &new, span(2, 3), &[message(2, 1), message(3, 1)]).await, [Some(Put::Written); 2]);
    assert_eq!(read(log, new.call_id()).await, [message(0, 1), message(1, 2), message(2, 1), message(3, 1)]);
}

pub(super) async fn span_of_an_erased_call_is_refused(log: &dyn CallLog) {
    let lease = open(log, &header("erased span", day(74).0)).await;
    put_span(log, &lease, span(0, 1), &[message(0, 1), message(1, 1)]).await;
    log.erase_call(lease.call_id()).await.unwrap();
    for (late, records) in [(span(0, 1), vec![message(1, 2)]), (span(2, 2), vec![message(2, 1)])] {
        let put = log.put_span(&lease, late, &records).await;
        let error = put.map_or_else(|error| error, |put| put.into_iter().find_map(Result::err).unwrap());
        assert_eq!(error.kind(), LogErrorKind::Erased);
    }
    assert_erased(log, lease.call_id()).await;
}
