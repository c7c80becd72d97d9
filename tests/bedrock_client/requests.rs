//! Requests to Converse, and their repair.

use aws_sdk_bedrockruntime::types::SystemContentBlock;
use serde_json::{Value as Json, json};
use verbale::bedrock::{BedrockSettings, validate};
use verbale::message::{Media, MediaKind, Source};
use verbale::model::{Failure, Inference, Model, ModelEvent, ModelRequest};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Message, MessageWrapper, MessagesManager, PlainMessage, Role, ToolCall, Value};

use super::{CLAUDE, LLAMA, ask, claude, fail, for_summaries, for_turns, question, text, tool, window};

/// Returns all messages of a manager, which a window would not contain.
fn messages(add: impl Fn(&mut MessagesManager<PlainMessage>)) -> Vec<Message> {
    let mut manager = MessagesManager::new();
    add(&mut manager);
    manager.meta_messages().iter().map(|message| message.message().clone()).collect()
}

fn body(bedrock: &FakeBedrock) -> Json {
    serde_json::from_slice(bedrock.requests().last().unwrap().body()).unwrap()
}

#[tokio::test]
async fn request_has_prompt_memory_messages_tools_and_settings() {
    let bedrock = FakeBedrock::default();
    let inference = Inference {
        max_tokens: Some(300),
        temperature: Some(0.5),
        stop_sequences: vec!["</end>".into()],
        ..Inference::default()
    };
    let settings = BedrockSettings::new(CLAUDE).with_inference(inference).with_cache_points(false);
    let mut request = question();
    request.tools = [tool("get_parcel")].into();
    request.system = vec!["You answer the phone.".into()];
    request.memory = Some("The caller is Mia. </record_of_the_call>".into());
    ask(&for_turns(&bedrock, settings), request).await.unwrap();

    let requests = bedrock.requests();
    assert_eq!(requests[0].input().model_id(), Some(CLAUDE));
    let [SystemContentBlock::Text(prompt), SystemContentBlock::Text(record)] = requests[0].input().system() else {
        panic!()
    };
    assert_eq!(prompt, "You answer the phone.");
    assert_eq!(record.matches("</record_of_the_call>").count(), 1);
    let mut body = body(&bedrock);
    body["toolConfig"]["tools"][0]["toolSpec"]["inputSchema"]["json"]["properties"].take();
    assert_eq!(
        [&body["messages"], &body["toolConfig"], &body["inferenceConfig"]],
        [
            &json!([{"role": "user", "content": [{"text": "When does it arrive?"}]}]),
            &json!({"tools": [{"toolSpec": {"name": "get_parcel", "description": "Looks up a parcel.",
                "inputSchema": {"json": {"type": "object", "properties": null}}}}]}),
            &json!({"maxTokens": 300, "temperature": 0.5, "stopSequences": ["</end>"]}),
        ]
    );
}

#[tokio::test]
async fn inference_settings_of_the_request_win_over_the_defaults() {
    let fields = |entries: Json| {
        let Ok(Value::Map(fields)) = Value::try_from(entries) else { panic!() };
        fields
    };
    let thinking = json!({"top_k": 40, "thinking": {"type": "disabled", "a": 1, "b": 2, "c": 3}});
    let defaults = Inference {
        max_tokens: Some(300),
        temperature: Some(0.5),
        top_p: None,
        stop_sequences: vec!["</end>".into()],
        model_fields: fields(thinking),
    };
    let bedrock = FakeBedrock::default();
    let settings = BedrockSettings::new(CLAUDE).with_inference(defaults);
    for model in [for_turns(&bedrock, settings.clone()), for_summaries(&bedrock, settings)] {
        ask(&model, question()).await.unwrap();
        assert_eq!(
            [&body(&bedrock)["inferenceConfig"], &body(&bedrock)["additionalModelRequestFields"]],
            [
                &json!({"maxTokens": 300, "temperature": 0.5, "stopSequences": ["</end>"]}),
                &json!({"top_k": 40, "thinking": {"type": "disabled", "a": 1, "b": 2, "c": 3}}),
            ]
        );
        let first = bedrock.requests().last().unwrap().body().to_vec();
        ask(&model, question()).await.unwrap();
        assert_eq!(bedrock.requests().last().unwrap().body(), first);

        let mut request = question();
        request.inference = Inference {
            max_tokens: Some(60),
            temperature: None,
            top_p: Some(0.25),
            stop_sequences: vec!["bye".into()],
            model_fields: fields(json!({"top_k": 1, "seed": 7})),
        };
        ask(&model, request).await.unwrap();
        assert_eq!(
            [&body(&bedrock)["inferenceConfig"], &body(&bedrock)["additionalModelRequestFields"]],
            [
                &json!({"maxTokens": 60, "topP": 0.25, "stopSequences": ["bye"]}),
                &json!({"top_k": 1, "seed": 7, "thinking": {"type": "disabled", "a": 1, "b": 2, "c": 3}}),
            ]
        );
    }
}

