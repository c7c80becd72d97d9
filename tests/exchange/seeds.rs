//! Payloads copied from the documents that define the formats.

use serde_json::{Value as Json, json};
use verbale::exchange::{
    export_chat, export_json_lines, export_versioned, import_anthropic, import_chat, import_json_lines, import_openai,
    import_versioned,
};
use verbale::message::{Media, MediaKind, Source, ToolError};
use verbale::{Content, Contents, Role, Timing, ToolCall, Value};

use crate::formats::{Manager, options, said, without_ids};

/// The time of every import in this file.
const NOW_MS: i64 = 1_744_815_823_058;

fn lines(lines: &str) -> Vec<(Role, Contents)> {
    said(&import_json_lines(lines, &options()).unwrap())
}

fn chats(json: &str) -> Vec<(String, Manager)> {
    import_chat(json, &options()).unwrap()
}

#[test]
fn json_lines_accept_text_in_content_store() {
    let text = r#"{"role": "user", "content": {"type": "text", "text": "Explain photosynthesis."}, "timestamp": "2025-11-18T10:30:00Z"}
{"role": "assistant", "content": {"type": "text", "content_id": "sha256:a1b2c3..."}, "timestamp": "2025-11-18T10:30:15Z"}"#;
    let stored =
        Media::new(MediaKind::Document, Source::ContentId("sha256:a1b2c3...".into())).with_mime_type("text/plain");
    let expected: Vec<(Role, Contents)> =
        vec![(Role::User, "Explain photosynthesis.".into()), (Role::Assistant, stored.into())];
    assert_eq!(lines(text), expected);
    let manager: Manager = import_json_lines(text, &options()).unwrap();
    let export = export_json_lines(&manager);
    assert_eq!(export.losses, []);
    let written: Vec<Json> =
        without_ids(&export.text).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let read: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(written, read);
}

#[test]
fn json_lines_accept_empty_text_with_content_id() {
    let text = r#"{"role":"supervisor","content":{"type":"text","text":"","mime_type":"text/plain","content_id":"sha256:a1b2c3d4..."},"timestamp":"2025-11-18T10:30:00Z"}"#;
    let stored =
        Media::new(MediaKind::Document, Source::ContentId("sha256:a1b2c3d4...".into())).with_mime_type("text/plain");
    assert_eq!(lines(text), vec![(Role::System, Contents::from(stored))]);
}

#[test]
fn json_lines_accept_markdown_as_text() {
    let text = r#"{"role":"user","content":{"type":"text","text":"What is **2 + 2**?","mime_type":"text/markdown"},"timestamp":"2025-11-18T10:30:00Z"}"#;
    assert_eq!(lines(text), vec![(Role::User, Contents::from("What is **2 + 2**?"))]);
}

#[test]
fn json_lines_accept_image_with_data_and_content_id() {
    let text = r#"{"role":"user","content":{"type":"image","data":"aGk=","mime_type":"image/png","content_id":"sha256:abc123..."},"timestamp":"2025-11-18T10:30:00Z"}"#;
    let image = Media::new(MediaKind::Image, Source::Bytes(b"hi".as_slice().into())).with_mime_type("image/png");
    assert_eq!(lines(text), vec![(Role::User, Contents::from(image))]);
}

#[test]
fn failed_result_appends_content_to_error() {
    let text = r#"{"role":"invocation","identifier":"call_123","name":"get_weather","arguments":{},"timestamp":"2025-11-18T10:30:00Z"}
{"role":"result","invocation_id":"call_123","content":{"type":"text","text":"Oslo: 4 degrees"},"error":"Bergen did not answer","timestamp":"2025-11-18T10:30:00Z"}"#;
    let call = ToolCall::new("call_123", "get_weather", Value::map::<&str, Value>([]).unwrap()).unwrap();
    let error = ToolError::new("Bergen did not answer\nOslo: 4 degrees");
    let expected: Vec<(Role, Contents)> =
        vec![(Role::Assistant, call.clone().into()), (Role::User, call.failure(error).into())];
    assert_eq!(lines(text), expected);
}

#[test]
fn media_keep_their_service_id() {
    let text = r#"{"role":"user","content":{"type":"image","url":"https://example.com/hat.jpg","mime_type":"image/jpeg","prompt_hint":"girl wearing a hat","id":"media-1"},"timestamp":"2025-11-18T10:30:00Z"}"#;
    let manager: Manager = import_json_lines(text, &options()).unwrap();
    let export = export_json_lines(&manager);
    assert_eq!((without_ids(&export.text).trim_end(), export.losses.as_slice()), (text, [].as_slice()));
    assert_eq!(Manager::restore(manager.records()).unwrap(), manager);
}

