//! The cases of a log that is slow, fails, or refuses a part, and of the spool.

mod faulty;
mod offloading;
mod redaction;
mod spans;
mod spooled;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::letters::take_dead_letters;
use crate::resumed::resume;
use faulty::{Faulty, Next};
use verbale::log::{
    CallEnd, CallHeader, CallId, CallLog, CallQuery, CallWriter, Durability, LogErrorKind, LogWriter, MemoryLog,
    SpoolSettings, Status, WriterLease, WriterSettings,
};
use verbale::testing::{FaultyLog, LogFault, SpoolMemory};
use verbale::{LastMessage, MessagesManager, PlainMessage, Timing};

const START_MS: i64 = 1_744_815_823_058;
const SOON: Duration = Duration::from_secs(5);

type Manager = MessagesManager<PlainMessage>;

fn settings() -> WriterSettings {
    WriterSettings::default().with_seed(1)
}

fn started(log: &Arc<Faulty>, settings: WriterSettings) -> LogWriter {
    let (writer, task) = LogWriter::new(log.clone(), settings);
    tokio::spawn(task);
    writer
}

fn call_id(name: &str) -> CallId {
    CallId::new(name).unwrap()
}

fn lease(name: &str) -> WriterLease {
    WriterLease::from(call_id(name))
}

async fn stored(log: &Faulty, name: &str) -> Manager {
    MessagesManager::restore(log.read_call(&call_id(name)).await.unwrap().records).unwrap()
}

/// Checks that no record is missing from the counters or counted twice.
fn balanced(status: &Status) {
    let known = status.stored + status.dropped + status.queued + status.spooled + status.dead_letters;
    assert_eq!(status.accepted + status.recovered, known, "{status:?}");
}

#[tokio::test(start_paused = true)]
async fn call_is_stored_from_header_to_end() {
    let log = Arc::new(Faulty::new());
    let writer = started(&log, settings());
    let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    for turn in 0..3 {
        manager.add_user(format!("user {turn}")).unwrap();
        manager.add_assistant(format!("assistant {turn}")).unwrap();
        let expected = if turn == 0 { 1 } else { 2 };
        let submitted = call.submit(&mut manager, LastMessage::Exclude).unwrap();
        assert_eq!(submitted, expected);
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    call.acknowledge(&mut manager);
    assert_eq!(manager.changes(LastMessage::Include).len(), 1);

    let call_end = CallEnd::of(&manager, START_MS + 9_000, "hangup").unwrap();
    call.finish(&mut manager, call_end.clone(), SOON).await.unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    assert!(stored(&log, "CA1").await == manager);
    call.acknowledge(&mut manager);
    assert!(manager.changes(LastMessage::Include).is_empty());
    let listed = log.list_calls(&CallQuery::of_day("2025-04-16".parse().unwrap())).await.unwrap().calls;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].call_end(), Some(&call_end));
    let status = writer.status();
    balanced(&status);
    assert_eq!((status.accepted, status.stored, log.puts(), status.bytes), (6, 6, 6, 0));
}

#[tokio::test(start_paused = true)]
async fn newer_revision_replaces_the_waiting_one() {
    let log = Arc::new(Faulty::new());
    let writer = started(&log, settings());
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    let id = manager.add_assistant("Hello!").unwrap().id();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS).unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    let status = writer.status();
    balanced(&status);
    assert_eq!((status.accepted, status.dropped, log.puts()), (3, 1, 2));
    assert!(stored(&log, "CA1").await == manager);
}

