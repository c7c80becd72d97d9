//! The rules for records: order, conflicts, erasure.

use serde_json::json;

use super::support::{
    DAY_MS, START_MS, assert_erased, call, calls_of, day, first, header, id, message, put, read, record, summary,
};
use crate::clock::{Clock, ManualClock};
use crate::log::{CallLog, Day, LogErrorKind, Put};
use crate::{LastMessage, MessagesManager, PlainMessage, Record};

pub(super) async fn puts_need_no_order(log: &dyn CallLog) {
    let call_id = call("order");
    assert_eq!(read(log, &call_id).await, []);
    let records = [message(1, 2), message(0, 3), message(1, 1), message(1, 2), message(0, 4), message(0, 3)];
    let expected = [Put::Written, Put::Written, Put::Kept, Put::Kept, Put::Written, Put::Kept];
    assert_eq!(put(log, &call_id, &records).await, expected);
    assert_eq!(put(log, &call_id, &[message(0, 4)]).await, [Put::Kept]);
    assert_eq!(read(log, &call_id).await, [message(0, 4), message(1, 2)]);
}

pub(super) async fn second_writer_gets_a_conflict(log: &dyn CallLog) {
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
    assert!(error.to_string().contains(call_id.as_str()), "{error}");
    assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");

    for revision in 1..4 {
        let mut other = serde_json::to_value(message(0, revision)).unwrap();
        other["id"] = id(7).to_string().into();
        let error = log.put_record(&first(&call_id), &record(other)).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Conflict);
        assert!(!format!("{error:?} {error}").contains("secret"), "{error:?}");
    }
    assert_eq!(read(log, &call_id).await, [message(0, 2)]);
}

pub(super) async fn call_is_read_in_order_and_continues(log: &dyn CallLog) {
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

pub(super) async fn calls_are_separate(log: &dyn CallLog) {
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

pub(super) async fn erased_call_stays_erased(log: &dyn CallLog) {
    let (at_ms, query) = day(30);
    let call_id = call("erased");
    // More than one batch of DynamoDB.
    let records: Vec<Record> = (0..60).map(|seq| message(seq, 2)).chain([summary(3, 1)]).collect();
    put(log, &call_id, &records).await;
    log.open_call(&header("erased", at_ms)).await.unwrap();
    log.erase_call(&call_id).await.unwrap();
    assert_erased(log, &call_id).await;
    assert_eq!(calls_of(log, &query).await, []);

    // This includes the next message and summary, which the log had never seen.
    let next = [message(60, 1), summary(4, 2), summary(59, 2)];
    for late in [message(0, 1), message(0, 2), message(0, 3), message(59, 9), summary(3, 1)].iter().chain(&next) {
        let late = late.clone();
        let error = log.put_record(&first(&call_id), &late).await.unwrap_err();
        assert!(error.kind() == LogErrorKind::Erased && !error.is_retryable(), "{error:?}");
    }
    // A record after them may be stored, but must not be read.
    let _ = log.put_record(&first(&call_id), &message(70, 1)).await;
    assert_eq!(log.open_call(&header("erased", at_ms)).await.unwrap_err().kind(), LogErrorKind::Erased);
    assert_eq!(log.open_call(&header("erased", at_ms + 1)).await.unwrap_err().kind(), LogErrorKind::Erased);
    assert_erased(log, &call_id).await;
    assert_eq!(calls_of(log, &query).await, []);

    log.erase_call(&call_id).await.unwrap();
    assert_erased(log, &call_id).await;
    assert_eq!(log.put_record(&first(&call_id), &message(70, 2)).await.unwrap_err().kind(), LogErrorKind::Erased);
}

pub(super) async fn holes_of_an_erased_call_are_refused(log: &dyn CallLog) {
    let call_id = call("erased with holes");
    put(log, &call_id, &[message(0, 1), message(3, 1), summary(3, 2)]).await;
    log.erase_call(&call_id).await.unwrap();
    for late in [message(1, 1), message(2, 1), message(4, 1), summary(0, 1), summary(2, 1)] {
        let error = log.put_record(&first(&call_id), &late).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Erased, "{late:?}");
    }
    assert_erased(log, &call_id).await;
}

pub(super) async fn sweep_removes_late_records(log: &dyn CallLog, clock: &ManualClock) {
    let day = |clock: &ManualClock| Day::of_ms(clock.now_ms());
    // A day of this rule's own.
    clock.advance(90 * DAY_MS);
    let (call_id, later) = (call("swept"), call("swept later"));
    put(log, &call_id, &[message(0, 1)]).await;
    log.open_call(&header("swept", START_MS)).await.unwrap();
    assert_eq!(log.sweep(day(clock)).await.unwrap(), []);
    log.erase_call(&call_id).await.unwrap();
    let _ = log.put_record(&first(&call_id), &message(70, 1)).await;
    let erased_on = day(clock);
    clock.advance(DAY_MS);
    log.erase_call(&later).await.unwrap();
    for _ in 0..2 {
        let swept = log.sweep(erased_on).await.unwrap();
        // A log in which late requests leave nothing returns no ids.
        assert!(swept.is_empty() || swept == [call_id.clone()], "{swept:?}");
        let error = log.put_record(&first(&call_id), &message(70, 2)).await.unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Erased, "{error:?}");
        assert_erased(log, &call_id).await;
    }
}

pub(super) async fn unknown_call_can_be_erased(log: &dyn CallLog) {
    let (at_ms, query) = day(40);
    log.erase_call(&call("never")).await.unwrap();
    assert_eq!(log.open_call(&header("never", at_ms)).await.unwrap_err().kind(), LogErrorKind::Erased);
    let error = log.put_record(&first(&call("never")), &message(0, 1)).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Erased);
    assert_erased(log, &call("never")).await;
    assert_eq!(calls_of(log, &query).await, []);
}
