//! A log that stores spans: what is put together, and what is put later.

use std::sync::Arc;
use std::time::Duration;

use verbale::log::{CallEnd, CallHeader, CallWriter, LogWriter, SpoolSettings};
use verbale::testing::SpoolMemory;
use verbale::{LastMessage, MessageId, Timing};

use super::faulty::{Faulty, Next};
use super::{Manager, SOON, START_MS, balanced, call_id, lease, settings, started, stored};

fn opened(writer: &LogWriter) -> (CallWriter, Manager) {
    (writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap(), Manager::new())
}

/// Adds a turn, and returns the ids of its messages.
fn turn(manager: &mut Manager, number: usize) -> [MessageId; 2] {
    let user = manager.add_user(format!("user {number}")).unwrap().id();
    [user, manager.add_assistant("yes").unwrap().id()]
}

fn change(manager: &mut Manager, id: &MessageId, at_ms: i64) {
    manager.entry(id).unwrap().set_timing(Timing::PlayEnd, at_ms).unwrap();
}

async fn submit(call: &CallWriter, manager: &mut Manager) {
    call.submit(manager, LastMessage::Include).unwrap();
    assert!(manager.new_changes(LastMessage::Include).is_empty());
    tokio::time::sleep(Duration::from_secs(1)).await;
}

#[tokio::test(start_paused = true)]
async fn turn_is_one_item_and_later_changes_go_there_alone() {
    for has_spool in [false, true] {
        let log = Arc::new(Faulty::with_spans());
        let spool = Arc::new(SpoolMemory::default().open(SpoolSettings::default()).unwrap());
        let writer = started(&log, if has_spool { settings().with_spool(spool) } else { settings() });
        let (call, mut manager) = opened(&writer);
        let [user, assistant] = turn(&mut manager, 0);
        submit(&call, &mut manager).await;
        assert_eq!(log.take_items(), [(Some((0, 1)), vec![(0, 1), (1, 1)])], "{has_spool}");
        turn(&mut manager, 1);
        change(&mut manager, &assistant, START_MS);
        submit(&call, &mut manager).await;
        let expected = [(Some((0, 1)), vec![(1, 2)]), (Some((2, 3)), vec![(2, 1), (3, 1)])];
        assert_eq!(log.take_items(), expected, "{has_spool}");

        // Messages that were released from memory, too.
        call.acknowledge(&mut manager);
        change(&mut manager, &user, START_MS);
        submit(&call, &mut manager).await;
        assert_eq!(log.take_items(), [(Some((0, 1)), vec![(0, 2)])], "{has_spool}");
        let call_end = CallEnd::of(&manager, START_MS, "hangup").unwrap();
        call.finish(&mut manager, call_end, SOON).await.unwrap();
        assert_eq!(writer.flush(SOON).await, []);
        assert!(stored(&log, "CA1").await == manager);
        balanced(&writer.status());
    }
}

#[tokio::test(start_paused = true)]
async fn span_keeps_its_messages_until_it_is_stored() {
    for has_spool in [false, true] {
        let log = Arc::new(Faulty::with_spans());
        let spool = Arc::new(SpoolMemory::default().open(SpoolSettings::default()).unwrap());
        let writer = started(&log, if has_spool { settings().with_spool(spool) } else { settings() });
        let (call, mut manager) = opened(&writer);
        submit(&call, &mut manager).await;
        log.always(&call_id("CA1"), Next::Unavailable);
        let [_, assistant] = turn(&mut manager, 0);
        submit(&call, &mut manager).await;
        turn(&mut manager, 1);
        change(&mut manager, &assistant, START_MS);
        submit(&call, &mut manager).await;
        tokio::time::sleep(Duration::from_secs(20)).await;
        let items = log.take_items();
        assert!(items.len() > 4 && items.iter().all(|(span, _)| *span == Some((0, 1))), "{items:?}");
        assert_eq!(items.last().unwrap().1, [(0, 1), (1, 2)]);
        log.always(&call_id("CA1"), Next::Go);
        assert_eq!(writer.flush(Duration::from_secs(60)).await, []);
        let items = log.take_items();
        assert_eq!(items.last(), Some(&(Some((2, 3)), vec![(2, 1), (3, 1)])));
        assert!(stored(&log, "CA1").await == manager);
    }
}

