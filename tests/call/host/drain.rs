//! Draining a host before its process stops.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use verbale::call::{CallBuilder, CallHost, ReplyEvent};
use verbale::conversation::ConversationErrorKind;
use verbale::log::{CallLog, LogError, LogErrorKind, MemoryLog};
use verbale::testing::{LogFault, ScriptedModel, ScriptedReply};

use super::support::{TIMEOUT, ask, builder, end, faulty, header, host, id, open, slow};

/// Opens a call whose tool runs for some time.
async fn call_with_tool(host: &CallHost, call_id: &str, takes: Duration) {
    let model = ScriptedModel::default();
    model.reply(ScriptedReply::text("One moment.").tool_call("t1", "transfer", serde_json::json!({})));
    let build = || CallBuilder::new(model).tool(slow(takes));
    let call = host.open_or_resume(header(call_id), TIMEOUT, build).await.unwrap();
    call.session.caller_said("Transfer it").unwrap();
    let mut reply = call.session.reply().unwrap();
    tokio::spawn(async move { while let Some(ReplyEvent::Text(_)) = reply.next().await {} });
    while call.session.conversation().open_tool_calls().is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn drain_closes_and_stores_all_calls_and_refuses_new_ones() {
    let log = Arc::new(MemoryLog::default());
    let first = host(log.clone());
    for call_id in ["CA1", "CA2", "CA3"] {
        ask(&open(&first, call_id).await.unwrap().session, "How are you?").await;
    }
    call_with_tool(&first, "CA4", Duration::from_secs(2)).await;
    let drained = first.drain(Duration::from_secs(20)).await;
    assert!(drained.is_complete(), "{drained:?}");
    assert_eq!((drained.closed.len(), drained.to_string().as_str()), (4, "4 calls closed, everything is stored"));
    assert!(first.calls().is_empty());
    for call_id in ["CA1", "CA2", "CA3", "CA4"] {
        assert_eq!(end(&log, call_id).await.as_deref(), Some("drain"));
    }
    let refused = open(&first, "CA5").await.unwrap_err();
    assert_eq!(refused.kind(), ConversationErrorKind::Closed);
    assert_eq!(refused.to_string(), "call CA5 did not open: the host is draining; open the call in another process");
    assert_eq!(first.open(header("CA5"), builder).unwrap_err().kind(), ConversationErrorKind::Closed);
    assert_eq!(first.drain(TIMEOUT).await.to_string(), "0 calls closed, everything is stored");

    // Another process continues the calls.
    let call = open(&host(log.clone()), "CA1").await.unwrap();
    assert_eq!(call.ended.unwrap().reason.as_ref(), "drain");
}

#[tokio::test(start_paused = true)]
async fn drain_reports_tools_that_still_run_and_changes_that_are_not_stored() {
    let memory = Arc::new(MemoryLog::default());
    let script = |method: &str, _| (method == "put_record").then_some(LogFault::Fail(LogErrorKind::Unavailable));
    let host = host(faulty(&memory, script));
    call_with_tool(&host, "CA1", Duration::from_secs(60)).await;
    ask(&open(&host, "CA2").await.unwrap().session, "How are you?").await;
    let begun = Instant::now();
    let drained = host.drain(Duration::from_secs(20)).await;
    assert_eq!(begun.elapsed(), Duration::from_secs(20) - Duration::from_millis(20), "the writer answers early");
    assert!(!drained.is_complete());
    assert_eq!((drained.closed.len(), drained.left_open.len()), (2, 0));
    let tools =
        drained.closed.iter().flat_map(|(call, closed)| closed.unfinished_tools.iter().map(move |it| (call, it)));
    let tools: Vec<String> = tools.map(|(call, tool)| format!("{call} {tool}")).collect();
    assert_eq!(tools, ["CA1 t1"]);
    let of = |call_id| drained.unstored.iter().filter(|unstored| unstored.call_id == Some(id(call_id))).count();
    assert!(of("CA1") >= 3 && of("CA2") >= 3, "{:?}", drained.unstored);
    assert!(drained.unstored.iter().all(|unstored| unstored.error.is_some() || unstored.message_id.is_none()));
    let text =
        format!("2 calls closed, 1 tool calls without an outcome, {} changes not stored", drained.unstored.len());
    assert_eq!(drained.to_string(), text);
}

#[tokio::test(start_paused = true)]
async fn call_that_is_being_opened_is_drained_too() {
    let memory = Arc::new(MemoryLog::default());
    let log = faulty(&memory, |method, number| match (method, number) {
        ("read_header", 1) => Some(LogFault::Delay(Duration::from_secs(2))),
        ("read_header", 2) => Some(LogFault::Delay(Duration::MAX)),
        _ => None,
    });
    let host = host(log);
    let opening = |call_id: &'static str| {
        let host = host.clone();
        let timeout = Duration::from_secs(60);
        tokio::spawn(async move { host.open_or_resume(header(call_id), timeout, builder).await })
    };
    let (slow, hanging) = (opening("CA1"), opening("CA2"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    let drained = host.drain(Duration::from_secs(10)).await;
    assert_eq!((drained.closed.len(), drained.left_open.as_slice()), (1, &[id("CA2")][..]));
    assert_eq!(drained.to_string(), "1 call closed, 1 left open");
    assert!(!slow.await.unwrap().unwrap().session.caller_said("Hello?").unwrap().is_applied());
    assert_eq!(end(&memory, "CA1").await.as_deref(), Some("drain"));
    hanging.abort();
}

#[tokio::test(start_paused = true)]
async fn drain_reports_calls_that_another_process_took_over() {
    let log = Arc::new(MemoryLog::default());
    let (first, second) = (host(log.clone()), host(log.clone()));
    ask(&open(&first, "CA1").await.unwrap().session, "How are you?").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let call = open(&second, "CA1").await.unwrap();
    let old = first.get(&id("CA1")).unwrap();
    old.say("One more").unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    let drained = first.drain(TIMEOUT).await;
    let refused: Vec<LogErrorKind> =
        drained.closed.iter().filter_map(|(_, closed)| closed.not_accepted.as_ref()).map(LogError::kind).collect();
    assert_eq!(refused, [LogErrorKind::Fenced]);
    assert_eq!(end(&log, "CA1").await, None, "the call goes on in the second process");
    ask(&call.session, "Are you there?").await;
    assert!(second.drain(TIMEOUT).await.is_complete());
    assert_eq!(log.read_call(&id("CA1")).await.unwrap().records.len(), 5);
}
