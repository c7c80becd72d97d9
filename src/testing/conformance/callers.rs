//! The rules for callers and attributes of headers.

use super::support::{
    assert_pages, call, calls_of, change, close, day, header, message, open, put_as, read_call, tenant,
};
use crate::clock::{Clock, ManualClock};
use crate::log::{CallChange, CallHeader, CallLog, CallQuery, CallerId, LogErrorKind, Put, WriterLease, take_over};
use crate::message::{Map, Value};

/// Each rule uses numbers of its own.
fn caller(number: &str) -> CallerId {
    CallerId::new(number, b"the salt of the suite").unwrap()
}

pub(super) async fn calls_are_listed_by_caller(log: &dyn CallLog) {
    // The calls are on several days; two of them start in the same millisecond.
    let starts = [60, 61, 61, 65].map(|number| day(number).0);
    let [mine, other] = [caller("+10001"), caller("+10002")];
    let headers: Vec<CallHeader> = (0..).zip(starts).map(|(number, at_ms)| own(&mine, number, at_ms)).collect();
    let [of_bank, of_other, of_nobody] = [
        header("caller of a bank", starts[1]).with_caller(mine.clone()).with_tenant(tenant("A#bank")),
        header("other caller", starts[1]).with_caller(other.clone()),
        header("no caller", starts[1]),
    ];
    for header in headers.iter().chain([&of_bank, &of_other, &of_nobody]) {
        assert_eq!(log.open_call(header).await.unwrap(), Put::Written);
    }
    let newest: Vec<CallHeader> = headers.into_iter().rev().collect();
    assert_eq!(calls_of(log, &CallQuery::of_caller(None, mine.clone())).await, newest);
    assert_eq!(calls_of(log, &CallQuery::of_caller(Some(tenant("A#bank")), mine.clone())).await, [of_bank]);
    assert_eq!(calls_of(log, &CallQuery::of_caller(Some(tenant("bank")), mine.clone())).await, []);
    assert_eq!(calls_of(log, &CallQuery::of_caller(None, other)).await, [of_other]);
    assert_eq!(calls_of(log, &CallQuery::of_caller(None, caller("+10003"))).await, []);
    assert_pages(log, &CallQuery::of_caller(None, mine), [1, 2, 3], &newest).await;
}

fn own(caller: &CallerId, number: u32, at_ms: i64) -> CallHeader {
    header(&format!("caller {number}"), at_ms).with_caller(caller.clone())
}

pub(super) async fn removed_calls_are_not_listed(log: &dyn CallLog, clock: &ManualClock) {
    let at_ms = day(66).0;
    let mine = caller("+10011");
    let query = CallQuery::of_caller(None, mine.clone());
    let now_s = clock.now_ms().div_euclid(1_000);
    let [erased, kept] = ["erased caller", "kept caller"].map(|id| header(id, at_ms).with_caller(mine.clone()));
    let expiring = header("expiring caller", at_ms).with_caller(mine.clone()).with_expires_at(now_s + 10);
    for header in [&erased, &expiring, &kept] {
        log.open_call(header).await.unwrap();
    }
    assert_eq!(calls_of(log, &query).await, [kept.clone(), expiring, erased.clone()]);
    log.erase_call(erased.call_id()).await.unwrap();
    clock.set((now_s + 10) * 1_000);
    assert_eq!(calls_of(log, &query).await, [kept]);
    assert_eq!(log.open_call(&erased).await.unwrap_err().kind(), LogErrorKind::Erased);
}

pub(super) async fn changes_keep_caller_and_attributes(log: &dyn CallLog) {
    let (at_ms, query) = day(67);
    let attributes = attributes();
    let mine = caller("+10021");
    let opened =
        header("attributes", at_ms).with_tenant(tenant("A bank")).with_caller(mine.clone()).with_attributes(attributes);
    let lease = open(log, &opened).await;
    put_as(log, &lease, &[message(0, 1)]).await;
    assert_eq!(log.open_call(&opened).await.unwrap(), Put::Kept);
    let others = [
        opened.clone().with_caller(caller("+10022")),
        opened.clone().with_attributes(Map::default()),
        header("attributes", at_ms).with_tenant(tenant("A bank")),
    ];
    for other in others {
        assert_eq!(log.open_call(&other).await.unwrap_err().kind(), LogErrorKind::Conflict);
    }
    let taken = take_over(log, &call("attributes")).await.unwrap().header.unwrap();
    let lease = WriterLease::from(&taken);
    let changes = [CallChange::Hold, close(&lease, "hangup"), CallChange::Release];
    for changed in [None].into_iter().chain(changes.map(Some)) {
        let changed = match changed {
            Some(changed) => change(log, &lease, changed).await,
            None => taken.clone(),
        };
        assert_same(&changed, &opened);
        assert_eq!(read_call(log, lease.call_id()).await.header, Some(changed.clone()));
        let by_caller = CallQuery::of_caller(Some(tenant("A bank")), mine.clone());
        assert_eq!(calls_of(log, &by_caller).await, std::slice::from_ref(&changed));
        let mut query = query.clone();
        query.tenant = Some(tenant("A bank"));
        assert_eq!(calls_of(log, &query).await, [changed]);
    }
}

fn assert_same(changed: &CallHeader, opened: &CallHeader) {
    assert_eq!((changed.caller(), changed.attributes()), (opened.caller(), opened.attributes()));
}

/// Attributes of every kind, with odd keys.
fn attributes() -> Map {
    let list = Value::list([Value::from(1_i64), Value::Null, Value::from(true)]).unwrap();
    let inner = Value::map([("$bytes", Value::from("AA==")), ("", Value::from("empty key"))]).unwrap();
    let attributes = [
        ("dialled", Value::from("+49 30 654321")),
        ("number", Value::Number("12.5".parse().unwrap())),
        ("pk", list),
        ("$map", inner),
        ("gsi2pk", Value::from("")),
    ];
    Map::new(attributes.map(|(key, value)| (key.to_owned(), value)).into()).unwrap()
}
