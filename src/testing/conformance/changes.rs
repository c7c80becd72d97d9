//! The rules for call ends, holds and expiry.

use super::support::{
    assert_erased, assert_fenced, call, call_end, calls_of, change, close, day, first, header, message, open, put,
    put_as, read, read_call, summary,
};
use crate::clock::{Clock, ManualClock};
use crate::log::{
    CallChange, CallEnd, CallHeader, CallLog, LogErrorKind, LoggedCall, Nonce, Tenure, TenureStep, WriterLease,
    take_over,
};

/// The first step of a takeover of a call that was just opened.
fn commit() -> CallChange {
    CallChange::Takeover(Tenure::default().change(TenureStep::Commit, Nonce(1)))
}

pub(super) async fn unopened_or_erased_call_cannot_be_changed(log: &dyn CallLog) {
    let changes = |lease: &WriterLease| [commit(), close(lease, "hangup"), CallChange::Hold, CallChange::Release];
    let [unknown, unopened, erased] = ["unknown", "unopened", "erased for good"].map(call);
    put(log, &unopened, &[message(0, 1)]).await;
    for call_id in [&unknown, &unopened] {
        for change in changes(&first(call_id)) {
            let error = log.change_call(call_id, &change).await.unwrap_err();
            assert_eq!(error.kind(), LogErrorKind::NotOpened, "{error:?}");
            assert!(error.to_string().contains(call_id.as_str()), "{error}");
        }
        let error = take_over(log, call_id).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::NotOpened, "{error:?}");
    }
    assert_eq!(read_call(log, &unknown).await, LoggedCall::default());
    assert_eq!(read_call(log, &unopened).await, LoggedCall::new(None, vec![message(0, 1)]));

    let lease = open(log, &header("erased for good", day(53).0)).await;
    put_as(log, &lease, &[message(0, 1), summary(0, 1), message(1, 1)]).await;
    let resumed = take_over(log, &erased).await.unwrap().lease().unwrap();
    log.erase_call(&erased).await.unwrap();
    for change in changes(&lease) {
        let error = log.change_call(&erased, &change).await.unwrap_err();
        assert!(error.kind() == LogErrorKind::Erased, "{error:?}");
    }
    for lease in [lease, resumed] {
        for late in [message(0, 2), message(2, 1), summary(0, 1), summary(1, 2)] {
            let error = log.put_record(&lease, &late).await.unwrap_err();
            assert!(error.kind() == LogErrorKind::Erased, "{error:?}");
        }
    }
    assert_erased(log, &erased).await;
}

pub(super) async fn call_ends_once(log: &dyn CallLog) {
    let (at_ms, query) = day(54);
    let lease = open(log, &header("ended", at_ms)).await;
    put_as(log, &lease, &[message(0, 1)]).await;
    let ended = change(log, &lease, close(&lease, "hangup")).await;
    assert_eq!(ended.call_end(), Some(&call_end("hangup")));
    // If two ends have the same counts, the first one is kept.
    assert_eq!(change(log, &lease, close(&lease, "transfer")).await, ended);
    assert_eq!(calls_of(log, &query).await, vec![ended.clone()]);
    assert_eq!(read_call(log, lease.call_id()).await, LoggedCall::new(Some(ended.clone()), vec![message(0, 1)]));
    // Opening the call again changes nothing.
    log.open_call(&header("ended", at_ms)).await.unwrap();
    assert_eq!(calls_of(log, &query).await, [ended]);

    // An end that counts more messages or summaries replaces it.
    let later = |messages, summaries| {
        let call_end = CallEnd::new(7, "later", messages, summaries).unwrap();
        CallChange::Close { lease: lease.clone(), call_end }
    };
    for (messages, summaries) in [(5, 3), (7, 3)] {
        let ended = change(log, &lease, later(messages, summaries)).await;
        let counts = |ended: &CallHeader| ended.call_end().map(|it| (it.messages, it.summaries));
        assert_eq!(counts(&ended), Some((messages, summaries)));
        assert_eq!(change(log, &lease, close(&lease, "hangup")).await, ended);
        assert_eq!(change(log, &lease, later(messages, summaries)).await, ended);
    }

    let resumed = take_over(log, lease.call_id()).await.unwrap();
    assert_eq!(resumed.header.as_ref().unwrap().call_end(), None);
    assert_eq!(resumed.ended.as_ref().map(|ended| (ended.messages, ended.summaries)), Some((7, 3)));
    let again = resumed.lease().unwrap();
    assert_eq!(
        log.change_call(lease.call_id(), &close(&lease, "hangup")).await.unwrap_err().kind(),
        LogErrorKind::Fenced
    );
    let ended = change(log, &again, close(&again, "transfer")).await;
    assert_eq!((ended.epoch(), ended.call_end()), (2, Some(&call_end("transfer"))));
    // A fenced writer gets its error even after the call has ended.
    assert_eq!(
        log.change_call(lease.call_id(), &close(&lease, "hangup")).await.unwrap_err().kind(),
        LogErrorKind::Fenced
    );
    assert_eq!(calls_of(log, &query).await, [ended]);

    let empty = open(log, &header("nothing was said", at_ms)).await;
    let nothing = CallEnd::new(7, "no answer", 0, 0).unwrap();
    let closing = CallChange::Close { lease: empty.clone(), call_end: nothing.clone() };
    assert_eq!(change(log, &empty, closing).await.call_end(), Some(&nothing));
}