#[tokio::test(start_paused = true)]
async fn span_has_sixteen_kilobytes_at_most() {
    let log = Arc::new(Faulty::with_spans());
    let writer = started(&log, settings());
    let (call, mut manager) = opened(&writer);
    for length in [7_000, 8_000, 2_000, 20_000, 1] {
        manager.add_user("x".repeat(length)).unwrap();
        manager.add_assistant("yes").unwrap();
    }
    submit(&call, &mut manager).await;
    let spans: Vec<_> = log.take_items().into_iter().map(|(span, _)| span.unwrap()).collect();
    assert_eq!(spans, [(0, 3), (4, 5), (6, 6), (7, 9)]);
    assert!(stored(&log, "CA1").await == manager);
}

#[tokio::test(start_paused = true)]
async fn batch_ends_with_a_span() {
    for has_spool in [false, true] {
        let log = Arc::new(Faulty::with_spans());
        let spool = Arc::new(SpoolMemory::default().open(SpoolSettings::default()).unwrap());
        let settings = settings().with_parallel(64, 3);
        let writer = started(&log, if has_spool { settings.with_spool(spool) } else { settings });
        let (call, mut manager) = opened(&writer);
        let ids: Vec<_> = (0..10).map(|number| turn(&mut manager, number)).collect();
        submit(&call, &mut manager).await;
        for id in ids.as_flattened() {
            change(&mut manager, id, START_MS);
        }
        turn(&mut manager, 10);
        submit(&call, &mut manager).await;
        let all = |revision| (0..20).map(|seq| (seq, revision)).collect();
        let expected = [(Some((0, 19)), all(1)), (Some((0, 19)), all(2)), (Some((20, 21)), vec![(20, 1), (21, 1)])];
        assert_eq!(log.take_items(), expected, "{has_spool}");
    }
}

#[tokio::test(start_paused = true)]
async fn resumed_call_goes_on_with_its_spans() {
    let log = Arc::new(Faulty::with_spans());
    let writer = started(&log, settings());
    let (call, mut manager) = opened(&writer);
    let [_, assistant] = turn(&mut manager, 0);
    submit(&call, &mut manager).await;
    drop((call, writer));

    let writer = started(&log, settings());
    let (mut manager, call) = writer.resume(&call_id("CA1"), SOON).await.unwrap();
    log.take_items();
    change(&mut manager, &assistant, START_MS);
    turn(&mut manager, 1);
    submit(&call, &mut manager).await;
    assert_eq!(log.take_items(), [(Some((0, 1)), vec![(1, 2)]), (Some((2, 3)), vec![(2, 1), (3, 1)])]);
    assert!(stored(&log, "CA1").await == manager);
}

/// Writes turns with a spool. The log answers only the first one. Returns what a crash leaves.
async fn crashed(log: &Arc<Faulty>, next: Next) -> (SpoolMemory, Manager) {
    let memory = SpoolMemory::default();
    let spool = Arc::new(memory.open(SpoolSettings::default()).unwrap());
    let (writer, task) = LogWriter::new(log.clone(), settings().with_spool(spool));
    let task = tokio::spawn(task);
    let (call, mut manager) = opened(&writer);
    let [_, assistant] = turn(&mut manager, 0);
    submit(&call, &mut manager).await;
    log.always(&call_id("CA1"), next);
    change(&mut manager, &assistant, START_MS);
    turn(&mut manager, 1);
    turn(&mut manager, 2);
    submit(&call, &mut manager).await;
    tokio::time::sleep(SOON * 3).await;
    turn(&mut manager, 3);
    submit(&call, &mut manager).await;
    task.abort();
    let _ = task.await;
    (memory.copy(), manager)
}

