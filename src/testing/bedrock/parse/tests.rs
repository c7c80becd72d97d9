//! Requests of the SDK are read back, and errors name their place.

use aws_sdk_bedrockruntime::types::SystemContentBlock;
use serde_json::json;

use super::*;
use crate::bedrock::to_json;

fn read(body: &Json) -> Result<ConverseInput, String> {
    input("model".to_owned(), body.to_string().as_bytes()).map_err(|error| error.to_string())
}

/// All kinds of blocks as the SDK writes them, which `tests/bedrock_client/wire.rs` compares with `to_json`.
fn blocks() -> Vec<Json> {
    let s3 = json!({"s3Location": {"uri": "s3://calls/1", "bucketOwner": "123456789012"}});
    let bytes = json!({"bytes": "AAH+/w=="});
    let image = json!({"format": "webp", "source": bytes, "error": {"message": "too blurred"}});
    let pages = json!({"format": "xlsx", "name": "prices", "source": {"content": [{"text": "page 1"}]},
        "context": "of 2024", "citations": {"enabled": true}});
    let search = json!({"source": "https://example.com", "title": "Prices", "content": [{"text": "10 €"}],
        "citations": {"enabled": false}});
    let number = json!({"id": 7, "big": u64::MAX, "small": i64::MIN, "float": -0.1, "none": null, "yes": [true, {}]});
    let range = |of: &str| json!({of: 1, "start": 2, "end": 3});
    let cited =
        |location: Json| json!({"title": "T", "source": "S", "sourceContent": [{"text": "x"}], "location": location});
    vec![
        json!({"text": "Hi, \"there\" \\ \n \u{1} è 😀"}),
        json!({"image": image}),
        json!({"image": {"format": "gif", "source": s3}}),
        json!({"video": {"format": "three_gp", "source": s3}}),
        json!({"video": {"format": "mp4", "source": bytes}}),
        json!({"audio": {"format": "mp3", "source": bytes, "error": {"message": "silent"}}}),
        json!({"audio": {"format": "mp3", "source": s3}}),
        json!({"document": pages}),
        json!({"document": {"format": "pdf", "name": "a", "source": bytes}}),
        json!({"document": {"format": "csv", "name": "b", "source": {"text": "a,b"}}}),
        json!({"document": {"format": "csv", "name": "c", "source": s3}}),
        json!({"toolUse": {"toolUseId": "call_1", "name": "get_user", "input": number, "type": "server_tool_use"}}),
        json!({"toolResult": {"toolUseId": "call_1", "status": "error", "type": "x", "content": [{"text": "no answer"},
            {"json": number}, {"image": image}, {"video": {"format": "mp4", "source": bytes}}, {"document": pages},
            {"searchResult": search}]}}),
        json!({"toolResult": {"toolUseId": "call_2", "content": []}}),
        json!({"cachePoint": {"type": "default", "ttl": "1h"}}),
        json!({"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}}),
        json!({"reasoningContent": {"redactedContent": "AAH+/w=="}}),
        json!({"searchResult": search}),
        json!({"guardContent": {"text": {"text": "x", "qualifiers": ["grounding_source"]}}}),
        json!({"guardContent": {"image": {"format": "png", "source": bytes}}}),
        json!({"toolAddition": {"tool": {"type": "x", "name": "get_user", "serverName": "crm"}}}),
        json!({"toolRemoval": {"tool": {"name": "get_user"}}}),
        json!({"citationsContent": {"content": [{"text": "It costs 10 €."}], "citations": [
            cited(json!({"web": {"url": "https://example.com", "domain": "example.com"}})),
            cited(json!({"documentChar": range("documentIndex")})),
            cited(json!({"documentPage": range("documentIndex")})),
            cited(json!({"documentChunk": range("documentIndex")})),
            cited(json!({"searchResultLocation": range("searchResultIndex")})),
        ]}}),
    ]
}

#[test]
fn all_blocks_survive_a_round_trip() {
    for block in blocks() {
        let message = json!({"role": "assistant", "content": [block]});
        let input = read(&json!({"messages": [message]})).unwrap();
        assert_eq!(input.messages().iter().map(to_json).collect::<Vec<_>>(), [message]);
    }
}

#[test]
fn prompts_tools_and_settings_are_read() {
    let body = json!({
        "messages": null,
        "system": [{"text": "You answer."}, {"cachePoint": {"type": "default"}}, {"guardContent": {"text": {"text": "x"}}}],
        "inferenceConfig": {"maxTokens": 200, "temperature": 0.5, "topP": 1, "stopSequences": ["END"]},
        "toolConfig": {
            "tools": [
                {"toolSpec": {"name": "get_user", "description": "d", "inputSchema": {"json": {"type": "object"}}, "strict": true}},
                {"cachePoint": {"type": "default"}},
                {"systemTool": {"name": "nova_grounding"}},
            ],
            "toolChoice": {"tool": {"name": "get_user"}},
        },
        "additionalModelRequestFields": {"top_k": 7},
        "guardrailConfig": {"guardrailIdentifier": "g"},
    });
    let input = read(&body).unwrap();
    assert_eq!((input.model_id(), input.messages.is_none()), (Some("model"), true));
    let [SystemContentBlock::Text(_), SystemContentBlock::CachePoint(_), SystemContentBlock::GuardContent(_)] =
        input.system()
    else {
        panic!("{:?}", input.system())
    };
    let inference = input.inference_config().unwrap();
    assert_eq!((inference.max_tokens, inference.temperature, inference.top_p), (Some(200), Some(0.5), Some(1.0)));
    assert_eq!(inference.stop_sequences(), ["END"]);
    let tools = input.tool_config().unwrap();
    assert_eq!(tools.tool_choice().unwrap().as_tool().unwrap().name, "get_user");
    let [Tool::ToolSpec(spec), Tool::CachePoint(_), Tool::SystemTool(system)] = tools.tools() else {
        panic!("{tools:?}")
    };
    assert_eq!(
        (spec.name(), spec.description(), spec.strict(), system.name()),
        ("get_user", Some("d"), Some(true), "nova_grounding")
    );
    assert!(spec.input_schema().is_some_and(|schema| schema.as_json().is_ok_and(|json| json.is_object())));
    assert!(input.additional_model_request_fields().is_some_and(|fields| fields.is_object()));
    for (choice, is_auto) in [("auto", true), ("any", false)] {
        let input = read(&json!({"toolConfig": {"tools": [], "toolChoice": {choice: {}}}})).unwrap();
        assert_eq!(input.tool_config().unwrap().tool_choice().unwrap().is_auto(), is_auto);
    }
}

#[test]
fn unreadable_request_is_reported_with_its_place() {
    let of_block = |block: Json| json!({"messages": [{"role": "user", "content": [{"text": "Hi"}, block]}]});
    for (body, error) in [
        (json!({"messages": "Hi"}), "messages is not a list"),
        (json!({"messages": [{"role": "robot", "content": []}]}), "messages.0.role is not a role"),
        (json!({"messages": [{"role": "user"}]}), "messages.0 is not complete"),
        (of_block(json!({"smell": {}})), "messages.0.content.1.smell is not a known kind of block"),
        (of_block(json!({})), "messages.0.content.1 is not a map with one member"),
        (of_block(json!({"text": "a", "image": {}})), "messages.0.content.1 is not a map with one member"),
        (of_block(json!({"toolUse": {"name": "x"}})), "messages.0.content.1.toolUse.toolUseId is not there"),
        (
            of_block(json!({"image": {"format": "png", "source": {"bytes": "%"}}})),
            "messages.0.content.1.image.source.bytes is not base64",
        ),
        (json!({"inferenceConfig": {"maxTokens": 1.5}}), "inferenceConfig.maxTokens is not a small whole number"),
    ] {
        assert_eq!(read(&body), Err(format!("FakeBedrock cannot read the request: {error}.")));
    }
}

#[test]
fn path_names_model_and_operation() {
    for (path, found) in [
        ("/model/eu.amazon.nova-lite-v1%3A0/converse", Some(("eu.amazon.nova-lite-v1:0", false))),
        ("/model/arn%3Aaws%2Fx%C3%A9/converse-stream", Some(("arn:aws/xé", true))),
        ("/model/a/b/converse", Some(("a/b", false))),
        ("/model/m/invoke", None),
        ("/models/m/converse", None),
        ("/model/converse", None),
        ("/model/m%3/converse", None),
        ("/model/m%zz/converse", None),
        ("/model/m%+1/converse", None),
        ("/model/m%C3/converse", None),
        ("", None),
    ] {
        assert_eq!(operation(path), found.map(|(id, is_streaming)| (id.to_owned(), is_streaming)), "{path}");
    }
}
