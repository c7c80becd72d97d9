//! `ScriptedModel` answers as `BedrockModel` does over `FakeBedrock`.

use std::num::NonZeroUsize;
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::types::StopReason as Stop;
use futures_util::StreamExt;
use serde_json::json;
use tokio::time::{Instant, timeout};
use verbale::bedrock::{BedrockModel, BedrockSettings};
use verbale::model::{Model, ModelError, ModelEvent, ModelRequest, Usage};
use verbale::testing::{FakeBedrock, ScriptedModel, ScriptedReply};
use verbale::{MessageWrapper, MessagesManager, PlainMessage, ToolCall};

const FIRST: Duration = Duration::from_millis(700);
const BETWEEN: Duration = Duration::from_millis(30);

fn request() -> ModelRequest {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("When does it arrive?").unwrap();
    ModelRequest::new(manager.messages().map(|message| message.message().clone()).collect())
}

/// Returns the events and the error, each with its time in milliseconds. The text of an error may differ in its request id.
async fn answer(model: &dyn Model) -> (Vec<(u128, ModelEvent)>, Option<(u128, String)>) {
    let start = Instant::now();
    let mut events = Vec::new();
    let mut answer = model.generate(request());
    while let Some(event) = answer.next().await {
        let at_ms = start.elapsed().as_millis();
        match event {
            Ok(event) => events.push((at_ms, event)),
            Err(error) => return (events, Some((at_ms, shown(&error)))),
        }
    }
    (events, None)
}

fn shown(error: &ModelError) -> String {
    error.to_string().replace(", request fake-1", "")
}

fn slow(text: &str) -> ScriptedReply {
    ScriptedReply::text(text).usage(12, 5).first_token_after(FIRST).between_events(BETWEEN)
}

#[tokio::test(start_paused = true)]
async fn answers_equal_those_of_the_fake_bedrock() {
    for reply in [
        slow("It arrives on Friday."),
        slow("It arrives on Friday.").words_per_piece(NonZeroUsize::new(3).unwrap()).cached(700, 30),
        slow("One moment.").tool_call("call_1", "get_parcel", json!({"id": 17, "tags": ["a", null]})),
        slow("One moment.").tool_call("call_1", "get_time", "").tool_call("call_2", "get_time", "{}"),
        slow("One moment.").tool_call("call_1", "get_time", "{\"pin\": 4711,}"),
        slow("One moment.").tool_call("call_1", "get_time", "{\"pin\"").stop(Stop::MaxTokens),
        slow("One").stop(Stop::MalformedModelOutput),
        slow("One").stop(Stop::from("tired")),
        ScriptedReply::default().usage(3, 0),
        slow("One moment, please.").cut_after(0),
        slow("One moment, please.").cut_after(3),
        slow("One moment, please.").end_after(3),
        slow("One moment, please.").malformed_after(1),
        slow("One moment, please.").exception_after(0, "ThrottlingException"),
        slow("One moment, please.").exception_after(3, "ModelStreamErrorException"),
        slow("One moment, please.").cut_after(99),
        ScriptedReply::refused("AccessDeniedException").first_token_after(FIRST),
        ScriptedReply::refused("ModelNotReadyException"),
        ScriptedReply::validation("Input is too long for requested model."),
        ScriptedReply::bad_gateway(),
    ] {
        let bedrock = FakeBedrock::default();
        bedrock.reply(reply.clone());
        let client = Client::from_conf(bedrock.sdk_config().build());
        let expected = answer(&BedrockModel::for_turns(client, BedrockSettings::new("amazon.nova-lite-v1:0"))).await;
        let model = ScriptedModel::default();
        model.reply(reply.clone());
        assert_eq!(answer(&model).await, expected, "{reply:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn hang_never_ends() {
    let model = ScriptedModel::default();
    for (reply, events) in
        [(slow("One moment").first_token_after(Duration::MAX), 0), (slow("One moment").hang_after(2), 1)]
    {
        model.reply(reply);
        let mut answer = model.generate(request());
        for _ in 0..events {
            assert!(answer.next().await.unwrap().is_ok());
        }
        assert!(timeout(Duration::from_secs(3_600), answer.next()).await.is_err());
    }
}

#[tokio::test]
async fn requests_are_kept_when_they_are_polled() {
    let model = ScriptedModel::default();
    drop(model.generate(request()));
    assert_eq!(model.requests().len(), 0);
    let mut asked = request();
    asked.system.push("You answer the phone.".into());
    let events: Vec<_> = model.clone().generate(asked.clone()).map(Result::unwrap).collect().await;
    assert_eq!(events[0], ModelEvent::Text("Yes,".into()));
    let mut usage = Usage::default();
    (usage.input_tokens, usage.output_tokens) = (11, 4);
    assert_eq!(events.last(), Some(&ModelEvent::Usage(usage)));
    assert!(model.requests() == [asked]);
    assert!(!format!("{model:?}").contains("phone"));
}

#[tokio::test]
async fn usage_counts_tool_calls_and_their_results() {
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user("When does it arrive?").unwrap();
    let call = ToolCall::new("call_1", "track", json!({ "order": "A".repeat(400) })).unwrap();
    manager.add_assistant(call.clone()).unwrap();
    manager.add_user(call.success("B".repeat(4_000).as_str())).unwrap();
    let messages = manager.messages().map(|message| message.message().clone()).collect();
    let events: Vec<_> = ScriptedModel::default().generate(ModelRequest::new(messages)).collect().await;
    let usage = events.into_iter().find_map(|event| match event.unwrap() {
        ModelEvent::Usage(usage) => Some(usage.input_tokens),
        _ => None,
    });
    assert!((1_100..1_300).contains(&usage.unwrap()), "{usage:?}");
}
