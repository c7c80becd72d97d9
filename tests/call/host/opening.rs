//! Opening and resuming calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use verbale::Role;
use verbale::conversation::{ConversationError, ConversationErrorKind};
use verbale::log::{CallEnd, CallLog, LogError, LogErrorKind, MemoryLog};
use verbale::testing::LogFault;

use super::support::{TIMEOUT, ask, builder, end, faulty, header, host, id, open, texts};

const QUESTION: [&str; 3] = ["You answer the phone.", "How are you?", "Yes, I am here."];

#[tokio::test(start_paused = true)]
async fn unknown_call_is_opened_and_a_live_one_is_returned() {
    let log = Arc::new(MemoryLog::default());
    let host = host(log.clone());
    assert!(host.get(&id("CA1")).is_none());
    let first = open(&host, "CA1").await.unwrap();
    assert_eq!((first.is_resumed, &first.ended), (false, &None));
    ask(&first.session, "How are you?").await;
    let again = host.open_or_resume(header("CA1"), TIMEOUT, || panic!("the call is live")).await.unwrap();
    assert_eq!((again.is_resumed, &again.ended), (true, &None));
    assert!(Arc::ptr_eq(&first.session, &again.session));
    assert!(Arc::ptr_eq(&first.session, &host.get(&id("CA1")).unwrap()));
    let again = host.open(header("CA1"), || panic!("the call is live")).unwrap();
    assert!(Arc::ptr_eq(&first.session, &again.session));
    open(&host, "CA2").await.unwrap();
    let mut ids: Vec<String> = host.calls().iter().map(|call| call.conversation().id().to_string()).collect();
    ids.sort();
    assert_eq!(ids, ["CA1", "CA2"]);
    let found = log.read_header(&id("CA1")).await.unwrap();
    assert_eq!(found, Some(header("CA1")));
    assert_eq!(format!("{host:?}"), "CallHost { calls: 2, .. }");
}

#[tokio::test(start_paused = true)]
async fn call_of_another_process_is_continued_and_can_be_taken_back() {
    let log = Arc::new(MemoryLog::default());
    let (first, second) = (host(log.clone()), host(log.clone()));
    let old = open(&first, "CA1").await.unwrap();
    ask(&old.session, "How are you?").await;
    tokio::time::sleep(Duration::from_secs(3)).await;

    let new = open(&second, "CA1").await.unwrap();
    assert_eq!((new.is_resumed, &new.ended), (true, &None));
    assert_eq!(texts(&new.session), QUESTION);
    assert_eq!(log.read_header(&id("CA1")).await.unwrap().unwrap().epoch(), 2);
    ask(&new.session, "Are you there?").await;
    // The resumed call has the clock of the builder.
    let last_ms = new.session.conversation().metadata().last_message_ms;
    assert!(last_ms.is_some_and(|ms| ms <= new.session.now_ms()), "{last_ms:?}");
    tokio::time::sleep(Duration::from_secs(3)).await;

    // The first process has not noticed yet, and learns it with its next change.
    assert!(Arc::ptr_eq(&open(&first, "CA1").await.unwrap().session, &old.session));
    ask(&old.session, "Hello?").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    old.session.say("One more").unwrap();
    assert!(old.session.conversation().not_logged().is_some());
    let back = open(&first, "CA1").await.unwrap();
    assert!(back.is_resumed && !Arc::ptr_eq(&back.session, &old.session));
    assert_eq!(texts(&back.session).get(3).unwrap(), "Are you there?");
    // The end of the old session does not remove the new one.
    drop(old);
    assert!(Arc::ptr_eq(&first.get(&id("CA1")).unwrap(), &back.session));
}

#[tokio::test(start_paused = true)]
async fn ended_call_reports_its_end_and_is_live_again() {
    let log = Arc::new(MemoryLog::default());
    let first = host(log.clone());
    let call = open(&first, "CA1").await.unwrap();
    ask(&call.session, "How are you?").await;
    first.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap().unwrap();
    assert_eq!(end(&log, "CA1").await.as_deref(), Some("hangup"));
    for process in [first, host(log.clone())] {
        let call = open(&process, "CA1").await.unwrap();
        assert!(call.is_resumed);
        let ended: CallEnd = call.ended.unwrap();
        assert_eq!((ended.reason.as_ref(), ended.messages), ("hangup", 3));
        assert_eq!(end(&log, "CA1").await, None);
        assert_eq!(texts(&call.session), QUESTION);
        process.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap().unwrap();
    }
}

