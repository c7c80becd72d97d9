//! The rules for calls that another process takes over.

use super::support::{assert_fenced, calls_of, close, day, header, message, open, put_as, read, read_call, summary};
use crate::log::{CallHeader, CallLog, LogErrorKind, LoggedCall, Put, WriterLease};
use crate::{LastMessage, MessagesManager, PlainMessage};

pub(super) async fn older_writer_is_refused(log: &dyn CallLog) {
    let opened = header("fenced", day(50).0);
    let old = open(log, &opened).await;
    let stored = [message(0, 1), message(1, 1), summary(1, 1), message(2, 2), message(3, 1)];
    put_as(log, &old, &stored).await;

    let LoggedCall { header, records, .. } = log.resume_call(old.call_id()).await.unwrap();
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
            leases.push(log.resume_call(lease.call_id()).await.unwrap().lease().unwrap());
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
    let call = log.resume_call(old.call_id()).await.unwrap();
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