#[tokio::test(start_paused = true)]
async fn hanging_log_delays_neither_turns_nor_other_calls() {
    let log = Arc::new(Faulty::new());
    log.always(&call_id("poisoned"), Next::Hang);
    let writer = started(&log, settings().with_parallel(2, 25));
    let (poisoned, healthy) = (writer.call(lease("poisoned")), writer.call(lease("healthy")));
    let (mut lost, mut manager) = (Manager::new(), Manager::new());
    for turn in 0..20 {
        for manager in [&mut lost, &mut manager] {
            manager.add_user(format!("user {turn}")).unwrap();
            manager.add_assistant("yes").unwrap();
        }
        let before = tokio::time::Instant::now();
        assert_eq!(poisoned.submit(&mut lost, LastMessage::Include).unwrap(), 2);
        healthy.submit(&mut manager, LastMessage::Include).unwrap();
        assert_eq!(before.elapsed(), Duration::ZERO);
        tokio::time::sleep(Duration::from_secs(3)).await;
        assert!(stored(&log, "healthy").await == manager);
    }
    assert!(writer.status().lag >= Duration::from_secs(57), "{:?}", writer.status());
    let unstored = writer.flush(SOON).await;
    assert_eq!(unstored.len(), 40);
    assert!(unstored.iter().all(|one| one.call_id == Some(call_id("poisoned")) && one.level == Durability::Accepted));
    assert!(unstored[0].to_string().contains("deadline has elapsed"), "{}", unstored[0]);
    assert!(!format!("{unstored:?}").contains("user"));

    log.always(&call_id("poisoned"), Next::Go);
    assert_eq!(writer.flush(Duration::from_secs(60)).await, []);
    assert!(stored(&log, "poisoned").await == lost);
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn changes_beyond_the_limits_stay_pending_until_the_next_turn() {
    let log = Arc::new(Faulty::new());
    log.always(&call_id("CA1"), Next::Unavailable);
    let writer = started(&log, settings().with_limits(1_000, 1 << 20));
    let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    let mut accepted = 0;
    for turn in 0..10 {
        manager.add_user(format!("user {turn}")).unwrap();
        manager.add_assistant("x".repeat(100)).unwrap();
        accepted += call.submit(&mut manager, LastMessage::Include).unwrap();
    }
    let status = writer.status();
    assert_eq!((accepted, status.refused), (3, 9));
    assert!(status.bytes <= 1_000);
    assert_eq!(manager.new_changes(LastMessage::Include).len(), 17);
    log.always(&call_id("CA1"), Next::Go);
    let call_end = CallEnd::of(&manager, START_MS, "hangup").unwrap();
    call.finish(&mut manager, call_end, Duration::from_secs(60)).await.unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    assert!(stored(&log, "CA1").await == manager);
    balanced(&writer.status());

    // Without limits.
    log.always(&call_id("CA2"), Next::Unavailable);
    let writer = started(&log, settings().with_limits(usize::MAX, usize::MAX));
    let call = writer.call(lease("CA2"));
    assert_eq!(call.submit(&mut stored(&log, "CA1").await, LastMessage::Include).unwrap(), 0);
    let mut manager = Manager::new();
    manager.add_user("x".repeat(5_000)).unwrap();
    manager.add_assistant("x".repeat(5_000)).unwrap();
    let submitted = call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(submitted, 2);
}

#[tokio::test(start_paused = true)]
async fn rejected_record_becomes_a_dead_letter_and_blocks_nothing() {
    let log = Arc::new(Faulty::new());
    log.next(&call_id("CA1"), Next::Refuse);
    let writer = started(&log, settings());
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("secret words").unwrap();
    manager.add_assistant("Hello!").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    let unstored = writer.flush(SOON).await;
    let id = unstored[0].message_id.unwrap();
    assert_eq!((unstored.len(), unstored[0].is_dead_letter, id), (1, true, manager.meta_messages()[0].id()));
    assert_eq!(log.read_call(&call_id("CA1")).await.unwrap().records.len(), 1);
    balanced(&writer.status());
    assert!(writer.status().bytes > 0);

    let taken = take_dead_letters(&writer).await.unwrap();
    assert_eq!((taken.len(), taken[0].record.as_ref()), (1, Some(&manager.records()[0])));
    assert!(taken[0].reason.contains("refused"), "{}", taken[0].reason);
    assert_eq!(writer.flush(SOON).await, []);
    let status = writer.status();
    balanced(&status);
    assert_eq!((status.dead_letters, status.dropped, status.bytes), (0, 1, 0));
    assert_eq!(writer.flush(SOON).await, []);

    // The log may accept a newer revision.
    log.next(&call_id("CA1"), Next::Refuse);
    manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS).unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await.len(), 1);
    manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS + 1).unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    assert!(stored(&log, "CA1").await == manager);
    balanced(&writer.status());
    assert_eq!(writer.status().dead_letters, 0);
}