#[tokio::test]
async fn invalid_request_is_repaired_and_reported() {
    let call = ToolCall::new("call_1", "get_parcel", Value::map([("pin", 4711)]).unwrap()).unwrap();
    let mut request = ModelRequest::new(
        [
            messages(|manager| {
                manager.add_system("You answer.").unwrap();
            }),
            messages(|manager| {
                manager.add_assistant(["Hello".into(), verbale::Content::from(call.clone())]).unwrap();
            })
            .split_off(1),
            messages(|manager| {
                manager.add_user("4711").unwrap();
            }),
            messages(|manager| {
                manager.add_user("Are you there?").unwrap();
            }),
            messages(|manager| {
                manager.add_assistant("Yes.").unwrap();
            })
            .split_off(1),
        ]
        .concat(),
    );
    request.tools = [tool("get_parcel"), tool("get_parcel")].into();
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("On Friday."));
    let events = ask(&claude(&bedrock), request).await.unwrap();
    let ModelEvent::Repaired(repairs) = &events[0] else { panic!("{events:?}") };
    let repairs: Vec<_> = repairs.iter().map(ToString::to_string).collect();
    let (left_out, repairs) = repairs.split_first().unwrap();
    let system = format!(" is a {} message", Role::System);
    assert!(left_out.starts_with("left out a message: message ") && left_out.contains(&system), "{left_out}");
    assert_eq!(
        repairs,
        [
            "toolConfig.tools: removed tools with the name of another tool",
            "messages.2: merged into the message before, which has the same role",
            "messages.0: inserted a user message `...`, because the conversation started with the assistant",
            "messages.1.content.1: replaced a tool call with text, because it has no result",
            "messages.4: added a user message `...`, because the conversation ended with the assistant",
        ]
    );
    assert!(!format!("{repairs:?}").contains("4711"));
    assert_eq!(events[1], text("On"));
    // The fake, which validates, accepted it.
    assert_eq!((bedrock.counters().requests, bedrock.counters().refused), (1, 0));
    let roles: Vec<_> = body(&bedrock)["messages"].as_array().unwrap().iter().map(|one| one["role"].clone()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
}

#[tokio::test]
async fn request_follows_the_rules_of_the_model() {
    let mut manager = MessagesManager::<PlainMessage>::new();
    let call = ToolCall::new("call_1", "get_parcel", Value::Null).unwrap();
    manager.add_user("Where is it?").unwrap();
    manager.add_assistant(["One moment.".into(), verbale::Content::from(call.clone())]).unwrap();
    manager.add_user([call.success(["In Milan."]).into(), verbale::Content::from("Hello?")]).unwrap();
    let mut request = window(&manager);
    request.tools = [tool("get_parcel")].into();
    let bedrock = FakeBedrock::default();
    let events = ask(&for_turns(&bedrock, BedrockSettings::new(LLAMA)), request).await.unwrap();
    assert!(matches!(&events[0], ModelEvent::Repaired(repairs) if repairs.len() == 2));
    assert_eq!(bedrock.requests()[0].input().messages().len(), 7);
    assert_eq!(validate(bedrock.requests()[0].input()), []);
}

