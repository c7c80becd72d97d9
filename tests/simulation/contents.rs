//! Large contents over the fake: uploads that are slow, throttled, cut off, or continued by another process.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use verbale::contents::{Blob, Cached, ContentStore};
use verbale::dynamodb::{DynamoContents, DynamoLog};
use verbale::log::{
    CallHeader, CallLog, CallWriter, LogWriter, LoggedCall, Offloading, Spool, SpoolSettings, WriterSettings,
};
use verbale::testing::SpoolMemory;
use verbale::{LastMessage, MessagesManager, PlainMessage};

use super::LAYOUT;
use crate::dynamo::{Dynamo, Fault, FaultPlan, Scope, Window};
use crate::log;
use crate::support::{START_MS, call};

type Manager = MessagesManager<PlainMessage>;

const HOUR: Duration = Duration::from_secs(3_600);
const CHUNK_BYTES: usize = 350 * 1024;
/// A text of 2.9 MB takes nine chunks.
const TEXT_BYTES: usize = 2_900_000;
const CHUNKS: usize = 9;
const CHUNK_UNITS: u64 = 2_838;

/// Text whose every part differs.
fn text(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 20);
    let mut number = 7_u64;
    while text.len() < bytes {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push_str(&format!("{number:x} "));
    }
    text.truncate(bytes);
    text
}

fn blob(bytes: usize) -> Blob {
    Blob::new(text(bytes).into_bytes())
}

/// The partition of the large text.
fn partition() -> &'static str {
    static PARTITION: OnceLock<String> = OnceLock::new();
    PARTITION.get_or_init(|| format!("CONTENT#{}", blob(TEXT_BYTES).id()))
}

fn offloading(dynamo: &Dynamo) -> Offloading<DynamoLog, Cached<DynamoContents>> {
    let log = DynamoLog::new(dynamo.client()).with_clock(Arc::new(dynamo.clock())).with_layout(LAYOUT);
    Offloading::new(log, Cached::new(DynamoContents::new(dynamo.client()), 0))
}

/// Starts a process with its own writer and store of contents.
fn process(dynamo: &Dynamo, spool: Option<Arc<Spool>>) -> (LogWriter, tokio::task::JoinHandle<()>) {
    let mut settings = WriterSettings::default().with_seed(1);
    if let Some(spool) = spool {
        settings = settings.with_spool(spool);
    }
    let (writer, task) = LogWriter::new(Arc::new(offloading(dynamo)), settings);
    (writer, tokio::spawn(task))
}

