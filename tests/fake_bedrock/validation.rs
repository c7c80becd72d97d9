//! Validation in Bedrock's words, and requests as the fake reads them.

use aws_sdk_bedrockruntime::error::ProvideErrorMetadata;
use aws_sdk_bedrockruntime::types::{
    CachePointBlock, CachePointType, ContentBlock, ConversationRole, InferenceConfiguration, SystemContentBlock, Tool,
    ToolConfiguration, ToolInputSchema, ToolResultBlock, ToolResultContentBlock, ToolSpecification, ToolUseBlock,
};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use verbale::bedrock::to_json;
use verbale::testing::{FakeBedrock, ScriptedReply};

use super::asked::{MODEL, complete, said, streaming};
use super::clients;
use super::document::document;

const BLANK: &str = "The text field in the ContentBlock object at messages.2.content.0 is blank. Add text to the text \
                     field, and try again.";

#[tokio::test]
async fn first_violation_is_reported_in_the_words_of_bedrock() {
    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        bedrock.reply(ScriptedReply::text("Fine."));
        let blank = || {
            streaming(&client)
                .messages(said(ConversationRole::Assistant, "Yes?"))
                .messages(said(ConversationRole::User, " "))
        };
        let error = blank().send().await.unwrap_err();
        assert_eq!(error.raw_response().unwrap().status().as_u16(), 400);
        assert_eq!(error.raw_response().unwrap().headers().get("x-amzn-errortype"), Some("ValidationException"));
        assert_eq!(error.message(), Some(BLANK));
        assert!(error.into_service_error().is_validation_exception());
        let error = client.converse().model_id(MODEL).send().await.unwrap_err();
        assert_eq!(
            error.message(),
            Some(
                "A conversation must start with a user message. Try again with a conversation that starts with a user message."
            )
        );
        // The refused requests took no reply.
        assert_eq!(complete(streaming(&client).send().await.unwrap().stream).await[1], "0 text \"Fine.\"");
    }
    let counters = bedrock.counters();
    assert_eq!((counters.requests, counters.refused, counters.finished), (6, 4, 6));
    assert_eq!(bedrock.requests().len(), 6);
}

#[tokio::test]
async fn validation_uses_the_profile_of_the_model() {
    let bedrock = FakeBedrock::default();
    let [(client, _), _] = clients(&bedrock).await;
    let prefilled = || streaming(&client).messages(said(ConversationRole::Assistant, "It is"));
    complete(prefilled().send().await.unwrap().stream).await;
    let error = prefilled().model_id("us.anthropic.claude-sonnet-5").send().await.unwrap_err();
    assert_eq!(
        error.message(),
        Some("This model does not support assistant message prefill. The conversation must end with a user message.")
    );
}

#[tokio::test]
async fn received_request_equals_the_sent_one() {
    let call = ToolUseBlock::builder().tool_use_id("call_1").name("clock").input(document(json!({"zone": "CET"})));
    let result = ToolResultBlock::builder()
        .tool_use_id("call_1")
        .content(ToolResultContentBlock::Json(document(json!({"time": "12:03", "offset": -1.5, "dst": [true, null]}))));
    let messages = [
        said(ConversationRole::User, "What time is it? \u{1} é \"x\""),
        message(ConversationRole::Assistant, ContentBlock::ToolUse(call.build().unwrap())),
        message(ConversationRole::User, ContentBlock::ToolResult(result.build().unwrap())),
    ];
    let cache_point = CachePointBlock::builder().r#type(CachePointType::Default).build().unwrap();
    let schema = ToolInputSchema::Json(document(json!({"type": "object"})));
    let spec = ToolSpecification::builder().name("clock").description("Tells the time").input_schema(schema);
    let tools = [Tool::ToolSpec(spec.build().unwrap()), Tool::CachePoint(cache_point.clone())];
    let system = [SystemContentBlock::Text("You answer.".into()), SystemContentBlock::CachePoint(cache_point)];
    let inference = InferenceConfiguration::builder().max_tokens(200).temperature(0.5).stop_sequences("END").build();

    let bedrock = FakeBedrock::default();
    for (client, _server) in clients(&bedrock).await {
        let request = client
            .converse_stream()
            .model_id(MODEL)
            .set_messages(Some(messages.to_vec()))
            .set_system(Some(system.to_vec()))
            .inference_config(inference.clone())
            .tool_config(ToolConfiguration::builder().set_tools(Some(tools.to_vec())).build().unwrap());
        complete(request.send().await.unwrap().stream).await;
        let received = bedrock.requests().pop().unwrap();
        assert_eq!(received.input().messages(), messages);
        assert_eq!(received.input().system(), system);
        assert_eq!(received.input().tool_config().unwrap().tools(), tools);
        assert_eq!(received.input().inference_config, Some(inference.clone()));
        assert_eq!((received.input().model_id(), received.last_text()), (Some(MODEL), None));
        let body: serde_json::Value = serde_json::from_slice(received.body()).unwrap();
        assert_eq!(body["messages"], messages.iter().map(to_json).collect::<serde_json::Value>());
    }
    let requests = bedrock.requests();
    assert_eq!(requests[0].body(), requests[1].body());
}

fn message(role: ConversationRole, block: ContentBlock) -> aws_sdk_bedrockruntime::types::Message {
    aws_sdk_bedrockruntime::types::Message::builder().role(role).content(block).build().unwrap()
}

#[tokio::test]
async fn unreadable_request_is_refused() {
    let bedrock = FakeBedrock::default();
    let server = bedrock.serve().await.unwrap();
    for (path, body, status, message) in [
        ("/model/m/converse", "{", "400 Bad Request", "FakeBedrock cannot read the request: the body is not JSON."),
        (
            "/model/m/converse-stream",
            r#"{"messages":[{"role":"user","content":[{"text":"secret"},{"text":7}]}]}"#,
            "400 Bad Request",
            "FakeBedrock cannot read the request: messages.0.content.1.text is not a text.",
        ),
        (
            "/model/m/invoke",
            "{}",
            "404 Not Found",
            "FakeBedrock serves only POST /model/{modelId}/converse and /converse-stream.",
        ),
    ] {
        let mut socket = TcpStream::connect(server.endpoint_url().strip_prefix("http://").unwrap()).await.unwrap();
        let length = body.len();
        let request =
            format!("POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{answer}");
        assert!(answer.ends_with(&json!({"message": message}).to_string()), "{answer}");
    }
    let counters = bedrock.counters();
    assert_eq!((counters.connections, counters.requests, counters.refused), (3, 3, 2));
    assert!(bedrock.requests().is_empty());
}

#[tokio::test]
async fn debug_hides_texts() {
    let bedrock = FakeBedrock::default();
    let [(client, _), (_, server)] = clients(&bedrock).await;
    let reply = ScriptedReply::text("sesame").tool_call("sesame", "sesame", json!("sesame"));
    let shown = format!("{reply:?} {:?}", ScriptedReply::validation("sesame"));
    bedrock.reply(reply);
    complete(streaming(&client).messages(said(ConversationRole::Assistant, "sesame")).send().await.unwrap().stream)
        .await;
    let shown = format!("{shown} {bedrock:?} {:?} {server:?}", bedrock.requests());
    assert!(!shown.contains("sesame"), "{shown}");
    assert!(shown.contains("Text(6 bytes)") && shown.contains(r#"[["text"], ["text"]]"#), "{shown}");
}
