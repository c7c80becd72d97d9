//! The sentences that the caller hears while a tool or the model takes long.

use std::time::Duration;

use verbale::Value;
use verbale::call::{CallSettings, ReplyEnd};
use verbale::conversation::{CallEvent, Observer};
use verbale::message::ResultContent;
use verbale::model::{StopReason, Tool, ToolContext, ToolError, ToolSpec};

use std::sync::{Arc, Mutex};

use crate::support::{Scripted, Step, builder, calls, pass, read, shown, window, words};

#[derive(Clone, Default)]
struct Silences(Arc<Mutex<Vec<(u32, bool)>>>);

impl Observer for Silences {
    fn observe(&self, _: &verbale::log::CallId, event: &CallEvent) {
        if let CallEvent::Silence { after_ms, is_filled, .. } = event {
            self.0.lock().unwrap().push((*after_ms, *is_filled));
        }
    }
}

fn tool(takes_s: u64) -> Tool {
    let schema = Value::map([("type", Value::from("object"))]).unwrap();
    Tool::raw(ToolSpec::new("book", "Books.", schema).unwrap(), move |_: Value, _: ToolContext| async move {
        tokio::time::sleep(Duration::from_secs(takes_s)).await;
        Ok::<_, ToolError>(vec![ResultContent::from("done")])
    })
}

#[tokio::test(start_paused = true)]
async fn slow_tool_is_covered_by_fillers_and_never_by_an_apology() {
    let (model, silences) = (Scripted::new([calls("", "c1", "book"), words("It is done.")]), Silences::default());
    let settings = CallSettings::default().with_fillers(["One moment, please.", "Still working on it."]);
    let call = builder(&model).tool(tool(14)).settings(settings).observer(silences.clone()).open().unwrap();
    call.caller_said("Book it").unwrap();
    let (text, end) = read(call.reply().unwrap()).await;
    assert_eq!(text, "\nOne moment, please.\n\nStill working on it.\nIt is done.");
    assert_eq!(end, ReplyEnd::Complete(StopReason::EndTurn));
    // The first sentence takes 1.2 s to say, and then 8 s pass in silence.
    assert_eq!(*silences.0.lock().unwrap(), [(3_000, true), (8_000, true)]);
    assert_eq!(
        shown(&call),
        [
            "user \"Book it\"",
            "assistant call(c1)",
            "assistant \"One moment, please.\" \"Still working on it.\" hardcoded",
            "user result(c1: done)",
            "assistant \"It is done.\""
        ]
    );
    let fillers = call.conversation().read(|manager| {
        let last = manager.meta_messages().last().unwrap().metadata().turn().cloned().unwrap();
        serde_json::to_value(last).unwrap()["fillers"].clone()
    });
    assert_eq!(fillers, 2);
}

#[tokio::test(start_paused = true)]
async fn fillers_stand_before_the_tool_call_in_the_window() {
    let model = Scripted::new([calls("I book it. ", "c1", "book"), words("It is done.")]);
    let settings = CallSettings::default().with_fillers(["One moment, please."]).without_playback_reports();
    let call = builder(&model).tool(tool(10)).settings(settings).open().unwrap();
    call.caller_said("Book it").unwrap();
    read(call.reply().unwrap()).await;
    assert_eq!(window(&call)[1], "assistant \"I book it. \" \"One moment, please.\" call(c1)");
    let asked: Vec<String> = model.requests()[1].messages.iter().map(crate::support::line).collect();
    assert_eq!(asked[1], window(&call)[1]);
}

#[tokio::test(start_paused = true)]
async fn silence_is_reported_without_fillers() {
    let slow = vec![Step::Wait(7_000), Step::Say("Hello."), Step::Stop(StopReason::EndTurn)];
    let (model, silences) = (Scripted::new([slow]), Silences::default());
    let call = builder(&model).observer(silences.clone()).open().unwrap();
    call.caller_said("Hello?").unwrap();
    assert_eq!(read(call.reply().unwrap()).await.0, "Hello.");
    assert_eq!(*silences.0.lock().unwrap(), [(3_000, false)]);
}

#[tokio::test(start_paused = true)]
async fn filler_waits_until_the_words_before_the_tool_are_said() {
    // 75 bytes take 5 s to say.
    let long = "I am going to book this flight for you now, and this sentence takes longer. ";
    let (model, silences) = (Scripted::new([calls(long, "c1", "book"), words("Done.")]), Silences::default());
    let settings = CallSettings::default().with_fillers(["One moment, please."]);
    let call = builder(&model).tool(tool(9)).settings(settings).observer(silences.clone()).open().unwrap();
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(7_500).await;
    assert!(silences.0.lock().unwrap().is_empty());
    read(reply).await;
    assert_eq!(*silences.0.lock().unwrap(), [(3_000, true)]);
}

#[tokio::test(start_paused = true)]
async fn no_filler_follows_a_barge_in() {
    let (model, silences) = (Scripted::new([calls("", "c1", "book")]), Silences::default());
    let settings = CallSettings::default().with_fillers(["One moment, please."]);
    let call = builder(&model).tool(tool(14)).settings(settings).observer(silences.clone()).open().unwrap();
    call.caller_said("Book it").unwrap();
    let reply = call.reply().unwrap();
    pass(1_000).await;
    call.caller_started_speaking(call.now_ms());
    pass(20_000).await;
    assert_eq!(read(reply).await.1, ReplyEnd::Interrupted);
    assert!(silences.0.lock().unwrap().is_empty());
}
