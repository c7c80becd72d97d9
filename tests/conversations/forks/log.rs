//! A fork and its source are two independent calls in a log.

use std::sync::Arc;
use std::time::Duration;

use verbale::clock::ManualClock;
use verbale::dynamodb::{DynamoLog, create_table};
use verbale::embedded::EmbeddedDynamo;
use verbale::log::{CallEnd, CallHeader, CallId, CallLog, CallQuery, LogWriter, MemoryLog, WriterSettings};
use verbale::{LastMessage, ToolCall, Value};

use super::history::Manager;
use super::{id, list, summarize};

const START_MS: i64 = 1_744_815_823_058;
const SOON: Duration = Duration::from_secs(30);

fn call_id(id: &str) -> CallId {
    CallId::new(id).unwrap()
}

async fn restored(log: &dyn CallLog, id: &str) -> Manager {
    Manager::restore(log.read_call(&call_id(id)).await.unwrap().records).unwrap()
}

async fn both_are_logged_and_restored(log: Arc<dyn CallLog>, clock: &ManualClock) {
    let (writer, task) = LogWriter::new(log.clone(), WriterSettings::default());
    let task = tokio::spawn(task);
    let expires_at_s = START_MS / 1_000 + 3_600;
    let open = |id: &str, expires: bool| {
        let header = CallHeader::new(call_id(id), START_MS).unwrap();
        writer.open(if expires { header.with_expires_at(expires_at_s) } else { header }).unwrap()
    };

    // Log the source, continue it, and fork it at a logged turn.
    let mut source = Manager::new();
    let source_log = open("CA1", true);
    let lookup = ToolCall::new("call_1", "lookup", Value::Null).unwrap();
    source.add_assistant("Hello!").unwrap();
    source.add_user("u0").unwrap();
    summarize(&mut source, "S0");
    source.add_assistant(lookup.clone()).unwrap();
    source_log.submit(&mut source, LastMessage::Include).unwrap();
    source.add_user(lookup.success(["yes"])).unwrap();
    source.add_assistant("a1").unwrap();
    summarize(&mut source, "S1");
    source.add_user("u2").unwrap();
    source_log.submit(&mut source, LastMessage::Exclude).unwrap();

    let asks = id(&source, 4);
    let mut fork = source.fork(&asks, "CA1").unwrap();
    let fork_log = open("CA2", false);
    fork.add_user(lookup.success(["no"])).unwrap();
    fork.add_assistant("b1").unwrap();
    fork_log.submit(&mut fork, LastMessage::Exclude).unwrap();
    // Each edits a shared message and logs it.
    source.entry(&asks).unwrap().set_data("side", "source").unwrap();
    fork.entry(&asks).unwrap().set_data("side", "fork").unwrap();
    for (manager, call) in [(&mut source, &source_log), (&mut fork, &fork_log)] {
        let call_end = CallEnd::of(manager, START_MS + 9_000, "hangup").unwrap();
        call.finish(manager, call_end, SOON).await.unwrap();
    }
    assert_eq!(writer.flush(SOON).await, []);
    assert!(restored(&*log, "CA1").await == source);
    let mut read = restored(&*log, "CA2").await;
    assert!(read == fork);
    assert_eq!(read.lineage(), fork.lineage());
    assert_eq!(list(&read)[4..], ["assistant: call call_1", "user: result call_1", "assistant: b1"]);
    read.add_user("u2'").unwrap();

    // Expiring or erasing one call keeps the other.
    clock.set((expires_at_s + 1) * 1_000);
    assert!(log.read_call(&call_id("CA1")).await.unwrap().records.is_empty());
    assert!(restored(&*log, "CA2").await == fork);
    clock.set(START_MS);
    log.erase_call(&call_id("CA1")).await.unwrap();
    assert!(restored(&*log, "CA2").await == fork);
    let listed = log.list_calls(&CallQuery::of_day("2025-04-16".parse().unwrap())).await.unwrap().calls;
    assert_eq!(listed.iter().map(|header| header.call_id().as_str()).collect::<Vec<_>>(), ["CA2"]);
    task.abort();
}

#[tokio::test]
async fn fork_and_source_are_two_calls_in_memory() {
    let clock = ManualClock::new(START_MS);
    both_are_logged_and_restored(Arc::new(MemoryLog::with_clock(Arc::new(clock.clone()))), &clock).await;
}

#[tokio::test]
async fn fork_and_source_are_two_calls_in_dynamodb() {
    let clock = ManualClock::new(START_MS);
    let client = EmbeddedDynamo::in_memory().unwrap().client();
    create_table(&client, "verbale").await.unwrap();
    let log = DynamoLog::new(client).with_clock(Arc::new(clock.clone()));
    both_are_logged_and_restored(Arc::new(log), &clock).await;
}
