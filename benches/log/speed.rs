//! Messages per second through the writer. The baseline is a loop of `PutItem` with the same items on the same client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use aws_sdk_dynamodb::Client;
use tokio::task::JoinSet;
use verbale::LastMessage;
use verbale::dynamodb::{DynamoLog, Item, to_items};
use verbale::log::{LogWriter, WriterLease, WriterSettings};

use crate::cost::{Manager, TURNS, call_id, one_turn};
use crate::workload::Words;

const CALLS: u64 = 100;
const RUNS: usize = 7;

/// Prints the median of several runs. The order alternates between runs.
pub async fn print() {
    let words = Words::new();
    println!("messages per second, {} messages of {CALLS} calls", 2 * CALLS * TURNS);
    println!("at once   bare PutItem    writer   ratio (range)");
    for parallel in [1, 8, 64] {
        let mut runs = Vec::new();
        for run in 0..RUNS {
            let (bare, writer) = if run % 2 == 0 {
                let bare = bare(&words, parallel).await;
                (bare, through_writer(&words, parallel).await)
            } else {
                let writer = through_writer(&words, parallel).await;
                (bare(&words, parallel).await, writer)
            };
            runs.push((writer / bare, bare, writer));
        }
        runs.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (ratio, bare, writer) = runs[RUNS / 2];
        println!("{parallel:7} {bare:14.0} {writer:9.0} {ratio:6.2} ({:.2} to {:.2})", runs[0].0, runs[RUNS - 1].0);
    }
    println!();
}

fn calls(words: &Words) -> Vec<Manager> {
    let call = |call| {
        let mut manager = Manager::new();
        (0..TURNS).for_each(|turn| one_turn(&mut manager, words, call, turn, false));
        manager
    };
    (0..CALLS).map(call).collect()
}

async fn bare(words: &Words, parallel: usize) -> f64 {
    let client = crate::new_client().await;
    let calls = calls(words);
    let items = calls.iter().enumerate().flat_map(|(call, manager)| {
        let items = to_items(&call_id(call as u64), &manager.records()).unwrap();
        items.into_iter()
    });
    let items: Vec<Item> = items.collect();
    let count = items.len();
    let start = Instant::now();
    let mut loops = JoinSet::new();
    for items in items.chunks(count.div_ceil(parallel)) {
        loops.spawn(put_each(client.clone(), items.to_vec()));
    }
    while let Some(done) = loops.join_next().await {
        done.unwrap();
    }
    count as f64 / start.elapsed().as_secs_f64()
}

async fn put_each(client: Client, items: Vec<Item>) {
    for item in items {
        client.put_item().table_name("verbale").set_item(Some(item)).send().await.unwrap();
    }
}

async fn through_writer(words: &Words, parallel: usize) -> f64 {
    let log = Arc::new(DynamoLog::new(crate::new_client().await));
    let settings = WriterSettings::default().with_parallel(parallel, 25).with_linger(Duration::ZERO);
    let (writer, task) = LogWriter::new(log, settings);
    let task = tokio::spawn(task);
    let mut calls = calls(words);
    let start = Instant::now();
    let mut count = 0;
    let handles: Vec<_> = (0..CALLS).map(|call| writer.call(WriterLease::from(call_id(call)))).collect();
    for (manager, call) in calls.iter_mut().zip(&handles) {
        count += call.submit(manager, LastMessage::Include).unwrap();
    }
    assert_eq!(writer.flush(Duration::from_secs(600)).await, []);
    let speed = count as f64 / start.elapsed().as_secs_f64();
    drop((handles, writer));
    task.await.unwrap();
    speed
}
