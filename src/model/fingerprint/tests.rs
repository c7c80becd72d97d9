//! Equal requests have equal fingerprints, and every changed word changes them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::MessagesManager;
use crate::message::{Contents, Map, MediaKind, MessageWrapper, PlainMessage, ToolCall, ToolError, Value};
use crate::model::ToolSpec;

fn request(change: impl Fn(&mut MessagesManager<PlainMessage>)) -> ModelRequest {
    let mut manager = MessagesManager::new();
    change(&mut manager);
    ModelRequest::new(manager.meta_messages().iter().map(|message| message.message().clone()).collect())
}

fn user(said: impl Into<Contents>) -> ModelRequest {
    let said = said.into();
    request(|manager| {
        manager.add_user(said.clone()).unwrap();
    })
}

/// A request with a tool call and its result.
fn called(id: &str, arguments: serde_json::Value, result: impl Fn(&ToolCall) -> Content) -> ModelRequest {
    request(|manager| {
        manager.add_user("Where is it?").unwrap();
        let call = ToolCall::new(id, "get_parcel", Value::try_from(arguments.clone()).unwrap()).unwrap();
        manager.add_assistant(Content::from(call.clone())).unwrap();
        manager.add_user(result(&call)).unwrap();
    })
}

fn found(id: &str) -> ModelRequest {
    called(id, json!({"id": 17, "at": 2.5}), |call| call.success(["In Milan."]).into())
}

fn inference(set: impl Fn(&mut Inference)) -> ModelRequest {
    let mut request = ModelRequest::default();
    set(&mut request.inference);
    request
}

fn with_tools<const N: usize>(request: ModelRequest, tools: [ToolSpec; N]) -> ModelRequest {
    ModelRequest { tools: Arc::new(tools), ..request }
}

fn tool(schema: serde_json::Value) -> ToolSpec {
    ToolSpec::new("get_parcel", "Finds a parcel.", Value::try_from(schema).unwrap()).unwrap()
}

fn fields(entries: &[(&str, i32)]) -> Map {
    Map::new(entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect::<BTreeMap<_, _>>())
        .unwrap()
}

#[test]
fn equal_requests_have_equal_fingerprints() {
    let first = with_tools(found("call_1"), [tool(json!({"type": "object", "a": 1, "b": 2}))]);
    // The ids of messages and calls, the time and the order of keys differ.
    let second = with_tools(found("tooluse_2"), [tool(json!({"b": 2, "a": 1, "type": "object"}))]);
    assert_ne!(first, second);
    assert_eq!(first.fingerprint(), second.fingerprint());
    let zero = |zero| inference(|inference| inference.temperature = Some(zero));
    assert_eq!(zero(0.0), zero(-0.0));
    assert_eq!(zero(0.0).fingerprint(), zero(-0.0).fingerprint());
}

#[test]
fn fingerprint_is_the_same_in_every_process() {
    let request = ModelRequest {
        system: vec!["You answer the phone.".into()],
        memory: Some("The caller is Mia.".into()),
        ..found("call_1")
    };
    insta::assert_snapshot!(request.fingerprint(), @"b943e62b7f8589d34f12e471fad566b4");
}

#[test]
fn every_changed_word_changes_the_fingerprint() {
    let empty = ModelRequest::default;
    let source = |source: Source| user(Media::new(MediaKind::Image, source));
    let result = |result: fn(&ToolCall) -> Content| called("call_1", json!({}), result);
    let failure = |kind: &'static str, message: &str| ToolError::new(message).with_type(kind);
    let requests = [
        empty(),
        with_tools(empty(), [tool(json!({"type": "object"}))]),
        with_tools(empty(), [tool(json!({"type": "object", "a": 1}))]),
        with_tools(empty(), [tool(json!({"type": "object"})), tool(json!({"type": "object"}))]),
        ModelRequest { system: vec!["Be kind.".into()], ..empty() },
        ModelRequest { system: vec!["Be".into(), "kind.".into()], ..empty() },
        ModelRequest { late_system: vec!["Be kind.".into()], ..empty() },
        ModelRequest { memory: Some("Be kind.".into()), ..empty() },
        inference(|inference| inference.temperature = Some(0.3)),
        inference(|inference| inference.temperature = Some(0.30000000000000004)),
        inference(|inference| inference.top_p = Some(0.3)),
        inference(|inference| inference.max_tokens = Some(300)),
        inference(|inference| inference.stop_sequences = vec!["Be kind.".into()]),
        inference(|inference| inference.stop_sequences = vec!["Be".into(), "kind.".into()]),
        inference(|inference| inference.model_fields = fields(&[("top_k", 40)])),
        inference(|inference| inference.model_fields = fields(&[("top_k", 41)])),
        inference(|inference| inference.model_fields = fields(&[("top_k", 40), ("seed", 1)])),
        user("Hello"),
        user("Hello\n"),
        user(["Hello", "Hello"]),
        request(|manager| {
            manager.add_assistant("Hello").unwrap();
        }),
        found("call_1"),
        called("call_1", json!({"id": 18, "at": 2.5}), |call| call.success(["In Milan."]).into()),
        called("call_1", json!({"id": "17", "at": 2.5}), |call| call.success(["In Milan."]).into()),
        result(|call| call.success(["In Milan."]).into()),
        result(|call| call.success(["In", "Milan."]).into()),
        result(|call| call.success([Value::from("In Milan.")]).into()),
        result(|call| call.success(Vec::<ResultContent>::new()).into()),
        called("call_1", json!({}), |call| call.failure(failure("NotRun", "No.")).into()),
        called("call_1", json!({}), |call| call.failure(failure("Unknown", "No.")).into()),
        called("call_1", json!({}), |call| call.failure(failure("NotRun", "Never.")).into()),
        called("call_1", json!({}), |call| call.failure(failure("NotRun", "No.").with_retryable(true)).into()),
        source(Source::Bytes(b"hi".as_slice().into())),
        source(Source::Bytes(b"ho".as_slice().into())),
        source(Source::Url("hi".into())),
        source(Source::ContentId("hi".into())),
        user(Media::new(MediaKind::Audio, Source::Url("hi".into()))),
        user(Media::new(MediaKind::Image, Source::Url("hi".into())).with_label("x")),
        user(Media::new(MediaKind::Image, Source::Url("hi".into())).with_mime_type("x")),
        user(Media::new(MediaKind::Document, Source::Url("hi".into()))),
        user(Media::new(MediaKind::Document, Source::Url("hi".into())).with_label("x")),
    ];
    let fingerprints: HashSet<String> = requests.iter().map(ModelRequest::fingerprint).collect();
    assert_eq!(fingerprints.len(), requests.len());
}

#[test]
fn call_ids_count_only_as_pairs() {
    let paired = |first: &'static str, second: &'static str| {
        request(|manager| {
            manager.add_user("Where are they?").unwrap();
            let call = |id: &str| ToolCall::new(id, "get_parcel", Value::Null).unwrap();
            manager.add_assistant([Content::from(call("call_1")), call("call_2").into()]).unwrap();
            manager
                .add_user([
                    Content::from(call(first).success(["In Milan."])),
                    call(second).success(["In Rome."]).into(),
                ])
                .unwrap();
        })
        .fingerprint()
    };
    assert_ne!(paired("call_1", "call_2"), paired("call_2", "call_1"));
}
