//! `FaultyLog` fails, delays and counts operations by its script.

use std::sync::Arc;
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

#[tokio::test(start_paused = true)]
async fn script_decides_on_each_operation() {
    let memory = Arc::new(MemoryLog::new());
    let log = FaultyLog::new(Arc::clone(&memory), |method, call_id, number| match (method, number) {
        ("open_call", 1) => Some(LogFault::Fail(LogErrorKind::Unavailable)),
        ("put_record", 1) => Some(LogFault::Fail(LogErrorKind::NeedsOperator)),
        ("put_record", 2) => Some(LogFault::Delay(DELAY)),
        ("read_call", _) if call_id.is_some_and(|call_id| call_id.as_str() == "CA2") => Some(LogFault::Hang),
        ("erase_call", _) => Some(LogFault::Fail(LogErrorKind::Refused)),
        _ => None,
    });
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

    let methods = ["open_call", "put_record", "read_call", "erase_call", "list_calls"];
    assert_eq!(methods.map(|method| log.count(method)), [2, 2, 2, 1, 0]);
}

#[tokio::test]
async fn log_without_faults_passes_everything_on() {
    let log = Arc::new(FaultyLog::new(MemoryLog::new(), |_, _, _| None));
    let header = header("CA1");
    log.open_call(&header).await.unwrap();
    let page = log.list_calls(&CallQuery::of_day(Day::of_ms(START_MS))).await.unwrap();
    assert_eq!(page.calls, std::slice::from_ref(&header));
    assert_eq!(resume(&log, header.call_id()).await.unwrap().1.lease().epoch(), 2);
    assert_eq!(log.read_header(header.call_id()).await.unwrap().map(|header| header.epoch()), Some(2));
    log.erase_call(header.call_id()).await.unwrap();
    assert_eq!(log.read_header(header.call_id()).await.unwrap_err().kind(), LogErrorKind::Erased);
    // A takeover reads the call, commits, fences and serves.
    let methods = ["open_call", "list_calls", "erase_call", "read_call", "fence_call"];
    assert_eq!(methods.map(|method| log.count(method)), [1; 5]);
    assert_eq!(["change_call", "read_header"].map(|method| log.count(method)), [2; 2]);
}