/// The log refuses the first words of the caller. The call continues, also in another process.
#[tokio::test(start_paused = true)]
async fn call_is_continued_without_a_message_that_the_log_lacks() {
    let memory = Arc::new(MemoryLog::default());
    let refused =
        |method: &str, number| (method == "put_record" && number == 2).then_some(LogFault::Fail(LogErrorKind::Refused));
    let first = host(faulty(&memory, refused));
    let call = open(&first, "CA1").await.unwrap();
    ask(&call.session, "How are you?").await;
    ask(&call.session, "Are you there?").await;
    let closed = first.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap().unwrap();
    assert_eq!(closed.unstored.len(), 1);

    let second = host(memory.clone());
    let call = open(&second, "CA1").await.unwrap();
    assert_eq!(call.ended.as_ref().map(|ended| ended.messages), Some(5));
    let places: Vec<u32> = call
        .session
        .conversation()
        .read(|manager| manager.left_out().iter().map(|left_out| left_out.position.seq()).collect());
    assert_eq!(places, [1]);
    assert_eq!(texts(&call.session), ["You answer the phone.", QUESTION[2], "Are you there?", QUESTION[2]]);
    ask(&call.session, "Good").await;
    // Unheard replies are not in the window.
    let window = call.session.conversation().read(|manager| manager.messages().map(|it| it.role()).collect::<Vec<_>>());
    assert_eq!(window, [Role::User, Role::Assistant]);
    let closed = second.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap().unwrap();
    assert!(closed.unstored.is_empty(), "{closed:?}");
    assert_eq!(memory.read_call(&id("CA1")).await.unwrap().ended.unwrap().messages, 7);
}

#[tokio::test(start_paused = true)]
async fn tasks_that_open_a_call_at_once_share_its_session() {
    let memory = Arc::new(MemoryLog::default());
    let reads = Arc::new(AtomicU64::new(0));
    let counted = reads.clone();
    let slow = move |method: &str, number| {
        (method == "read_header").then(|| {
            counted.store(number, Ordering::Relaxed);
            LogFault::Delay(Duration::from_secs(1))
        })
    };
    let host = host(faulty(&memory, slow));
    let tasks: Vec<_> = (0..5)
        .map(|_| {
            let host = host.clone();
            tokio::spawn(async move { open(&host, "CA1").await.unwrap() })
        })
        .collect();
    let mut calls = Vec::new();
    for task in tasks {
        calls.push(task.await.unwrap());
    }
    let first = calls.first().unwrap().session.clone();
    assert!(calls.iter().all(|call| Arc::ptr_eq(&call.session, &first)));
    assert_eq!(calls.iter().filter(|call| !call.is_resumed).count(), 1);
    assert_eq!(reads.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn failed_or_cancelled_open_frees_the_call() {
    let memory = Arc::new(MemoryLog::default());
    let log = faulty(&memory, |method, number| match (method, number) {
        ("read_header", 1) => Some(LogFault::Fail(LogErrorKind::Unavailable)),
        ("read_header", 2 | 3) => Some(LogFault::Delay(Duration::MAX)),
        _ => None,
    });
    let host = host(log.clone());
    let unavailable = |error: ConversationError| error.log_error().is_some_and(LogError::is_retryable);
    assert!(open(&host, "CA1").await.is_err_and(unavailable));
    assert!(open(&host, "CA1").await.is_err_and(unavailable));
    assert!(timeout(Duration::from_secs(1), open(&host, "CA1")).await.is_err());
    assert!(!open(&host, "CA1").await.unwrap().is_resumed);
    assert_eq!(host.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn call_opens_without_its_log() {
    let memory = Arc::new(MemoryLog::default());
    let log = faulty(&memory, |_, number| (number < 3).then_some(LogFault::Fail(LogErrorKind::Unavailable)));
    let host = host(log.clone());
    let opened = match open(&host, "CA1").await {
        Err(error) if error.log_error().is_some_and(LogError::is_retryable) => {
            host.open(header("CA1"), builder).unwrap()
        }
        other => panic!("{other:?}"),
    };
    assert!(!opened.is_resumed);
    ask(&opened.session, "How are you?").await;
    let closed = host.close(&id("CA1"), "hangup", Duration::from_secs(60)).await.unwrap().unwrap();
    assert!(closed.unstored.is_empty(), "{closed:?}");
    assert_eq!(memory.read_call(&id("CA1")).await.unwrap().records.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn who_waits_too_long_for_another_task_gets_busy() {
    let memory = Arc::new(MemoryLog::default());
    let log = faulty(&memory, |method, _| (method == "read_header").then_some(LogFault::Delay(Duration::MAX)));
    let host = host(log.clone());
    let opening = {
        let host = host.clone();
        tokio::spawn(async move { host.open_or_resume(header("CA1"), Duration::from_secs(60), builder).await })
    };
    tokio::task::yield_now().await;
    let refused = open(&host, "CA1").await.unwrap_err();
    assert_eq!(refused.kind(), ConversationErrorKind::InUse);
    assert_eq!(refused.to_string(), "call CA1 is busy: another task is opening or closing it; retry");
    assert_eq!(host.open(header("CA1"), builder).unwrap_err().kind(), ConversationErrorKind::InUse);
    let refused = host.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap_err();
    assert_eq!(refused.kind(), ConversationErrorKind::InUse);
    opening.abort();
}
