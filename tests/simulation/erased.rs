//! Calls that are erased while a process still has records or contents of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use verbale::clock::Clock;
use verbale::contents::Cached;
use verbale::dynamodb::{DynamoContents, DynamoLog};
use verbale::log::{
    CallHeader, CallLog, Day, LogErrorKind, LogWriter, Offloading, Spool, SpoolSettings, WriterLease, WriterSettings,
};
use verbale::testing::SpoolMemory;
use verbale::{LastMessage, MessagesManager, PlainMessage};

use super::LAYOUT;
use crate::dynamo::{Attribute, Dynamo, Fault, FaultPlan, Window};
use crate::log;
use crate::support::{START_MS, call, message};

type Manager = MessagesManager<PlainMessage>;

const HOUR: Duration = Duration::from_secs(3_600);

fn offloading(dynamo: &Dynamo) -> Offloading<DynamoLog, Cached<DynamoContents>> {
    let log = DynamoLog::new(dynamo.client()).with_clock(Arc::new(dynamo.clock())).with_layout(LAYOUT);
    Offloading::new(log, Cached::new(DynamoContents::new(dynamo.client()), 0))
}

fn process(dynamo: &Dynamo, memory: &SpoolMemory) -> (LogWriter, tokio::task::JoinHandle<()>) {
    let spool: Spool = memory.open(SpoolSettings::default()).unwrap();
    let settings = WriterSettings::default().with_seed(1);
    let (writer, task) = LogWriter::new(Arc::new(offloading(dynamo)), settings.with_spool(Arc::new(spool)));
    (writer, tokio::spawn(task))
}

fn erased_mark() -> Attribute {
    Attribute::S("erased".to_owned())
}

/// Returns the keys of the items that are no marks of an erasure.
fn unmarked(dynamo: &Dynamo) -> Vec<(String, String)> {
    let items = dynamo.items("verbale").into_iter();
    items.filter(|(_, item)| item.get("entity") != Some(&erased_mark())).map(|(key, _)| key).collect()
}

/// Asserts that the table has only marks, and ended uses of contents, which wait for a sweep.
fn assert_only_marks(dynamo: &Dynamo) {
    let mut others = unmarked(dynamo);
    others.retain(|(partition, _)| partition != "OWNER#CA1");
    assert_eq!(others, []);
}

#[tokio::test(start_paused = true)]
async fn spooled_records_of_an_erased_call_stay_erased() {
    for is_opened in [false, true] {
        let (dynamo, _) = log(FaultPlan::none()).await;
        let memory = SpoolMemory::default();
        let (writer, task) = process(&dynamo, &memory);
        let outage = || FaultPlan::none().with_window(Window::new(Fault::ResetBefore, Duration::ZERO..HOUR));
        if !is_opened {
            dynamo.set_plan(outage());
        }
        let call_writer = writer.open(CallHeader::new(call("CA1"), START_MS).unwrap()).unwrap();
        tokio::time::sleep(Duration::from_secs(1)).await;
        dynamo.set_plan(outage());
        let mut manager = Manager::new();
        for number in 0..3 {
            manager.add_assistant(format!("secret {number}")).unwrap();
            manager.add_user("yes").unwrap();
        }
        manager.add_assistant("secret ".repeat(715)).unwrap();
        call_writer.submit(&mut manager, LastMessage::Include).unwrap();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(memory.contains(b"secret"));
        task.abort();
        drop((task.await, writer, call_writer));

        dynamo.set_plan(FaultPlan::none());
        offloading(&dynamo).erase_call(&call("CA1")).await.unwrap();

        let restarted = memory.copy();
        let (writer, _task) = process(&dynamo, &restarted);
        assert_eq!(writer.flush(HOUR).await, []);
        let status = writer.status();
        assert_eq!((status.recovered, status.stored, status.dropped, status.spooled), (8, 0, 8, 0));
        assert_only_marks(&dynamo);
        assert!(!restarted.contains(b"secret"), "the spool forgets the call");
        for error in [
            writer.resume::<PlainMessage>(&call("CA1"), HOUR).await.map(drop).unwrap_err(),
            offloading(&dynamo).read_call(&call("CA1")).await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), LogErrorKind::Erased);
        }
        // A new handle learns it, too.
        let call_writer = writer.call(manager_lease());
        tokio::time::sleep(Duration::from_secs(1)).await;
        let error = call_writer.submit(&mut manager, LastMessage::Include).unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Erased);
    }
}