#[test]
fn input_without_timestamp_gets_current_time() {
    let text = r#"{
  "role": "user",
  "content": [
    {"type": "text", "text": "What's in this image?"},
    {"type": "image", "source": "url", "url": "https://example.com/image.jpg"}
  ]
}"#;
    let [(id, manager)] = chats(text).try_into().unwrap();
    let image = Media::new(MediaKind::Image, Source::Url("https://example.com/image.jpg".into()));
    let expected = Contents::from(vec![Content::from("What's in this image?"), image.into()]);
    assert_eq!((id.as_str(), said(&manager)), ("default", vec![(Role::User, expected)]));
    assert_eq!(manager.meta_messages()[0].metadata().timing(Timing::Creation), Some(NOW_MS));
}

#[test]
fn event_time_applies_to_its_message() {
    let text = r#"{
  "scheduled_time": "2024-03-15T10:30:00Z",
  "modality": "chat",
  "data": {
    "role": "user",
    "content": "What's the weather today?"
  }
}"#;
    let [(_, manager)] = chats(text).try_into().unwrap();
    assert_eq!(said(&manager), vec![(Role::User, Contents::from("What's the weather today?"))]);
    assert_eq!(manager.meta_messages()[0].metadata().timing(Timing::Creation), Some(1_710_498_600_000));
}

#[test]
fn inputs_are_ordered_by_input_id_and_keep_it() {
    let input = |id: &str, content: &str| {
        json!({"modality_type": "chat", "timestamp": "2024-03-15T10:30:00Z", "input_id": id, "role": "user",
            "content": content, "conversation_id": "default"})
    };
    let mut third = input("c", "3");
    third["message_id"] = "m-0".into();
    let conversations = chats(&json!([third, input("b", "2"), input("a", "1")]).to_string());
    let [(_, manager)] = conversations.as_slice() else { panic!("not one") };
    let texts: Vec<_> = said(manager).into_iter().map(|(_, contents)| contents).collect();
    assert_eq!(texts, ["1", "2", "3"].map(Contents::from));
    let export = export_chat([("default", manager)]);
    let written: Json = serde_json::from_str(&export.text).unwrap();
    let ids: Vec<_> = written.as_array().unwrap().iter().map(|m| (&m["message_id"], &m["input_id"])).collect();
    assert_eq!(ids, [(&json!("a"), &Json::Null), (&json!("b"), &Json::Null), (&json!("m-0"), &json!("c"))]);
    assert_eq!(said(&chats(&export.text)[0].1), said(manager));
}

#[test]
fn messages_without_times_keep_their_order() {
    let message = |id: &str, content: &str| json!({"role": "user", "content": content, "message_id": id});
    let json = json!([message("m-9", "1"), message("m-10", "2"), message("m-1", "3")]);
    let texts: Vec<_> = said(&chats(&json.to_string())[0].1).into_iter().map(|(_, contents)| contents).collect();
    assert_eq!(texts, ["1", "2", "3"].map(Contents::from));
}

#[test]
fn versioned_example_round_trips() {
    let text = r#"{
    "messages": [
        {
            "type": "AgentMessage",
            "text": "You are a helpful assistant",
            "role": "system"
        },
        {
            "type": "TextMessage",
            "text": "Hello! How can I help you today?",
            "role": "assistant"
        },
        {
            "type": "TextMessage",
            "text": "What's the weather in Paris?",
            "role": "user"
        },
        {
            "type": "ToolCallMessage",
            "message": "I'll check the weather for you",
            "tool_name": "get_weather",
            "tool_call_id": "call_123",
            "arguments": {"location": "Paris"},
            "result": "Sunny, 22°C",
            "error": null,
            "role": "assistant"
        }
    ],
    "version": "1.0"
}"#;
    let manager: Manager = import_versioned(text, &options()).unwrap();
    let written: Json = serde_json::from_str(&export_versioned(&manager).text).unwrap();
    assert_eq!(written, serde_json::from_str::<Json>(text).unwrap());
}

#[test]
fn provider_messages_are_imported() {
    let text = r#"[{
       "role": "user",
       "content": "Explain photosynthesis."
   }]"#;
    let expected = vec![(Role::User, Contents::from("Explain photosynthesis."))];
    assert_eq!(said(&import_anthropic(text, &options()).unwrap()), expected);
    assert_eq!(said(&import_openai(text, &options()).unwrap()), expected);
}

#[test]
fn json_lines_read_system_like_supervisor() {
    let text = |role| {
        format!(
            r#"{{"role":"{role}","content":{{"type":"text","text":"Be brief."}},"timestamp":"2025-11-18T10:29:59Z"}}"#
        )
    };
    assert_eq!(lines(&text("system")), vec![(Role::System, Contents::from("Be brief."))]);
    assert_eq!(lines(&text("system")), lines(&text("supervisor")));
}
