//! Many concurrent calls through the log's writer: in virtual time over the simulated DynamoDB, with an outage, and in
//! real time over the embedded DynamoDB.
//!
//! No record is lost, and memory stays within its limits. `cargo test` runs a small load; the full load prints its
//! figures:
//!
//! ```sh
//! cargo test --release --test load -- --ignored --nocapture --test-threads=1
//! ```

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod calls;
#[path = "../simulation/dynamo/mod.rs"]
mod dynamo;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::task::JoinSet;
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{LogWriter, WriterSettings};

use calls::{Load, Seen, Watch, World, carry};
use dynamo::{Dynamo, FaultPlan};

const TABLE: &str = "verbale";
/// The outage starts after half of the time and takes this fraction of it.
const AWAY_PART: u32 = 10;
/// The latency of DynamoDB in the same region.
const LATENCY_MS: std::ops::RangeInclusive<u64> = 3..=12;

#[test]
fn hundreds_of_calls_in_virtual_time() {
    simulated(Load { calls: 200, lasts: Duration::from_secs(60), max_call_bytes: 600, max_bytes: 100 << 10 });
}

#[test]
fn calls_in_real_time() {
    real(Load { calls: 100, lasts: Duration::from_secs(4), max_call_bytes: 4 << 10, max_bytes: 1 << 20 }, true);
}

#[test]
#[ignore = "minutes; a measurement"]
fn ten_thousand_calls_in_ten_minutes_of_virtual_time() {
    let load = Load {
        calls: number("VERBALE_LOAD_CALLS", 10_000),
        lasts: Duration::from_secs(60) * number("VERBALE_LOAD_MINUTES", 10),
        max_call_bytes: 4 << 10,
        max_bytes: 32 << 20,
    };
    let resident_mb = simulated(load).resident_mb;
    // After the start, when calls end as often as they begin, and after the table has caught up.
    for (settled, later) in [(2, 4), (7, 9)] {
        let (settled, later) = (resident_mb[settled], resident_mb[later]);
        assert!(later <= settled + settled / 10, "{resident_mb:?}");
    }
}

#[test]
#[ignore = "minutes; a measurement"]
fn two_thousand_calls_in_real_time() {
    let lasts = Duration::from_secs(30);
    for is_on_disk in [false, true] {
        real(Load { calls: 2_000, lasts, max_call_bytes: 64 << 10, max_bytes: 32 << 20 }, is_on_disk);
    }
}

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}

#[expect(clippy::disallowed_methods, reason = "the real time that virtual time takes is a figure")]
fn simulated(load: Load) -> Watch {
    let start = std::time::Instant::now();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let dynamo = Dynamo::new(FaultPlan::none().with_latency_ms(LATENCY_MS));
        create_table(&dynamo.client(), "verbale").await.unwrap();
        let log = DynamoLog::new(dynamo.client()).with_clock(Arc::new(dynamo.clock()));
        let settings = WriterSettings::default().with_seed(1);
        let forget = dynamo.clone();
        let world = world(load, log, settings, move |call| forget.drop_partition(TABLE, &format!("CALL#{call}")));

        let mut background = JoinSet::new();
        background.spawn(away(dynamo.clone(), load.lasts / 2..load.lasts / 2 + load.lasts / AWAY_PART));
        let forget = dynamo.clone();
        background.spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(5)).await;
                forget.forget_requests();
            }
        });
        let watch = watched(&world, load.lasts / 10).await;
        background.shutdown().await;

        let status = world.writer.status();
        assert!(status.refused > 0 && status.retried > 0, "the outage was too short: {status:?}");
        assert!(watch.most_lag >= load.lasts / AWAY_PART);
        dynamo.forget_requests();
        let journal = dynamo.journal();
        let (refused, records) = (journal.refusals.values().sum::<u64>(), status.stored);
        println!(
            "{:?} of virtual time took {:.1?}; {:?} requests, {refused} of them refused; {} write units, {:.2} a message \
             with the headers of its call, where 1 is the least",
            load.lasts,
            start.elapsed(),
            journal.requests,
            journal.write_units,
            journal.write_units as f64 / records as f64,
        );
        watch
    })
}

/// Throttles the table for a while.
async fn away(dynamo: Dynamo, when: std::ops::Range<Duration>) {
    tokio::time::sleep(when.start).await;
    dynamo.throttle_table(TABLE, true);
    tokio::time::sleep(when.end - when.start).await;
    dynamo.throttle_table(TABLE, false);
}

fn real(load: Load, is_on_disk: bool) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    runtime.block_on(async {
        let dynamo =
            if is_on_disk { EmbeddedDynamo::open(directory.path()) } else { EmbeddedDynamo::in_memory() }.unwrap();
        create_table(&dynamo.client(), "verbale").await.unwrap();
        // The embedded database serves one request at a time, so more concurrency would not help.
        let settings = WriterSettings::default().with_parallel(8, 25);
        let world = world(load, DynamoLog::new(dynamo.client()), settings, |_| {});
        watched(&world, load.lasts / 10).await;
    });
}

fn world(
    load: Load,
    log: DynamoLog,
    settings: WriterSettings,
    compared: impl Fn(&verbale::log::CallId) + Send + Sync + 'static,
) -> Arc<World> {
    let log = Arc::new(log);
    let (writer, task) = LogWriter::new(log.clone(), settings.with_limits(load.max_call_bytes, load.max_bytes));
    tokio::spawn(task);
    Arc::new(World { load, log, writer, seen: Seen::default(), compared: Box::new(compared) })
}

/// Runs the load, checks the bounds, and prints the figures.
async fn watched(world: &Arc<World>, every: Duration) -> Watch {
    let load = world.load;
    println!("\n{load:?}");
    let mut watch = Watch::new(every);
    let mut carried = JoinSet::new();
    carried.spawn(carry(world.clone()));
    watch.over(world, carried).await;

    assert_eq!(world.writer.flush(calls::IN_TIME).await, []);
    let (status, seen) = (world.writer.status(), &world.seen);
    let messages = seen.messages.load(Ordering::Relaxed);
    let most_call_bytes = seen.most_call_bytes.load(Ordering::Relaxed);
    assert_eq!((status.queued, status.dead_letters, status.bytes), (0, 0, 0), "{status:?}");
    assert!(most_call_bytes <= load.max_call_bytes, "{most_call_bytes}");
    assert!(seen.compared.load(Ordering::Relaxed) >= u64::from(load.calls));
    println!(
        "{messages} messages of {} calls, none missing, doubled or stale; at most {} KB waited in all and {} bytes of a \
         call; lag at most {:.2} s",
        seen.compared.load(Ordering::Relaxed),
        watch.most_bytes / 1_024,
        most_call_bytes,
        watch.most_lag.as_secs_f64(),
    );
    watch
}
