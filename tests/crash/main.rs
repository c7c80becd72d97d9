//! `kill -9` of a service that logs 200 calls: afterwards the table has every acknowledged change, once and not older.
//!
//! The test starts this program again as the service, reads the acknowledged changes from its output, and kills it at a
//! moment that the seed chooses: during the start, during the calls, or after all changes are spooled. The log may be
//! unavailable, so that changes are only in the spool. A round has one or two such lives before the table is checked.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod acts;
mod home;
mod life;
mod owner;
#[path = "../../src/clock/seeded.rs"]
mod seeded;
mod server;
mod takeovers;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;
use verbale::log::{CallId, CallLog};
use verbale::{MessageId, MessagesManager, PlainMessage, Record};

use home::Home;
use life::{Acknowledged, Life};
use seeded::Seeded;

const START_MS: i64 = 1_744_815_823_058;
const ROUNDS: u32 = 10;
/// About the number of lines that a complete life prints.
const MAX_LINES: u64 = 2_600;
/// A watchdog, not a measurement: a life takes less on any machine.
const HANGS: Duration = Duration::from_secs(1_200);
/// The seed of every run, unless `VERBALE_CRASH_SEED` sets another.
const SEED: u64 = 20_250_416;

/// The acknowledged changes: the newest revision of each message, and the hash of its record.
type Promises = BTreeMap<CallId, BTreeMap<MessageId, (u32, u64)>>;

#[test]
#[ignore = "the other tests start and kill it"]
fn life() {
    if let Some(life) = Life::of_environment() {
        // The harness has printed the start of a line.
        println!();
        runtime().block_on(life.run());
    }
}

#[test]
fn acknowledged_changes_survive_kill() {
    survives(false, ROUNDS / 2);
}

#[test]
fn acknowledged_changes_survive_kill_with_syncs() {
    survives(true, ROUNDS / 2);
}

/// The seed repeats the moments and modes of a run, but not the scheduling of the machine.
fn survives(fsync: bool, rounds: u32) {
    let seed = std::env::var("VERBALE_CRASH_SEED").map_or(SEED, |seed| seed.parse().unwrap());
    println!("VERBALE_CRASH_SEED={seed} fsync {fsync}");
    let chance = Seeded::from(seed);
    let directory = tempfile::tempdir().unwrap();
    let home = Home { directory: directory.path().to_owned(), fsync };
    runtime().block_on(home.make());
    let mut promises = Promises::new();
    let mut number = 0;
    for round in 0..rounds {
        let mut touched = BTreeSet::new();
        for _ in 0..=chance.next_u64() % 2 {
            let life = Life { number, home: home.clone(), is_away: chance.next_u64().is_multiple_of(3) };
            let printed = run(&life, Kill::at_random(&chance));
            println!("round {round}, life {number}, away {}: {} lines", life.is_away, printed.len());
            touched.extend(printed.iter().map(|change| change.call_id.clone()));
            printed.into_iter().for_each(|change| promise(&mut promises, change));
            number += 1;
        }
        let seen = runtime().block_on(check(&home, &promises, &touched));
        println!("round {round}: {seen} records of {} calls", touched.len());
    }
    let all = promises.keys().cloned().collect();
    runtime().block_on(check(&home, &promises, &all));
}

/// When to kill a life: after a time, after a number of lines, or when it has printed everything.
struct Kill {
    after: Duration,
    lines: usize,
}

impl Kill {
    fn at_random(chance: &Seeded) -> Self {
        let below = |end| chance.next_u64() % end;
        match below(3) {
            0 => Self { after: Duration::from_millis(below(500)), lines: usize::MAX },
            1 => Self { after: HANGS, lines: below(300) as usize },
            _ => Self { after: HANGS, lines: below(MAX_LINES) as usize },
        }
    }
}

/// Runs a life until it is killed, and returns the changes that it printed. Lines in the pipe count.
fn run(life: &Life, kill: Kill) -> Vec<Acknowledged> {
    let mut child = life.command().spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (end, ends) = mpsc::channel();
    let killer = thread::spawn(move || {
        let waited = ends.recv_timeout(kill.after);
        child.kill().unwrap();
        (waited, child.wait().unwrap())
    });
    let (mut printed, mut line) = (Vec::new(), String::new());
    while output.read_line(&mut line).unwrap() > 0 {
        printed.extend(Acknowledged::of_line(&line));
        if printed.len() >= kill.lines || line == "done\n" {
            // The killer may have ended already.
            let _ = end.send(());
        }
        line.clear();
    }
    let (waited, status) = killer.join().unwrap();
    assert_eq!(status.signal(), Some(9), "life {} ended before it was killed", life.number);
    assert!(kill.after < HANGS || waited.is_ok(), "life {} hangs", life.number);
    printed
}

fn promise(promises: &mut Promises, change: Acknowledged) {
    let of_call = promises.entry(change.call_id).or_default();
    let newest = of_call.entry(change.id).or_default();
    *newest = (*newest).max((change.revision, change.hash));
}

/// Starts the writer again, stores the spooled records, and compares the table with the promises. Returns the number of
/// records.
async fn check(home: &Home, promises: &Promises, calls: &BTreeSet<CallId>) -> usize {
    let log = home.log(false);
    let (writer, task, spool) = home.writer(log.clone());
    let task = tokio::spawn(task);
    assert_eq!(writer.flush(HANGS).await, []);
    let status = writer.status();
    assert_eq!((status.stored, status.spooled, status.dead_letters), (status.recovered, 0, 0), "{status:?}");
    let mut seen = 0;
    for call_id in calls {
        let logged = log.read_call(call_id).await.unwrap();
        assert!(logged.header.is_some(), "call {call_id} is not opened");
        let found: BTreeMap<MessageId, &Record> = logged.records.iter().map(|record| (record.id(), record)).collect();
        assert_eq!(found.len(), logged.records.len(), "call {call_id} has a message twice");
        for (id, (revision, hash)) in &promises[call_id] {
            let record = found.get(id).unwrap_or_else(|| panic!("message {id} of call {call_id} is lost"));
            let is_kept =
                record.revision() > *revision || record.revision() == *revision && life::hash(record) == *hash;
            assert!(is_kept, "message {id} of call {call_id} is there at {}, not {revision}", record.revision());
        }
        seen += found.len();
        // Else one is missing between others.
        MessagesManager::<PlainMessage>::restore(logged.records).unwrap();
    }
    // The spool learns of it with its next commit. Without handles, the task waits for that only for a time, which a busy
    // machine may exceed.
    let forgets = async {
        while !format!("{spool:?}").contains("pending_bytes: 0, dead_letter_bytes: 0,") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(HANGS, forgets).await.unwrap_or_else(|_| panic!("{spool:?}"));
    drop(writer);
    task.await.unwrap();
    seen
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
