//! A thousand calls at once with a turn every 3 s: over the sockets of `verbale serve`, and with the library alone.
//!
//! Both have the same model, which answers at once, and a log in the embedded DynamoDB. The clients of the sockets run in
//! this process, on the same cores as the server. At the end the server is told to stop in the middle of turns, and all that
//! the callers said has to be in the log.
//!
//! ```sh
//! cargo bench -p verbale-cli --bench serve
//! ```
//!
//! `VERBALE_BENCH_CALLS` is the number of calls, `VERBALE_BENCH_TURNS` that of turns.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::print_stdout, reason = "a benchmark")]

mod alone;
#[allow(dead_code, reason = "the tests use all of it")]
#[path = "../../tests/program/server.rs"]
mod server;
mod socket;

use std::path::Path;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use verbale::Role;
use verbale::dynamodb::DynamoLog;
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallId, CallLog};

use server::Server;

/// The table of `--log embedded:DIR`.
const TABLE: &str = "verbale";
/// The time from one turn to the next.
const EVERY: Duration = Duration::from_secs(3);

/// A call that can be spoken with.
trait Call: Send + 'static {
    /// Says something, and waits for the end of the answer. Returns the time until its first sentence.
    fn turn(&mut self, words: &str) -> impl Future<Output = Duration> + Send;
}

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(compare(number("VERBALE_BENCH_CALLS", 1_000), number("VERBALE_BENCH_TURNS", 10)));
}

async fn compare(calls: u32, turns: u32) {
    println!("{calls} calls at once, {turns} turns each, one every 3 seconds");
    println!("                     first sentence in ms: p50     p99      max   KB a call");
    let folder = tempfile::tempdir().unwrap();
    let library = alone::Library::start(&folder.path().join("alone")).await;
    let before = resident_bytes("self");
    let opened = (0..calls).map(|number| library.open(number)).collect();
    let (_opened, times) = play(opened, turns).await;
    row("the library alone", &times, resident_bytes("self").saturating_sub(before), calls);

    let arguments = ["--log", "embedded:served", "--max-calls", &calls.to_string()];
    let server = Server::start(folder.path(), &arguments);
    let process = server.child.id().to_string();
    let mut opened = Vec::new();
    let before = resident_bytes(&process);
    for number in 0..calls {
        opened.push(socket::open(&server, number).await);
    }
    let (opened, times) = play(opened, turns).await;
    row("verbale serve", &times, resident_bytes(&process).saturating_sub(before), calls);

    let mut leaving = JoinSet::new();
    for mut call in opened {
        leaving.spawn(async move { call.say_until_the_end(turns).await });
    }
    sleep(EVERY / 2).await;
    let stopped = Instant::now();
    server.begin_terminate();
    let said: Vec<(String, Vec<String>)> = leaving.join_all().await;
    server.ended();
    let lost = lost(&folder.path().join("served"), &said).await;
    let sentences: usize = said.iter().map(|(_, said)| said.len()).sum();
    println!(
        "SIGTERM: ended after {:.1?}; of {sentences} accepted sentences {lost} are not in the log",
        stopped.elapsed()
    );
    assert_eq!(lost, 0);
}

/// Plays turns of all calls. Their starts are spread over the time of one turn.
async fn play<C: Call>(calls: Vec<C>, turns: u32) -> (Vec<C>, Vec<Duration>) {
    let count = u32::try_from(calls.len()).unwrap();
    let mut playing = JoinSet::new();
    for (number, mut call) in (0..).zip(calls) {
        playing.spawn(async move {
            sleep(EVERY * number / count).await;
            let mut times = Vec::new();
            for turn in 0..turns {
                let next = Instant::now() + EVERY;
                times.push(call.turn(&words(turn)).await);
                sleep_until(next).await;
            }
            (call, times)
        });
    }
    let (calls, times): (Vec<C>, Vec<_>) = playing.join_all().await.into_iter().unzip();
    (calls, times.into_iter().flatten().collect())
}

fn words(turn: u32) -> String {
    format!("This is question {turn}: can we have a table for four at the window, please?")
}

/// Returns how many of the sentences that a server accepted are not in its log.
async fn lost(database: &Path, said: &[(String, Vec<String>)]) -> usize {
    let log = DynamoLog::new(EmbeddedDynamo::open(database).unwrap().client()).with_table(TABLE);
    let mut lost = 0;
    for (call, said) in said {
        let logged =
            log.read_call(&CallId::new(call.as_str()).unwrap()).await.unwrap().restore::<verbale::PlainMessage>();
        let user = logged.meta_messages().iter().filter(|message| message.role() == Role::User);
        let texts: String = user.flat_map(|message| message.contents().texts().map(|text| text.to_string())).collect();
        lost += said.iter().filter(|words| texts.matches(words.as_str()).count() != 1).count();
    }
    lost
}

fn row(name: &str, times: &[Duration], bytes: u64, calls: u32) {
    let mut times: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1_000.0).collect();
    times.sort_by(f64::total_cmp);
    let part = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    let kilobytes = bytes as f64 / 1_024.0 / f64::from(calls);
    println!("{name:20} {:24.1} {:7.1} {:8.1} {kilobytes:11.1}", part(0.5), part(0.99), part(1.0));
}

/// Returns the resident memory of a process. Linux only.
fn resident_bytes(process: &str) -> u64 {
    let pages = std::fs::read_to_string(format!("/proc/{process}/statm")).unwrap();
    pages.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 4_096
}

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}