fn manager_lease() -> WriterLease {
    WriterLease::from(call("CA1"))
}

#[tokio::test(start_paused = true)]
async fn live_writer_and_its_upload_end_at_an_erasure() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(300..=300)).await;
    let memory = SpoolMemory::default();
    let (writer, _task) = process(&dynamo, &memory);
    let call_writer = writer.open(CallHeader::new(call("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    // Erased before, during and after the upload of a content of several chunks.
    manager.add_user("secret ".repeat(300_000)).unwrap();
    call_writer.submit(&mut manager, LastMessage::Include).unwrap();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    offloading(&dynamo).erase_call(&call("CA1")).await.unwrap();
    manager.add_assistant("secret").unwrap();
    let _ = call_writer.submit(&mut manager, LastMessage::Include);
    assert_eq!(call_writer.flush(HOUR).await, []);
    assert_eq!(writer.status().stored, 0);
    let refused = call_writer.submit(&mut manager, LastMessage::Include).unwrap_err();
    assert_eq!(refused.kind(), LogErrorKind::Erased);
    dynamo.settle().await;
    assert_only_marks(&dynamo);
    assert!(!memory.contains(b"secret"));
}

#[tokio::test(start_paused = true)]
async fn sweep_removes_what_late_requests_left() {
    let mut most = 0;
    for seed in 0..8 {
        let (dynamo, _) = log(FaultPlan::none().with_seed(seed)).await;
        let log = offloading(&dynamo);
        let header = CallHeader::new(call("CA1"), START_MS).unwrap();
        log.open_call(&header).await.unwrap();
        let lease = WriterLease::from(&header);
        let mut manager = Manager::new();
        manager.add_assistant("secret ".repeat(1_000)).unwrap();
        let large = manager.records().pop().unwrap();
        // The use of a content, and a message after the next one, arrive late.
        dynamo.next(Fault::Ghost);
        log.put_record(&lease, &large).await.unwrap_err();
        let behind = message(9, 1);
        dynamo.next(Fault::Ghost);
        log.put_record(&lease, &behind).await.unwrap_err();
        let day = Day::of_ms(dynamo.clock().now_ms());
        log.erase_call(&call("CA1")).await.unwrap();
        dynamo.settle().await;
        most = most.max(unmarked(&dynamo).len());
        assert_eq!(log.sweep(day).await.unwrap(), [call("CA1")]);
        assert_eq!(unmarked(&dynamo), []);
        assert_eq!(log.put_record(&lease, &behind).await.unwrap_err().kind(), LogErrorKind::Erased);
    }
    assert_eq!(most, 3, "two uses and a message arrived after an erasure");
}

/// Each request of a put of a content arrives after the erasure of its call.
#[tokio::test(start_paused = true)]
async fn sweep_leaves_nothing_of_a_late_content() {
    for repetitions in [1_000, 100_000] {
        let mut late = BTreeSet::new();
        // The seed decides how late a request is.
        for (seed, at) in (0..8).flat_map(|seed| (0..8).map(move |at| (seed, at))) {
            let (dynamo, _) = log(FaultPlan::none().with_seed(seed)).await;
            let log = offloading(&dynamo);
            let header = CallHeader::new(call("CA1"), START_MS).unwrap();
            log.open_call(&header).await.unwrap();
            let mut manager = Manager::new();
            manager.add_assistant("secret ".repeat(repetitions)).unwrap();
            (0..at).for_each(|_| dynamo.pass());
            dynamo.next(Fault::Ghost);
            let put = log.put_record(&WriterLease::from(&header), &manager.records().pop().unwrap()).await;
            if put.is_ok() {
                // The put takes fewer requests.
                continue;
            }
            let day = Day::of_ms(dynamo.clock().now_ms());
            log.erase_call(&call("CA1")).await.unwrap();
            let before = unmarked(&dynamo);
            dynamo.settle().await;
            if unmarked(&dynamo) != before {
                late.insert(at);
            }
            assert_eq!(log.sweep(day).await.unwrap(), [call("CA1")]);
            assert_eq!(unmarked(&dynamo), [], "request {at} of {repetitions} repetitions");
        }
        assert!(late.len() >= 3, "the uses, a chunk and the head arrived after an erasure: {late:?}");
    }
}
