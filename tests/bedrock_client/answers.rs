//! Answers in a stream and in one piece.

use std::str::FromStr;

use aws_sdk_bedrockruntime::types::StopReason as Stop;
use serde_json::json;
use verbale::bedrock::BedrockSettings;
use verbale::message::{ToolCallId, ToolName};
use verbale::model::{Failure, ModelEvent, StopReason, Usage};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{MessagesManager, PlainMessage, ToolCall, Value};

use super::{CLAUDE, LLAMA, NOVA, ask, claude, fail, for_summaries, for_turns, question, text, tool, window};

fn usage(input: u64, read: u64, write: u64, output: u64) -> ModelEvent {
    let mut usage = Usage::default();
    usage.input_tokens = input;
    usage.cache_read_tokens = read;
    usage.cache_write_tokens = write;
    usage.output_tokens = output;
    ModelEvent::Usage(usage)
}

fn call(id: &str, name: &str, arguments: serde_json::Value) -> ModelEvent {
    ModelEvent::ToolCall(ToolCall::new(id, name, Value::try_from(arguments).unwrap()).unwrap())
}

fn text_and_calls() -> ScriptedReply {
    ScriptedReply::text("One moment, please.")
        .tool_call("call_1", "get_parcel", json!({"id": 17, "of": {"name": "Mia", "tags": ["a", null, 0.5]}}))
        .tool_call("call_2", "get_time", "")
        .usage(12, 7)
        .cached(800, 30)
}

fn calls_and_end() -> [ModelEvent; 4] {
    [
        call("call_1", "get_parcel", json!({"id": 17, "of": {"name": "Mia", "tags": ["a", null, 0.5]}})),
        call("call_2", "get_time", json!({})),
        ModelEvent::Stop(StopReason::ToolUse),
        usage(842, 800, 30, 7),
    ]
}

#[tokio::test]
async fn streamed_answer_has_complete_tool_calls() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(text_and_calls());
    let events = ask(&claude(&bedrock), question()).await.unwrap();
    let expected: Vec<_> =
        [text("One"), text(" moment,"), text(" please.")].into_iter().chain(calls_and_end()).collect();
    assert_eq!(events, expected);
    assert!(bedrock.requests()[0].is_streaming());
}

#[tokio::test]
async fn summary_arrives_in_one_piece() {
    let bedrock = FakeBedrock::default();
    bedrock.reply(ScriptedReply::text("The caller waits for parcel 17.").usage(12, 7));
    let model = for_summaries(&bedrock, BedrockSettings::new(CLAUDE));
    let mut request = question();
    request.system = vec!["Summarize the call.".into()];
    let events = ask(&model, request).await.unwrap();
    let expected = [text("The caller waits for parcel 17."), ModelEvent::Stop(StopReason::EndTurn), usage(12, 0, 0, 7)];
    assert_eq!(events, expected);
    let requests = bedrock.requests();
    assert!(!requests[0].is_streaming());
    assert!(!String::from_utf8_lossy(requests[0].body()).contains("cachePoint"));
}

#[tokio::test]
async fn model_that_cannot_stream_with_tools_answers_in_one_piece() {
    let bedrock = FakeBedrock::default();
    let model = for_turns(&bedrock, BedrockSettings::new(LLAMA));
    bedrock.reply(text_and_calls());
    let mut request = question();
    request.tools = [tool("get_parcel")].into();
    let events = ask(&model, request).await.unwrap();
    let expected: Vec<_> = [text("One moment, please.")].into_iter().chain(calls_and_end()).collect();
    assert_eq!(events, expected);
    ask(&model, question()).await.unwrap();
    let streamed: Vec<_> = bedrock.requests().iter().map(|request| request.is_streaming()).collect();
    assert_eq!(streamed, [false, true]);
}

