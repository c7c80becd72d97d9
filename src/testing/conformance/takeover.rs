//! The rules for calls that another process takes over.

use super::support::{
    assert_fenced, call_end, calls_of, change, close, day, header, message, open, put_as, read, read_call, summary,
};
use crate::log::{
    CallChange, CallHeader, CallId, CallLog, LogError, LogErrorKind, LoggedCall, Nonce, Put, Tenure, TenureStep,
    WriterLease, take_over,
};
use crate::{LastMessage, MessagesManager, PlainMessage};

pub(super) async fn older_writer_is_refused(log: &dyn CallLog) {
    let opened = header("fenced", day(50).0);
    let old = open(log, &opened).await;
    let stored = [message(0, 1), message(1, 1), summary(1, 1), message(2, 2), message(3, 1)];
    put_as(log, &old, &stored).await;

    let LoggedCall { header, records, .. } = take_over(log, old.call_id()).await.unwrap();
    let header = header.unwrap();
    assert_eq!((header.epoch(), header.is_opened_as(&opened)), (2, true));
    assert_eq!(records, stored);
    let new = WriterLease::from(&header);
    for late in
        [message(4, 1), message(3, 2), message(0, 9), message(2, 2), message(2, 1), summary(2, 2), summary(3, 2)]
    {
        assert_fenced(log, &old, &[late]).await;
    }
    let error = log.change_call(old.call_id(), &close(&old, "hangup")).await.unwrap_err();
    assert!(error.kind() == LogErrorKind::Fenced && !error.is_retryable(), "{error:?}");
    assert_eq!(read_call(log, old.call_id()).await, LoggedCall::new(Some(header), stored.to_vec()));

    let added = [message(2, 3), message(2, 3), message(3, 1), summary(3, 2), message(4, 1), message(2, 1)];
    let expected = [Put::Written, Put::Kept, Put::Kept, Put::Written, Put::Written, Put::Kept];
    assert_eq!(put_as(log, &new, &added).await, expected);
    for late in [message(4, 2), summary(3, 2), summary(2, 2), message(2, 9)] {
        assert_fenced(log, &old, &[late]).await;
    }
    let all = [message(0, 1), message(1, 1), summary(1, 1), message(2, 3), message(3, 1), summary(3, 2), message(4, 1)];
    assert_eq!(read(log, old.call_id()).await, all);
}

