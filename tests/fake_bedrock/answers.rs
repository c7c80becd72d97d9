//! The client receives the scripted answer.

use std::num::NonZeroUsize;

use aws_sdk_bedrockruntime::types::{ContentBlock, StopReason};
use serde_json::json;
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::asked::{complete, contents, rest, stream, streaming, whole};
use super::clients;
use super::document::document;

#[tokio::test]
async fn text_is_streamed_word_by_word() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(ScriptedReply::text("It leaves at  seven.").usage(12, 5));
        let events = complete(stream(&client).await.unwrap()).await;
        assert_eq!(
            events,
            [
                "start assistant",
                "0 text \"It\"",
                "0 text \" leaves\"",
                "0 text \" at\"",
                "0 text \"  seven.\"",
                "0 stop",
                "stop end_turn",
                "usage 12 5 17 None None, 0 ms",
            ]
        );
    }
}

#[tokio::test]
async fn piece_size_and_stop_reason_can_be_set() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        let two = NonZeroUsize::new(2).unwrap();
        let reply = ScriptedReply::text(" a b\nc d e ").words_per_piece(two).stop(StopReason::MaxTokens).usage(0, 0);
        bedrock.reply(reply.cached(700, 30));
        let events = complete(stream(&client).await.unwrap()).await;
        assert_eq!(
            events,
            [
                "start assistant",
                "0 text \" a b\"",
                "0 text \"\\nc d\"",
                "0 text \" e \"",
                "0 stop",
                "stop max_tokens",
                "usage 0 0 730 Some(700) Some(30), 0 ms",
            ]
        );
    }
}

fn text_and_three_calls() -> ScriptedReply {
    ScriptedReply::text("One moment.")
        .tool_call("call_1", "get_booking", json!({"reference": "KL305T", "nested": [1, "é"]}))
        .tool_call("call_2", "hang_up", "")
        .tool_call("call_3", "hang_up", "{no json")
        .usage(1, 2)
}

#[tokio::test]
async fn inputs_of_tool_calls_are_streamed_in_pieces() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(text_and_three_calls());
        let events = complete(stream(&client).await.unwrap()).await;
        let input: String = events
            .iter()
            .filter_map(|event| event.strip_prefix("1 input "))
            .map(|piece| serde_json::from_str::<String>(piece).unwrap())
            .collect();
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&input).unwrap(),
            json!({"reference": "KL305T", "nested": [1, "é"]})
        );
        let others: Vec<&str> =
            events.iter().map(String::as_str).filter(|event| !event.starts_with("1 input")).collect();
        assert_eq!(
            others,
            [
                "start assistant",
                "0 text \"One\"",
                "0 text \" moment.\"",
                "0 stop",
                "1 tool call_1 get_booking",
                "1 stop",
                "2 tool call_2 hang_up",
                "2 input \"\"",
                "2 stop",
                "3 tool call_3 hang_up",
                "3 input \"\"",
                "3 input \"{no json\"",
                "3 stop",
                "stop tool_use",
                "usage 1 2 3 None None, 0 ms",
            ]
        );
        assert_eq!(events[5..7], ["1 input \"\"", r#"1 input "{\"nested\":[1""#]);
    }
}

#[tokio::test]
async fn converse_has_the_same_contents_in_one_piece() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(text_and_three_calls());
        let output = whole(&client).send().await.unwrap();
        let [
            ContentBlock::Text(text),
            ContentBlock::ToolUse(one),
            ContentBlock::ToolUse(two),
            ContentBlock::ToolUse(three),
        ] = contents(&output)
        else {
            panic!("{:?}", contents(&output).len())
        };
        assert_eq!((text.as_str(), one.tool_use_id(), one.name()), ("One moment.", "call_1", "get_booking"));
        let input = json!({"reference": "KL305T", "nested": [1, "é"]});
        assert!(one.input == document(input));
        assert_eq!((two.input.as_string(), three.input.as_string()), (Some(""), Some("{no json")));
        assert_eq!(output.stop_reason, StopReason::ToolUse);
        let usage = output.usage.unwrap();
        assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens), (1, 2, 3));
    }
}

#[tokio::test]
async fn default_answer_is_used_without_a_script() {
    let bedrock = FakeBedrock::default();
    let [(client, _), _] = clients(&bedrock).await;
    let events = complete(stream(&client).await.unwrap()).await;
    assert_eq!(events[1..5], ["0 text \"Yes,\"", "0 text \" I\"", "0 text \" am\"", "0 text \" here.\""]);
    // A token is 4 bytes.
    let sent = bedrock.requests()[0].body().len().div_ceil(4);
    assert_eq!(events.last().unwrap(), &format!("usage {sent} 4 {} None None, 0 ms", sent + 4));
}

#[tokio::test]
async fn answer_can_be_empty() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(ScriptedReply::default().usage(3, 0));
        let events = complete(stream(&client).await.unwrap()).await;
        assert_eq!(events, ["start assistant", "stop end_turn", "usage 3 0 3 None None, 0 ms"]);
        bedrock.reply(ScriptedReply::default());
        assert_eq!(contents(&whole(&client).send().await.unwrap()), []);
    }
}

#[tokio::test]
async fn responder_sees_the_request() {
    let bedrock = FakeBedrock::answering(|request| match request.last_text() {
        Some("Hi") => ScriptedReply::text(format!("{} {}", request.number(), request.input().model_id().unwrap())),
        _ => ScriptedReply::refused("ThrottlingException"),
    });
    let arn = "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-8";
    for (index, (client, _server)) in clients(&bedrock).await.into_iter().enumerate() {
        let output = whole(&client).model_id(arn).send().await.unwrap();
        let (whole_number, stream_number) = (2 * index, 2 * index + 1);
        assert_eq!(contents(&output), [ContentBlock::Text(format!("{whole_number} {arn}"))]);
        bedrock.reply(ScriptedReply::text("first in the queue"));
        let events = rest(streaming(&client).model_id(arn).send().await.unwrap().stream).await.0;
        assert_eq!(events[1], "0 text \"first\"");
        let request = &bedrock.requests()[stream_number];
        assert_eq!((request.number(), request.is_streaming()), (stream_number as u64, true));
    }
}
