//! A thousand live calls in one process: first at the pace of real calls, then as fast as possible.
//!
//! There are no sockets, because the fake Bedrock is the HTTP connector of the SDK. It runs in the same process, so its
//! time counts too.

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
/// The time from one turn to the next.
const EVERY: Duration = Duration::from_secs(3);

pub async fn print() {
    println!("{CALLS} calls at once, {TURNS} turns each, with summaries; the model's first token takes 20 ms");
    println!("                       turns/s   first token in ms: p50    p99     max   summaries   KB per call");
    let words = Arc::new(Words::new());
    let turns = scene::turns(&words, PACE);
    let scribe = scene::summaries(&words, Duration::from_secs(1));
    let forgetting = tokio::spawn(forget([turns.clone(), scribe.clone()]));
    let models = Models::new(turns.sdk_config(), scribe.sdk_config());
    let log = scene::log();
    // Warm up everything that is created once.
    let first = models.call(true).open().unwrap();
    scene::turn(&first, &scene::said(&words, 0, 0)).await;

    let before = resident_bytes();
    let open = |call| Arc::new(models.call(true).log(log.open(scene::header(call)).unwrap()).open().unwrap());
    let calls: Vec<_> = (0..CALLS).map(open).collect();
    row("opened", None, &calls, before);
    for (name, every, from) in [("one per 3 seconds", EVERY, 0), ("flat out", Duration::ZERO, TURNS)] {
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
    let summaries: u32 = calls.iter().map(|call| call.conversation().metrics().summaries_applied).sum();
    let kilobytes = resident_bytes().saturating_sub(before) as f64 / 1_024.0 / calls.len() as f64;
    println!("{name:20} {figures} {summaries:11} {kilobytes:11.1}");
}

/// Plays a turn of all calls. Their starts are spread over the time of one turn.
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

/// Clears the requests that the fakes recorded, because they are not memory of a call.
async fn forget(fakes: [FakeBedrock; 2]) {
    loop {
        sleep(Duration::from_millis(50)).await;
        fakes.iter().for_each(|bedrock| drop(bedrock.take_requests()));
    }
}

/// Returns the resident memory of the process. Linux only.
fn resident_bytes() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}