#[tokio::test(start_paused = true)]
async fn operator_errors_are_reported_at_once_and_cleared_by_a_success() {
    let log = Arc::new(Faulty::new());
    log.always(&call_id("CA1"), Next::Denied);
    let writer = started(&log, settings());
    let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    while log.attempts() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    let trouble = writer.status().trouble;
    assert_eq!((log.attempts(), trouble.len()), (1, 1));
    assert!(trouble[0].to_string().starts_with("logging call CA1 failed"), "{trouble:?}");
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    assert_eq!(writer.status().queued, 1);
    log.always(&call_id("CA1"), Next::Go);
    tokio::time::sleep(Duration::from_secs(30)).await;
    assert!(stored(&log, "CA1").await == manager);
    assert!(writer.status().trouble.is_empty());
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn fenced_writer_reports_the_takeover() {
    let log = Arc::new(Faulty::new());
    let writer = started(&log, settings());
    let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);

    let other = started(&log, settings());
    let (mut restored, resumed) = other.resume::<PlainMessage>(&call_id("CA1"), SOON).await.unwrap();
    assert_eq!(resumed.lease().epoch(), 2);
    restored.add_assistant("Hello!").unwrap();
    resumed.submit(&mut restored, LastMessage::Include).unwrap();
    assert_eq!(other.flush(SOON).await, []);

    manager.add_assistant("I am late").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    let unstored = writer.flush(SOON).await;
    assert!(unstored.len() == 1 && unstored[0].is_dead_letter, "{unstored:?}");
    manager.add_user("What?").unwrap();
    let error = call.submit(&mut manager, LastMessage::Include).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Fenced, "{error}");
    assert!(stored(&log, "CA1").await == restored);
    balanced(&writer.status());
}

