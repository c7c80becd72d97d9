//! The contract of every `CallLog` for calls as a whole, case by case: one writer, call ends, holds and expiry.

use verbale::clock::{Clock, ManualClock};
use verbale::log::{CallChange, CallEnd, CallHeader, CallId, CallLog, LogErrorKind, LoggedCall, Put, WriterLease};
use verbale::{LastMessage, MessagesManager, PlainMessage, Record};

use super::conformance::{call, calls_of, day, first, header, message, put, put_as, read, summary};

/// Runs every case. The cases advance the clock by years.
pub async fn all(log: &dyn CallLog, clock: &ManualClock) {
    older_writer_is_refused(log).await;
    each_writer_has_its_own_epoch(log).await;
    conversation_continues_in_another_process(log).await;
    unopened_or_erased_call_cannot_be_changed(log).await;
    call_ends_once(log).await;
    held_call_is_not_erased(log).await;
    expired_call_is_gone(log, clock).await;
    held_call_does_not_expire(log, clock).await;
}

/// Reads a call, and checks that its header read alone is the same.
async fn read_call(log: &dyn CallLog, call_id: &CallId) -> LoggedCall {
    let call = log.read_call(call_id).await.unwrap();
    assert_eq!(log.read_header(call_id).await.unwrap(), call.header);
    call
}

pub async fn open(log: &dyn CallLog, header: &CallHeader) -> WriterLease {
    log.open_call(header).await.unwrap();
    WriterLease::of(header)
}

pub fn call_end(reason: &str) -> CallEnd {
    CallEnd::new(1_744_815_900_000, reason, 5, 2).unwrap()
}

fn close(lease: &WriterLease, reason: &str) -> CallChange {
    CallChange::Close { lease: lease.clone(), call_end: call_end(reason) }
}

async fn change(log: &dyn CallLog, lease: &WriterLease, change: CallChange) -> CallHeader {
    log.change_call(lease.call_id(), &change).await.unwrap()
}

/// Asserts that each record is refused because of the writer of epoch `by`.
pub async fn assert_fenced(log: &dyn CallLog, lease: &WriterLease, records: &[Record], by: u32) {
    for record in records {
        let error = log.put_record(lease, record).await.unwrap_err();
        let writers = format!(
            "call {} is written by its writer {by} now, and this is writer {};",
            lease.call_id(),
            lease.epoch()
        );
        assert_eq!(error.kind(), LogErrorKind::Fenced, "{error:?}");
        assert!(error.to_string().starts_with(&writers), "{error}");
    }
}

async fn older_writer_is_refused(log: &dyn CallLog) {
    let opened = header("fenced", day(50).0);
    let old = open(log, &opened).await;
    let stored = [message(0, 1), message(1, 1), summary(1, 1), message(2, 2), message(3, 1)];
    put_as(log, &old, &stored).await;

    let LoggedCall { header, records, .. } = log.resume_call(old.call_id()).await.unwrap();
    let header = header.unwrap();
    assert_eq!((header.epoch(), header.is_opened_as(&opened)), (2, true));
    assert_eq!(records, stored);
    let new = WriterLease::of(&header);
    for late in
        [message(4, 1), message(3, 2), message(0, 9), message(2, 2), message(2, 1), summary(2, 2), summary(3, 2)]
    {
        assert_fenced(log, &old, &[late], 2).await;
    }
    let error = log.change_call(old.call_id(), &close(&old, "hangup")).await.unwrap_err();
    assert!(error.kind() == LogErrorKind::Fenced && !error.is_retryable(), "{error:?}");
    assert_eq!(read_call(log, old.call_id()).await, LoggedCall::new(Some(header), stored.to_vec()));

    let added = [message(2, 3), message(2, 3), message(3, 1), summary(3, 2), message(4, 1), message(2, 1)];
    let expected = [Put::Written, Put::AlreadyThere, Put::AlreadyThere, Put::Written, Put::Written, Put::NewerKept];
    assert_eq!(put_as(log, &new, &added).await, expected);
    for late in [message(4, 2), summary(3, 2), summary(2, 2), message(2, 9)] {
        assert_fenced(log, &old, &[late], 2).await;
    }
    let all = [message(0, 1), message(1, 1), summary(1, 1), message(2, 3), message(3, 1), summary(3, 2), message(4, 1)];
    assert_eq!(read(log, old.call_id()).await, all);
}