#[tokio::test(start_paused = true)]
async fn spans_are_the_same_after_a_crash() {
    for next in [Next::Unavailable, Next::Hang, Next::Lose] {
        let log = Arc::new(Faulty::with_spans());
        let (memory, manager) = crashed(&log, next).await;
        log.take_items();
        log.always(&call_id("CA1"), Next::Go);
        let spool = Arc::new(memory.open(SpoolSettings::default()).unwrap());
        let writer = started(&log, settings().with_spool(spool));
        let (mut resumed, call) = writer.resume(&call_id("CA1"), SOON).await.unwrap();
        assert!(resumed == manager);
        let items = log.take_items();
        assert_eq!(items[..2], [(Some((0, 1)), vec![(1, 2)]), (Some((2, 5)), (2..6).map(|seq| (seq, 1)).collect())]);
        // The last turn was never put, and no span was closed for it.
        assert_eq!(items[2..], [(None, vec![(6, 1)]), (None, vec![(7, 1)])]);

        let ids: Vec<_> = [3, 6].iter().map(|seq| resumed.meta_messages()[*seq].id()).collect();
        ids.iter().for_each(|id| change(&mut resumed, id, START_MS));
        turn(&mut resumed, 4);
        submit(&call, &mut resumed).await;
        let expected = [(Some((2, 5)), vec![(3, 2)]), (None, vec![(6, 2)]), (Some((8, 9)), vec![(8, 1), (9, 1)])];
        assert_eq!(log.take_items(), expected);
        assert!(stored(&log, "CA1").await == resumed);
        balanced(&writer.status());
    }
}

/// A span whose commit fails is split, and the spool forgets it, although the commit may have been made.
#[tokio::test(start_paused = true)]
async fn spool_that_fails_anywhere_loses_and_repeats_nothing() {
    for writes in 0..60 {
        let log = Arc::new(Faulty::with_spans());
        let memory = SpoolMemory::default();
        let spool = Arc::new(memory.open(SpoolSettings::default()).unwrap());
        let (writer, task) = LogWriter::new(log.clone(), settings().with_spool(spool.clone()));
        let task = tokio::spawn(task);
        let (call, mut manager) = opened(&writer);
        submit(&call, &mut manager).await;
        memory.fail_after(Some(writes));
        turn(&mut manager, 0);
        submit(&call, &mut manager).await;
        tokio::time::sleep(SOON).await;
        memory.fail_after(None);
        let [_, assistant] = turn(&mut manager, 1);
        submit(&call, &mut manager).await;
        change(&mut manager, &assistant, START_MS);
        submit(&call, &mut manager).await;
        let flushed = tokio::time::timeout(SOON * 2, writer.flush(SOON)).await;
        assert_eq!(flushed.expect("the writer makes no progress"), [], "after {writes} writes");
        assert!(stored(&log, "CA1").await == manager);
        balanced(&writer.status());
        tokio::time::sleep(SOON * 3).await;
        assert!(format!("{spool:?}").contains("pending_bytes: 0,"), "after {writes} writes: {spool:?}");
        task.abort();
        let _ = task.await;

        let spool = Arc::new(memory.copy().open(SpoolSettings::default()).unwrap());
        let writer = started(&log, settings().with_spool(spool));
        let (mut manager, call) = writer.resume(&call_id("CA1"), SOON).await.unwrap();
        change(&mut manager, &assistant, START_MS + 1);
        turn(&mut manager, 2);
        submit(&call, &mut manager).await;
        assert!(stored(&log, "CA1").await == manager, "after {writes} writes");
    }
}

#[tokio::test(start_paused = true)]
async fn writer_that_does_not_know_the_call_puts_single_records() {
    let log = Arc::new(Faulty::with_spans());
    let writer = started(&log, settings());
    let mut manager = Manager::new();
    turn(&mut manager, 0);
    submit(&writer.call(lease("CA1")), &mut manager).await;
    assert_eq!(log.take_items(), [(None, vec![(0, 1)]), (None, vec![(1, 1)])]);
    // The header is new, so the writer takes all messages for new. The log has some of them.
    let (call, _) = opened(&writer);
    manager.take_back();
    turn(&mut manager, 1);
    submit(&call, &mut manager).await;
    let single = |seq| (None, vec![(seq, 1)]);
    let whole = (Some((0, 3)), vec![(0, 1), (1, 1), (2, 1), (3, 1)]);
    assert_eq!(log.take_items(), [whole, single(0), single(1), single(2), single(3)]);
    turn(&mut manager, 2);
    submit(&call, &mut manager).await;
    assert_eq!(log.take_items(), [(Some((4, 5)), vec![(4, 1), (5, 1)])]);
    assert!(stored(&log, "CA1").await == manager);
    balanced(&writer.status());
}
