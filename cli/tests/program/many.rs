//! A day with many calls: they are listed, checked and exported one after the other.
//!
//! `VERBALE_MANY_CALLS=100000 cargo test --release --test program many -- --nocapture` measures so many calls and prints the
//! table of `docs/program.md`.

use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use verbale::clock::{ManualClock, SequentialIds};
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallChange, CallEnd, CallHeader, CallId, CallLog, Span, WriterLease};
use verbale::{MessagesManager, PlainMessage};

use crate::calls::START_MS;
use crate::program;
use crate::seeded::Seeded;

/// More than a page of a day has.
const CALLS: u32 = 1_050;
const WORDS: [&str; 8] = [
    "Is there a seat on the ten thirty?",
    "Yes, please.",
    "What does it cost for two adults with a dog?",
    "It is 12.50 for each adult, and dogs are free.",
    "My name is Mia, and my number is 030 123456.",
    "One moment, I look it up.",
    "It is booked: ticket F-17.",
    "Thank you, bye.",
];

/// Writes calls of six messages each into a table. The same seed makes the same calls.
async fn fill(folder: &Path, calls: u32) {
    let client = EmbeddedDynamo::open(folder.join("db")).unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    let log = DynamoLog::new(client);
    let dice = Seeded::from(1);
    for number in 0..calls {
        // All within a day.
        let started_ms = START_MS + i64::from(number) * 50_000_000 / i64::from(calls);
        let clock = Arc::new(ManualClock::new(started_ms));
        let ids = Arc::new(SequentialIds::default());
        let mut manager = MessagesManager::<PlainMessage>::new().with_clock(clock.clone(), ids);
        for turn in 0..6 {
            clock.advance(2_000);
            let words = WORDS[(dice.next_u64() % 8) as usize];
            let added = if turn % 2 == 0 { manager.add_user(words) } else { manager.add_assistant(words) };
            added.unwrap();
        }
        let header = CallHeader::new(CallId::new(format!("call-{number:06}")).unwrap(), started_ms).unwrap();
        log.open_call(&header).await.unwrap();
        let lease = WriterLease::from(&header);
        let span = Span::try_from(0..=5).unwrap();
        for put in log.put_span(&lease, span, &manager.records()).await.unwrap() {
            put.unwrap();
        }
        let reason = if number % 7 == 0 { "transferred" } else { "hangup" };
        let call_end = CallEnd::of(&manager, started_ms + 14_000, reason).unwrap();
        log.change_call(header.call_id(), &CallChange::Close { lease, call_end }).await.unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "measures the process, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}

/// Runs a command to its end. Returns its output, how long it took, and the most memory that it had, in KB, where the system
/// says so.
fn measured(folder: &Path, line: &str) -> (String, Duration, u64) {
    let file = folder.join("output");
    let mut command = program(folder, line);
    let started = now();
    let mut child = command.stdout(std::fs::File::create(&file).unwrap()).spawn().unwrap();
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        most = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(most);
        sleep(Duration::from_millis(5));
    }
    assert!(child.wait().unwrap().success(), "{line}");
    (std::fs::read_to_string(file).unwrap(), started.elapsed(), most)
}

#[tokio::test]
async fn many_calls_are_listed_checked_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let asked = std::env::var("VERBALE_MANY_CALLS").ok().map(|calls| calls.parse().unwrap());
    let calls = asked.unwrap_or(CALLS);
    fill(folder.path(), calls).await;
    let commands = [
        format!("verbale list --day 2025-10-20 --limit {calls} --log embedded:db"),
        "verbale list --day 2025-10-20 --outcome transferred --limit 10 --log embedded:db".to_owned(),
        "verbale check --day 2025-10-20 --log embedded:db".to_owned(),
        "verbale export --day 2025-10-20 --log embedded:db".to_owned(),
        "verbale export --day 2025-10-20 --format csv -o calls.csv --log embedded:db".to_owned(),
    ];
    let mut outputs = Vec::new();
    for line in &commands {
        let (output, took, most) = measured(folder.path(), line);
        if asked.is_some() {
            let command = line.trim_start_matches("verbale ").trim_end_matches(" --log embedded:db");
            println!("| `{command}` | {:.1} s | {} MB |", took.as_secs_f64(), most / 1_024);
        }
        outputs.push(output);
    }
    let calls = calls as usize;
    assert_eq!((outputs[0].lines().count(), outputs[1].lines().count()), (calls + 1, 11));
    assert_eq!(outputs[2], format!("{calls} calls checked: nothing is wrong\n"));
    let rows = std::fs::read_to_string(folder.path().join("calls.csv")).unwrap();
    assert_eq!((outputs[3].lines().count(), rows.lines().count()), (6 * calls, 6 * calls + 1));
}