#[tokio::test]
async fn stop_reasons_are_mapped() {
    let bedrock = FakeBedrock::default();
    for (reason, expected) in [
        (Stop::EndTurn, StopReason::EndTurn),
        (Stop::MaxTokens, StopReason::MaxTokens),
        (Stop::StopSequence, StopReason::StopSequence),
        (Stop::GuardrailIntervened, StopReason::Filtered),
        (Stop::ContentFiltered, StopReason::Filtered),
        (Stop::ModelContextWindowExceeded, StopReason::ContextFull),
        (Stop::from("tired"), StopReason::Other("tired".into())),
    ] {
        let expected = [text("On"), ModelEvent::Stop(expected), usage(1, 0, 0, 1)];
        for model in [claude(&bedrock), for_summaries(&bedrock, BedrockSettings::new(CLAUDE))] {
            bedrock.reply(ScriptedReply::text("On").stop(reason.clone()).usage(1, 1));
            assert_eq!(ask(&model, question()).await.unwrap(), expected);
        }
    }
    for reason in [Stop::MalformedToolUse, Stop::MalformedModelOutput] {
        bedrock.reply(ScriptedReply::text("On").stop(reason.clone()));
        let failure = Failure::Malformed(format!("the model stopped with `{}`", reason.as_str()));
        assert_eq!(fail(&claude(&bedrock), question()).await, (failure, (2, 0)));
    }
}

#[tokio::test]
async fn unreadable_and_cut_calls_are_events() {
    let bedrock = FakeBedrock::default();
    let (id, name) = (ToolCallId::from_str("call_1").unwrap(), ToolName::from_str("get_parcel").unwrap());
    let reason = "arguments of 14 bytes are not JSON: error at line 1, column 14";
    let unreadable = ModelEvent::UnreadableToolCall { id: id.clone(), name: name.clone(), reason: Some(reason.into()) };
    let cut = ModelEvent::UnreadableToolCall { id, name, reason: None };
    for model in [claude(&bedrock), for_summaries(&bedrock, BedrockSettings::new(CLAUDE))] {
        for (arguments, stop, call) in [
            ("{\"pin\": 4711,}", Stop::ToolUse, unreadable.clone()),
            ("{\"pin\"", Stop::MaxTokens, cut.clone()),
            ("", Stop::MaxTokens, cut.clone()),
        ] {
            let reply = ScriptedReply::text("On").tool_call("call_1", "get_parcel", arguments);
            bedrock.reply(reply.stop(stop.clone()).usage(1, 1));
            let events = ask(&model, question()).await.unwrap();
            let stop = if stop == Stop::ToolUse { StopReason::ToolUse } else { StopReason::MaxTokens };
            assert_eq!(events, [text("On"), call, ModelEvent::Stop(stop), usage(1, 0, 0, 1)]);
            assert!(!format!("{events:?}").contains("4711"));
        }
    }
}

#[tokio::test]
async fn any_id_and_name_of_a_tool_call_is_taken_and_sent_back() {
    let bedrock = FakeBedrock::default();
    for (model_id, id, tool_name) in [
        ("moonshotai.kimi-k2.5", "functions.get_parcel:0", "get_parcel"),
        (CLAUDE, "functions.get_parcel:0", "get_parcel"),
        (CLAUDE, "", "browser.navigate"),
        (NOVA, "my id: é/1", "$READFILE"),
        (LLAMA, &"x".repeat(70), "get parcel"),
    ] {
        let model = for_turns(&bedrock, BedrockSettings::new(model_id).with_cache_points(false));
        let mut manager = MessagesManager::<PlainMessage>::new();
        manager.add_user("When does it arrive?").unwrap();
        bedrock.reply(ScriptedReply::default().tool_call(id, tool_name, json!({"id": 17})));
        let request = |manager: &MessagesManager<PlainMessage>| {
            let mut request = window(manager);
            request.tools = [tool("get_parcel")].into();
            request
        };
        let events = ask(&model, request(&manager)).await.unwrap();
        let ModelEvent::ToolCall(call) = &events[0] else { panic!("{events:?}") };
        assert_eq!(call.name().as_str() == "get_parcel", tool_name == "get_parcel");
        manager.add_assistant(call.clone()).unwrap();
        manager.add_user(call.success("On Friday.")).unwrap();
        ask(&model, request(&manager)).await.unwrap();
        let again = bedrock.requests().last().unwrap().input().messages().to_vec();
        let sent = again[1].content[0].as_tool_use().unwrap().tool_use_id.clone();
        assert_eq!(again[2].content[0].as_tool_result().unwrap().tool_use_id, sent);
    }
    assert_eq!(bedrock.counters().refused, 0);
}

#[tokio::test]
async fn base_model_sets_the_rules() {
    let bedrock = FakeBedrock::default();
    let model = for_turns(&bedrock, BedrockSettings::new(CLAUDE).with_base_model(LLAMA));
    let mut request = question();
    request.tools = [tool("get_parcel")].into();
    ask(&model, request).await.unwrap();
    assert!(!bedrock.requests()[0].is_streaming());
}
