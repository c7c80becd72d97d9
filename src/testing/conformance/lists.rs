//! The rules for headers and lists.

use super::support::{DAY_MS, assert_pages, call, calls_of, day, header, message, of_tenant, put, read, tenant};
use crate::log::{CallLog, CallQuery, Day, LogErrorKind, Put};

pub(super) async fn header_is_written_once(log: &dyn CallLog) {
    let (at_ms, query) = day(1);
    let opened = header("opened", at_ms);
    // The messages before and after the opening both stay.
    put(log, &call("opened"), &[message(0, 1)]).await;
    assert_eq!(calls_of(log, &query).await, []);
    assert_eq!(log.open_call(&opened).await.unwrap(), Put::Written);
    assert_eq!(log.open_call(&opened).await.unwrap(), Put::Kept);
    put(log, &call("opened"), &[message(1, 1)]).await;
    let others =
        [header("opened", at_ms + 1), opened.clone().with_tenant(tenant("A bank")), opened.clone().with_expires_at(7)];
    for other in others {
        let error = log.open_call(&other).await.unwrap_err();
        assert!(error.kind() == LogErrorKind::Conflict && !error.is_retryable());
    }
    assert_eq!(log.read_call(&call("opened")).await.unwrap().header, Some(opened.clone()));
    assert_eq!(calls_of(log, &query).await, [opened]);
    assert_eq!(calls_of(log, &of_tenant(&query, "A bank")).await, []);
    assert_eq!(read(log, &call("opened")).await, [message(0, 1), message(1, 1)]);
}

pub(super) async fn calls_are_listed_by_day_and_tenant(log: &dyn CallLog) {
    let (at_ms, query) = day(10);
    let midnight = at_ms - at_ms.rem_euclid(DAY_MS);
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

pub(super) async fn pages_are_complete_and_ordered(log: &dyn CallLog) {
    let (at_ms, query) = day(20);
    // Pairs of calls start in the same millisecond.
    let mut headers: Vec<_> = (0..7).map(|number| header(&format!("page {number}"), at_ms + number / 2)).collect();
    for header in &headers {
        log.open_call(header).await.unwrap();
    }
    headers.reverse();
    assert_pages(log, &query, [1, 2, 3, 6, 7, 8], &headers).await;
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
