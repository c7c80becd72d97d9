//! Runs that end early: by an error of the model, by a cut, by a drop. The text so far stays, and no tool call stays
//! open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use aws_sdk_bedrockruntime::types::StopReason as Stop;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{sleep, timeout};
use verbale::conversation::ConversationErrorKind as Kind;
use verbale::conversation::{Conversation, ConversationError, Prompt};
use verbale::model::{Failure, Generation, Model, ModelEvent, ModelRequest, StopReason, Tool};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{ToolCall, Value};

use super::tools::weather;
use super::{prompt, read, shown};

const LIMIT: Duration = Duration::from_millis(2_500);

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Runs to an error. Returns it with the messages of the conversation.
async fn fail(replies: impl IntoIterator<Item = ScriptedReply>) -> (ConversationError, Vec<String>) {
    let bedrock = FakeBedrock::default();
    replies.into_iter().for_each(|reply| bedrock.reply(reply));
    let conversation = prompt(&bedrock).tool(weather()).request("Hello?").apply().unwrap();
    let (said, error) = read(conversation.run()).await;
    let shown = shown(&conversation);
    assert_eq!(super::lines(&said), shown[1..]);
    assert_usable(&conversation, &bedrock).await;
    (error.unwrap(), shown)
}

/// Asserts that no tool call is open and that Bedrock accepts the next request.
async fn assert_usable(conversation: &Conversation, bedrock: &FakeBedrock) {
    assert!(conversation.read(|manager| manager.open_tool_calls().is_empty()));
    assert_eq!(conversation.continuation().request("And now?").prompt().await.unwrap(), "Yes, I am here.");
    assert_eq!(bedrock.counters().refused, 0);
}

