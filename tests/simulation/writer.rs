//! The log's writer over the fake, one risk at a time: each fault for a whole call, outages, and hot partitions.

use std::sync::Arc;
use std::time::Duration;

use verbale::log::{CallEnd, CallHeader, CallLog, CallWriter, LogWriter, Spool, SpoolSettings, Status, WriterSettings};
use verbale::testing::SpoolMemory;
use verbale::{LastMessage, MessagesManager, PlainMessage};

use super::LAYOUT;
use crate::dynamo::{Dynamo, Fault, FaultPlan, Scope, Window};
use crate::log;
use crate::support::{START_MS, call};

type Manager = MessagesManager<PlainMessage>;

const HOURS: Duration = Duration::from_secs(3 * 3_600);

async fn writer(plan: FaultPlan, spool: Option<Arc<Spool>>) -> (Dynamo, LogWriter) {
    let (dynamo, log) = log(plan).await;
    let mut settings = WriterSettings::default().with_seed(1);
    if let Some(spool) = spool {
        settings = settings.with_spool(spool);
    }
    let (writer, task) = LogWriter::new(Arc::new(log.with_layout(LAYOUT)), settings);
    tokio::spawn(task);
    (dynamo, writer)
}

fn opened(writer: &LogWriter, name: &str) -> (CallWriter, Manager) {
    (writer.open(CallHeader::new(call(name), START_MS).unwrap()).unwrap(), Manager::new())
}

/// Runs a turn every ten seconds. Returns the submissions of the turns, and the largest lag of the log.
async fn turns(count: usize, writer: &LogWriter, call: &CallWriter, manager: &mut Manager) -> (Vec<usize>, Duration) {
    let (mut submitted, mut lag) = (Vec::new(), Duration::ZERO);
    for turn in 0..count {
        manager.add_user(format!("user {turn}")).unwrap();
        manager.add_assistant("yes").unwrap();
        submitted.push(call.submit(manager, LastMessage::Include).unwrap());
        tokio::time::sleep(Duration::from_secs(10)).await;
        lag = lag.max(writer.status().lag);
    }
    (submitted, lag)
}

async fn finished(dynamo: &Dynamo, writer: &LogWriter, call_writer: &CallWriter, manager: &mut Manager) -> Status {
    let call_end = CallEnd::of(manager, START_MS + 1, "hangup").unwrap();
    call_writer.finish(manager, call_end.clone(), HOURS).await.unwrap();
    assert_eq!(writer.flush(HOURS).await, []);
    dynamo.set_plan(FaultPlan::none());
    let log =
        verbale::dynamodb::DynamoLog::new(dynamo.client()).with_clock(Arc::new(dynamo.clock())).with_layout(LAYOUT);
    // A new client corrects its clock after its first request.
    let _ = log.read_call(call_writer.lease().call_id()).await;
    let logged = log.read_call(call_writer.lease().call_id()).await.unwrap();
    assert_eq!(logged.header.unwrap().call_end(), Some(&call_end));
    assert!(Manager::restore(logged.records).unwrap() == *manager);
    writer.status()
}

