//! Use of a session from observers, tools and many threads, and after the end of its runtime.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;
use verbale::Value;
use verbale::call::{CallSession, ReplyEnd, ReplyEvent};
use verbale::conversation::{CallEvent, Observer};
use verbale::model::{StopReason, Tool, ToolContext, ToolError, ToolSpec};

use crate::support::{Scripted, Step, builder, call, calls, pass, read, shown, words};

fn spec(name: &str) -> ToolSpec {
    ToolSpec::new(name, "What it does.", Value::map([("type", Value::from("object"))]).unwrap()).unwrap()
}

async fn quick(_: Value, _: ToolContext) -> Result<Vec<verbale::message::ResultContent>, ToolError> {
    Ok(vec!["done".into()])
}

#[tokio::test(start_paused = true)]
async fn observers_and_tools_may_use_the_session() {
    struct Asks(std::sync::OnceLock<std::sync::Weak<CallSession>>, AtomicUsize);
    impl Observer for Asks {
        fn observe(&self, _: &verbale::log::CallId, event: &CallEvent) {
            if let Some(call) = self.0.get().and_then(std::sync::Weak::upgrade) {
                call.conversation().metrics();
                call.is_answerable();
                // While the turn runs a tool.
                if matches!(event, CallEvent::ToolCalled { .. }) {
                    self.1.fetch_add(1, Ordering::SeqCst);
                    call.caller_started_speaking(call.now_ms());
                }
            }
        }
    }
    let asks = Arc::new(Asks(Default::default(), AtomicUsize::new(0)));
    let model = Scripted::new([calls("One moment. ", "c1", "tool"), words("It is done.")]);
    let seen = asks.clone();
    let tool = move |_: Value, _: ToolContext| {
        let call = seen.0.get().and_then(std::sync::Weak::upgrade);
        async move {
            let open = call.map(|call| call.conversation().open_tool_calls().len());
            Ok(vec![format!("{open:?} open").into()])
        }
    };
    let call = Arc::new(builder(&model).tool(Tool::raw(spec("tool"), tool)).observer(asks.clone()).open().unwrap());
    asks.0.set(Arc::downgrade(&call)).unwrap();
    call.caller_said("Transfer it").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.1, ReplyEnd::Interrupted);
    pass(1_000).await;
    assert_eq!(asks.1.load(Ordering::SeqCst), 1);
    assert_eq!(shown(&call).last().unwrap(), "user result(c1: done)");
    assert_eq!(read(call.reply().unwrap()).await.0, "It is done.");
}

/// An observer that takes its time for the outcome of a tool, and for nothing else.
#[derive(Default)]
struct Slow(Mutex<Vec<String>>);

impl Observer for Slow {
    fn observe(&self, _: &verbale::log::CallId, event: &CallEvent) {
        if let CallEvent::ToolFinished { id, .. } = event {
            std::thread::sleep(Duration::from_millis(100));
            self.0.lock().unwrap().push(id.to_string());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn observer_learns_of_outcomes_before_the_words_that_follow() {
    let tools = [Step::Call("c1", "quick"), Step::Call("c2", "quick"), Step::Stop(StopReason::ToolUse)];
    let model = Scripted::new([tools.to_vec(), vec![Step::Say("Both are done."), Step::Stop(StopReason::EndTurn)]]);
    let slow = Arc::new(Slow::default());
    let call = builder(&model).tool(Tool::raw(spec("quick"), quick)).observer(slow.clone()).open().unwrap();
    call.caller_said("Do it twice.").unwrap();
    let mut reply = call.reply().unwrap();
    assert_eq!(timeout(WATCHDOG, reply.next_sentence()).await.unwrap().unwrap(), "Both are done.");
    let mut known = slow.0.lock().unwrap().clone();
    known.sort();
    assert_eq!(known, ["c1", "c2"]);
}

#[test]
fn reply_ends_with_its_runtime() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let first = runtime();
    let (call, mut reply) = first.block_on(async {
        let call = call(&Scripted::new([vec![Step::Say("One "), Step::Hang]]));
        call.caller_said("Hello").unwrap();
        let mut reply = call.reply().unwrap();
        reply.next().await;
        (call, reply)
    });
    drop(first);
    runtime().block_on(async {
        let end = timeout(Duration::from_secs(60), reply.next()).await;
        assert_eq!(end, Ok(Some(ReplyEvent::Ended(ReplyEnd::Interrupted))));
        call.caller_said("Hello?").unwrap();
        let end = timeout(Duration::from_secs(60), call.reply().unwrap().next()).await;
        assert_eq!(end, Ok(Some(ReplyEvent::Ended(ReplyEnd::Interrupted))));
    });
}

/// A deadlock fails the test after this time. The clock is real here, so the time is generous.
const WATCHDOG: Duration = Duration::from_secs(600);

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn call_may_be_used_from_many_threads() {
    for _ in 0..50 {
        let steps = || vec![Step::Say("One "), Step::Call("c1", "quick"), Step::Stop(StopReason::ToolUse)];
        let model = Scripted::new((0..20).map(|_| steps()));
        let call = Arc::new(builder(&model).tool(Tool::raw(spec("quick"), quick)).open().unwrap());
        let tasks: Vec<_> = (0..4)
            .map(|number| {
                let call = call.clone();
                tokio::spawn(async move {
                    for event in 0..10 {
                        match (number + event) % 4 {
                            0 => drop(call.caller_said(format!("{number} {event}"))),
                            1 => drop(call.caller_started_speaking(call.now_ms())),
                            2 => drop(call.say("Well.")),
                            _ => {
                                if let Ok(reply) = call.reply() {
                                    read(reply).await;
                                }
                            }
                        }
                    }
                })
            })
            .collect();
        for task in tasks {
            timeout(WATCHDOG, task).await.expect("no deadlock").unwrap();
        }
        call.close("hangup", WATCHDOG).await.unwrap();
        let lines = shown(&call).join("\n");
        assert_eq!(lines.matches("call(").count(), lines.matches("result(").count(), "{lines}");
    }
}
