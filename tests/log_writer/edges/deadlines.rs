//! Every wait ends at its deadline, even if nothing runs the writer's task.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use verbale::log::{CallEnd, Durability, LogError, LogWriter, Unstored};
use verbale::{LastMessage, PlainMessage};

use super::scripted::{Mode, Scripted};
use super::{LONG, SOON, START_MS, ca1, header, said, settings, started};

/// Panics if `wait` takes longer than `limit`.
async fn by_deadline<T>(limit: Duration, wait: impl Future<Output = T>) -> T {
    let start = Instant::now();
    let done = timeout(LONG, wait).await.unwrap();
    assert!(start.elapsed() <= limit, "{:?} of {limit:?}", start.elapsed());
    done
}

fn is_unanswered(unstored: &[Unstored]) -> bool {
    let [unstored] = unstored else { return false };
    unstored.to_string().starts_with("an unknown part")
        && unstored.level == Durability::Accepted
        && !unstored.is_dead_letter
        && unstored.error.is_some()
}

fn is_retryable<T>(result: &Result<T, LogError>, text: &str) -> bool {
    result.as_ref().is_err_and(|error| error.is_retryable() && error.to_string().contains(text))
}

async fn every_wait_ends(writer: &LogWriter) {
    let call = writer.open(header()).unwrap();
    let mut manager = said(&["Hi", "Hello!"]);
    call.submit(&mut manager, LastMessage::Include).unwrap();

    assert!(is_unanswered(&by_deadline(SOON, call.flush(SOON)).await));
    assert!(is_unanswered(&by_deadline(SOON, writer.flush(SOON)).await));
    assert!(is_unanswered(&by_deadline(Duration::ZERO, writer.flush(Duration::ZERO)).await));
    let resumed = by_deadline(SOON, writer.resume::<PlainMessage>(&ca1(), SOON)).await;
    assert!(is_retryable(&resumed, "has 1 changes that are not stored yet: an unknown part of call CA1 is not stored"));
    let erased = by_deadline(LONG, writer.erase(&ca1())).await;
    assert!(erased.is_err_and(|error| error.is_retryable()));

    manager.add_user("And another thing").unwrap();
    let call_end = CallEnd::of(&manager, START_MS, "hangup").unwrap();
    let finished = by_deadline(SOON, call.finish(&mut manager, call_end, SOON)).await;
    assert!(is_retryable(&finished, "2 records of call CA1 found no room"));
    assert!(is_unanswered(&by_deadline(SOON, writer.stop(SOON)).await));
}

#[tokio::test(start_paused = true)]
async fn every_wait_ends_at_its_deadline_if_the_task_never_runs() {
    let (writer, _task) = LogWriter::new(Arc::new(Scripted::default()), settings().with_limits(100, 100));
    every_wait_ends(&writer).await;
}

#[tokio::test(start_paused = true)]
async fn every_wait_ends_at_its_deadline_if_the_runtime_of_the_task_is_idle() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (writer, task) = LogWriter::new(Arc::new(Scripted::default()), settings().with_limits(100, 100));
    runtime.spawn(task);
    every_wait_ends(&writer).await;
    runtime.shutdown_background();
    let left = by_deadline(Duration::ZERO, writer.flush(SOON)).await;
    assert!(
        !left.is_empty() && left.iter().all(|unstored| !unstored.to_string().starts_with("an unknown part")),
        "{left:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn flush_reports_every_part_at_the_deadline_of_a_running_task() {
    let log = Arc::new(Scripted::default());
    log.set(&ca1(), Mode::Wait);
    let (writer, _task) = started(&log, settings());
    let call = writer.open(header()).unwrap();
    call.submit(&mut said(&["Hi", "Hello!"]), LastMessage::Include).unwrap();
    let unstored = by_deadline(SOON, writer.flush(SOON)).await;
    assert_eq!(unstored.len(), 3, "{unstored:?}");
    assert!(unstored.iter().all(|unstored| !unstored.to_string().starts_with("an unknown part")), "{unstored:?}");
}

#[tokio::test(start_paused = true)]
async fn resume_ends_at_its_deadline_if_the_log_hangs() {
    let log = Arc::new(Scripted::default());
    let (writer, _task) = started(&log, settings());
    log.set(&ca1(), Mode::Wait);
    let resumed = by_deadline(SOON, writer.resume::<PlainMessage>(&ca1(), SOON)).await;
    assert!(is_retryable(&resumed, "resuming call CA1 failed"));
}

/// Polls a future once.
async fn is_pending(mut future: Pin<&mut impl Future>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

#[tokio::test(start_paused = true)]
async fn resume_ends_at_its_deadline_if_the_task_stops_after_the_flush() {
    let (writer, task) = LogWriter::new(Arc::new(Scripted::default()), settings());
    let id = ca1();
    let mut task = pin!(task);
    let mut resume = pin!(writer.resume::<PlainMessage>(&id, SOON));
    assert!(is_pending(resume.as_mut()).await);
    // The task answers the flush, and nothing polls it afterwards.
    for _ in 0..10 {
        assert!(is_pending(task.as_mut()).await);
    }
    let resumed = by_deadline(SOON, resume).await;
    assert!(is_retryable(&resumed, "resuming call CA1 failed"), "{resumed:?}");
}
