//! A thousand live calls in one process: at the pace of calls, then as fast as they can.
//!
//! Without sockets: the stand-in is the HTTP connector of the SDK. It works in the same process, so that its share of the
//! time is counted too.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use verbale::call::CallSession;
use verbale::testing::FakeBedrock;

use crate::figures::{Taken, Times};
use crate::scene::{self, Models, Pace};
use crate::workload::Words;

const CALLS: u64 = 1_000;
const TURNS: u64 = 12;
const PACE: Pace = Pace { first_token: Duration::from_millis(20), between_events: Duration::from_millis(2) };
/// From one turn to the next.
const EVERY: Duration = Duration::from_secs(3);

pub async fn print() {
    println!("{CALLS} calls at once, {TURNS} turns each, with summaries; the model's first token comes after 20 ms");
    println!("                       turns/s   first token in ms: p50    p99     max   summaries   KB a call");
    let words = Arc::new(Words::new());
    let turns = scene::turns(&words, PACE);
    let scribe = scene::summaries(&words, Duration::from_secs(1));
    let forgetting = tokio::spawn(forget([turns.clone(), scribe.clone()]));
    let models = Models::new(turns.sdk_config(), scribe.sdk_config());
    let log = scene::log();
    // Whatever is made once is made.
    let first = models.call(true).open().unwrap();
    scene::turn(&first, &scene::said(&words, 0, 0)).await;

    let before = resident_bytes();
    let open = |call| Arc::new(models.call(true).log(log.open(scene::header(call)).unwrap()).open().unwrap());
    let calls: Vec<_> = (0..CALLS).map(open).collect();
    row("opened", None, &calls, before);
    for (name, every, from) in [("one in three seconds", EVERY, 0), ("flat out", Duration::ZERO, TURNS)] {
        let begun = Instant::now();
        let taken = played(&words, &calls, every, from).await;
        let speed = taken.len() as f64 / begun.elapsed().as_secs_f64();
        row(name, Some((speed, taken)), &calls, before);
    }
    println!();
    forgetting.abort();
    assert_eq!((turns.counters().refused, scribe.counters().refused), (0, 0));
}

fn row(name: &str, played: Option<(f64, Vec<Taken>)>, calls: &[Arc<CallSession>], before: u64) {
    let figures = played.map_or_else(
        || format!("{:>9} {:>24} {:>6} {:>7}", "", "", "", ""),
        |(speed, taken)| {
            let first = Times::new(taken.iter().map(|taken| taken.first));
            format!("{speed:9.0} {:24.1} {:6.1} {:7.1}", first.part(0.5), first.part(0.99), first.part(1.0))
        },
    );
    let summaries: u32 = calls.iter().map(|call| call.conversation().totals().summaries_applied).sum();
    let kilobytes = resident_bytes().saturating_sub(before) as f64 / 1_024.0 / calls.len() as f64;
    println!("{name:20} {figures} {summaries:11} {kilobytes:11.1}");
}

/// The turns of all calls, which begin spread over the time of one.
async fn played(words: &Arc<Words>, calls: &[Arc<CallSession>], every: Duration, from: u64) -> Vec<Taken> {
    let mut playing = JoinSet::new();
    for (number, call) in (0..).zip(calls) {
        let (words, call) = (words.clone(), call.clone());
        playing.spawn(async move {
            sleep(every * number / CALLS as u32).await;
            let mut taken = Vec::new();
            for turn in from..from + TURNS {
                let next = Instant::now() + every;
                taken.push(scene::turn(&call, &scene::said(&words, u64::from(number), turn)).await);
                sleep_until(next).await;
            }
            taken
        });
    }
    playing.join_all().await.into_iter().flatten().collect()
}

/// A stand-in keeps what it was asked; that is no part of a call.
async fn forget(stand_ins: [FakeBedrock; 2]) {
    loop {
        sleep(Duration::from_millis(50)).await;
        stand_ins.iter().for_each(|bedrock| drop(bedrock.take_requests()));
    }
}

/// Linux only.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