async fn each_writer_has_its_own_epoch(log: &dyn CallLog) {
    let (at_ms, query) = day(51);
    let mut query = query;
    query.limit = 5;
    let leases = {
        let mut leases = vec![open(log, &header("epochs", at_ms)).await];
        for seq in 0..4 {
            let lease = leases.last().unwrap();
            put_as(log, lease, &[message(seq, 1)]).await;
            leases.push(log.resume_call(lease.call_id()).await.unwrap().lease().unwrap());
        }
        leases
    };
    assert_eq!(leases.iter().map(WriterLease::epoch).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    for old in &leases[..4] {
        assert_fenced(log, old, &[message(4, 1)], 5).await;
        assert_fenced(log, old, &[message(0, 2)], 5).await;
    }
    assert_eq!(put_as(log, &leases[4], &[message(4, 1)]).await, [Put::Written]);
    assert_fenced(log, &leases[3], &[message(4, 2)], 5).await;
    assert_eq!(read(log, leases[0].call_id()).await, [0, 1, 2, 3, 4].map(|seq| message(seq, 1)));
    let listed = calls_of(log, &query).await;
    assert_eq!(listed.iter().map(CallHeader::epoch).collect::<Vec<_>>(), [5]);
    assert_eq!(read_call(log, leases[0].call_id()).await.header.as_ref(), listed.first());
}

async fn conversation_continues_in_another_process(log: &dyn CallLog) {
    let old = open(log, &header("continues", day(52).0)).await;
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_assistant("Hello!").unwrap();
    manager.add_user("Hi").unwrap();
    manager.add_assistant("How can I help you?").unwrap();
    put_as(log, &old, &manager.changes(LastMessage::Include)).await;
    let call = log.resume_call(old.call_id()).await.unwrap();
    let new = call.lease().unwrap();
    let mut resumed = MessagesManager::<PlainMessage>::restore(call.records).unwrap();
    assert!(resumed == manager);

    manager.add_user("My card is lost").unwrap();
    let late = manager.changes(LastMessage::Include);
    assert_fenced(log, &old, &late, 2).await;
    // Another message at the same position.
    resumed.add_user("My card is gone").unwrap();
    resumed.add_summary("They met.", &resumed.summarizing().unwrap()).unwrap();
    put_as(log, &new, &resumed.changes(LastMessage::Include)).await;
    assert!(MessagesManager::restore(read(log, old.call_id()).await).unwrap() == resumed);
}

async fn unopened_or_erased_call_cannot_be_changed(log: &dyn CallLog) {
    let changes =
        |lease: &WriterLease| [CallChange::Resume, close(lease, "hangup"), CallChange::Hold, CallChange::Release];
    let [unknown, unopened, erased] = ["unknown", "unopened", "erased for good"].map(call);
    put(log, &unopened, &[message(0, 1)]).await;
    for call_id in [&unknown, &unopened] {
        for change in changes(&first(call_id)) {
            let error = log.change_call(call_id, &change).await.unwrap_err();
            assert_eq!(error.kind(), LogErrorKind::NotOpened, "{error:?}");
            assert!(error.to_string().contains(call_id.as_str()), "{error}");
        }
        let error = log.resume_call(call_id).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::NotOpened, "{error:?}");
    }
    assert_eq!(read_call(log, &unknown).await, LoggedCall::default());
    assert_eq!(read_call(log, &unopened).await, LoggedCall::new(None, vec![message(0, 1)]));

    let lease = open(log, &header("erased for good", day(53).0)).await;
    put_as(log, &lease, &[message(0, 1), summary(0, 1), message(1, 1)]).await;
    let resumed = log.resume_call(&erased).await.unwrap().lease().unwrap();
    log.erase_call(&erased).await.unwrap();
    for change in changes(&lease) {
        let error = log.change_call(&erased, &change).await.unwrap_err();
        assert!(error.kind() == LogErrorKind::Erased, "{error:?}");
    }
    assert_eq!(log.resume_call(&erased).await.unwrap_err().kind(), LogErrorKind::Erased);
    for lease in [lease, resumed] {
        for late in [message(0, 2), message(2, 1), summary(0, 1), summary(1, 2)] {
            let error = log.put_record(&lease, &late).await.unwrap_err();
            assert!(error.kind() == LogErrorKind::Erased, "{error:?}");
        }
    }
    assert!(read_call(log, &erased).await.is_empty());
}