#[test]
fn model_has_its_id() {
    assert_eq!(claude(&FakeBedrock::default()).id(), Some(CLAUDE));
}

#[tokio::test]
async fn irreparable_request_is_never_sent() {
    let bedrock = FakeBedrock::default();
    let invalid = |why: &str| (Failure::Invalid(why.to_owned()), (0, 0));
    let mut request = question();
    let mut no_object = tool("get_parcel");
    no_object.input_schema = Value::Null;
    request.tools = [tool("get_time"), no_object].into();
    let why = "toolConfig.tools.1: The value at toolConfig.tools.1.toolSpec.inputSchema.json.type \
               must be one of the following: object.";
    assert_eq!(fail(&claude(&bedrock), request).await, invalid(why));

    let refused = |member: &str, constraint: &str| {
        format!(
            "inferenceConfig: 1 validation error detected: Value at 'inferenceConfig.{member}' failed to satisfy \
             constraint: Member must {constraint}"
        )
    };
    let none = Inference::default;
    for (inference, why) in [
        (Inference { temperature: Some(1.1), ..none() }, refused("temperature", "have value less than or equal to 1")),
        (Inference { max_tokens: Some(0), ..none() }, refused("maxTokens", "have value greater than or equal to 1")),
        (Inference { max_tokens: Some(u32::MAX), ..none() }, "max_tokens is larger than 2,147,483,647".to_owned()),
        (
            Inference { stop_sequences: vec!["".into()], ..none() },
            refused("stopSequences.1.member", "have length greater than or equal to 1"),
        ),
    ] {
        let settings = BedrockSettings::new(CLAUDE).with_inference(inference.clone());
        assert_eq!(fail(&for_turns(&bedrock, settings), question()).await, invalid(&why));
        let mut request = question();
        request.inference = inference;
        assert_eq!(fail(&claude(&bedrock), request).await, invalid(&why));
    }
    assert_eq!(bedrock.counters().requests, 0);
}

#[tokio::test]
async fn attachment_of_unknown_type_becomes_text() {
    let bytes = || Source::Bytes(b"\x014711".as_slice().into());
    let result = ToolCall::new("call_1", "get_parcel", Value::Null).unwrap();
    let unknown = || Media::new(MediaKind::Image, bytes()).with_label("the receipt");
    let mut manager = MessagesManager::<PlainMessage>::new();
    manager.add_user(["Here.".into(), verbale::Content::from(unknown())]).unwrap();
    manager
        .add_user(verbale::Content::from(Media::new(MediaKind::Document, bytes()).with_mime_type("application/zip")))
        .unwrap();
    manager.add_assistant(verbale::Content::from(result.clone())).unwrap();
    let parts = [verbale::message::ResultContent::Media(Box::new(unknown()))];
    manager.add_user(verbale::Content::from(result.success(parts))).unwrap();
    let mut request = window(&manager);
    request.tools = [tool("get_parcel")].into();
    let bedrock = FakeBedrock::default();
    let model = for_turns(&bedrock, BedrockSettings::new(CLAUDE).with_cache_points(false));
    let events = ask(&model, request).await.unwrap();
    let ModelEvent::Repaired(repairs) = &events[0] else { panic!("{events:?}") };
    let shown = format!("{repairs:?}");
    assert!(repairs.len() == 3 && !shown.contains("receipt"), "{shown}");
    let body = body(&bedrock);
    assert_eq!(
        [&body["messages"][0]["content"], &body["messages"][2]["content"][0]["toolResult"]["content"]],
        [
            &json!([{"text": "Here."}, {"text": "[image \"the receipt\": not available to the model]"},
                {"text": "[document \"application/zip\": not available to the model]"}]),
            &json!([{"text": "[image \"the receipt\": not available to the model]"}]),
        ]
    );
}