#[tokio::test(start_paused = true)]
async fn turn_is_written_alike_if_the_answer_to_opening_was_lost() {
    for fault in Fault::PASSING.into_iter().filter(|fault| fault.is_applied() && fault.suits("PutItem")) {
        let (dynamo, writer) = writer(FaultPlan::none(), None).await;
        dynamo.next(fault);
        let (call, mut manager) = opened(&writer, "CA1");
        turns(1, &writer, &call, &mut manager).await;
        finished(&dynamo, &writer, &call, &mut manager).await;
        let keys: &[&str] = if matches!(LAYOUT, verbale::dynamodb::Layout::Spans) {
            &["CALL", "MSG#00000000"]
        } else {
            &["CALL", "MSG#00000000", "MSG#00000001"]
        };
        assert_eq!(dynamo.journal().first_writes("CALL#CA1"), keys, "{fault:?}");
        assert_eq!(dynamo.journal().count(fault), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn repeated_faults_delay_a_call_and_lose_nothing() {
    let passing = Fault::PASSING.into_iter().filter(|fault| *fault != Fault::UnprocessedItems);
    for fault in passing.chain([Fault::TableMissing, Fault::AccessDenied, Fault::ExpiredToken]) {
        let plan = FaultPlan::none().with_seed(7).with_latency_ms(1..=900).with_rate(fault, 0.5);
        let (dynamo, writer) = writer(plan, None).await;
        let (call, mut manager) = opened(&writer, "CA1");
        turns(10, &writer, &call, &mut manager).await;
        let status = finished(&dynamo, &writer, &call, &mut manager).await;
        assert!(dynamo.journal().count(fault) > 3, "{fault:?}");
        assert_eq!((status.stored, status.bytes, status.lag), (20, 0, Duration::ZERO), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn turn_does_the_same_work_during_an_outage() {
    let outage = || FaultPlan::none().with_window(Window::new(Fault::TimeoutBefore, Duration::ZERO..HOURS));
    for with_spool in [false, true] {
        let memory = SpoolMemory::default();
        let spool = with_spool.then(|| Arc::new(memory.open(SpoolSettings::default()).unwrap()));
        let (_, healthy) = writer(FaultPlan::none(), None).await;
        let (call, mut manager) = opened(&healthy, "CA1");
        let (expected, _) = turns(60, &healthy, &call, &mut manager).await;

        let (dynamo, writer) = writer(outage(), spool).await;
        let (call, mut manager) = opened(&writer, "CA1");
        let before = tokio::time::Instant::now();
        let (submitted, lag) = turns(60, &writer, &call, &mut manager).await;
        // The turns submit the same records during an outage, and take no time.
        assert_eq!(submitted, expected);
        assert_eq!(before.elapsed(), Duration::from_secs(600));
        assert_eq!(lag, Duration::from_secs(600));
        assert_eq!(writer.status().bytes == 0, with_spool, "spooled records take no memory");
        tokio::time::sleep(HOURS).await;
        let status = finished(&dynamo, &writer, &call, &mut manager).await;
        assert_eq!((status.stored, status.bytes, status.queued + status.spooled), (120, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn failing_partition_slows_no_other_call() {
    let of = |partition: &str| Scope::Partition(partition.to_owned());
    let poisoned = Window::new(Fault::TimeoutBefore, Duration::ZERO..HOURS).for_only(of("CALL#poisoned"));
    let hot = Window::new(Fault::Throttle, Duration::ZERO..HOURS).for_only(of("CALL#hot"));
    let mut lags = Vec::new();
    for plan in [FaultPlan::none(), FaultPlan::none().with_window(poisoned).with_window(hot)] {
        let (dynamo, writer) = writer(plan.with_latency_ms(10..=10), None).await;
        let mut others = Vec::new();
        for name in ["poisoned", "hot"] {
            let (call, mut manager) = opened(&writer, name);
            manager.add_user("Hi").unwrap();
            call.submit(&mut manager, LastMessage::Include).unwrap();
            others.push((call, manager));
        }
        let (call, mut manager) = opened(&writer, "healthy");
        let mut slowest = Duration::ZERO;
        for turn in 0..20 {
            manager.add_user(format!("user {turn}")).unwrap();
            manager.add_assistant("yes").unwrap();
            call.submit(&mut manager, LastMessage::Include).unwrap();
            let submitted = tokio::time::Instant::now();
            while !manager.changes(LastMessage::Include).is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
                call.acknowledge(&mut manager);
            }
            slowest = slowest.max(submitted.elapsed());
        }
        lags.push(slowest);
        drop((dynamo, others));
    }
    assert_eq!(lags[0], lags[1]);
}

#[tokio::test(start_paused = true)]
async fn operator_error_is_reported_at_once_and_retried() {
    for fault in [Fault::TableMissing, Fault::AccessDenied, Fault::ExpiredToken] {
        let plan = FaultPlan::none().with_window(Window::new(fault, Duration::ZERO..HOURS));
        let (dynamo, writer) = writer(plan, None).await;
        let (call, mut manager) = opened(&writer, "CA1");
        manager.add_user("Hi").unwrap();
        call.submit(&mut manager, LastMessage::Include).unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert_eq!((dynamo.journal().count(fault), writer.status().trouble.len()), (1, 1), "{fault:?}");
        tokio::time::sleep(HOURS + Duration::from_secs(31)).await;
        let status = finished(&dynamo, &writer, &call, &mut manager).await;
        assert_eq!((status.stored, status.trouble.len(), status.dead_letters), (1, 0, 0), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn clock_step_and_reordered_responses_lose_nothing() {
    let step = Duration::from_secs(45);
    let plan = FaultPlan::none().with_latency_ms(1..=2_500).with_clock_step(step, -3_600_000);
    let plan = plan.with_rate(Fault::Ghost, 0.2);
    let (dynamo, writer) = writer(plan.clone(), None).await;
    let (call, mut manager) = opened(&writer, "CA1");
    turns(10, &writer, &call, &mut manager).await;
    finished(&dynamo, &writer, &call, &mut manager).await;
    dynamo.settle().await;
    for (key, revisions) in &dynamo.journal().writes {
        let revisions: Vec<u64> = revisions.iter().flatten().copied().collect();
        assert!(revisions.is_sorted_by(|one, next| one < next), "{key:?}: {revisions:?}");
    }
}