/// Opens a call and submits a message of `TEXT_BYTES`.
fn with_large_message(writer: &LogWriter) -> (CallWriter, Manager) {
    let call_writer = writer.open(CallHeader::new(call("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    manager.add_user(text(TEXT_BYTES)).unwrap();
    call_writer.submit(&mut manager, LastMessage::Include).unwrap();
    (call_writer, manager)
}

/// Returns the number of writes of each chunk of a content.
fn chunk_writes(dynamo: &Dynamo, partition: &str) -> Vec<usize> {
    let writes = dynamo.journal().writes;
    let chunks = writes.iter().filter(|((pk, sk), _)| pk == partition && sk.starts_with("CHUNK#"));
    chunks.map(|(_, writes)| writes.len()).collect()
}

fn chunks_there(dynamo: &Dynamo, partition: &str) -> usize {
    dynamo.items("verbale").keys().filter(|(pk, sk)| pk == partition && sk.starts_with("CHUNK#")).count()
}

async fn read(dynamo: &Dynamo) -> LoggedCall {
    dynamo.set_plan(FaultPlan::none());
    offloading(dynamo).read_call(&call("CA1")).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn slow_upload_sends_each_chunk_once_and_does_not_block_later_messages() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(600..=600)).await;
    let (writer, _task) = process(&dynamo, None);
    let (call_writer, mut manager) = with_large_message(&writer);
    manager.add_assistant("One moment.").unwrap();
    call_writer.submit(&mut manager, LastMessage::Include).unwrap();
    let started = tokio::time::Instant::now();
    while dynamo.journal().writes_of("CALL#CA1", "MSG#00000001") == 0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(chunks_there(&dynamo, partition()) < CHUNKS, "the upload is still under way");
    assert!(!call_writer.flush(Duration::from_millis(1)).await.is_empty(), "the large message is not stored yet");

    assert_eq!(call_writer.flush(HOUR).await, []);
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert_eq!(chunk_writes(&dynamo, partition()), [1; CHUNKS]);
    let journal = dynamo.journal();
    // Two uses in a transaction, the head twice, the header, two messages, and the large message found again.
    assert!(journal.write_units <= CHUNK_UNITS + 4 + 2 + 2 + 2 + 8, "{} units", journal.write_units);
    assert!(journal.request_count() <= 35, "{} requests", journal.request_count());
    let logged = read(&dynamo).await;
    assert_eq!(logged.problems, []);
    assert!(Manager::restore(logged.records).unwrap() == manager);
}

#[tokio::test(start_paused = true)]
async fn throttled_upload_costs_each_chunk_once() {
    let (dynamo, _) = log(FaultPlan::none().with_partition_limit(1_000)).await;
    let (writer, _task) = process(&dynamo, None);
    let (call_writer, _manager) = with_large_message(&writer);
    assert_eq!(call_writer.flush(HOUR).await, []);
    assert_eq!(chunk_writes(&dynamo, partition()), [1; CHUNKS]);
    let units = dynamo.journal().write_units;
    assert!(units <= CHUNK_UNITS + 20, "{units} units");
}

#[tokio::test(start_paused = true)]
async fn lost_chunks_are_sent_again_and_leave_no_orphans() {
    for fault in [Fault::TimeoutAfter, Fault::Throttle, Fault::ResetBefore, Fault::Ghost] {
        let plan = FaultPlan::none().with_seed(3).with_latency_ms(20..=200);
        let (dynamo, _) = log(plan.with_rate(fault, 0.2)).await;
        let (writer, _task) = process(&dynamo, None);
        let (call_writer, manager) = with_large_message(&writer);
        assert_eq!(call_writer.flush(HOUR).await, [], "{fault:?}");
        let writes = chunk_writes(&dynamo, partition());
        // The pauses between the SDK's attempts are random, and so is the number of faults. Each costs one write at most.
        let faults = dynamo.journal().faults.get(&fault).map_or(0, |faults| *faults as usize);
        assert!(writes.len() == CHUNKS && writes.iter().sum::<usize>() <= CHUNKS + faults, "{fault:?}: {writes:?}");
        dynamo.settle().await;
        assert_eq!(chunks_there(&dynamo, partition()), CHUNKS, "{fault:?}");
        let logged = read(&dynamo).await;
        assert!(logged.problems.is_empty() && Manager::restore(logged.records).unwrap() == manager, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn upload_continues_in_the_next_process() {
    let memory = SpoolMemory::default();
    let spool = |memory: &SpoolMemory| Some(Arc::new(memory.open(SpoolSettings::default()).unwrap()));
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(600..=600)).await;
    let (writer, task) = process(&dynamo, spool(&memory));
    let (call_writer, manager) = with_large_message(&writer);
    while chunks_there(&dynamo, partition()) < 4 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    task.abort();
    drop((task.await, writer, call_writer));

    // The record is there and refers to a content that is not complete.
    let logged = offloading(&dynamo).read_call(&call("CA1")).await.unwrap();
    assert_eq!((logged.records.len(), logged.problems.len()), (1, 1));

    let (writer, _task) = process(&dynamo, spool(&memory.copy()));
    assert_eq!(writer.flush(HOUR).await, []);
    let writes = chunk_writes(&dynamo, partition());
    assert!(writes.len() == CHUNKS && writes.iter().sum::<usize>() <= CHUNKS + 1, "{writes:?}");
    let logged = read(&dynamo).await;
    assert_eq!(logged.problems, []);
    assert!(Manager::restore(logged.records).unwrap() == manager);
}

#[tokio::test(start_paused = true)]
async fn dropped_put_continues_at_the_next_chunk() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(600..=600)).await;
    let (store, owner, large) = (DynamoContents::new(dynamo.client()), "CA1", blob(TEXT_BYTES));
    let mut attempts = 1;
    // Each attempt is dropped while a chunk is in flight.
    while tokio::time::timeout(Duration::from_millis(1_900), store.put(&large, owner)).await.is_err() {
        attempts += 1;
    }
    assert!(attempts < 20, "{attempts} attempts");
    dynamo.settle().await;
    assert_eq!(chunks_there(&dynamo, partition()), CHUNKS);
    assert_eq!(store.get(large.id()).await.unwrap(), Some(large.clone()));
    let writes: usize = chunk_writes(&dynamo, partition()).into_iter().sum();
    assert!(writes < CHUNKS + attempts, "{writes} writes of chunks in {attempts} attempts");
    store.release(owner).await.unwrap();
    store.sweep(owner).await.unwrap();
    assert!(dynamo.items("verbale").is_empty(), "no orphans");
}

#[tokio::test(start_paused = true)]
async fn upload_that_never_ends_leaves_no_orphans_after_its_release() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(600..=600)).await;
    let (owner, large) = ("CA1", blob(TEXT_BYTES));
    let part = DynamoContents::new(dynamo.client()).put_within(&large, owner, Duration::from_secs(3)).await;
    assert!(part.unwrap_err().is_retryable());
    assert_ne!(chunks_there(&dynamo, partition()), 0);
    // Another process.
    let store = DynamoContents::new(dynamo.client());
    assert_eq!(store.get(large.id()).await.unwrap(), None, "an incomplete content does not exist");
    store.release(owner).await.unwrap();
    store.sweep(owner).await.unwrap();
    assert!(dynamo.items("verbale").is_empty(), "no orphans");
}