#[tokio::test(start_paused = true)]
async fn erased_call_is_removed_everywhere() {
    let memory = SpoolMemory::default();
    for with_spool in [false, true] {
        let log = Arc::new(Faulty::new());
        log.always(&call_id("CA1"), Next::Unavailable);
        let mut settings = settings();
        if with_spool {
            let spool = memory.open(SpoolSettings::default()).unwrap();
            settings = settings.with_spool(Arc::new(spool));
        }
        let writer = started(&log, settings);
        let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
        let mut manager = Manager::new();
        manager.add_user("secret words").unwrap();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        tokio::time::sleep(SOON).await;
        assert_eq!(memory.contains(b"secret words"), with_spool);
        log.always(&call_id("CA1"), Next::Unavailable);
        writer.erase(&call_id("CA1")).await.unwrap_err();
        balanced(&writer.status());
        assert_eq!(writer.status().dropped, 0, "a failed erase removes nothing");
        log.always(&call_id("CA1"), Next::Go);
        writer.erase(&call_id("CA1")).await.unwrap();
        assert!(!memory.contains(b"secret words"));
        assert_eq!(log.read_call(&call_id("CA1")).await.unwrap_err().kind(), LogErrorKind::Erased);
        manager.add_assistant("secret words").unwrap();
        let error = call.submit(&mut manager, LastMessage::Include).unwrap_err();
        assert_eq!(error.kind(), LogErrorKind::Erased, "{error}");
        assert_eq!(writer.flush(SOON).await, []);
        balanced(&writer.status());
        writer.stop(SOON).await;
        // The spool can be opened again once the task has ended.
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn spooled_changes_outlive_the_writer() {
    let memory = SpoolMemory::default();
    let log = Arc::new(Faulty::new());
    log.always(&call_id("CA1"), Next::Unavailable);
    let spool = Arc::new(memory.open(SpoolSettings::default()).unwrap());
    let (writer, task) = LogWriter::new(log.clone(), settings().with_spool(spool));
    let task = tokio::spawn(task);
    let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    for turn in 0..50 {
        manager.add_user(format!("user {turn}")).unwrap();
        let id = manager.add_assistant("yes").unwrap().id();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        tokio::time::sleep(Duration::from_secs(2)).await;
        manager.entry(&id).unwrap().set_timing(Timing::PlayEnd, START_MS + turn).unwrap();
    }
    let call_end = CallEnd::of(&manager, START_MS + 100_000, "hangup").unwrap();
    call.finish(&mut manager, call_end.clone(), SOON).await.unwrap();
    tokio::time::sleep(SOON).await;
    call.acknowledge(&mut manager);
    assert!(manager.changes(LastMessage::Include).is_empty(), "everything is spooled");
    let status = writer.status();
    balanced(&status);
    assert_eq!((status.queued, status.spooled, status.bytes), (0, 100, 0));
    let unstored = writer.flush(SOON).await;
    assert_eq!(unstored.iter().filter(|one| one.level == Durability::Spooled).count(), 100);
    task.abort();
    let _ = task.await;
    drop((writer, call));

    log.always(&call_id("CA1"), Next::Go);
    let spool = Arc::new(memory.copy().open(SpoolSettings::default()).unwrap());
    let writer = started(&log, settings().with_spool(spool.clone()));
    let (restored, resumed) = writer.resume::<PlainMessage>(&call_id("CA1"), SOON).await.unwrap();
    assert!(restored == manager);
    assert_eq!(resumed.lease().epoch(), 2);
    let status = writer.status();
    balanced(&status);
    assert_eq!((status.recovered, status.stored, log.puts(), status.spooled), (100, 100, 100, 0));
    assert!(format!("{spool:?}").contains("pending_bytes: 0,"), "{spool:?}");
}

#[tokio::test(start_paused = true)]
async fn full_or_failing_spool_delays_nothing() {
    for breaks in [false, true] {
        let memory = SpoolMemory::default();
        let log = Arc::new(Faulty::new());
        let settings_of_spool = SpoolSettings::default().with_max_bytes(if breaks { 1 << 20 } else { 2_000 });
        let spool = Arc::new(memory.open(settings_of_spool).unwrap());
        if breaks {
            memory.fail_after(Some(3));
        } else {
            log.always(&call_id("CA1"), Next::Unavailable);
        }
        let writer = started(&log, settings().with_spool(spool));
        let call = writer.call(lease("CA1"));
        let mut manager = Manager::new();
        for turn in 0..20 {
            manager.add_user(format!("user {turn}")).unwrap();
            manager.add_assistant("x".repeat(200)).unwrap();
            call.submit(&mut manager, LastMessage::Include).unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        assert!(writer.status().unspooled > 0);
        assert_eq!(writer.status().trouble.iter().any(|trouble| trouble.to_string().contains("spool")), breaks);
        log.always(&call_id("CA1"), Next::Go);
        memory.fail_after(None);
        assert_eq!(writer.flush(Duration::from_secs(60)).await, []);
        assert!(stored(&log, "CA1").await == manager);
        call.acknowledge(&mut manager);
        assert!(manager.changes(LastMessage::Include).is_empty());
        balanced(&writer.status());
    }
}

#[tokio::test(start_paused = true)]
async fn writer_without_handles_stores_everything_and_ends() {
    let log: Arc<MemoryLog> = Arc::default();
    let (writer, task) = LogWriter::new(log.clone(), settings());
    let task = tokio::spawn(task);
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    drop((call, writer));
    task.await.unwrap();
    assert_eq!(log.read_call(&call_id("CA1")).await.unwrap().records, manager.records());
}

#[tokio::test(start_paused = true)]
async fn stopped_writer_leaves_changes_pending_in_the_manager() {
    let log = Arc::new(Faulty::new());
    log.always(&call_id("CA1"), Next::Hang);
    let writer = started(&log, settings());
    let call = writer.call(lease("CA1"));
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.stop(SOON).await.len(), 1);
    tokio::time::sleep(SOON).await;
    manager.add_assistant("Hello!").unwrap();
    let error = call.submit(&mut manager, LastMessage::Include).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Stopped, "{error}");
    assert_eq!(manager.changes(LastMessage::Include).len(), 2);
    assert_eq!(manager.new_changes(LastMessage::Include).len(), 1);
    manager.take_back();
    assert_eq!(manager.new_changes(LastMessage::Include).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn stop_stores_or_reports_what_is_accepted_during_its_flush() {
    for is_away in [false, true] {
        let second: Arc<Mutex<Option<(CallWriter, Manager)>>> = Arc::default();
        let during = second.clone();
        // The second record is submitted while the first is being stored.
        let fault = move |method: &str, _: Option<&CallId>, _| {
            let mut second = during.lock().unwrap();
            if let ("put_record", Some((call, manager))) = (method, second.as_mut()) {
                call.submit(manager, LastMessage::Include).unwrap();
                *second = None;
                return None;
            }
            (method == "put_record" && is_away).then_some(LogFault::Fail(LogErrorKind::Unavailable))
        };
        let log = Arc::new(FaultyLog::new(MemoryLog::default(), fault));
        let (writer, task) = LogWriter::new(log.clone(), settings());
        let task = tokio::spawn(task);
        let mut first = Manager::new();
        first.add_user("Hi").unwrap();
        let mut later = Manager::new();
        later.add_user("Good morning").unwrap();
        *second.lock().unwrap() = Some((writer.call(lease("CA2")), later));
        writer.call(lease("CA1")).submit(&mut first, LastMessage::Include).unwrap();
        let unstored = writer.stop(SOON).await;
        task.await.unwrap();
        let stored = log.read_call(&call_id("CA2")).await.unwrap().records.len();
        assert_eq!((unstored.len(), stored), if is_away { (1, 0) } else { (0, 1) }, "{unstored:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn waiting_records_of_an_older_writer_become_dead_letters() {
    let memory = SpoolMemory::default();
    let log = Arc::new(Faulty::new());
    let spool = Arc::new(memory.open(SpoolSettings::default()).unwrap());
    let writer = started(&log, settings().with_spool(spool));
    let call = writer.open(CallHeader::new(call_id("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    manager.add_user("Hi").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(writer.flush(SOON).await, []);
    log.always(&call_id("CA1"), Next::Unavailable);
    manager.add_assistant("Hello!").unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    tokio::time::sleep(SOON).await;
    assert_eq!(writer.status().spooled, 1);

    // The writer's own `resume` would store the spooled record first.
    log.always(&call_id("CA1"), Next::Go);
    let (mut restored, next) = resume(&log, &call_id("CA1")).await.unwrap();
    let other = writer.call(next.lease().clone());
    restored.add_assistant("Good morning!").unwrap();
    other.submit(&mut restored, LastMessage::Include).unwrap();
    let unstored = writer.flush(SOON).await;
    assert!(unstored.len() == 1 && unstored[0].is_dead_letter, "{unstored:?}");
    manager.add_user("What?").unwrap();
    let error = call.submit(&mut manager, LastMessage::Include).unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Fenced, "{error}");
    assert!(stored(&log, "CA1").await == restored);
    let status = writer.status();
    balanced(&status);
    assert_eq!((status.dead_letters, status.spooled), (1, 0));
    assert_eq!(take_dead_letters(&writer).await.unwrap().len(), 1);
    assert_eq!(writer.flush(SOON).await, []);
}