pub(super) async fn each_writer_has_its_own_epoch(log: &dyn CallLog) {
    let (at_ms, query) = day(51);
    let mut query = query;
    query.limit = 5;
    let leases = {
        let mut leases = vec![open(log, &header("epochs", at_ms)).await];
        for seq in 0..4 {
            let lease = leases.last().unwrap();
            put_as(log, lease, &[message(seq, 1)]).await;
            leases.push(take_over(log, lease.call_id()).await.unwrap().lease().unwrap());
        }
        leases
    };
    assert_eq!(leases.iter().map(WriterLease::epoch).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    for old in &leases[..4] {
        assert_fenced(log, old, &[message(4, 1)]).await;
        assert_fenced(log, old, &[message(0, 2)]).await;
    }
    assert_eq!(put_as(log, &leases[4], &[message(4, 1)]).await, [Put::Written]);
    assert_fenced(log, &leases[3], &[message(4, 2)]).await;
    assert_eq!(read(log, leases[0].call_id()).await, [0, 1, 2, 3, 4].map(|seq| message(seq, 1)));
    let listed = calls_of(log, &query).await;
    assert_eq!(listed.iter().map(CallHeader::epoch).collect::<Vec<_>>(), [5]);
    assert_eq!(read_call(log, leases[0].call_id()).await.header.as_ref(), listed.first());
}

pub(super) async fn conversation_continues_in_another_process(log: &dyn CallLog) {
    let old = open(log, &header("continues", day(52).0)).await;
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_assistant("Hello!").unwrap();
    manager.add_user("Hi").unwrap();
    manager.add_assistant("How can I help you?").unwrap();
    put_as(log, &old, &manager.changes(LastMessage::Include)).await;
    let call = take_over(log, old.call_id()).await.unwrap();
    let new = call.lease().unwrap();
    let mut resumed = MessagesManager::<PlainMessage>::restore(call.records).unwrap();
    assert!(resumed == manager);

    manager.add_user("My card is lost").unwrap();
    let late = manager.changes(LastMessage::Include).to_vec();
    assert_fenced(log, &old, &late).await;
    // Another message at the same position.
    resumed.add_user("My card is gone").unwrap();
    resumed.add_summary("They met.", &resumed.summarizing().unwrap()).unwrap();
    put_as(log, &new, &resumed.changes(LastMessage::Include)).await;
    assert!(MessagesManager::restore(read(log, old.call_id()).await).unwrap() == resumed);
}

/// Makes a step of a takeover. The nonce is `nonce`.
async fn step(
    log: &dyn CallLog,
    call_id: &CallId,
    seen: Tenure,
    step: TenureStep,
    nonce: u128,
) -> Result<CallHeader, LogError> {
    log.change_call(call_id, &CallChange::Takeover(seen.change(step, Nonce(nonce)))).await
}

async fn tenure(log: &dyn CallLog, call_id: &CallId) -> Tenure {
    log.read_header(call_id).await.unwrap().unwrap().tenure()
}

pub(super) async fn writer_takes_its_call_back(log: &dyn CallLog) {
    let old = open(log, &header("taken back", day(58).0)).await;
    let call_id = old.call_id();
    put_as(log, &old, &[message(0, 1), message(1, 1), message(3, 1)]).await;
    change(log, &old, close(&old, "hangup")).await;
    for (round, is_released) in [(0, true), (1, false)] {
        let seen = tenure(log, call_id).await;
        let candidate = step(log, call_id, seen, TenureStep::Commit, 100 + round).await.unwrap();
        assert!(candidate.tenure().is_contended && candidate.call_end() == Some(&call_end("hangup")));
        let fenced = log.fence_call(&WriterLease::from(&candidate)).await.unwrap();
        assert_eq!(fenced.records, read(log, call_id).await);
        if is_released {
            let given_up = step(log, call_id, candidate.tenure(), TenureStep::GiveUp, 200).await.unwrap();
            assert!(!given_up.tenure().is_contended);
            // A request of the candidate that arrives late.
            let late = step(log, call_id, candidate.tenure(), TenureStep::Serve, 201).await;
            assert!(late.unwrap_err().is_retryable());
        }
        // The call still belongs to its writer, which takes it back and continues.
        let reclaim = TenureStep::Reclaim { served: old.served() };
        let back = step(log, call_id, tenure(log, call_id).await, reclaim, 300 + round).await.unwrap();
        assert_eq!((back.epoch(), back.call_end()), (candidate.epoch() + 1, Some(&call_end("hangup"))));
        let new = WriterLease::from(&back);
        let late = step(log, call_id, candidate.tenure(), TenureStep::Serve, 202).await.unwrap_err();
        assert_eq!(late.kind(), LogErrorKind::Fenced, "{late:?}");
        let late = log.fence_call(&WriterLease::from(&candidate)).await.unwrap_err();
        assert_eq!(late.kind(), LogErrorKind::Fenced, "{late:?}");
        // These are a newer revision, a missing message, a repeated record, and the next message.
        let puts = [message(0, 2), message(2, 1), message(1, 1), message(4, 1)];
        let expected = [Put::Written, Put::Written, Put::Kept, Put::Written];
        assert_eq!(put_as(log, &new, &puts).await, if is_released { expected } else { [Put::Kept; 4] });
        assert_eq!(read(log, call_id).await.len(), 5);
    }
    assert_eq!(take_over(log, call_id).await.unwrap().records.len(), 5);
}

pub(super) async fn step_with_a_lost_answer_is_repeated(log: &dyn CallLog) {
    let old = open(log, &header("lost answers", day(59).0)).await;
    let call_id = old.call_id();
    put_as(log, &old, &[message(0, 1)]).await;
    let mut seen = tenure(log, call_id).await;
    for (nonce, taken) in [(1, TenureStep::Commit), (2, TenureStep::Renew), (3, TenureStep::Serve)] {
        let first = step(log, call_id, seen, taken, nonce).await.unwrap();
        let again = step(log, call_id, seen, taken, nonce).await.unwrap();
        assert_eq!((first.tenure(), again.tenure()), (again.tenure(), tenure(log, call_id).await), "{taken:?}");
        // Another process that has seen the same header.
        let other = step(log, call_id, seen, taken, nonce + 10).await.unwrap_err();
        assert!(other.is_retryable() || other.kind() == LogErrorKind::Fenced, "{other:?}");
        seen = first.tenure();
        if taken == TenureStep::Commit {
            log.fence_call(&WriterLease::from(&first)).await.unwrap();
        }
    }
    assert_eq!((seen.epoch, seen.served, seen.is_contended), (2, 2, false));
    // The older writer cannot take back a call that another process serves.
    let reclaim = step(log, call_id, seen, TenureStep::Reclaim { served: old.served() }, 4).await.unwrap_err();
    assert_eq!(reclaim.kind(), LogErrorKind::Fenced, "{reclaim:?}");
    assert_fenced(log, &old, &[message(1, 1), message(0, 2)]).await;
}

pub(super) async fn every_write_of_the_header_changes_its_nonce(log: &dyn CallLog) {
    let lease = open(log, &header("nonces", day(60).0)).await;
    let mut seen = vec![tenure(log, lease.call_id()).await];
    let changes = [CallChange::Hold, CallChange::Release, close(&lease, "hangup")];
    for changed in changes.map(Some).into_iter().chain([None]) {
        match changed {
            Some(changed) => drop(change(log, &lease, changed).await),
            None => drop(take_over(log, lease.call_id()).await.unwrap()),
        }
        let now = tenure(log, lease.call_id()).await;
        for earlier in &seen {
            // A candidate that has read an earlier header does not commit.
            let late = step(log, lease.call_id(), *earlier, TenureStep::Commit, 7).await;
            assert!(late.unwrap_err().is_retryable());
        }
        assert_eq!(tenure(log, lease.call_id()).await, now);
        seen.push(now);
    }
}
