//! How a run ends before its time: by an error of the model, by a cut, by being dropped. What was said stays, and no call
//! stays open.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use aws_sdk_bedrockruntime::types::StopReason as Stop;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::time::{sleep, timeout};
use verbale::conversation::{AskError, Conversation, Prompt, RunError};
use verbale::model::{Failure, Generation, Model, ModelEvent, ModelRequest, StopReason, Tool, Wait};
use verbale::testing::{BedrockException, FakeBedrock, ScriptedReply};
use verbale::{ToolCall, Value};

use super::tools::weather;
use super::{prompt, read, shown};

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// Runs to an error, and gives it with what is in the conversation then.
async fn fail(replies: impl IntoIterator<Item = ScriptedReply>) -> (RunError, Vec<String>) {
    let bedrock = FakeBedrock::new();
    replies.into_iter().for_each(|reply| bedrock.reply(reply));
    let conversation = prompt(&bedrock).tool(weather()).request("Hello?").apply().unwrap();
    let (said, error) = read(conversation.run()).await;
    let shown = shown(&conversation);
    assert_eq!(super::lines(&said), shown[1..]);
    is_whole(&conversation, &bedrock).await;
    (error.unwrap(), shown)
}

/// The conversation goes on: nothing is open, and Bedrock takes it.
async fn is_whole(conversation: &Conversation, bedrock: &FakeBedrock) {
    assert!(conversation.read(|manager| manager.open_tool_calls().is_empty()));
    assert_eq!(conversation.continuation().request("And now?").prompt().await.unwrap(), "Yes, I am here.");
    assert_eq!(bedrock.counters().refused, 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_said_before_an_error_is_kept() {
    let (error, shown) = fail([
        ScriptedReply::refused(BedrockException::Throttling),
        ScriptedReply::refused(BedrockException::Throttling),
    ])
    .await;
    assert!(matches!(error, RunError::Model(error) if *error.kind() == Failure::Throttled));
    assert_eq!(shown, [r#"user "Hello?""#]);

    // The start of the message, and two words.
    let broken = ScriptedReply::text("I see that you");
    let (error, shown) = fail([broken.exception_after(3, BedrockException::ModelStreamError)]).await;
    let RunError::Model(error) = error else { panic!("{error:?}") };
    assert!(error.received().text_bytes > 0 && !format!("{error} {error:?}").contains("see"));
    assert_eq!(shown, [r#"user "Hello?""#, r#"assistant "I see" llmInterrupted"#]);

    // The tool that was called is whole, and was not run.
    let call = ScriptedReply::text("One moment.").tool_call("call_1", "get_weather", json!({"town": "Rome"}));
    let (error, shown) = fail([call.hang_after(9)]).await;
    let waited = Failure::TimedOut { wait: Wait::NextEvent, after: Duration::from_secs(3) };
    assert!(matches!(&error, RunError::Model(error) if *error.kind() == waited), "{error:?}");
    assert_eq!(
        shown[1..],
        [
            r#"assistant "One moment." get_weather(call_1) llmInterrupted"#,
            "user call_1: NotRun: The tool was not run: the answer was cut off. (false)"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_cut_is_not_taken_for_a_whole_one() {
    for (reply, reason, kept) in [
        (ScriptedReply::text("The list is: a, b").stop(Stop::MaxTokens), StopReason::MaxTokens, true),
        (ScriptedReply::text("It is").stop(Stop::ContentFiltered), StopReason::Filtered, true),
        (ScriptedReply::default().stop(Stop::ContentFiltered), StopReason::Filtered, false),
    ] {
        let (error, shown) = fail([reply]).await;
        assert!(matches!(&error, RunError::Cut { reason: stop } if *stop == reason), "{error:?}");
        assert_eq!(shown.get(1).is_some_and(|line| line.ends_with("llmInterrupted")), kept, "{shown:?}");
    }
    // What a filter let through of it is not acted on.
    let call = ScriptedReply::text("One moment.").tool_call("call_1", "get_weather", json!({"town": "Rome"}));
    let (error, shown) = fail([call.stop(Stop::GuardrailIntervened)]).await;
    assert!(matches!(&error, RunError::Cut { reason: StopReason::Filtered }), "{error:?}");
    assert_eq!(
        shown[1..],
        [
            r#"assistant "One moment." get_weather(call_1) llmInterrupted"#,
            "user call_1: NotRun: The tool was not run: the answer was cut off. (false)"
        ]
    );
    let (error, shown) = fail([ScriptedReply::text(" \n")]).await;
    assert!(matches!(error, RunError::Blank) && shown.len() == 1, "{error:?} {shown:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_has_its_deadline() {
    let bedrock = FakeBedrock::new();
    let slow = ScriptedReply::text("one two three four five");
    bedrock.reply(slow.between_events(Duration::from_secs(1)));
    let slow = prompt(&bedrock).request("Count.").turn_timeout(Duration::from_millis(2_500)).apply().unwrap();
    let (said, error) = read(slow.run()).await;
    let waited = Failure::TimedOut { wait: Wait::WholeAnswer, after: Duration::from_millis(2_500) };
    assert!(matches!(&error, Some(RunError::Model(error)) if *error.kind() == waited), "{error:?}");
    assert!(super::line(&said[0]).starts_with(r#"assistant "one two"#));
    assert_eq!(bedrock.until(|counters| counters.cancelled == 1).await.finished, 0);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_run_cancels_the_request_and_keeps_what_was_said() {
    let bedrock = FakeBedrock::new();
    let slow = ScriptedReply::text("one two three four five");
    bedrock.reply(slow.between_events(Duration::from_secs(1)));
    let conversation = prompt(&bedrock).request("Count.").apply().unwrap();
    let mut run = conversation.run();
    assert!(timeout(Duration::from_millis(2_500), run.next()).await.is_err());
    assert_eq!((shown(&conversation).len(), bedrock.counters().cancelled), (1, 0));
    drop(run);
    assert_eq!(bedrock.until(|counters| counters.cancelled == 1).await.finished, 0);
    assert_eq!(shown(&conversation), [r#"user "Count.""#, r#"assistant "one two three" llmInterrupted"#]);
    is_whole(&conversation, &bedrock).await;
}

#[tokio::test(start_paused = true)]
async fn nothing_is_lost_where_only_the_waiting_is_given_up() {
    let bedrock = FakeBedrock::new();
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
async fn tools_of_a_dropped_run_finish_and_their_results_are_kept() {
    let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counters = (begun.clone(), ended.clone());
    let sleeps = Tool::new("sleep", "Sleeps.", move |_: Nothing, _| {
        let (begun, ended) = counters.clone();
        async move {
            begun.fetch_add(1, Ordering::SeqCst);
            sleep(Duration::from_secs(5)).await;
            ended.fetch_add(1, Ordering::SeqCst);
            Ok(())
        }
    });
    let bedrock = FakeBedrock::new();
    let calls = ScriptedReply::default().tool_call("call_1", "sleep", json!({}));
    bedrock.reply(calls.tool_call("call_2", "get_weather", json!({"town": "Rome"})));
    let conversation = prompt(&bedrock).tools([sleeps.unwrap(), weather()]).request("Go.").apply().unwrap();
    let mut run = conversation.run();
    run.next().await.unwrap().unwrap();
    // Both have run as far as they could, and nobody has asked for a result yet.
    sleep(Duration::from_secs(1)).await;
    drop(run);
    let asked = "assistant sleep(call_1) get_weather(call_2)";
    assert_eq!(shown(&conversation)[1..], [asked, "user call_2: Sunny in Rome"]);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(shown(&conversation)[1..], [asked, "user call_2: Sunny in Rome call_1:  merged"]);
    assert_eq!((begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst)), (1, 1));
    is_whole(&conversation, &bedrock).await;
}

#[tokio::test(start_paused = true)]
async fn a_result_that_somebody_else_gave_stays() {
    let sleeps = Tool::new("sleep", "Sleeps.", |_: Nothing, _| async {
        sleep(Duration::from_secs(5)).await;
        Ok("slept")
    });
    let bedrock = FakeBedrock::new();
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
async fn a_prompt_may_be_waited_for_only_so_long() {
    let bedrock = FakeBedrock::new();
    bedrock.reply(ScriptedReply::text("Here I").hang_after(3));
    let asked = prompt(&bedrock).request("Hello?");
    let error = asked.prompt_within(Duration::from_secs(2)).await.unwrap_err();
    let AskError::Run(RunError::TimedOut { after }) = error else { panic!("{error:?}") };
    assert_eq!(after, Duration::from_secs(2));
    assert_eq!(shown(asked.conversation()), [r#"user "Hello?""#, r#"assistant "Here I" llmInterrupted"#]);
    assert_eq!(bedrock.until(|counters| counters.cancelled == 1).await.requests, 1);
    is_whole(asked.conversation(), &bedrock).await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_there_in_time_is_given_though_the_model_does_not_end() {
    let bedrock = FakeBedrock::new();
    // The start, a word, its end and the stop: what was used never comes.
    bedrock.reply(ScriptedReply::text("Here.").hang_after(4));
    let asked = prompt(&bedrock).request("Hello?");
    assert_eq!(asked.prompt_within(Duration::from_millis(200)).await.unwrap(), "Here.");
    assert_eq!(shown(asked.conversation()), [r#"user "Hello?""#, r#"assistant "Here.""#]);
    is_whole(asked.conversation(), &bedrock).await;
}

/// Panics when it is asked, or behind some of an answer.
struct Panics {
    behind: Option<Vec<ModelEvent>>,
}

impl Model for Panics {
    fn generate(&self, _: ModelRequest) -> Generation {
        let mut events = self.behind.clone().unwrap().into_iter();
        Box::pin(futures_util::stream::poll_fn(move |_| Poll::Ready(Some(Ok(events.next().unwrap())))))
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_panics_leaves_a_conversation_that_goes_on() {
    let call = ToolCall::new("call_1", "get_weather", Value::Null).unwrap();
    let said = vec![ModelEvent::Text("Here I".into()), ModelEvent::ToolCall(call)];
    let kept = [
        r#"assistant "Here I" get_weather(call_1) llmInterrupted"#,
        "user call_1: NotRun: The tool was not run: the answer was cut off. (false)",
    ];
    for (behind, kept) in [(None, &[] as &[&str]), (Some(said), &kept)] {
        let bedrock = FakeBedrock::new();
        let models = super::models(&bedrock).with("nobody", "panics", Panics { behind });
        let conversation = Prompt::new(models).request("Hello?").model("panics").apply().unwrap();
        let running = conversation.clone();
        let (_, error) = read(running.run()).await;
        assert!(matches!(error, Some(RunError::ModelPanicked)), "{error:?}");
        assert_eq!(shown(&conversation)[1..], *kept);
        conversation.continuation().model("sonnet").apply().unwrap();
        is_whole(&conversation, &bedrock).await;
    }
}