#[tokio::test(start_paused = true)]
async fn released_upload_starts_again() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(600..=600)).await;
    let (owner, large) = ("CA1", blob(TEXT_BYTES));
    let (store, elsewhere) = (DynamoContents::new(dynamo.client()), DynamoContents::new(dynamo.client()));
    store.put_within(&large, owner, Duration::from_secs(3)).await.unwrap_err();
    elsewhere.release(owner).await.unwrap();
    store.put(&large, owner).await.unwrap();
    assert_eq!(elsewhere.get(large.id()).await.unwrap(), Some(large.clone()));
    assert_eq!(chunks_there(&dynamo, partition()), CHUNKS);
}

#[tokio::test(start_paused = true)]
async fn bytes_in_flight_are_limited() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(600..=600)).await;
    let store = DynamoContents::new(dynamo.client());
    let puts = (0..60_u8).map(|number| {
        let store = store.clone();
        tokio::spawn(async move {
            let blob = Blob::new(vec![number; CHUNK_BYTES]);
            store.put(&blob, &format!("CA{number}")).await.unwrap();
        })
    });
    for put in puts.collect::<Vec<_>>() {
        put.await.unwrap();
    }
    let mut at_once = BTreeMap::<String, usize>::new();
    for line in dynamo.journal().to_string().lines().filter(|line| line.contains("PutItem") && line.contains("CHUNK#"))
    {
        *at_once.entry(line.split(" ms").next().unwrap().to_owned()).or_default() += 1;
    }
    assert_eq!(at_once.values().max(), Some(&((8 << 20) / CHUNK_BYTES)), "{at_once:?}");
    assert_eq!(at_once.values().sum::<usize>(), 60);
}

#[tokio::test(start_paused = true)]
async fn failing_store_delays_only_the_messages_with_contents() {
    let large = 2 * CHUNK_BYTES;
    let partition = Scope::Partition(format!("CONTENT#{}", blob(large).id()));
    let window = Window::new(Fault::Throttle, Duration::ZERO..HOUR).for_only(partition);
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(20..=20).with_window(window)).await;
    for with_spool in [false, true] {
        let memory = SpoolMemory::default();
        let spool = with_spool.then(|| Arc::new(memory.open(SpoolSettings::default()).unwrap()));
        let (writer, _task) = process(&dynamo, spool);
        let name = format!("CA-{with_spool}");
        let call_writer = writer.open(CallHeader::new(call(&name), START_MS).unwrap()).unwrap();
        let mut manager = Manager::new();
        manager.add_user(text(large)).unwrap();
        call_writer.submit(&mut manager, LastMessage::Include).unwrap();
        for turn in 1..20 {
            manager.add_assistant(format!("turn {turn}")).unwrap();
            manager.add_user("yes").unwrap();
            call_writer.submit(&mut manager, LastMessage::Include).unwrap();
            tokio::time::sleep(Duration::from_secs(12)).await;
            // In spans, both messages are one item.
            let seq = if matches!(LAYOUT, verbale::dynamodb::Layout::Spans) { 2 * turn - 1 } else { 2 * turn };
            let sort_key = format!("MSG#{seq:08}");
            assert_eq!(dynamo.journal().writes_of(&format!("CALL#{name}"), &sort_key), 1, "{with_spool}, turn {turn}");
        }
        let unstored = call_writer.flush(Duration::from_secs(1)).await;
        assert_eq!(unstored.len(), 1, "{unstored:?}");
    }
}
