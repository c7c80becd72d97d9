//! kill -9 of a service that logs 200 calls: what its callers were told is logged is in the table afterwards, none
//! twice, none older.
//!
//! The test starts this program again as the service, reads from it what is acknowledged, and kills it at a moment of
//! the seed: while it starts, while calls go on, when all are spooled. The log may be away, so that much is in the spool
//! only. A round may be several such lives before anybody looks.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, reason = "tests")]

mod home;
mod life;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;
use verbale::clock::{Randomness, SeededRandomness};
use verbale::log::{CallId, CallLog, FileDurability};
use verbale::{MessageId, MessagesManager, PlainMessage, Record};

use home::Home;
use life::{Acknowledged, Life};

const START_MS: i64 = 1_744_815_823_058;
const ROUNDS: u32 = 20;
/// A life in which all calls come to their end tells about so much.
const MOST_LINES: u64 = 2_600;
/// A watchdog, and no measurement: no machine is so busy that a life takes longer.
const HANGS: Duration = Duration::from_secs(1_200);
/// A run repeats this one, unless `VERBALE_CRASH_SEED` names another.
const SEED: u64 = 20_250_416;

/// What was acknowledged: of each message the newest revision, and the hash of its record.
type Promises = BTreeMap<CallId, BTreeMap<MessageId, (u32, u64)>>;

#[test]
#[ignore = "it is started, and killed, by the other tests"]
fn life() {
    if let Some(life) = Life::of_environment() {
        // The harness has begun a line.
        println!();
        runtime().block_on(life.lead());
    }
}

#[test]
fn what_is_acknowledged_survives_the_process() {
    survives(FileDurability::System, ROUNDS / 2);
}

#[test]
fn what_is_acknowledged_survives_the_process_with_syncs() {
    survives(FileDurability::Disk, ROUNDS / 2);
}

/// The seed repeats the moments and modes of a run, though not what the machine made of them.
fn survives(reach: FileDurability, rounds: u32) {
    let seed = std::env::var("VERBALE_CRASH_SEED").map_or(SEED, |seed| seed.parse().unwrap());
    println!("VERBALE_CRASH_SEED={seed} {reach:?}");
    let chance = SeededRandomness::new(seed);
    let directory = tempfile::tempdir().unwrap();
    let home = Home { directory: directory.path().to_owned(), reach };
    runtime().block_on(home.make());
    let mut promises = Promises::new();
    let mut number = 0;
    for round in 0..rounds {
        let mut touched = BTreeSet::new();
        for _ in 0..=chance.next_u64() % 2 {
            let life = Life { number, home: home.clone(), is_away: chance.next_u64().is_multiple_of(3) };
            let told = lead(&life, Kill::at_random(&chance));
            println!("round {round}, life {number}, away {}: {} lines", life.is_away, told.len());
            touched.extend(told.iter().map(|told| told.call_id.clone()));
            told.into_iter().for_each(|told| promise(&mut promises, told));
            number += 1;
        }
        let seen = runtime().block_on(look(&home, &promises, &touched));
        println!("round {round}: {seen} records of {} calls", touched.len());
    }
    let all = promises.keys().cloned().collect();
    runtime().block_on(look(&home, &promises, &all));
}

/// When a life ends: so long after it began, or after so many lines, or when it has nothing more to tell.
struct Kill {
    after: Duration,
    lines: usize,
}

impl Kill {
    fn at_random(chance: &SeededRandomness) -> Self {
        let below = |end| chance.next_u64() % end;
        match below(3) {
            0 => Self { after: Duration::from_millis(below(500)), lines: usize::MAX },
            1 => Self { after: HANGS, lines: below(300) as usize },
            _ => Self { after: HANGS, lines: below(MOST_LINES) as usize },
        }
    }
}

/// Has a life led until it is killed: what it told until then. A line that is in the pipe was told.
fn lead(life: &Life, kill: Kill) -> Vec<Acknowledged> {
    let mut child = life.command().spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let (end, ends) = mpsc::channel();
    let killer = thread::spawn(move || {
        let waited = ends.recv_timeout(kill.after);
        child.kill().unwrap();
        (waited, child.wait().unwrap())
    });
    let (mut told, mut line) = (Vec::new(), String::new());
    while output.read_line(&mut line).unwrap() > 0 {
        told.extend(Acknowledged::of_line(&line));
        if told.len() >= kill.lines || line == "done\n" {
            // Told so again, the killer is gone.
            let _ = end.send(());
        }
        line.clear();
    }
    let (waited, status) = killer.join().unwrap();
    assert_eq!(status.signal(), Some(9), "life {} ended by itself", life.number);
    assert!(kill.after < HANGS || waited.is_ok(), "life {} hangs", life.number);
    told
}

fn promise(promises: &mut Promises, told: Acknowledged) {
    let of_call = promises.entry(told.call_id).or_default();
    let newest = of_call.entry(told.id).or_default();
    *newest = (*newest).max((told.revision, told.hash));
}

/// Starts once more, ships what is in the spool, and holds what is in the table to what was promised: how many records
/// there are.
async fn look(home: &Home, promises: &Promises, calls: &BTreeSet<CallId>) -> usize {
    let log = home.log(false);
    let (writer, task, spool) = home.writer(log.clone());
    let task = tokio::spawn(task.run());
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
    // Without handles the task ends once the spool knows, too.
    drop(writer);
    task.await.unwrap();
    assert_eq!((spool.pending_bytes(), spool.dead_letter_bytes()), (0, 0));
    seen
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
