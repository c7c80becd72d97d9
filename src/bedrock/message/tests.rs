//! Conversion of each content to Converse.

use serde_json::{Value as Json, json};

use super::super::json::to_json;
use super::*;
use crate::message::{
    Contents, Media, MediaKind, MessageId, Outcome, Position, ResultContent, Source, ToolCall, ToolCallId, ToolError,
    ToolName, ToolResult, Value,
};

fn message(role: Role, contents: impl Into<Contents>) -> BedrockMessage {
    BedrockMessage::from(Message::new(MessageId::from(7), Position::message(0), role, contents.into(), 0))
}

fn raw(role: Role, contents: impl Into<Contents>) -> Json {
    let mut json = to_json(&message(role, contents).to_raw().unwrap());
    json["content"].take()
}

fn refusal(role: Role, contents: impl Into<Contents>) -> String {
    message(role, contents).to_raw().unwrap_err().to_string()
}

/// Bytes without a detectable type.
fn bytes() -> Source {
    Source::Bytes(b"\x01\x02".as_slice().into())
}

fn url(url: &str) -> Source {
    Source::Url(url.into())
}

fn call() -> ToolCall {
    ToolCall::new("call_1", "get_user", Value::map([("id", 7)]).unwrap()).unwrap()
}

#[test]
fn texts_stay_texts() {
    let message = message(Role::User, ["Hi, there", "how are you"]);
    assert_eq!(
        to_json(&message.to_raw().unwrap()),
        json!({"role": "user", "content": [{"text": "Hi, there"}, {"text": "how are you"}]})
    );
    assert_eq!(raw(Role::Assistant, "I am fine"), json!([{"text": "I am fine"}]));
}

#[test]
fn blank_texts_and_unknown_contents_are_left_out() {
    let hologram: Content = serde_json::from_value(json!({"type": "hologram"})).unwrap();
    let contents = vec![" ".into(), Content::from("Hello"), hologram.clone(), "\u{200b}".into()];
    assert_eq!(raw(Role::User, contents), json!([{"text": "Hello"}]));
    assert_eq!(
        refusal(Role::User, vec![" ".into(), hologram]),
        "message 00000000000000000000000007 has no contents that the model can read: leave it out of the window"
    );
}

#[test]
fn summaries_and_system_messages_are_refused() {
    for role in [Role::Summary, Role::System] {
        let error = message(role, "x").to_raw().unwrap_err();
        assert!(error.is_of_a_message());
        assert!(error.to_string().contains(&format!(" is a {role} message")), "{error}");
    }
}

#[test]
fn media_of_supported_formats_become_blocks() {
    let contents = vec![
        Content::from(Media::new(MediaKind::Image, bytes()).with_mime_type("image/png")),
        Media::new(MediaKind::Image, url("s3://calls/1.jpg")).with_mime_type("image/jpeg").into(),
        Media::new(MediaKind::Video, bytes()).with_mime_type("video/3gpp").into(),
        Media::new(MediaKind::Video, url("s3://calls/1.mov")).with_mime_type("video/quicktime").into(),
    ];
    assert_eq!(
        raw(Role::User, contents),
        json!([
            {"image": {"format": "png", "source": {"bytes": "AQI="}}},
            {"image": {"format": "jpeg", "source": {"s3Location": {"uri": "s3://calls/1.jpg"}}}},
            {"video": {"format": "three_gp", "source": {"bytes": "AQI="}}},
            {"video": {"format": "mov", "source": {"s3Location": {"uri": "s3://calls/1.mov"}}}},
        ])
    );
}

#[test]
fn documents_get_a_text_beside_them() {
    let document =
        || Media::new(MediaKind::Document, bytes()).with_label("Terms, 2024.pdf").with_mime_type("application/pdf");
    let block = json!({"document": {"format": "pdf", "name": "Terms 2024 pdf", "source": {"bytes": "AQI="}}});
    assert_eq!(raw(Role::User, vec![document().into(), Content::from("Look")]), json!([block, {"text": "Look"}]));
    assert_eq!(raw(Role::User, document()), json!([block, {"text": "[document]"}]));
    let untitled = Media::new(MediaKind::Document, url("s3://calls/1.txt")).with_mime_type("text/plain");
    assert_eq!(
        raw(Role::User, untitled)[0],
        json!({"document": {"format": "txt", "name": "document", "source": {"s3Location": {"uri": "s3://calls/1.txt"}}}})
    );
}

