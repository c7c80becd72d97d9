//! Edge cases, each with its smallest history.

mod bounds;
mod dead_letters;
mod deadlines;
mod gaps;
mod scripted;

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::Duration;

use crate::letters::take_dead_letters;
use scripted::{Mode, Scripted};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{
    CallEnd, CallHeader, CallId, CallLog, LogWriter, Spool, SpoolSettings, Status, Unstored, WriterLease,
    WriterSettings,
};
use verbale::testing::SpoolMemory;
use verbale::{LastMessage, MessagesManager, PlainMessage, Timing};

const START_MS: i64 = 1_744_815_823_058;
const SOON: Duration = Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);
const LONG: Duration = Duration::from_secs(3_600);

type Manager = MessagesManager<PlainMessage>;

fn settings() -> WriterSettings {
    WriterSettings::default().with_seed(1)
}

fn started(log: &Arc<Scripted>, settings: WriterSettings) -> (LogWriter, JoinHandle<()>) {
    let (writer, task) = LogWriter::new(log.clone(), settings);
    (writer, tokio::spawn(task))
}

fn spool_in(memory: &SpoolMemory) -> Arc<Spool> {
    Arc::new(memory.open(SpoolSettings::default()).unwrap())
}

async fn in_dynamo() -> DynamoLog {
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    DynamoLog::new(client)
}

fn ca1() -> CallId {
    CallId::new("CA1").unwrap()
}

fn header() -> CallHeader {
    CallHeader::new(ca1(), START_MS).unwrap()
}

fn said(words: &[&str]) -> Manager {
    let mut manager = Manager::new();
    say(&mut manager, words);
    manager
}

/// Adds messages of the caller and the assistant in turn.
fn say(manager: &mut Manager, words: &[&str]) {
    for word in words {
        let is_assistant_next = manager.meta_messages().len() % 2 == 1;
        if is_assistant_next { manager.add_assistant(*word) } else { manager.add_user(*word) }.unwrap();
    }
}

fn touch(manager: &mut Manager, at_ms: i64) {
    let id = manager.meta_messages()[0].id();
    manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, at_ms).unwrap();
}

async fn stored(log: &Scripted) -> Manager {
    MessagesManager::restore(log.read_call(&ca1()).await.unwrap().records).unwrap()
}

