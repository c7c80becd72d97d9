//! Requests, bytes and write units per turn. The baseline is one write unit per started KB of each final record.
//!
//! Each turn is stored before the next one begins, because seconds pass between the turns of a call. The writer waits
//! only 200 ms for newer revisions, so it never merges across turns. The last message of a turn is submitted with the
//! next turn, after it was played.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use verbale::dynamodb::{DynamoLog, item_size, to_items};
use verbale::log::{CallEnd, CallHeader, CallId, CallLog, CallWriter, LogWriter, WriterSettings};
use verbale::{LastMessage, MessagesManager, PlainMessage, Timing};

use crate::counted::{Sums, counted};
use crate::workload::{Conversation, SUMMARISE_ABOVE, Words, turn};

const CALLS: u64 = 100;
pub const TURNS: u64 = 40;
const START_MS: i64 = 1_744_815_823_058;
const IN_TIME: Duration = Duration::from_secs(60);

pub type Manager = MessagesManager<PlainMessage>;

pub async fn print() {
    println!("W4: {CALLS} calls of {TURNS} turns, changes are submitted at the end of each turn");
    println!("                                requests  bytes  write units   least  ratio   missed doubled stale");
    for summaries in [false, true] {
        logged(summaries).await;
    }
}

async fn logged(summaries: bool) {
    let words = Words::new();
    let (client, count) = counted(&crate::new_client().await);
    let log = Arc::new(DynamoLog::new(client));
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    tokio::spawn(task);

    let mut calls: Vec<(Manager, CallWriter)> = (0..CALLS)
        .map(|call| (Manager::new(), writer.open(CallHeader::new(call_id(call), START_MS).unwrap()).unwrap()))
        .collect();
    assert_eq!(writer.flush(IN_TIME).await, []);
    let opened = count.take();
    for number in 0..TURNS {
        for (call, (manager, to_log)) in calls.iter_mut().enumerate() {
            let played = manager.meta_messages().last().map(|message| message.id());
            if let Some(mut played) = played.and_then(|id| manager.entry(&id)) {
                played.set_timing(Timing::PlayEnd, START_MS).unwrap();
            }
            one_turn(manager, &words, call as u64, number, summaries);
            to_log.submit(manager, LastMessage::Exclude).unwrap();
        }
        assert_eq!(writer.flush(IN_TIME).await, []);
    }
    for (manager, to_log) in &mut calls {
        to_log.submit(manager, LastMessage::Include).unwrap();
    }
    assert_eq!(writer.flush(IN_TIME).await, []);
    let messages = count.take();
    for (manager, to_log) in &mut calls {
        let call_end = CallEnd::of(manager, START_MS, "hangup").unwrap();
        to_log.finish(manager, call_end, IN_TIME).await.unwrap();
    }
    assert_eq!(writer.flush(IN_TIME).await, []);
    let closed = count.take();

    let turns = (CALLS * TURNS) as f64;
    let each = |sums: Sums| sums.0.map(|sum| sum / turns);
    let [opened, closed, messages] = [opened, closed, messages].map(each);
    let least = calls.iter().map(|(manager, _)| least_units(manager)).sum::<usize>() as f64 / turns;
    let wrong = count_errors(&log, &calls).await;
    let name = if summaries { "with summaries" } else { "without summaries" };
    println!(
        "{name:18} messages {:10.3} {:7.0} {:11.3} {least:8.3} {:6.3} {:8} {:7} {:5}",
        messages[0],
        messages[1],
        messages[2],
        messages[2] / least,
        wrong[0],
        wrong[1],
        wrong[2],
    );
    let headers: Vec<f64> = opened.iter().zip(closed).map(|(opened, closed)| opened + closed).collect();
    println!("{:18} headers  {:10.3} {:7.0} {:11.3}", "", headers[0], headers[1], headers[2]);
    read_back(&log).await;
}

/// Adds a turn with the custom data of a service.
pub fn one_turn(manager: &mut Manager, words: &Words, call: u64, number: u64, summaries: bool) {
    turn(manager, words, call, number);
    let last = manager.meta_messages().last().map(|message| message.id());
    if let Some(mut entry) = last.and_then(|id| manager.entry(&id)) {
        entry.set_timing(Timing::LlmStart, START_MS).unwrap();
        entry.set_timing(Timing::LlmFirstToken, START_MS + 300).unwrap();
        entry.set_timing(Timing::LlmEnd, START_MS + 900).unwrap();
        entry.set_timing(Timing::PlayStart, START_MS + 500).unwrap();
        entry.set_data("model", "a-model-of-the-provider-v1").unwrap();
        entry.set_data("inputTokens", 812).unwrap();
        entry.set_data("outputTokens", 37).unwrap();
    }
    if summaries && manager.live() > SUMMARISE_ABOVE {
        manager.summarise(words.summary());
    }
}

pub fn call_id(call: u64) -> CallId {
    CallId::new(format!("01JRZJ166J2WRMF990535E{call:04}")).unwrap()
}

/// Returns the fewest possible write units: one per started KB of each message.
fn least_units(manager: &Manager) -> usize {
    let items = to_items(&call_id(0), &manager.records()).unwrap();
    items.iter().map(|item| item_size(item).div_ceil(1_024)).sum()
}

/// Counts the messages that the log lacks, holds twice, or holds with an older revision or other contents.
async fn count_errors(log: &DynamoLog, calls: &[(Manager, CallWriter)]) -> [usize; 3] {
    let mut wrong = [0; 3];
    for (call, (manager, _)) in calls.iter().enumerate() {
        let records = log.read_call(&call_id(call as u64)).await.unwrap().records;
        let found: HashMap<_, _> = records.iter().map(|record| (record.id(), record)).collect();
        wrong[1] += records.len() - found.len();
        for record in manager.records() {
            match found.get(&record.id()) {
                None => wrong[0] += 1,
                Some(found) => wrong[2] += usize::from(**found != record),
            }
        }
    }
    wrong
}

async fn read_back(log: &DynamoLog) {
    let mut times = Vec::new();
    let before = log.cost();
    for call in 0..CALLS {
        let start = Instant::now();
        Manager::restore(log.read_call(&call_id(call)).await.unwrap().records).unwrap();
        times.push(start.elapsed());
    }
    times.sort();
    let cost = log.cost() - before;
    println!("{:18} {CALLS} calls read back and restored: {cost}, {:.2?} each\n", "", times[times.len() / 2]);
}
