//! `FaultyLog` fails and delays operations by its script.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use verbale::log::{CallHeader, CallId, CallLog, CallQuery, Day, LogError, LogErrorKind, MemoryLog, WriterLease};
use verbale::testing::{FaultyLog, LogFault};
use verbale::{MessagesManager, PlainMessage};

use super::resumed::resume;

const START_MS: i64 = 1_744_815_823_058;
const DELAY: Duration = Duration::from_millis(250);

fn header(call_id: &str) -> CallHeader {
    CallHeader::new(CallId::new(call_id).unwrap(), START_MS).unwrap()
}

fn kind<T>(result: Result<T, LogError>) -> Option<LogErrorKind> {
    result.err().map(|error| error.kind())
}

/// How often each method was called.
type Counts = Arc<Mutex<BTreeMap<String, u64>>>;

/// A script that counts the operations, which the log numbers from 1.
fn counted<S: Fn(&str, Option<&CallId>, u64) -> Option<LogFault>>(
    counts: &Counts,
    script: S,
) -> impl Fn(&str, Option<&CallId>, u64) -> Option<LogFault> + use<S> {
    let counts = counts.clone();
    move |method, call_id, number| {
        counts.lock().unwrap().insert(method.to_owned(), number);
        script(method, call_id, number)
    }
}

#[tokio::test(start_paused = true)]
async fn script_decides_on_each_operation() {
    let memory = Arc::new(MemoryLog::default());
    let counts = Counts::default();
    let log = FaultyLog::new(
        Arc::clone(&memory),
        counted(&counts, |method, call_id, number| match (method, number) {
            ("open_call", 1) => Some(LogFault::Fail(LogErrorKind::Unavailable)),
            ("put_record", 1) => Some(LogFault::Fail(LogErrorKind::NeedsOperator)),
            ("put_record", 2) => Some(LogFault::Delay(DELAY)),
            ("read_call", _) if call_id.is_some_and(|call_id| call_id.as_str() == "CA2") => {
                Some(LogFault::Delay(Duration::MAX))
            }
            ("erase_call", _) => Some(LogFault::Fail(LogErrorKind::Refused)),
            _ => None,
        }),
    );
    let header = header("CA1");
    let call_id = header.call_id();
    assert_eq!(kind(log.open_call(&header).await), Some(LogErrorKind::Unavailable));
    assert_eq!(memory.read_header(call_id).await.unwrap(), None);
    log.open_call(&header).await.unwrap();

    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("Hi, there").unwrap();
    let records = manager.records();
    let lease = WriterLease::from(&header);
    assert_eq!(kind(log.put_record(&lease, &records[0]).await), Some(LogErrorKind::NeedsOperator));
    let start = Instant::now();
    log.put_record(&lease, &records[0]).await.unwrap();
    assert_eq!(start.elapsed(), DELAY);

    assert_eq!(log.read_call(call_id).await.unwrap().records.len(), 1);
    assert!(timeout(DELAY, log.read_call(&CallId::new("CA2").unwrap())).await.is_err());
    let error = log.erase_call(call_id).await.unwrap_err();
    assert_eq!(error.kind(), LogErrorKind::Refused);
    assert!(error.to_string().starts_with("erase_call of call CA1 failed"), "{error}");
    assert_eq!(memory.read_call(call_id).await.unwrap().records.len(), 1);

    let expected = [("erase_call", 1), ("open_call", 2), ("put_record", 2), ("read_call", 2)];
    assert_eq!(*counts.lock().unwrap(), expected.map(|(method, count)| (method.to_owned(), count)).into());
}

#[tokio::test]
async fn log_without_faults_passes_everything_on() {
    let counts = Counts::default();
    let log = Arc::new(FaultyLog::new(MemoryLog::default(), counted(&counts, |_, _, _| None)));
    let header = header("CA1");
    log.open_call(&header).await.unwrap();
    let page = log.list_calls(&CallQuery::of_day(Day::of_ms(START_MS))).await.unwrap();
    assert_eq!(page.calls, std::slice::from_ref(&header));
    assert_eq!(resume(&log, header.call_id()).await.unwrap().1.lease().epoch(), 2);
    assert_eq!(log.read_header(header.call_id()).await.unwrap().map(|header| header.epoch()), Some(2));
    log.erase_call(header.call_id()).await.unwrap();
    assert_eq!(log.read_header(header.call_id()).await.unwrap_err().kind(), LogErrorKind::Erased);
    // A takeover reads the call, commits, fences and serves.
    let once = ["erase_call", "fence_call", "list_calls", "open_call", "read_call"].map(|method| (method, 1));
    let expected = once.into_iter().chain([("change_call", 2), ("read_header", 2)]);
    assert_eq!(*counts.lock().unwrap(), expected.map(|(method, count)| (method.to_owned(), count)).collect());
}
