//! Each fault: the error that the log gets, and the state of the table after it.

use std::time::Duration;

use verbale::clock::Clock;
use verbale::dynamodb::DynamoLog;
use verbale::log::{CallLog, LogError, Put};

use super::dynamo::{Dynamo, Fault, FaultPlan, START_MS, Scope, Window};
use super::log;
use super::support::{call, first, message};

const KEY: (&str, &str) = ("CALL#CA1", "MSG#00000000");

async fn failure(log: &DynamoLog, revision: u32) -> (String, bool) {
    let error = log.put_record(&first(&call("CA1")), &message(0, revision)).await.unwrap_err();
    let is_retryable = error.is_retryable();
    (failure_of(error), is_retryable)
}

/// Returns why a request failed, according to the end of the error's text.
fn failure_of(error: LogError) -> String {
    let text = error.to_string();
    let (_, reason) = text.split_once(" failed: ").unwrap();
    reason.split_once(';').unwrap().0.to_owned()
}

const TIMEOUT: &str = "no response arrived in time";
const UNREACHABLE: &str = "DynamoDB cannot be reached";
const SERVER: &str = "DynamoDB had an internal error";
const THROTTLED: &str = "DynamoDB throttled the request";
const NO_TABLE: &str = "there is no such table";

fn writes(dynamo: &Dynamo) -> usize {
    dynamo.journal().writes_of(KEY.0, KEY.1)
}

