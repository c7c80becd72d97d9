//! Spools that fail, are full, or are opened again. Seeds of `tests/simulation/histories/` found each case.

use std::sync::Arc;
use std::time::Duration;

use verbale::log::{CallHeader, CallLog, LogWriter, Spool, SpoolSettings};
use verbale::testing::SpoolMemory;
use verbale::{LastMessage, PlainMessage, Timing};

use super::faulty::{Faulty, Next};
use super::{Manager, SOON, START_MS, balanced, call_id, lease, settings, started, stored};
use crate::letters::take_dead_letters;

mod letters;
mod recovery;

fn spool(memory: &SpoolMemory, max_bytes: u64) -> Arc<Spool> {
    Arc::new(memory.open(SpoolSettings::default().with_max_bytes(max_bytes)).unwrap())
}

/// A commit that reports an error may have been made. If its records stayed in the spool, batches would return them
/// forever and later records would never be stored.
#[tokio::test(start_paused = true)]
async fn commit_that_failed_after_its_last_write_blocks_nothing() {
    for writes in 0..24 {
        let memory = SpoolMemory::default();
        let log = Arc::new(Faulty::new());
        let spool = spool(&memory, 1 << 20);
        let settings = settings().with_spool(spool.clone()).with_parallel(64, 1);
        memory.fail_after(Some(writes));
        let writer = started(&log, settings);
        let call = writer.call(lease("CA1"));
        let mut manager = Manager::new();
        for turn in 0..3 {
            manager.add_user(format!("user {turn}")).unwrap();
            manager.add_assistant("yes").unwrap();
        }
        call.submit(&mut manager, LastMessage::Include).unwrap();
        tokio::time::sleep(Duration::from_secs(30)).await;
        memory.fail_after(None);
        tokio::time::sleep(Duration::from_secs(30)).await;
        manager.add_user("and then").unwrap();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        let flushed = tokio::time::timeout(SOON * 2, writer.flush(SOON)).await;
        assert_eq!(flushed.expect("the writer makes no progress"), [], "after {writes} writes");
        tokio::time::sleep(SOON).await;
        assert!(stored(&log, "CA1").await == manager);
        assert!(format!("{spool:?}").contains("pending_bytes: 0,"), "after {writes} writes: {spool:?}");
        balanced(&writer.status());
    }
}

/// The spool then has a newer revision than the writer knows. Storing either one has to remove both.
#[tokio::test(start_paused = true)]
async fn newer_revision_with_a_failed_but_made_commit_is_removed_too() {
    let all = (0..24).flat_map(|writes| [(writes, Duration::ZERO), (writes, Duration::from_secs(60))]);
    for (writes, healthy_for) in all {
        let memory = SpoolMemory::default();
        let log = Arc::new(Faulty::new());
        let spool = spool(&memory, 1 << 20);
        let writer = started(&log, settings().with_spool(spool.clone()));
        let call = writer.call(lease("CA1"));
        let mut manager = Manager::new();
        log.always(&call_id("CA1"), Next::Unavailable);
        let id = manager.add_user("Hi").unwrap().id();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(writer.status().spooled, 1);
        memory.fail_after(Some(writes));
        manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS).unwrap();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        balanced(&writer.status());
        memory.fail_after(None);
        tokio::time::sleep(healthy_for).await;
        log.always(&call_id("CA1"), Next::Go);
        let flushed = tokio::time::timeout(SOON * 2, writer.flush(SOON)).await;
        assert_eq!(flushed.expect("the writer makes no progress"), [], "after {writes} writes");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(stored(&log, "CA1").await == manager);
        let status = writer.status();
        balanced(&status);
        assert_eq!((status.queued, status.spooled), (0, 0), "after {writes} writes: {status:?}");
        assert!(format!("{spool:?}").contains("pending_bytes: 0,"), "after {writes} writes: {spool:?}");
    }
}

/// Fencing relies on the order of the list.
#[tokio::test(start_paused = true)]
async fn small_record_does_not_overtake_a_large_one_through_the_spool() {
    let log = Arc::new(Faulty::new());
    let writer = started(&log, settings().with_spool(spool(&SpoolMemory::default(), 1_000)));
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    for text in ["short", &"long ".repeat(1_000), "short", &"long ".repeat(1_000), "short"] {
        manager.add_user(text).unwrap();
        manager.add_assistant("yes").unwrap();
    }
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    assert!(log.first_puts().is_sorted(), "{:?}", log.first_puts());
    assert!(stored(&log, "CA1").await == manager);
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn records_in_the_spool_of_an_earlier_task_are_acknowledged_again() {
    let memory = SpoolMemory::default();
    let log = Arc::new(Faulty::new());
    log.always(&call_id("CA1"), Next::Unavailable);
    let (writer, task) = LogWriter::new(log.clone(), settings().with_spool(spool(&memory, 1 << 20)));
    let task = tokio::spawn(task);
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    tokio::time::sleep(SOON).await;
    task.abort();
    let _ = task.await;
    drop((writer, call));

    // The record was spooled but never acknowledged to the manager.
    let writer = started(&log, settings().with_spool(spool(&memory.copy(), 1 << 20)));
    let call = writer.call(lease("CA1"));
    manager.take_back();
    assert_eq!(call.submit(&mut manager, LastMessage::Include).unwrap(), 1);
    tokio::time::sleep(SOON).await;
    call.acknowledge(&mut manager);
    assert!(manager.changes(LastMessage::Include).is_empty());
    balanced(&writer.status());
}

/// A dead letter is never stored, so waiting for it would block the call forever.
#[tokio::test(start_paused = true)]
async fn dead_letter_does_not_prevent_a_resume() {
    let log = Arc::new(Faulty::new());
    let writer = started(&log, settings());
    let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    let id = manager.add_user("Hi").unwrap().id();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    log.next(&call_id("CA1"), Next::Refuse);
    manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS).unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await.len(), 1);
    let (restored, _) = writer.resume::<PlainMessage>(&call_id("CA1"), SOON).await.unwrap();
    assert_eq!(restored.meta_messages()[0].id(), id);
    assert_eq!(log.read_call(&call_id("CA1")).await.unwrap().records, restored.records());
}

/// The spool keeps the dead letter and does not add the record again. A writer that waits for that would wait forever.
#[tokio::test(start_paused = true)]
async fn dead_letter_in_the_spool_can_be_submitted_again() {
    let memory = SpoolMemory::default();
    let log = Arc::new(Faulty::new());
    let (writer, task) = LogWriter::new(log.clone(), settings().with_spool(spool(&memory, 1 << 20)));
    let task = tokio::spawn(task);
    log.next(&call_id("CA1"), Next::Refuse);
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert!(writer.flush(SOON).await[0].is_dead_letter);
    tokio::time::sleep(SOON).await;
    task.abort();
    let _ = task.await;
    drop((writer, call));

    for is_refused in [true, false] {
        if is_refused {
            log.next(&call_id("CA1"), Next::Refuse);
        }
        let memory = memory.copy();
        let writer = started(&log, settings().with_spool(spool(&memory, 1 << 20)));
        let call = writer.call(lease("CA1"));
        manager.take_back();
        assert_eq!(call.submit(&mut manager, LastMessage::Include).unwrap(), 1);
        writer.flush(SOON).await;
        assert_eq!(take_dead_letters(&writer).await.unwrap().len(), 1);
        tokio::time::sleep(SOON).await;
        assert_eq!(take_dead_letters(&writer).await.unwrap(), []);
        assert_eq!(writer.flush(SOON).await, []);
        balanced(&writer.status());
    }
    assert!(stored(&log, "CA1").await == manager);
}
