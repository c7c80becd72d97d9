//! Concurrent lines with one call after the other: a message every three seconds, and at the end a comparison of the
//! whole call with the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use verbale::log::{CallEnd, CallHeader, CallId, CallLog, LogWriter, Status};
use verbale::{LastMessage, MessagesManager, PlainMessage};

/// The time between two messages of a call.
const MESSAGE: Duration = Duration::from_secs(3);
/// A call of two minutes.
const MESSAGES: u32 = 40;
/// A watchdog: longer than any outage here and than a busy machine takes.
pub const IN_TIME: Duration = Duration::from_secs(1_200);
const START_MS: i64 = 1_744_815_823_058;

type Manager = MessagesManager<PlainMessage>;

/// The size and duration of a load.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    pub calls: u32,
    pub lasts: Duration,
    pub max_call_bytes: usize,
    pub max_bytes: usize,
}

/// Counters of a run.
#[derive(Debug, Default)]
pub struct Seen {
    pub messages: AtomicU64,
    /// The calls that were compared with the log, byte by byte.
    pub compared: AtomicU64,
    /// The most bytes of one call that were accepted and not stored.
    pub most_call_bytes: AtomicUsize,
}

/// The log and writer that carry a load.
pub struct World {
    pub load: Load,
    pub log: Arc<dyn CallLog>,
    pub writer: LogWriter,
    pub seen: Seen,
    /// Called after each comparison, when the call is no longer needed.
    pub compared: Box<dyn Fn(&CallId) + Send + Sync>,
}

/// Runs all calls, and compares each with the log.
pub async fn carry(world: Arc<World>) {
    let end = Instant::now() + world.load.lasts;
    let mut lines = JoinSet::new();
    for line in 0..world.load.calls {
        lines.spawn(calls_of_line(world.clone(), line, end));
    }
    while let Some(done) = lines.join_next().await {
        done.unwrap();
    }
}

/// Runs the calls of one line. Lines start spread over one message and in the middle of a call.
async fn calls_of_line(world: Arc<World>, line: u32, end: Instant) {
    sleep(MESSAGE * line / world.load.calls).await;
    let mut call_ends = JoinSet::new();
    let mut messages = 1 + line % MESSAGES;
    for number in 0.. {
        let call_id = CallId::new(format!("{line}-{number}")).unwrap();
        let call = world.writer.open(CallHeader::new(call_id.clone(), START_MS).unwrap()).unwrap();
        let mut manager = Manager::new();
        for message in 0..messages {
            say(&mut manager, message);
            call.submit(&mut manager, LastMessage::Exclude).unwrap();
            world.seen.messages.fetch_add(1, Ordering::Relaxed);
            world.seen.most_call_bytes.fetch_max(waiting_bytes(&manager), Ordering::Relaxed);
            sleep(MESSAGE).await;
            if Instant::now() >= end {
                break;
            }
        }
        let world_of_call_end = world.clone();
        call_ends.spawn(async move {
            let call_end = CallEnd::of(&manager, START_MS, "hangup").unwrap();
            call.finish(&mut manager, call_end, IN_TIME).await.unwrap();
            while !manager.changes(LastMessage::Include).is_empty() {
                sleep(Duration::from_secs(1)).await;
                call.acknowledge(&mut manager);
            }
            compare(&world_of_call_end, &call_id, &manager).await;
        });
        if Instant::now() >= end {
            break;
        }
        messages = MESSAGES;
    }
    while let Some(done) = call_ends.join_next().await {
        done.unwrap();
    }
}

fn say(manager: &mut Manager, message: u32) {
    if message.is_multiple_of(2) {
        manager.add_user(format!("i would like to know about order number {message}")).unwrap();
    } else {
        manager.add_assistant(format!("Of course. Order number {message} is on its way to you.")).unwrap();
    }
}

/// The bytes that were submitted and are not stored, as the writer counts them.
fn waiting_bytes(manager: &Manager) -> usize {
    let (all, new) = (manager.changes(LastMessage::Include), manager.new_changes(LastMessage::Include));
    let waiting = all.iter().filter(|record| new.iter().all(|new| new.id() != record.id()));
    waiting.map(|record| 256 + record.contents().texts().map(|text| text.len()).sum::<usize>()).sum()
}

/// Checks that the log has the whole call and its end: each message once, at its last revision.
async fn compare(world: &World, call_id: &CallId, manager: &Manager) {
    let (until, mut wait) = (Instant::now() + IN_TIME, Duration::from_secs(1));
    while Instant::now() < until {
        sleep(wait).await;
        // The end is stored after the last record. Reads fail while the log is unavailable, and compete with writes, so
        // they are few.
        if let Ok(logged) = world.log.read_call(call_id).await
            && logged.header.is_some_and(|header| header.call_end().is_some())
        {
            assert!(logged.records == manager.records(), "call {call_id} differs from its conversation");
            world.seen.compared.fetch_add(1, Ordering::Relaxed);
            return (world.compared)(call_id);
        }
        wait *= 2;
    }
    panic!("call {call_id} has no end in the log");
}

/// Checks the bounds, and prints a line for each period.
pub struct Watch {
    every: Duration,
    pub most_bytes: usize,
    pub most_lag: Duration,
    pub resident_mb: Vec<u64>,
}

impl Watch {
    pub fn new(every: Duration) -> Self {
        println!("       s   messages     stored   waiting  waiting KB  lag s  retried  refused  resident MB");
        Self { every, most_bytes: 0, most_lag: Duration::ZERO, resident_mb: Vec::new() }
    }

    /// Runs until `carried` is done.
    pub async fn over(&mut self, world: &World, mut carried: JoinSet<()>) {
        let start = Instant::now();
        let (mut next, mut lag) = (self.every, Duration::ZERO);
        loop {
            tokio::select! {
                Some(done) = carried.join_next() => {
                    done.unwrap();
                    break;
                }
                () = sleep(Duration::from_millis(250)) => {}
            }
            let status = world.writer.status();
            assert!(status.bytes <= world.load.max_bytes, "{status:?}");
            self.most_bytes = self.most_bytes.max(status.bytes);
            lag = lag.max(status.lag);
            if start.elapsed() >= next {
                self.line(start.elapsed(), world, &status, lag);
                self.most_lag = self.most_lag.max(lag);
                (next, lag) = (next + self.every, Duration::ZERO);
            }
        }
        self.most_lag = self.most_lag.max(lag);
        self.line(start.elapsed(), world, &world.writer.status(), lag);
    }

    fn line(&mut self, at: Duration, world: &World, status: &Status, lag: Duration) {
        let resident_mb = resident_mb();
        self.resident_mb.push(resident_mb);
        println!(
            "{:8.1} {:10} {:10} {:9} {:11} {:6.2} {:8} {:8} {:12}",
            at.as_secs_f64(),
            world.seen.messages.load(Ordering::Relaxed),
            status.stored,
            status.queued,
            status.bytes / 1_024,
            lag.as_secs_f64(),
            status.retried,
            status.refused,
            resident_mb,
        );
    }
}

/// The resident memory of this process; 0 if the system does not report it.
fn resident_mb() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split_whitespace().nth(1).map_or(0, |pages| pages.parse::<u64>().unwrap() * 4_096 / 1_000_000)
}