#[tokio::test(start_paused = true)]
async fn text_before_a_model_error_is_kept() {
    let (error, shown) = fail([ScriptedReply::refused("AccessDeniedException")]).await;
    assert_eq!(error.kind(), Kind::Model);
    assert!(matches!(error.model_error().unwrap().kind(), Failure::Denied(_)), "{error:?}");
    assert_eq!(shown, [r#"user "Hello?""#]);

    // Fails after the start of the message and two words.
    let broken = ScriptedReply::text("I see that you");
    let (error, shown) = fail([broken.exception_after(3, "ModelStreamErrorException")]).await;
    let cut = error.model_error().unwrap().to_string();
    assert!(
        !cut.contains("received before: 0 bytes of text") && !format!("{error} {error:?}").contains("see"),
        "{cut}"
    );
    assert_eq!(shown, [r#"user "Hello?""#, r#"assistant "I see" llmInterrupted"#]);

    // The tool call is complete, but the tool does not run.
    let call = ScriptedReply::text("One moment.").tool_call("call_1", "get_weather", json!({"town": "Rome"}));
    let (error, shown) = fail([call.hang_after(9)]).await;
    let timeout = error.model_error().unwrap().kind().to_string();
    assert_eq!(timeout, "the next piece of the answer did not come within 60000 ms; retry");
    assert_eq!(
        shown[1..],
        [
            r#"assistant "One moment." get_weather(call_1) llmInterrupted"#,
            "user call_1: NotRun: The tool was not run: the answer was cut off. (false)"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn cut_answer_is_an_error_and_its_text_is_kept() {
    for (reply, reason, kept) in [
        (ScriptedReply::text("The list is: a, b").stop(Stop::MaxTokens), StopReason::MaxTokens, true),
        (ScriptedReply::text("It is").stop(Stop::ContentFiltered), StopReason::Filtered, true),
        (ScriptedReply::default().stop(Stop::ContentFiltered), StopReason::Filtered, false),
    ] {
        let (error, shown) = fail([reply]).await;
        assert_eq!((error.kind(), error.stop_reason()), (Kind::NoAnswer, Some(&reason)));
        assert_eq!(shown.get(1).is_some_and(|line| line.ends_with("llmInterrupted")), kept, "{shown:?}");
    }
    // The tool calls of a filtered answer do not run.
    let call = ScriptedReply::text("One moment.").tool_call("call_1", "get_weather", json!({"town": "Rome"}));
    let (error, shown) = fail([call.stop(Stop::GuardrailIntervened)]).await;
    assert_eq!((error.kind(), error.stop_reason()), (Kind::NoAnswer, Some(&StopReason::Filtered)));
    assert_eq!(
        shown[1..],
        [
            r#"assistant "One moment." get_weather(call_1) llmInterrupted"#,
            "user call_1: NotRun: The tool was not run: the answer was cut off. (false)"
        ]
    );
    let (error, shown) = fail([ScriptedReply::text(" \n"), ScriptedReply::text(" \n")]).await;
    assert!(error.kind() == Kind::NoAnswer && error.to_string().contains("is blank") && shown.len() == 1, "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn turn_timeout_cancels_the_request() {
    let bedrock = FakeBedrock::default();
    let slow = ScriptedReply::text("one two three four five");
    bedrock.reply(slow.between_events(Duration::from_secs(1)));
    let slow = prompt(&bedrock).request("Count.").config(|config| config.with_turn_timeout(LIMIT)).apply().unwrap();
    let (said, error) = read(slow.run()).await;
    let timeout = Failure::TimedOut { wait: "the whole answer", after: LIMIT };
    assert_eq!(*error.unwrap().model_error().unwrap().kind(), timeout);
    assert!(super::line(&said[0]).starts_with(r#"assistant "one two"#));
    assert_eq!(bedrock.until(|counters| counters.cancelled == 1).await.finished, 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_run_cancels_the_request_and_keeps_the_text() {
    let bedrock = FakeBedrock::default();
    let slow = ScriptedReply::text("one two three four five");
    bedrock.reply(slow.between_events(Duration::from_secs(1)));
    let conversation = prompt(&bedrock).request("Count.").apply().unwrap();
    let mut run = conversation.run();
    assert!(timeout(Duration::from_millis(2_500), run.next()).await.is_err());
    assert_eq!((shown(&conversation).len(), bedrock.counters().cancelled), (1, 0));
    drop(run);
    assert_eq!(bedrock.until(|counters| counters.cancelled == 1).await.finished, 0);
    assert_eq!(shown(&conversation), [r#"user "Count.""#, r#"assistant "one two three" llmInterrupted"#]);
    assert_usable(&conversation, &bedrock).await;
}

#[tokio::test(start_paused = true)]
async fn reading_a_run_is_cancel_safe() {
    let bedrock = FakeBedrock::default();
    let slow = ScriptedReply::text("one two three four five");
    bedrock.reply(slow.between_events(Duration::from_secs(1)));
    let conversation = prompt(&bedrock).request("Count.").apply().unwrap();
    let mut run = conversation.run();
    let mut waits = 0;
    let message = loop {
        match timeout(Duration::from_millis(300), run.next()).await {
            Ok(message) => break message.unwrap().unwrap(),
            Err(_) => waits += 1,
        }
    };
    assert!(waits > 5);
    assert_eq!(super::line(&message), r#"assistant "one two three four five""#);
}

#[tokio::test(start_paused = true)]
async fn tools_of_a_dropped_run_complete_and_their_results_are_kept() {
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (started.clone(), ended.clone());
    let sleeps = Tool::new("sleep", "Sleeps.", move |_: Nothing, _| {
        let (started, ended) = counters.clone();
        async move {
            started.fetch_add(1, Ordering::SeqCst);
            sleep(Duration::from_secs(5)).await;
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let bedrock = FakeBedrock::default();
    let calls = ScriptedReply::default().tool_call("call_1", "sleep", json!({}));
    bedrock.reply(calls.tool_call("call_2", "get_weather", json!({"town": "Rome"})));
    let conversation = prompt(&bedrock).tool(sleeps.unwrap()).tool(weather()).request("Go.").apply().unwrap();
    let mut run = conversation.run();
    run.next().await.unwrap().unwrap();
    // Both tools have started, and nobody has read a result.
    sleep(Duration::from_secs(1)).await;
    drop(run);
    let asked = "assistant sleep(call_1) get_weather(call_2)";
    assert_eq!(shown(&conversation)[1..], [asked, "user call_2: Sunny in Rome"]);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(shown(&conversation)[1..], [asked, "user call_2: Sunny in Rome call_1:  merged"]);
    assert_eq!((started.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)), (1, 1));
    assert_usable(&conversation, &bedrock).await;
}

#[tokio::test(start_paused = true)]
async fn result_that_the_service_added_is_kept() {
    let sleeps = Tool::new("sleep", "Sleeps.", |_: Nothing, _| async {
        sleep(Duration::from_secs(5)).await;
        Ok("slept")
    });
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::default().tool_call("call_1", "sleep", json!({})));
    let conversation = prompt(&bedrock).tool(sleeps.unwrap()).request("Go.").apply().unwrap();
    let mut run = conversation.run();
    let called = run.next().await.unwrap().unwrap();
    let call = called.contents()[0].as_tool_call().unwrap();
    conversation.add_user(call.success(["awake"])).unwrap();
    let (said, error) = read(run).await;
    assert!(error.is_none() && super::lines(&said) == [r#"assistant "Yes, I am here.""#], "{said:?}");
    assert_eq!(shown(&conversation)[2], "user call_1: awake");
}

#[tokio::test(start_paused = true)]
async fn prompt_with_a_timeout_ends_the_run_and_keeps_the_text() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("Here I").hang_after(3));
    let asked = prompt(&bedrock).request("Hello?");
    tokio::time::timeout(Duration::from_secs(2), asked.prompt()).await.unwrap_err();
    assert_eq!(shown(asked.conversation()), [r#"user "Hello?""#, r#"assistant "Here I" llmInterrupted"#]);
    assert_eq!(bedrock.until(|counters| counters.cancelled == 1).await.requests, 1);
    assert_usable(asked.conversation(), &bedrock).await;
}

/// Panics at the request, or after a part of the answer.
struct Panics {
    events: Option<Vec<ModelEvent>>,
}

impl Model for Panics {
    fn generate(&self, _: ModelRequest) -> Generation {
        let mut events = self.events.clone().unwrap().into_iter();
        Box::pin(futures_util::stream::poll_fn(move |_| Poll::Ready(Some(Ok(events.next().unwrap())))))
    }
}

#[tokio::test(start_paused = true)]
async fn panic_of_the_model_is_an_error_and_the_conversation_continues() {
    let call = ToolCall::new("call_1", "get_weather", Value::Null).unwrap();
    let partial = vec![ModelEvent::Text("Here I".into()), ModelEvent::ToolCall(call)];
    let kept = [
        r#"assistant "Here I" get_weather(call_1) llmInterrupted"#,
        "user call_1: NotRun: The tool was not run: the answer was cut off. (false)",
    ];
    for (events, kept) in [(None, &[] as &[&str]), (Some(partial), &kept)] {
        let bedrock = FakeBedrock::default();
        let models = super::models(&bedrock).with("nobody", "panics", Panics { events });
        let conversation = Prompt::new(models).request("Hello?").model("panics").apply().unwrap();
        let running = conversation.clone();
        let (_, error) = read(running.run()).await;
        let error = error.unwrap();
        assert!(error.kind() == Kind::NoAnswer && error.to_string().contains("panicked"), "{error}");
        assert_eq!(shown(&conversation)[1..], *kept);
        conversation.continuation().model("sonnet").apply().unwrap();
        assert_usable(&conversation, &bedrock).await;
    }
}