fn balanced(status: &Status) {
    let known = status.stored + status.dropped + status.queued + status.spooled + status.dead_letters;
    assert_eq!(status.accepted + status.recovered, known, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn record_that_does_not_fit_into_the_spool_is_not_overtaken() {
    let log = Arc::new(Scripted::default());
    let room = SpoolSettings::default().with_max_bytes(1_500);
    let spool = Arc::new(SpoolMemory::default().open(room).unwrap());
    let (writer, _task) = started(&log, settings().with_spool(spool));
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", &"x".repeat(3_000), "Bye"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let order: Vec<u32> = log.kept(&ca1()).iter().map(|kept| kept.seq).collect();
    assert_eq!(order, [0, 1, 2]);
}

#[tokio::test(start_paused = true)]
async fn dead_letters_survive_a_spool_that_cannot_be_read() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    log.refuse(0, 1);
    let room = SpoolSettings::default().with_max_bytes(0);
    let spool = Arc::new(memory.open(room).unwrap());
    let (writer, _task) = started(&log, settings().with_spool(spool));
    let call = writer.call(WriterLease::from(ca1()));
    call.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await.len(), 1);
    sleep(SECOND).await;

    memory.fail_after(Some(0));
    writer.open(CallHeader::new(CallId::new("CA2").unwrap(), START_MS).unwrap()).unwrap();
    sleep(SECOND).await;
    take_dead_letters(&writer).await.unwrap_err();
    memory.fail_after(None);
    assert_eq!(take_dead_letters(&writer).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn dead_letters_survive_a_cancelled_take() {
    let log = Arc::new(Scripted::default());
    log.refuse(0, 1);
    let (writer, _task) = started(&log, settings());
    let call = writer.call(WriterLease::from(ca1()));
    call.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await.len(), 1);
    {
        let taking = pin!(take_dead_letters(&writer));
        assert!(taking.poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    sleep(SECOND).await;
    assert_eq!(take_dead_letters(&writer).await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn flush_after_the_end_of_the_task_reports_its_leftovers() {
    let log = Arc::new(Scripted::default());
    log.set(&ca1(), Mode::Unavailable);
    let (writer, _task) = started(&log, settings());
    let call = writer.call(WriterLease::from(ca1()));
    call.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    let other = writer.clone();
    assert_eq!(writer.stop(SOON).await.len(), 1);
    sleep(SECOND).await;
    assert_ne!(other.flush(SOON).await, []);
}

#[tokio::test(start_paused = true)]
async fn flush_accepts_an_unlimited_timeout() {
    let log = Arc::new(Scripted::default());
    let (writer, _task) = started(&log, settings());
    assert_eq!(writer.flush(Duration::MAX).await, []);
}

#[tokio::test(start_paused = true)]
async fn flush_waits_for_a_revision_that_was_replaced_in_the_spool() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    log.set(&ca1(), Mode::Unavailable);
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = writer.call(WriterLease::from(ca1()));
    let mut manager = said(&["Hi"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    sleep(SECOND).await;
    let flush = tokio::spawn({
        let writer = writer.clone();
        async move { writer.flush(LONG).await }
    });
    sleep(SECOND).await;
    touch(&mut manager, START_MS);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    sleep(SOON).await;
    log.set(&ca1(), Mode::Go);
    assert_eq!(flush.await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn flush_ignores_later_changes() {
    let log = Arc::new(Scripted::default());
    let other = CallId::new("CA2").unwrap();
    log.set(&ca1(), Mode::Wait);
    log.set(&other, Mode::Wait);
    let (writer, _task) = started(&log, settings());
    let (call, later) = (writer.call(WriterLease::from(ca1())), writer.call(WriterLease::from(other)));
    call.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    let flush = tokio::spawn({
        let writer = writer.clone();
        async move { writer.flush(LONG).await }
    });
    sleep(Duration::from_millis(10)).await;
    later.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    sleep(Duration::from_millis(10)).await;
    log.set(&ca1(), Mode::Go);
    assert_eq!(flush.await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn flush_reports_a_rejected_end() {
    let log = Arc::new(Scripted::default());
    let (writer, _task) = started(&log, settings());
    let call = writer.call(WriterLease::from(ca1()));
    let mut manager = said(&["Hi"]);
    let call_end = CallEnd::of(&manager, START_MS, "hangup").unwrap();
    call.finish(&mut manager, call_end, SOON).await.unwrap();
    let unstored = writer.flush(SOON).await;
    assert!(
        unstored.len() == 1 && unstored[0].to_string().starts_with("the end of call CA1 is not stored"),
        "{unstored:?}"
    );
}

/// Starts a writer in which a call was resumed while its older handle still submits. Returns the newer manager.
async fn taken_over_here(log: &Arc<Scripted>, memory: &SpoolMemory) -> (LogWriter, JoinHandle<()>, Manager) {
    let (writer, task) = started(log, settings().with_spool(spool_in(memory)));
    let call = writer.open(header()).unwrap();
    let mut old = said(&["Hi"]);
    call.submit(&mut old, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let (mut new, resumed) = writer.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
    log.set(&ca1(), Mode::Unavailable);
    say(&mut old, &["I am late"]);
    call.submit(&mut old, LastMessage::Include).unwrap();
    sleep(Duration::from_millis(5)).await;
    say(&mut new, &["Hello!"]);
    resumed.submit(&mut new, LastMessage::Include).unwrap();
    sleep(SECOND).await;
    (writer, task, new)
}

#[tokio::test(start_paused = true)]
async fn older_handle_in_the_same_process_is_fenced() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    let (writer, _task, new) = taken_over_here(&log, &memory).await;
    log.set(&ca1(), Mode::Go);
    let unstored = writer.flush(SOON).await;
    balanced(&writer.status());
    assert!(unstored.len() == 1 && unstored[0].is_dead_letter, "{unstored:?}");
    assert!(stored(&log).await == new, "{:?}", log.kept(&ca1()));
}

#[tokio::test(start_paused = true)]
async fn older_handle_that_submits_late_is_fenced() {
    let (log, memory) = (Arc::new(Scripted::over(Arc::new(in_dynamo().await))), SpoolMemory::default());
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = writer.open(header()).unwrap();
    let mut old = said(&["Hi"]);
    call.submit(&mut old, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let silent = writer.call(call.lease().clone());
    let (mut new, resumed) = writer.resume::<PlainMessage>(&ca1(), SOON).await.unwrap();
    resumed.submit(&mut new, LastMessage::Include).unwrap();
    log.set(&ca1(), Mode::Unavailable);
    say(&mut old, &["I am late"]);
    sleep(Duration::from_millis(5)).await;
    say(&mut new, &["Hello!"]);
    resumed.submit(&mut new, LastMessage::Include).unwrap();
    sleep(SECOND).await;
    let _ = silent.submit(&mut old, LastMessage::Include);
    sleep(SECOND).await;
    log.set(&ca1(), Mode::Go);
    writer.flush(SOON).await;
    balanced(&writer.status());
    assert!(stored(&log).await == new, "{:?}", log.kept(&ca1()));
}

#[tokio::test(start_paused = true)]
async fn records_of_two_epochs_in_the_spool_are_counted() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    let (writer, task, new) = taken_over_here(&log, &memory).await;
    task.abort();
    let _ = task.await;
    drop(writer);
    let memory = memory.copy();
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    log.set(&ca1(), Mode::Go);
    let unstored = writer.flush(SOON).await;
    let status = writer.status();
    balanced(&status);
    // The older writer's record was refused before it was spooled. It is a dead letter, which the spool has.
    assert_eq!((status.recovered, status.stored, status.dead_letters), (2, 1, 1), "{unstored:?}");
    assert!(stored(&log).await == new, "{:?}", log.kept(&ca1()));
}

#[tokio::test(start_paused = true)]
async fn call_with_a_reused_id_writes_nothing_to_the_older_call() {
    let log = Arc::new(Scripted::over(Arc::new(in_dynamo().await)));
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi, this is Ann"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);

    let (other, _task) = started(&log, settings());
    let call = other.open(CallHeader::new(ca1(), START_MS + 60_000).unwrap()).unwrap();
    call.submit(&mut said(&["Hi, this is Bob", "Hello, Bob!"]), LastMessage::Include).unwrap();
    other.flush(SOON).await;
    assert_eq!(log.read_call(&ca1()).await.unwrap().records, manager.records());
}

#[tokio::test(start_paused = true)]
async fn erased_call_clears_its_trouble() {
    let log = Arc::new(Scripted::default());
    log.set(&ca1(), Mode::Denied);
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    call.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    sleep(SECOND).await;
    assert_eq!(writer.status().trouble.len(), 1);
    log.set(&ca1(), Mode::Go);
    writer.erase(&ca1()).await.unwrap();
    assert_eq!(writer.status().trouble.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn dead_letter_does_not_prevent_a_resume() {
    let log = Arc::new(Scripted::default());
    log.refuse(1, 1);
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    call.submit(&mut said(&["Hi", "Hello!"]), LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await.len(), 1);
    drop(call);
    assert!(writer.resume::<PlainMessage>(&ca1(), SOON).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn record_that_is_already_spooled_is_acknowledged() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    log.set(&ca1(), Mode::Unavailable);
    let spool = spool_in(&memory);
    let (writer, _task) = started(&log, settings().with_spool(spool.clone()));
    let mut manager = said(&["Hi"]);
    writer.call(WriterLease::from(ca1())).submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.stop(SOON).await.len(), 1);
    sleep(SECOND).await;

    // As the error advises: start another writer and submit all pending changes.
    let (writer, _task) = started(&log, settings().with_spool(spool));
    let call = writer.call(WriterLease::from(ca1()));
    manager.take_back();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    log.set(&ca1(), Mode::Go);
    assert_eq!(writer.flush(SOON).await, []);
    call.acknowledge(&mut manager);
    assert!(manager.changes(LastMessage::Include).is_empty());
}

#[tokio::test(start_paused = true)]
async fn record_of_an_earlier_handle_is_acknowledged() {
    let log = Arc::new(Scripted::default());
    log.set(&ca1(), Mode::Wait);
    let (writer, _task) = started(&log, settings());
    let mut manager = said(&["Hi"]);
    writer.call(WriterLease::from(ca1())).submit(&mut manager, LastMessage::Include).unwrap();
    let call = writer.call(WriterLease::from(ca1()));
    log.set(&ca1(), Mode::Go);
    assert_eq!(writer.flush(SOON).await, []);
    call.acknowledge(&mut manager);
    assert!(manager.changes(LastMessage::Include).is_empty());
}

#[tokio::test(start_paused = true)]
async fn waiting_newer_revision_outlives_the_rejected_one() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    log.set(&ca1(), Mode::Wait);
    log.refuse(0, 1);
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = writer.call(WriterLease::from(ca1()));
    let mut manager = said(&["Hi"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    sleep(SECOND).await;
    memory.fail_after(Some(0));
    touch(&mut manager, START_MS);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    sleep(SECOND).await;
    log.set(&ca1(), Mode::Go);
    sleep(SECOND).await;
    memory.fail_after(None);
    sleep(Duration::from_secs(60)).await;
    assert!(stored(&log).await == manager);
    balanced(&writer.status());
    assert_eq!(writer.flush(SOON).await, []);
}

#[tokio::test(start_paused = true)]
async fn failing_spool_does_not_delay_the_log() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    memory.fail_after(Some(0));
    let call = writer.call(WriterLease::from(ca1()));
    let mut manager = Manager::new();
    for turn in 0..12 {
        say(&mut manager, &[&format!("turn {turn}")]);
        call.submit(&mut manager, LastMessage::Include).unwrap();
        sleep(Duration::from_secs(11)).await;
    }
    for turn in 0..2 {
        say(&mut manager, &[&format!("last {turn}")]);
        call.submit(&mut manager, LastMessage::Include).unwrap();
        sleep(SECOND / 2).await;
    }
    assert_eq!(writer.flush(Duration::from_secs(4)).await, []);
}

#[tokio::test(start_paused = true)]
async fn erase_ends_when_the_spool_fails() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = writer.open(header()).unwrap();
    call.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    memory.fail_after(Some(0));
    assert!(timeout(LONG, writer.erase(&ca1())).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn concurrent_erasures_both_succeed() {
    let log = Arc::new(Scripted::default());
    let (writer, _task) = started(&log, settings());
    let (first, second) = tokio::join!(async { writer.erase(&ca1()).await }, async { writer.erase(&ca1()).await });
    assert!(first.is_ok() && second.is_ok(), "{first:?} {second:?}");
}

#[tokio::test(start_paused = true)]
async fn flush_ends_while_the_spool_cannot_be_read() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    let spool = spool_in(&memory);
    let (writer, task) = started(&log, settings().with_spool(spool.clone()));
    sleep(SECOND).await;
    memory.fail_after(Some(0));
    writer.open(header()).unwrap();
    sleep(SECOND).await;
    task.abort();
    let _ = task.await;

    let (writer, _task) = started(&log, settings().with_spool(spool));
    let call = writer.call(WriterLease::from(ca1()));
    call.submit(&mut said(&["Hi"]), LastMessage::Include).unwrap();
    assert!(timeout(LONG, writer.flush(SOON)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn records_expire_with_their_header() {
    let log = Arc::new(Scripted::default());
    let (writer, _task) = started(&log, settings());
    let mut manager = said(&["Hi"]);
    let early = writer.call(WriterLease::from(ca1()));
    early.submit(&mut manager, LastMessage::Include).unwrap();
    let call = writer.open(header().with_expires_at(9_999_999_999)).unwrap();
    say(&mut manager, &["Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let kept = log.kept(&ca1());
    assert_eq!(kept[1].expires_at_s, Some(9_999_999_999), "{kept:?}");
}

#[tokio::test(start_paused = true)]
async fn newest_revision_of_a_fenced_call_is_the_dead_letter() {
    let (log, memory) = (Arc::new(Scripted::default()), SpoolMemory::default());
    let (writer, _task) = started(&log, settings().with_spool(spool_in(&memory)));
    let call = writer.open(header()).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    log.set(&ca1(), Mode::Unavailable);
    let mut manager = said(&["Hi"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    sleep(SECOND).await;
    // One revision is spooled; the commit of the next one fails.
    memory.fail_after(Some(0));
    touch(&mut manager, START_MS);
    call.submit(&mut manager, LastMessage::Include).unwrap();
    sleep(SECOND).await;
    log.take_over_beside(&ca1()).await;
    log.set(&ca1(), Mode::Go);
    sleep(LONG).await;
    memory.fail_after(None);
    sleep(LONG).await;
    balanced(&writer.status());
    let taken = take_dead_letters(&writer).await.unwrap();
    let taken: Vec<u32> = taken.iter().map(|letter| letter.record.as_ref().unwrap().revision()).collect();
    assert_eq!(taken, [2]);
}
