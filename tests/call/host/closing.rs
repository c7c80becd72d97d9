//! Closing single calls.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use verbale::call::CallBuilder;
use verbale::log::{CallLog, LogErrorKind, MemoryLog};
use verbale::testing::{LogFault, ScriptedModel, ScriptedReply};

use super::support::{TIMEOUT, ask, end, faulty, header, host, id, open, slow};

#[tokio::test(start_paused = true)]
async fn closed_call_leaves_the_host() {
    let log = Arc::new(MemoryLog::default());
    let host = host(log.clone());
    let call = open(&host, "CA1").await.unwrap();
    ask(&call.session, "How are you?").await;
    let closed = host.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap().unwrap();
    assert!(closed.unstored.is_empty() && closed.unfinished_tools.is_empty());
    assert!(host.get(&id("CA1")).is_none() && host.calls().is_empty());
    assert!(host.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn call_that_its_owner_closes_leaves_the_host() {
    let log = Arc::new(MemoryLog::default());
    let host = host(log.clone());
    let call = open(&host, "CA1").await.unwrap();
    let first = Arc::downgrade(&call.session);
    call.session.close("transfer", TIMEOUT).await.unwrap();
    assert!(host.get(&id("CA1")).is_none() && host.calls().is_empty());
    drop(call);
    assert!(first.upgrade().is_none(), "the host keeps a closed call in memory");
    let again = open(&host, "CA1").await.unwrap();
    assert_eq!(again.ended.unwrap().reason.as_ref(), "transfer");
    assert!(host.get(&id("CA1")).is_some());
}

#[tokio::test(start_paused = true)]
async fn call_stays_live_while_nobody_holds_its_session() {
    let log = Arc::new(MemoryLog::default());
    let host = host(log.clone());
    let first = Arc::downgrade(&open(&host, "CA1").await.unwrap().session);
    let again = open(&host, "CA1").await.unwrap();
    assert!(Arc::ptr_eq(&again.session, &first.upgrade().unwrap()));
}

#[tokio::test(start_paused = true)]
async fn reason_that_a_header_cannot_hold_leaves_the_call_open() {
    let log = Arc::new(MemoryLog::default());
    let host = host(log.clone());
    let call = open(&host, "CA1").await.unwrap();
    let refused = host.close(&id("CA1"), "", TIMEOUT).await.unwrap_err();
    assert_eq!(refused.log_error().unwrap().kind(), LogErrorKind::Invalid);
    assert!(Arc::ptr_eq(&host.get(&id("CA1")).unwrap(), &call.session));
    ask(&call.session, "How are you?").await;
    host.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap().unwrap();
    assert!(host.get(&id("CA1")).is_none());
}

#[tokio::test(start_paused = true)]
async fn open_waits_for_a_close_that_is_under_way() {
    let memory = Arc::new(MemoryLog::default());
    let log = faulty(&memory, |method, _| (method == "change_call").then_some(LogFault::Delay(Duration::from_secs(1))));
    let host = host(log.clone());
    open(&host, "CA1").await.unwrap();
    let closing = {
        let host = host.clone();
        tokio::spawn(async move { host.close(&id("CA1"), "hangup", TIMEOUT).await.unwrap().unwrap() })
    };
    tokio::task::yield_now().await;
    let call = open(&host, "CA1").await.unwrap();
    assert_eq!(call.ended.unwrap().reason.as_ref(), "hangup");
    assert!(closing.await.unwrap().unstored.is_empty());
    assert_eq!(end(&memory, "CA1").await, None);
}

#[tokio::test(start_paused = true)]
async fn result_of_a_tool_that_runs_on_reaches_the_call_that_is_opened_again() {
    let log = Arc::new(MemoryLog::default());
    let host = host(log.clone());
    let model = ScriptedModel::default();
    model.reply(ScriptedReply::text("One moment.").tool_call("t1", "transfer", serde_json::json!({})));
    let build = || CallBuilder::new(model.clone()).tool(slow(Duration::from_secs(10)));
    let call = host.open_or_resume(header("CA1"), TIMEOUT, build).await.unwrap();
    call.session.caller_said("Transfer it").unwrap();
    let reply = call.session.reply().unwrap();
    sleep(Duration::from_secs(1)).await;
    let closed = host.close(&id("CA1"), "hangup", Duration::from_secs(2)).await.unwrap().unwrap();
    assert_eq!(closed.unfinished_tools.len(), 1);
    drop((reply, call));

    let again = host.open_or_resume(header("CA1"), TIMEOUT, build).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    again.session.close("hangup", TIMEOUT).await.unwrap();
    let records = log.read_call(&id("CA1")).await.unwrap().records;
    assert!(serde_json::to_string(&records).unwrap().contains("\"content\":[\"done\"]"), "{records:?}");
}