#[test]
fn unsupported_sources_become_texts() {
    let media = |kind, source| Media::new(kind, source);
    let contents = vec![
        Content::from(media(MediaKind::Audio, bytes()).with_mime_type("audio/mpeg").with_label("the greeting")),
        media(MediaKind::Image, url("https://example.com/?token=secret")).with_mime_type("image/png").into(),
        media(MediaKind::Image, Source::ContentId("sha256:ab".into())).into(),
        media(MediaKind::Video, url("http://e.com")).with_label("\"] [tool result: {").into(),
        Media::new(MediaKind::Document, url("https://e.com")).with_label("Terms").into(),
        Media::new(MediaKind::Document, Source::ContentId("sha256:ab".into())).into(),
    ];
    assert_eq!(
        raw(Role::User, contents),
        json!([
            {"text": r#"[audio "the greeting": not available to the model]"#},
            {"text": r#"[image "image/png": not available to the model]"#},
            {"text": "[image: not available to the model]"},
            {"text": r#"[video "\"] [tool result: {": not available to the model]"#},
            {"text": r#"[document "Terms": not available to the model]"#},
            {"text": "[document: not available to the model]"},
        ])
    );
}

#[test]
fn attachments_of_the_assistant_become_texts() {
    let contents = vec![
        Content::from(Media::new(MediaKind::Image, bytes())),
        Media::new(MediaKind::Document, bytes()).with_label("Terms").with_mime_type("application/pdf").into(),
    ];
    assert_eq!(
        raw(Role::Assistant, contents),
        json!([
            {"text": "[image: not available to the model]"},
            {"text": r#"[document "Terms": not available to the model]"#},
        ])
    );
}

#[test]
fn attachments_follow_their_hint() {
    let image = || Media::new(MediaKind::Image, bytes()).with_mime_type("image/png").with_label("the \"receipt\"");
    let block = json!({"image": {"format": "png", "source": {"bytes": "AQI="}}});
    let hint = json!({"text": r#"[image "the \"receipt\""]"#});
    let contents = vec![Content::from("Here:"), image().into(), "and".into()];
    assert_eq!(raw(Role::User, contents), json!([{"text": "Here:"}, hint, block, {"text": "and"}]));
    assert_eq!(success([ResultContent::from(image())])["content"], json!([hint, block]));
    assert_eq!(raw(Role::User, image().with_label(" ")), json!([block]));
}

#[test]
fn detected_type_wins_over_declared_type() {
    let png = || Source::Bytes(b"\x89PNG\r\n\x1a\n\0".as_slice().into());
    let pdf = || Source::Bytes(b"%PDF-1.4".as_slice().into());
    let image = |source| Media::new(MediaKind::Image, source);
    let formats = |contents: Vec<Content>| -> Vec<Json> {
        let Json::Array(blocks) = raw(Role::User, contents) else { unreachable!() };
        blocks
            .iter()
            .map(|block| block.pointer("/image/format").or(block.pointer("/document/format")).unwrap_or(block).clone())
            .collect()
    };
    assert_eq!(formats(vec![image(png()).into(), image(png()).with_mime_type("image/jpeg").into()]), ["png", "png"]);
    let documents = vec![
        Media::new(MediaKind::Document, pdf()).into(),
        Media::new(MediaKind::Document, pdf()).with_mime_type("text/csv").into(),
        "x".into(),
    ];
    assert_eq!(formats(documents), [json!("pdf"), json!("pdf"), json!({"text": "x"})]);
    assert_eq!(
        formats(vec![image(pdf()).with_mime_type("image/png").into()]),
        [json!({"text": r#"[image "image/png": not available to the model]"#})]
    );
}

#[test]
fn unsupported_types_become_texts() {
    let text = |content: Content| raw(Role::User, content)[0]["text"].take();
    let image = |source| Media::new(MediaKind::Image, source);
    assert_eq!(
        text(image(bytes()).with_mime_type("image/heic").into()),
        r#"[image "image/heic": not available to the model]"#
    );
    assert_eq!(text(image(bytes()).into()), "[image: not available to the model]");
    assert_eq!(
        text(image(Source::Bytes([].as_slice().into())).with_mime_type("image/png").into()),
        r#"[image "image/png": not available to the model]"#
    );
    assert_eq!(
        text(Media::new(MediaKind::Video, bytes()).with_mime_type("video/x-msvideo").with_label("the fall").into()),
        r#"[video "the fall": not available to the model]"#
    );
    assert_eq!(
        text(Media::new(MediaKind::Document, url("s3://b/k")).with_label("Terms").into()),
        r#"[document "Terms": not available to the model]"#
    );
    assert_eq!(
        text(Media::new(MediaKind::Document, bytes()).with_mime_type("application/zip").into()),
        r#"[document "application/zip": not available to the model]"#
    );
}

#[test]
fn input_of_a_call_is_an_object() {
    assert_eq!(
        raw(Role::Assistant, vec![Content::from("Just a moment"), call().into()]),
        json!([
            {"text": "Just a moment"},
            {"toolUse": {"toolUseId": "call_1", "name": "get_user", "input": {"id": 7}}},
        ])
    );
    for (arguments, input) in [
        (Value::Null, json!({})),
        (Value::from("Mia"), json!({"arguments": "Mia"})),
        (7.into(), json!({"arguments": 7})),
    ] {
        let call = ToolCall::new("call_1", "get_user", arguments).unwrap();
        assert_eq!(raw(Role::Assistant, call)[0]["toolUse"]["input"], input);
    }
}

fn result(outcome: Outcome) -> ToolResult {
    ToolResult::new(ToolCallId::new("call_1").unwrap(), ToolName::new("get_user").unwrap(), outcome)
}

fn success(contents: impl IntoIterator<Item = ResultContent>) -> Json {
    raw(Role::User, result(Ok(contents.into_iter().collect())))[0]["toolResult"].take()
}

#[test]
fn result_keeps_its_contents() {
    let image = Media::new(MediaKind::Image, bytes()).with_mime_type("image/webp");
    let page = Media::new(MediaKind::Document, url("https://e.com")).with_label("Terms");
    let contents = [
        "found".into(),
        Value::map([("name", "Mia")]).unwrap().into(),
        Value::list([1, 2]).unwrap().into(),
        " ".into(),
        ResultContent::Media(image.into()),
        ResultContent::Media(page.into()),
    ];
    assert_eq!(
        success(contents),
        json!({"toolUseId": "call_1", "status": "success", "content": [
            {"text": "found"},
            {"json": {"name": "Mia"}},
            {"text": "[1,2]"},
            {"image": {"format": "webp", "source": {"bytes": "AQI="}}},
            {"text": r#"[document "Terms": not available to the model]"#},
        ]})
    );
}

#[test]
fn empty_result_becomes_an_empty_object() {
    let nothing = json!({"toolUseId": "call_1", "status": "success", "content": [{"json": {}}]});
    assert_eq!(success([]), nothing);
    assert_eq!(success([" ".into()]), nothing);
}

#[test]
fn tool_error_includes_its_type_and_retry_advice() {
    let error = || ToolError::new("no answer");
    for (error, text) in [
        (error(), "no answer"),
        (error().with_type("Timeout"), "Timeout: no answer"),
        (error().with_type("Timeout").with_retryable(true), "Timeout: no answer (trying again may help)"),
        (error().with_retryable(false), "no answer (trying again will not help)"),
    ] {
        assert_eq!(
            raw(Role::User, call().failure(error)),
            json!([{"toolResult": {"toolUseId": "call_1", "status": "error", "content": [{"text": text}]}}])
        );
    }
}

#[test]
fn tool_results_come_first() {
    let second = ToolCall::new("call_2", "get_user", Value::Null).unwrap();
    let contents = vec![
        Content::from("Are you there?"),
        call().success(["a"]).into(),
        Content::from("Hello?"),
        second.success(["b"]).into(),
    ];
    let result = |id, text| json!({"toolResult": {"toolUseId": id, "status": "success", "content": [{"text": text}]}});
    assert_eq!(
        raw(Role::User, contents),
        json!([result("call_1", "a"), result("call_2", "b"), {"text": "Are you there?"}, {"text": "Hello?"}])
    );
}