#[tokio::test(start_paused = true)]
async fn fault_has_its_error_and_applies_its_write_or_not() {
    for (fault, expected, is_retryable, there, next) in [
        (Fault::TimeoutBefore, TIMEOUT, true, 0, Put::Written),
        (Fault::TimeoutAfter, TIMEOUT, true, 1, Put::Kept),
        (Fault::Error500Before, SERVER, true, 0, Put::Written),
        (Fault::Error500After, SERVER, true, 1, Put::Kept),
        (Fault::Html502, SERVER, true, 0, Put::Written),
        (Fault::ResetBefore, UNREACHABLE, true, 0, Put::Written),
        (Fault::ResetAfter, UNREACHABLE, true, 1, Put::Kept),
        (Fault::TruncatedBodyAfter, UNREACHABLE, true, 1, Put::Kept),
        (Fault::Throttle, THROTTLED, true, 0, Put::Written),
        (Fault::TableMissing, NO_TABLE, false, 0, Put::Written),
        (Fault::AccessDenied, "access denied (AccessDeniedException)", false, 0, Put::Written),
        (Fault::ExpiredToken, "access denied (ExpiredTokenException)", false, 0, Put::Written),
    ] {
        for latency_ms in [0..=0, 20..=40] {
            let (dynamo, log) = log(FaultPlan::none().with_latency_ms(latency_ms)).await;
            dynamo.next(fault);
            assert_eq!(failure(&log, 1).await, (expected.to_owned(), is_retryable), "{fault:?}");
            assert_eq!((writes(&dynamo), dynamo.journal().count(fault)), (there, 1), "{fault:?}");
            assert_eq!(fault.is_applied(), there == 1);
            assert_eq!(log.put_record(&first(&call("CA1")), &message(0, 1)).await.unwrap(), next, "{fault:?}");
            assert_eq!(writes(&dynamo), 1, "{fault:?}");
            assert_eq!((dynamo.journal().in_flight, dynamo.journal().max_in_flight), (0, 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn timed_out_request_arrives_late() {
    let (dynamo, log) = log(FaultPlan::none()).await;
    dynamo.next(Fault::Ghost);
    assert_eq!(failure(&log, 1).await, (TIMEOUT.to_owned(), true));
    assert_eq!(writes(&dynamo), 0);
    dynamo.settle().await;
    assert_eq!(writes(&dynamo), 1);

    // After a newer write its condition is false.
    dynamo.next(Fault::Ghost);
    assert_eq!(failure(&log, 2).await, (TIMEOUT.to_owned(), true));
    log.put_record(&first(&call("CA1")), &message(0, 3)).await.unwrap();
    dynamo.settle().await;
    let journal = dynamo.journal();
    assert_eq!(journal.writes.values().flatten().copied().collect::<Vec<_>>(), [Some(1), Some(3)]);
    assert_eq!(journal.refusals.get("ConditionalCheckFailedException"), Some(&1));
}

#[tokio::test(start_paused = true)]
async fn sent_request_arrives_after_its_writer_is_gone() {
    let (dynamo, log) = log(FaultPlan::none().with_latency_ms(1_000..=1_000)).await;
    let writer = tokio::spawn(async move { log.put_record(&first(&call("CA1")), &message(0, 1)).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!((writes(&dynamo), dynamo.journal().in_flight), (0, 1));
    writer.abort();
    assert!(writer.await.unwrap_err().is_cancelled());
    assert_eq!(dynamo.journal().in_flight, 0);
    dynamo.settle().await;
    assert_eq!(writes(&dynamo), 1);
}

#[tokio::test(start_paused = true)]
async fn window_applies_to_its_time_and_scope() {
    let seconds = Duration::from_secs;
    let window = Window::new(Fault::Throttle, seconds(10)..seconds(70));
    for (scope, is_in) in [
        (Scope::All, true),
        (Scope::Operation("PutItem"), true),
        (Scope::Operation("Query"), false),
        (Scope::Partition("CALL#CA1".to_owned()), true),
        (Scope::Partition("CALL#CA2".to_owned()), false),
        (Scope::OnePartitionIn(1), true),
    ] {
        let (dynamo, log) = log(FaultPlan::none().with_window(window.clone().for_only(scope.clone()))).await;
        let mut outcomes = Vec::new();
        for (revision, at) in [(1, 9), (2, 10), (3, 69), (4, 70)] {
            tokio::time::sleep(seconds(at) - dynamo.clock().elapsed()).await;
            outcomes.push(log.put_record(&first(&call("CA1")), &message(0, revision)).await.is_ok());
        }
        assert_eq!(outcomes, [true, !is_in, !is_in, true], "{scope:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn hot_partition_is_throttled_above_its_units_per_second() {
    let (dynamo, log) = log(FaultPlan::none().with_partition_limit(3)).await;
    for seq in 0..3 {
        log.put_record(&first(&call("CA1")), &message(seq, 1)).await.unwrap();
    }
    let error = log.put_record(&first(&call("CA1")), &message(3, 1)).await.unwrap_err();
    assert_eq!(failure_of(error), THROTTLED);
    log.put_record(&first(&call("CA2")), &message(3, 1)).await.unwrap();
    log.read_call(&call("CA1")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    log.put_record(&first(&call("CA1")), &message(3, 1)).await.unwrap();

    dynamo.throttle_table("verbale", true);
    assert_eq!(failure(&log, 2).await, (THROTTLED.to_owned(), true));
    dynamo.throttle_table("verbale", false);
    log.put_record(&first(&call("CA1")), &message(0, 2)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn unprocessed_items_of_a_batch_are_sent_again() {
    let (dynamo, log) = log(FaultPlan::none()).await;
    for seq in 0..30 {
        log.put_record(&first(&call("CA1")), &message(seq, 1)).await.unwrap();
    }
    for _ in 0..2 + 31 {
        dynamo.pass();
    }
    dynamo.next(Fault::UnprocessedItems);
    let before = log.cost();
    log.erase_call(&call("CA1")).await.unwrap();
    assert_eq!(
        (log.cost() - before).requests,
        37,
        "the mark of the call, two queries, 31 free places, two batches, and one for what was left over"
    );
    assert!(dynamo.items("verbale").values().all(|item| item["entity"].as_s() == Some("erased")));
    dynamo.set_plan(FaultPlan::none().with_rate(Fault::UnprocessedItems, 1.0));
    log.put_record(&first(&call("CA2")), &message(0, 1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn clock_step_is_corrected_after_a_refused_signature() {
    let step = Duration::from_secs(10);
    let (dynamo, log) = log(FaultPlan::none().with_clock_step(step, -3_600_000)).await;
    let clock = dynamo.clock();
    log.put_record(&first(&call("CA1")), &message(0, 1)).await.unwrap();
    tokio::time::sleep(step).await;
    assert_eq!(clock.now_ms(), START_MS + 10_000 - 3_600_000);
    assert_eq!(failure(&log, 2).await, ("access denied (InvalidSignatureException)".to_owned(), false));
    // The SDK takes the server's time from the response.
    log.put_record(&first(&call("CA1")), &message(0, 2)).await.unwrap();
}
