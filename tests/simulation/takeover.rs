//! Takeovers of a call: throttled, killed at every request, and with requests that arrive late.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use verbale::dynamodb::DynamoLog;
use verbale::log::{
    CallEnd, CallHeader, CallLog, CallWriter, LogError, LogErrorKind, LogWriter, Spool, SpoolSettings, WriterSettings,
};
use verbale::testing::SpoolMemory;
use verbale::{LastMessage, MessagesManager, PlainMessage};

use super::LAYOUT;
use crate::dynamo::{Death, Dynamo, Fault, FaultPlan, Scope, Window};
use crate::letters::take_dead_letters;
use crate::log;
use crate::support::{START_MS, call};

type Manager = MessagesManager<PlainMessage>;

const SOON: Duration = Duration::from_secs(30);
const HOURS: Duration = Duration::from_secs(3 * 3_600);

/// A process with a writer.
struct Process {
    writer: LogWriter,
    task: JoinHandle<()>,
}

impl Process {
    fn new(log: DynamoLog, settings: WriterSettings) -> Self {
        let settings = settings.with_seed(1);
        let (writer, task) = LogWriter::new(Arc::new(log), settings);
        Self { writer, task: tokio::spawn(task) }
    }

    async fn die(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    async fn resume(&self, timeout: Duration) -> Result<(Manager, CallWriter), LogError> {
        self.writer.resume(&call("CA1"), timeout).await
    }
}

fn log_of(dynamo: &Dynamo) -> DynamoLog {
    DynamoLog::new(dynamo.client()).with_clock(Arc::new(dynamo.clock())).with_layout(LAYOUT)
}

fn process(dynamo: &Dynamo) -> Process {
    Process::new(log_of(dynamo), WriterSettings::default())
}

fn say(manager: &mut Manager, call: &CallWriter, messages: usize) {
    for number in 0..messages {
        let text = format!("{number}");
        if manager.message_count().is_multiple_of(2) {
            manager.add_user(text).unwrap();
        } else {
            manager.add_assistant(text).unwrap();
        }
    }
    call.submit(manager, LastMessage::Include).unwrap();
}

/// A process with a call of this many messages, which are all stored.
async fn with_call(dynamo: &Dynamo, messages: usize) -> (Process, CallWriter, Manager) {
    let owner = process(dynamo);
    let call = owner.writer.open(CallHeader::new(call("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    say(&mut manager, &call, messages);
    assert_eq!(call.flush(SOON).await, []);
    (owner, call, manager)
}

async fn stored(dynamo: &Dynamo) -> Manager {
    Manager::restore(log_of(dynamo).read_call(&call("CA1")).await.unwrap().records).unwrap()
}

/// Asserts that the owner was not evicted: everything that it says is stored.
async fn assert_writes_on(dynamo: &Dynamo, call: &CallWriter, manager: &mut Manager) {
    say(manager, call, 2);
    assert_eq!(call.flush(SOON).await, []);
    assert!(stored(dynamo).await == *manager);
}

/// `VERBALE_RESUMES` is the number of takeovers at each rate.
#[tokio::test(start_paused = true)]
async fn throttled_takeover_completes() {
    let resumes = std::env::var("VERBALE_RESUMES").map_or(20, |number| number.parse().unwrap());
    for (rate, seed) in [(0.05, 1), (0.2, 2)] {
        let (dynamo, _) = log(FaultPlan::none().with_seed(seed)).await;
        let (_owner, _call, mut expected) = with_call(&dynamo, 96).await;
        let plan = FaultPlan::none().with_seed(seed).with_latency_ms(1..=20).with_rate(Fault::Throttle, rate);
        dynamo.set_plan(plan);
        let next = process(&dynamo);
        for number in 0..resumes {
            let began = Instant::now();
            let (mut manager, call) = next.resume(SOON).await.unwrap();
            assert!(began.elapsed() < SOON, "{rate} {number}: {:?}", began.elapsed());
            assert!(manager == expected, "{rate} {number}");
            if number % 10 == 0 {
                say(&mut manager, &call, 1);
                assert_eq!(call.flush(SOON).await, []);
                expected = manager;
            }
        }
        assert!(dynamo.journal().count(Fault::Throttle) > 100);
    }
}

/// A process whose call has two messages, a dead letter, and two messages more: a takeover has to fence a hole, too.
async fn with_hole(dynamo: &Dynamo) -> (Process, CallWriter, Manager) {
    let (owner, call, mut manager) = with_call(dynamo, 2).await;
    manager.add_user("x").unwrap().set_data("trace", "x".repeat(420_000)).unwrap();
    call.submit(&mut manager, LastMessage::Include).unwrap();
    assert_eq!(call.flush(SOON).await.len(), 1);
    say(&mut manager, &call, 2);
    assert_eq!(call.flush(SOON).await.len(), 1);
    (owner, call, manager)
}

/// Asserts that a process writes on: everything that it says from now on is stored, beside this many dead letters.
async fn assert_stores_more(dynamo: &Dynamo, call: &CallWriter, manager: &mut Manager, dead_letters: usize) {
    let before = manager.message_count();
    say(manager, call, 2);
    let unstored = call.flush(SOON).await;
    assert!(unstored.len() == dead_letters && unstored.iter().all(|unstored| unstored.is_dead_letter), "{unstored:?}");
    let read = log_of(dynamo).read_call(&self::call("CA1")).await.unwrap().records;
    let said: Vec<_> = manager.records().into_iter().filter(|record| record.position().seq() >= before).collect();
    assert!(said.len() == 2 && said.iter().all(|record| read.contains(record)), "{said:?}");
}

/// A candidate that dies at one of its requests.
#[derive(Debug, Clone, Copy)]
struct Killed {
    /// The number of requests before.
    at: u64,
    /// Whether its last request still arrives.
    is_sent: bool,
    /// Whether it finds no way to put its fences, and gives up.
    gives_up: bool,
    /// Whether the next candidate comes before the owner writes on.
    is_taken_over_again: bool,
}

/// Kills a candidate. Returns false if it got to its end.
async fn kill(killed: Killed) -> bool {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(4..=4)).await;
    let (owner, call, mut manager) = with_hole(&dynamo).await;
    let death = Arc::new(Mutex::new(Death { after: killed.at, sends_the_next: killed.is_sent }));
    let mortal = DynamoLog::new(dynamo.mortal_client(&death)).with_clock(Arc::new(dynamo.clock())).with_layout(LAYOUT);
    let candidate = Process::new(mortal, WriterSettings::default());
    let (mut plan, mut timeout) = (FaultPlan::none().with_latency_ms(4..=4), SOON);
    if killed.gives_up {
        plan =
            plan.with_window(Window::new(Fault::Throttle, Duration::ZERO..HOURS).for_only(Scope::Operation("PutItem")));
        timeout = Duration::from_millis(300);
    }
    dynamo.set_plan(plan);
    // The owner writes while the candidate is at work.
    say(&mut manager, &call, 1);
    drop(tokio::time::timeout(Duration::from_secs(3), candidate.resume(timeout)).await);
    candidate.die().await;
    dynamo.set_plan(FaultPlan::none().with_latency_ms(4..=4));
    let is_killed = death.lock().unwrap().after == 0;

    let header = log_of(&dynamo).read_header(&self::call("CA1")).await.unwrap().unwrap();
    let serves = format!("{header:?}").contains(&format!("served: {}", header.epoch())) && header.epoch() > 1;
    assert!(!serves || !killed.gives_up, "{killed:?}");
    assert!(is_killed || serves || killed.gives_up, "{killed:?}");
    if !is_killed && serves {
        let items = dynamo.items("verbale");
        let hole = &items[&("CALL#CA1".to_owned(), "MSG#00000002".to_owned())];
        assert!(format!("{hole:?}").contains("fence"), "{killed:?}: {hole:?}");
    }
    if !killed.is_taken_over_again && !serves {
        let began = Instant::now();
        assert_stores_more(&dynamo, &call, &mut manager, 1).await;
        assert!(is_killed || began.elapsed() < Duration::from_secs(3), "{killed:?}: the call was not released");
        assert_eq!(take_dead_letters(&owner.writer).await.unwrap().len(), 1, "{killed:?}");
    }
    call.flush(SOON).await;
    call.acknowledge(&mut manager);
    let pending: Vec<_> = manager.changes(LastMessage::Include).iter().map(|record| record.id()).collect();
    let next = process(&dynamo);
    let (mut resumed, new) = next.resume(SOON).await.unwrap_or_else(|error| panic!("{killed:?}: {error}"));
    let acknowledged: Vec<_> = manager.records().into_iter().filter(|record| !pending.contains(&record.id())).collect();
    assert!(acknowledged.len() >= 4, "{killed:?}");
    for record in acknowledged {
        assert!(resumed.records().contains(&record), "{killed:?}: an acknowledged record is lost");
    }
    assert_eq!(resumed.left_out().len(), 1, "{killed:?}");
    assert_stores_more(&dynamo, &new, &mut resumed, 0).await;
    is_killed
}

#[tokio::test(start_paused = true)]
async fn candidate_killed_at_any_request_harms_nobody() {
    // A candidate that gives up leaves the same to the next one as a silent one does.
    for case in 0..6 {
        let (is_sent, is_taken_over_again, gives_up) = (case & 1 != 0, case & 2 != 0, case & 4 != 0);
        let mut killed = Killed { at: 0, is_sent, gives_up, is_taken_over_again };
        while kill(killed).await {
            killed.at += 1;
        }
        assert!(killed.at > 8, "{killed:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_of_a_takeover_may_arrive_late_or_unheard() {
    for fault in [Fault::Ghost, Fault::TimeoutBefore, Fault::TimeoutAfter, Fault::Throttle] {
        for number in 0.. {
            let (dynamo, _) = log(FaultPlan::none()).await;
            let (_owner, old, mut manager) = with_call(&dynamo, 4).await;
            let next = process(&dynamo);
            let before = dynamo.journal().request_count();
            (0..number).for_each(|_| dynamo.pass());
            dynamo.next(fault);
            let (mut resumed, new) = next.resume(SOON).await.unwrap();
            let requests = dynamo.journal().request_count() - before;
            assert!(resumed == manager, "{fault:?} at request {number}");
            assert_writes_on(&dynamo, &new, &mut resumed).await;
            // Now the late request arrives.
            dynamo.settle().await;
            assert_writes_on(&dynamo, &new, &mut resumed).await;
            assert_eq!(new.lease().epoch(), log_of(&dynamo).read_header(&call("CA1")).await.unwrap().unwrap().epoch());
            say(&mut manager, &old, 1);
            assert!(old.flush(SOON).await.iter().all(|unstored| unstored.is_dead_letter));
            assert!(stored(&dynamo).await == resumed);
            if number >= requests {
                assert!(number > 6);
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn failed_takeovers_do_not_evict_a_healthy_owner() {
    for operation in ["PutItem", "UpdateItem", "Query"] {
        let (dynamo, _) = log(FaultPlan::none()).await;
        let (owner, call, mut manager) = with_call(&dynamo, 12).await;
        let next = process(&dynamo);
        for attempt in 0..5 {
            // The window begins before the look, or before the next step.
            let from = dynamo.clock().elapsed() + Duration::from_millis(attempt % 2 * 15);
            let window = Window::new(Fault::Throttle, from..HOURS).for_only(Scope::Operation(operation));
            dynamo.set_plan(FaultPlan::none().with_latency_ms(10..=10).with_window(window));
            let error = next.resume(Duration::from_secs(4)).await.unwrap_err();
            assert!(error.is_retryable(), "{error}");
            dynamo.set_plan(FaultPlan::none());
            assert_writes_on(&dynamo, &call, &mut manager).await;
        }
        let status = owner.writer.status();
        assert_eq!((status.dead_letters, status.queued), (0, 0), "{operation}");
        let (resumed, _) = next.resume(SOON).await.unwrap();
        assert!(resumed == manager);
    }
}

/// The owner writes faster than a candidate can read the call and put its fences.
#[tokio::test(start_paused = true)]
async fn takeover_ends_although_its_writer_goes_on() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(4..=4)).await;
    let (_owner, call, mut manager) = with_call(&dynamo, 4).await;
    let owner = tokio::spawn(async move {
        loop {
            say(&mut manager, &call, 2);
            call.flush(Duration::from_millis(5)).await;
        }
    });
    let next = process(&dynamo);
    let began = Instant::now();
    let (mut resumed, new) = next.resume(SOON).await.unwrap();
    assert!(began.elapsed() < Duration::from_millis(500), "{:?}", began.elapsed());
    assert_writes_on(&dynamo, &new, &mut resumed).await;
    owner.abort();
}

#[tokio::test(start_paused = true)]
async fn failed_look_leaves_no_trace() {
    let (dynamo, log) = log(FaultPlan::none()).await;
    let (_owner, _call, manager) = with_call(&dynamo, 4).await;
    let before = dynamo.items("verbale");
    dynamo.set_plan(FaultPlan::none().with_rate(Fault::Throttle, 1.0));
    let error = process(&dynamo).resume(Duration::from_secs(2)).await.unwrap_err();
    assert!(error.is_retryable() && error.to_string().starts_with("resuming call CA1 failed"), "{error}");
    dynamo.set_plan(FaultPlan::none());
    assert_eq!(dynamo.items("verbale"), before);
    // Missing messages are no failure.
    let lease = verbale::log::WriterLease::from(call("CA1"));
    let second = crate::support::message(9, 1);
    log.put_record(&lease, &second).await.unwrap();
    let (resumed, _call) = process(&dynamo).resume(SOON).await.unwrap();
    assert_eq!((resumed.left_out().len(), resumed.message_count()), (5, 10));
    drop(manager);
}

#[tokio::test(start_paused = true)]
async fn records_that_meet_a_fence_are_held() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(4..=4)).await;
    let (owner, call, mut manager) = with_call(&dynamo, 4).await;
    // The candidate dies after its commit, its pass and some of its steps.
    let death = Arc::new(Mutex::new(Death { after: 5, sends_the_next: true }));
    let mortal = DynamoLog::new(dynamo.mortal_client(&death)).with_clock(Arc::new(dynamo.clock())).with_layout(LAYOUT);
    let candidate = Process::new(mortal, WriterSettings::default());
    let _ = tokio::time::timeout(Duration::from_secs(1), candidate.resume(SOON)).await;
    candidate.die().await;
    say(&mut manager, &call, 2);
    let call_end = CallEnd::of(&manager, START_MS + 1, "hangup").unwrap();
    assert_eq!(call_end.messages, 6);
    call.finish(&mut manager, call_end, SOON).await.unwrap();
    let unstored = call.flush(Duration::from_secs(2)).await;
    assert!(!unstored.is_empty() && unstored.iter().all(|unstored| !unstored.is_dead_letter), "{unstored:?}");
    assert!(unstored[0].to_string().contains("is being taken over by another process"), "{}", unstored[0]);
    // The candidate stays silent.
    assert_eq!(call.flush(SOON).await, []);
    assert!(stored(&dynamo).await == manager);
    let header = log_of(&dynamo).read_header(&self::call("CA1")).await.unwrap().unwrap();
    assert_eq!(header.call_end().map(|end| &*end.reason), Some("hangup"));
    assert!(take_dead_letters(&owner.writer).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn end_of_a_lost_call_is_reported() {
    let (dynamo, _) = log(FaultPlan::none()).await;
    let (_owner, call, mut manager) = with_call(&dynamo, 4).await;
    let next = process(&dynamo);
    let (resumed, _new) = next.resume(SOON).await.unwrap();
    let call_end = CallEnd::of(&manager, START_MS + 1, "hangup").unwrap();
    assert_eq!(call_end.messages, 4);
    call.finish(&mut manager, call_end, SOON).await.unwrap();
    let unstored = call.flush(SOON).await;
    assert_eq!(unstored.len(), 1, "{unstored:?}");
    assert!(unstored[0].is_dead_letter && unstored[0].to_string().starts_with("the end of call CA1 is not stored"));
    assert!(unstored[0].to_string().contains("is written by its writer 2 now"), "{}", unstored[0]);
    assert!(stored(&dynamo).await == resumed);
}

#[tokio::test(start_paused = true)]
async fn candidate_respects_another_one_until_it_is_silent() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(4..=4)).await;
    let (_owner, _call, manager) = with_call(&dynamo, 4).await;
    let death = Arc::new(Mutex::new(Death { after: 5, sends_the_next: true }));
    let mortal = DynamoLog::new(dynamo.mortal_client(&death)).with_clock(Arc::new(dynamo.clock())).with_layout(LAYOUT);
    let dead = Process::new(mortal, WriterSettings::default());
    let _ = tokio::time::timeout(Duration::from_secs(1), dead.resume(SOON)).await;
    dead.die().await;
    // Short attempts add up.
    let next = process(&dynamo);
    let began = Instant::now();
    let mut attempts = 0;
    let resumed = loop {
        match next.resume(Duration::from_secs(2)).await {
            Ok((resumed, _)) => break resumed,
            Err(error) => assert!(error.is_retryable(), "{error}"),
        }
        attempts += 1;
    };
    assert!(attempts > 0 && began.elapsed() > Duration::from_secs(4) && began.elapsed() < SOON, "{attempts}");
    assert!(resumed == manager);

    // Two at once: one of them gets the call.
    let (one, other) = (process(&dynamo), process(&dynamo));
    let (first, second) = tokio::join!(one.resume(SOON), other.resume(SOON));
    let (winner, loser) = if first.is_ok() { (first, second) } else { (second, first) };
    assert_eq!(loser.unwrap_err().kind(), LogErrorKind::Fenced);
    let (mut resumed, new) = winner.unwrap();
    assert_writes_on(&dynamo, &new, &mut resumed).await;
}

#[tokio::test(start_paused = true)]
async fn writer_that_renews_its_lease_keeps_its_call() {
    let (dynamo, _) = log(FaultPlan::none().with_latency_ms(4..=4)).await;
    let silence = Duration::from_secs(30);
    let renewing = || WriterSettings::default().with_takeover_after(silence);
    let owner = Process::new(log_of(&dynamo), renewing());
    let call = owner.writer.open(CallHeader::new(self::call("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    say(&mut manager, &call, 2);
    let next = Process::new(log_of(&dynamo), renewing());
    let minute = Duration::from_secs(60);
    for _ in 0..3 {
        let error = next.resume(minute).await.unwrap_err();
        assert!(error.is_retryable() && error.to_string().contains("its writer is alive"), "{error}");
        assert_writes_on(&dynamo, &call, &mut manager).await;
    }
    owner.die().await;
    let (resumed, _) = next.resume(minute).await.unwrap();
    assert!(resumed == manager);
}

#[tokio::test(start_paused = true)]
async fn header_is_stored_before_the_first_record() {
    let (dynamo, _) = log(FaultPlan::none()).await;
    let owner = process(&dynamo);
    for _ in 0..3 {
        dynamo.next(Fault::Throttle);
    }
    let call = owner.writer.open(CallHeader::new(self::call("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    say(&mut manager, &call, 2);
    assert_eq!(call.flush(SOON).await, []);
    let keys: &[&str] = if matches!(LAYOUT, verbale::dynamodb::Layout::Spans) {
        &["CALL", "MSG#00000000"]
    } else {
        &["CALL", "MSG#00000000", "MSG#00000001"]
    };
    assert_eq!(dynamo.journal().first_writes("CALL#CA1"), keys);
}

/// Records are spooled during an outage, and the process dies. Then another process fails to take the call over, because
/// request `number` of its takeover arrives late. Returns false if the takeover succeeded.
async fn replayed_after(number: usize) -> bool {
    let (dynamo, _) = log(FaultPlan::none()).await;
    let memory = SpoolMemory::default();
    let spooled = |memory: &SpoolMemory| {
        let spool: Arc<Spool> = Arc::new(memory.open(SpoolSettings::default()).unwrap());
        Process::new(log_of(&dynamo), WriterSettings::default().with_spool(spool))
    };
    let owner = spooled(&memory);
    let call = owner.writer.open(CallHeader::new(self::call("CA1"), START_MS).unwrap()).unwrap();
    let mut manager = Manager::new();
    say(&mut manager, &call, 4);
    assert_eq!(call.flush(SOON).await, []);
    let outage = Window::new(Fault::Throttle, dynamo.clock().elapsed()..HOURS);
    dynamo.set_plan(FaultPlan::none().with_window(outage));
    say(&mut manager, &call, 10);
    sleep(Duration::from_secs(1)).await;
    call.acknowledge(&mut manager);
    assert!(manager.changes(LastMessage::Include).is_empty(), "all are spooled");
    owner.die().await;
    dynamo.set_plan(FaultPlan::none());

    (0..number).for_each(|_| dynamo.pass());
    dynamo.next(Fault::Ghost);
    let candidate = process(&dynamo);
    if tokio::time::timeout(Duration::from_millis(100), candidate.resume(SOON)).await.is_ok() {
        return false;
    }
    candidate.die().await;
    let restarted = spooled(&memory.copy());
    let (mut resumed, new) = restarted.resume(SOON).await.unwrap();
    assert!(resumed == manager, "{number}: {} messages", resumed.meta_messages().len());
    dynamo.settle().await;
    assert_writes_on(&dynamo, &new, &mut resumed).await;
    assert!(take_dead_letters(&restarted.writer).await.unwrap().is_empty());
    true
}

#[tokio::test(start_paused = true)]
async fn replay_after_a_failed_takeover_makes_no_dead_letter() {
    let mut number = 0;
    while replayed_after(number).await {
        number += 1;
    }
    assert!(number > 6, "{number} requests");
}
