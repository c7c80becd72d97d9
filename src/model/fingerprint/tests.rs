//! Equal requests have equal fingerprints, and every changed word changes it.

use std::collections::{BTreeMap, HashSet};

use serde_json::json;

use super::*;
use crate::MessagesManager;
use crate::message::{Contents, Map, MediaKind, MessageWrapper, PlainMessage, ToolCall, ToolCallError, Value};
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

/// A call and its result, under this id and with these words of the tool.
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

fn tool(schema: serde_json::Value) -> ToolSpec {
    ToolSpec::new("get_parcel", "Finds a parcel.", Value::try_from(schema).unwrap()).unwrap()
}

fn fields(entries: &[(&str, i32)]) -> Map {
    Map::new(entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).into())).collect::<BTreeMap<_, _>>())
        .unwrap()
}

#[test]
fn equal_requests_have_equal_fingerprints() {
    let first =
        ModelRequest::new(found("call_1").messages).with_tools([tool(json!({"type": "object", "a": 1, "b": 2}))]);
    // The ids of messages and calls, the time and the order of keys are others.
    let second =
        ModelRequest::new(found("tooluse_2").messages).with_tools([tool(json!({"b": 2, "a": 1, "type": "object"}))]);
    assert_ne!(first, second);
    assert_eq!(first.fingerprint(), second.fingerprint());
    let zero = |zero| ModelRequest::default().with_inference(Inference::default().with_temperature(zero));
    assert_eq!(zero(0.0), zero(-0.0));
    assert_eq!(zero(0.0).fingerprint(), zero(-0.0).fingerprint());
}

#[test]
fn fingerprint_is_the_same_in_every_process() {
    let request = found("call_1").with_system(["You answer the phone."]).with_memory("The caller is Mia.");
    insta::assert_snapshot!(request.fingerprint(), @"b943e62b7f8589d34f12e471fad566b4");
}

#[test]
fn every_changed_word_changes_the_fingerprint() {
    let empty = ModelRequest::default;
    let inference = |change: fn(Inference) -> Inference| empty().with_inference(change(Inference::default()));
    let source = |source: Source| user(Media::new(MediaKind::Image, source));
    let result = |result: fn(&ToolCall) -> Content| called("call_1", json!({}), result);
    let failure = |kind: &'static str, says: &str| ToolCallError::new(says).unwrap().with_type(kind);
    let requests = [
        empty(),
        empty().with_tools([tool(json!({"type": "object"}))]),
        empty().with_tools([tool(json!({"type": "object", "a": 1}))]),
        empty().with_tools([tool(json!({"type": "object"})), tool(json!({"type": "object"}))]),
        empty().with_system(["Be kind."]),
        empty().with_system(["Be", "kind."]),
        empty().with_late_system(["Be kind."]),
        empty().with_memory("Be kind."),
        inference(|inference| inference.with_temperature(0.3)),
        inference(|inference| inference.with_temperature(0.30000000000000004)),
        inference(|inference| inference.with_top_p(0.3)),
        inference(|inference| inference.with_max_tokens(300)),
        inference(|inference| inference.with_stop_sequences(["Be kind."])),
        inference(|inference| inference.with_stop_sequences(["Be", "kind."])),
        inference(|inference| inference.with_model_fields(fields(&[("top_k", 40)]))),
        inference(|inference| inference.with_model_fields(fields(&[("top_k", 41)]))),
        inference(|inference| inference.with_model_fields(fields(&[("top_k", 40), ("seed", 1)]))),
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
        user(Media::new(MediaKind::Image, Source::Url("hi".into())).with_prompt_hint("x")),
        user(Media::new(MediaKind::Image, Source::Url("hi".into())).with_mime_type("x")),
        user(Document::new(Source::Url("hi".into()))),
        user(Document::new(Source::Url("hi".into())).with_title("x")),
    ];
    let fingerprints: HashSet<Fingerprint> = requests.iter().map(ModelRequest::fingerprint).collect();
    assert_eq!(fingerprints.len(), requests.len());
}

#[test]
fn calls_count_by_how_they_pair() {
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
