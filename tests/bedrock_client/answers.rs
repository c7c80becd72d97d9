//! Answers in a stream and in one piece.

use aws_sdk_bedrockruntime::types::StopReason as Stop;
use serde_json::json;
use verbale::bedrock::{BedrockSettings, Profile};
use verbale::model::{Failure, ModelEvent, Partial, StopReason, Usage};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{ToolCall, Value};

use super::{CLAUDE, LLAMA, ask, claude, fail, for_summaries, for_turns, question, text, tool};

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
        .raw_tool_call("call_2", "get_time", "")
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
    let bedrock = FakeBedrock::new();
    bedrock.reply(text_and_calls());
    let events = ask(&claude(&bedrock), question()).await.unwrap();
    let expected: Vec<_> =
        [text("One"), text(" moment,"), text(" please.")].into_iter().chain(calls_and_end()).collect();
    assert_eq!(events, expected);
    assert!(bedrock.requests()[0].is_streaming());
}

#[tokio::test]
async fn summary_arrives_in_one_piece() {
    let bedrock = FakeBedrock::new();
    bedrock.reply(ScriptedReply::text("The caller waits for parcel 17.").usage(12, 7));
    let model = for_summaries(&bedrock, BedrockSettings::new(CLAUDE));
    let mut request = question();
    request.system = vec!["Summarise the call.".into()];
    let events = ask(&model, request).await.unwrap();
    let expected = [text("The caller waits for parcel 17."), ModelEvent::Stop(StopReason::EndTurn), usage(12, 0, 0, 7)];
    assert_eq!(events, expected);
    let requests = bedrock.requests();
    assert!(!requests[0].is_streaming());
    assert!(!String::from_utf8_lossy(requests[0].body()).contains("cachePoint"));
}

#[tokio::test]
async fn model_that_cannot_stream_with_tools_answers_in_one_piece() {
    let bedrock = FakeBedrock::new();
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
    let bedrock = FakeBedrock::new();
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
        assert_eq!(fail(&claude(&bedrock), question()).await, (failure, Partial { text_bytes: 2, tool_calls: 0 }));
    }
}

#[tokio::test]
async fn malformed_call_is_an_error_and_truncated_call_is_dropped() {
    let bedrock = FakeBedrock::new();
    for (model, text_bytes) in [(claude(&bedrock), 2), (for_summaries(&bedrock, BedrockSettings::new(CLAUDE)), 0)] {
        bedrock.reply(ScriptedReply::text("On").raw_tool_call("call_1", "get_parcel", "{\"pin\": 4711,}"));
        let (failure, received) = fail(&model, question()).await;
        let why = "a tool call: arguments of 14 bytes are not JSON: error at line 1, column 14";
        assert_eq!((failure, received.text_bytes), (Failure::Malformed(why.to_owned()), text_bytes));
    }

    for reply in [
        ScriptedReply::text("On").tool_call("no id: 4711", "get_parcel", json!({})),
        ScriptedReply::text("On").tool_call("call_1", "no name: 4711", json!({})),
    ] {
        for model in [claude(&bedrock), for_summaries(&bedrock, BedrockSettings::new(CLAUDE))] {
            bedrock.reply(reply.clone());
            assert!(matches!(fail(&model, question()).await.0, Failure::Malformed(_)));
        }
    }

    bedrock.reply(
        ScriptedReply::text("On").raw_tool_call("call_1", "get_parcel", "{\"pin\"").stop(Stop::MaxTokens).usage(1, 1),
    );
    let events = ask(&claude(&bedrock), question()).await.unwrap();
    assert_eq!(events, [text("On"), ModelEvent::Stop(StopReason::MaxTokens), usage(1, 0, 0, 1)]);
}

#[tokio::test]
async fn custom_profile_is_applied() {
    let bedrock = FakeBedrock::new();
    let mut profile = Profile::for_model(CLAUDE);
    profile.streams_with_tools = false;
    let model = for_turns(&bedrock, BedrockSettings::new(CLAUDE).with_profile(profile));
    let mut request = question();
    request.tools = [tool("get_parcel")].into();
    ask(&model, request).await.unwrap();
    assert!(!bedrock.requests()[0].is_streaming());
}