pub(super) async fn held_call_is_not_erased(log: &dyn CallLog) {
    let (at_ms, query) = day(55);
    let opened = header("held", at_ms);
    let lease = open(log, &opened).await;
    put_as(log, &lease, &[message(0, 1)]).await;
    for _ in 0..2 {
        let held = change(log, &lease, CallChange::Hold).await;
        assert!(held.is_held());
        let error = log.erase_call(lease.call_id()).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Held, "{error:?}");
        assert!(error.to_string().contains(lease.call_id().as_str()), "{error}");
        assert!(!error.is_retryable());
        assert_eq!(calls_of(log, &query).await, [held]);
    }
    put_as(log, &lease, &[message(1, 1)]).await;
    assert_eq!(read(log, lease.call_id()).await, [message(0, 1), message(1, 1)]);
    for _ in 0..2 {
        assert_eq!(change(log, &lease, CallChange::Release).await, opened);
    }
    log.erase_call(lease.call_id()).await.unwrap();
    assert_erased(log, lease.call_id()).await;
}

pub(super) async fn expired_call_is_gone(log: &dyn CallLog, clock: &ManualClock) {
    let (at_ms, query) = day(56);
    let now_s = clock.now_ms().div_euclid(1_000);
    let [soon, later] =
        [("soon", 10), ("later", 20)].map(|(id, after_s)| header(id, at_ms).with_expires_at(now_s + after_s));
    let leases = [open(log, &soon).await, open(log, &later).await];
    for lease in &leases {
        put_as(log, lease, &[message(0, 1), message(1, 1)]).await;
    }
    clock.set((now_s + 10) * 1_000 - 1);
    assert_eq!(calls_of(log, &query).await, [soon.clone(), later.clone()]);
    assert_eq!(read_call(log, soon.call_id()).await.header, Some(soon.clone()));
    clock.advance(1);
    assert_eq!(calls_of(log, &query).await, vec![later.clone()]);
    assert!(read_call(log, soon.call_id()).await.is_empty());
    assert_eq!(take_over(log, soon.call_id()).await.unwrap_err().kind(), LogErrorKind::NotOpened);
    for change in [commit(), close(&leases[0], "hangup"), CallChange::Hold, CallChange::Release] {
        let error = log.change_call(soon.call_id(), &change).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::NotOpened, "{error:?}");
    }
    log.erase_call(soon.call_id()).await.unwrap();

    // Records of later writers expire with the call.
    let resumed = take_over(log, later.call_id()).await.unwrap().lease().unwrap();
    assert_eq!(resumed.expires_at_s(), later.expires_at_s());
    put_as(log, &resumed, &[message(2, 1)]).await;
    assert_eq!(read(log, later.call_id()).await.len(), 3);
    clock.advance(10_000);
    assert!(read_call(log, later.call_id()).await.is_empty());
    assert_eq!(calls_of(log, &query).await, []);
}

pub(super) async fn held_call_does_not_expire(log: &dyn CallLog, clock: &ManualClock) {
    let (at_ms, query) = day(57);
    let expires_at_s = clock.now_ms().div_euclid(1_000) + 10;
    let opened = header("held for years", at_ms).with_expires_at(expires_at_s);
    let lease = open(log, &opened).await;
    put_as(log, &lease, &[message(0, 1), summary(0, 1)]).await;
    let held = change(log, &lease, CallChange::Hold).await;
    assert_eq!((held.is_held(), held.expires_at_s()), (true, Some(expires_at_s)));
    clock.advance(3 * 365 * 86_400_000);
    assert_eq!(calls_of(log, &query).await, vec![held.clone()]);
    // This includes records that were written with a lease from before the hold.
    put_as(log, &lease, &[message(1, 1)]).await;
    let all = [message(0, 1), summary(0, 1), message(1, 1)];
    assert_eq!(read_call(log, lease.call_id()).await, LoggedCall::new(Some(held), all.to_vec()));

    let resumed = take_over(log, lease.call_id()).await.unwrap();
    assert_eq!(resumed.records, all);
    let new = resumed.lease().unwrap();
    assert_eq!((new.epoch(), new.expires_at_s()), (2, None));
    put_as(log, &new, &[message(2, 1)]).await;
    change(log, &new, close(&new, "hangup")).await;
    assert_eq!(read(log, lease.call_id()).await.len(), 4);
    assert_fenced(log, &lease, &[message(2, 1)]).await;

    let released = change(log, &new, CallChange::Release).await;
    assert_eq!((released.is_held(), released.expires_at_s()), (false, Some(expires_at_s)));
    assert!(read_call(log, lease.call_id()).await.is_empty());
    assert_eq!(calls_of(log, &query).await, []);
}