async fn call_ends_once(log: &dyn CallLog) {
    let (at_ms, query) = day(54);
    let lease = open(log, &header("ended", at_ms)).await;
    put_as(log, &lease, &[message(0, 1)]).await;
    let ended = change(log, &lease, close(&lease, "hangup")).await;
    assert_eq!(ended.call_end(), Some(&call_end("hangup")));
    assert_eq!(ended.call_end().and_then(CallEnd::last_seq), Some(4));
    // The first call end is kept.
    assert_eq!(change(log, &lease, close(&lease, "transfer")).await, ended);
    assert_eq!(calls_of(log, &query).await, vec![ended.clone()]);
    assert_eq!(read_call(log, lease.call_id()).await, LoggedCall::new(Some(ended.clone()), vec![message(0, 1)]));
    // Put the call again changes nothing.
    log.open_call(&header("ended", at_ms)).await.unwrap();
    assert_eq!(calls_of(log, &query).await, [ended]);

    let resumed = log.resume_call(lease.call_id()).await.unwrap();
    assert_eq!(resumed.header.as_ref().unwrap().call_end(), None);
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
    let nothing = CallEnd::of(&MessagesManager::<PlainMessage>::new(), 7, "no answer").unwrap();
    assert_eq!((nothing.messages, nothing.last_seq()), (0, None));
    let closing = CallChange::Close { lease: empty.clone(), call_end: nothing.clone() };
    assert_eq!(change(log, &empty, closing).await.call_end(), Some(&nothing));
}

async fn held_call_is_not_erased(log: &dyn CallLog) {
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
    assert!(read_call(log, lease.call_id()).await.is_empty());
}

async fn expired_call_is_gone(log: &dyn CallLog, clock: &ManualClock) {
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
    assert_eq!(log.resume_call(soon.call_id()).await.unwrap_err().kind(), LogErrorKind::NotOpened);
    for change in [CallChange::Resume, close(&leases[0], "hangup"), CallChange::Hold, CallChange::Release] {
        let error = log.change_call(soon.call_id(), &change).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::NotOpened, "{error:?}");
    }
    log.erase_call(soon.call_id()).await.unwrap();

    // Records of later writers expire with the call.
    let resumed = log.resume_call(later.call_id()).await.unwrap().lease().unwrap();
    assert_eq!(resumed.expires_at_s(), later.expires_at_s());
    put_as(log, &resumed, &[message(2, 1)]).await;
    assert_eq!(read(log, later.call_id()).await.len(), 3);
    clock.advance(10_000);
    assert!(read_call(log, later.call_id()).await.is_empty());
    assert_eq!(calls_of(log, &query).await, []);
}

async fn held_call_does_not_expire(log: &dyn CallLog, clock: &ManualClock) {
    let (at_ms, query) = day(57);
    let expires_at_s = clock.now_ms().div_euclid(1_000) + 10;
    let opened = header("held for years", at_ms).with_expires_at(expires_at_s);
    let lease = open(log, &opened).await;
    put_as(log, &lease, &[message(0, 1), summary(0, 1)]).await;
    let held = change(log, &lease, CallChange::Hold).await;
    assert_eq!((held.is_held(), held.expires_at_s()), (true, Some(expires_at_s)));
    clock.advance(3 * 365 * 86_400_000);
    assert_eq!(calls_of(log, &query).await, vec![held.clone()]);
    // Also records that were written with a lease from before the hold.
    put_as(log, &lease, &[message(1, 1)]).await;
    let all = [message(0, 1), summary(0, 1), message(1, 1)];
    assert_eq!(read_call(log, lease.call_id()).await, LoggedCall::new(Some(held), all.to_vec()));

    let resumed = log.resume_call(lease.call_id()).await.unwrap();
    assert_eq!(resumed.records, all);
    let new = resumed.lease().unwrap();
    assert_eq!((new.epoch(), new.expires_at_s()), (2, None));
    put_as(log, &new, &[message(2, 1)]).await;
    change(log, &new, close(&new, "hangup")).await;
    assert_eq!(read(log, lease.call_id()).await.len(), 4);
    assert_fenced(log, &lease, &[message(2, 1)], 2).await;

    let released = change(log, &new, CallChange::Release).await;
    assert_eq!((released.is_held(), released.expires_at_s()), (false, Some(expires_at_s)));
    assert!(read_call(log, lease.call_id()).await.is_empty());
    assert_eq!(calls_of(log, &query).await, []);
}
