//! Versioned JSON.

use std::error::Error;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use verbale::exchange::{ExchangeError, Export, export_versioned, import_versioned};
use verbale::message::{Draft, ResultContent, ToolError};
use verbale::{Content, PlainMessage, Role, ToolCall, Value};

use super::loss;

use crate::formats::options;
use crate::random::{Manager, conversation, said};

fn imported(text: &str) -> Result<Manager, ExchangeError> {
    import_versioned::<PlainMessage>(text, &options())
}

fn read(json: &Json) -> Result<Manager, ExchangeError> {
    imported(&json.to_string())
}

fn written(manager: &Manager) -> Json {
    serde_json::from_str(&export_versioned(manager).text).unwrap()
}

/// The example in the document that defines the format.
fn example() -> Json {
    json!({
        "messages": [
            {"type": "AgentMessage", "text": "You are a helpful assistant", "role": "system"},
            {"type": "TextMessage", "text": "Hello! How can I help you today?", "role": "assistant"},
            {"type": "TextMessage", "text": "What's the weather in Paris?", "role": "user"},
            {"type": "ToolCallMessage", "message": "I'll check the weather for you", "tool_name": "get_weather",
                "tool_call_id": "call_123", "arguments": {"location": "Paris"}, "result": "Sunny, 22°C", "error": null,
                "role": "assistant"},
        ],
        "version": "1.0",
    })
}

#[test]
fn example_of_the_format_round_trips() {
    let manager = read(&example()).unwrap();
    let call = ToolCall::new("call_123", "get_weather", Value::map([("location", "Paris")]).unwrap()).unwrap();
    let expected: Vec<(Role, verbale::Contents)> = vec![
        (Role::System, "You are a helpful assistant".into()),
        (Role::Assistant, "Hello! How can I help you today?".into()),
        (Role::User, "What's the weather in Paris?".into()),
        (Role::Assistant, vec![Content::from("I'll check the weather for you"), call.clone().into()].into()),
        (Role::User, call.success(["Sunny, 22°C"]).into()),
    ];
    assert_eq!(said(&manager.records()), expected);
    assert!(manager.records()[1].is_fake());
    assert_eq!(written(&manager), example());
    assert!(export_versioned(&manager).losses.is_empty());
}

#[test]
fn failed_call_and_calls_of_several_rounds_round_trip() {
    let call = |id: &str, result: Json, error: Json| {
        json!({"type": "ToolCallMessage", "message": "", "tool_name": "pay", "tool_call_id": id, "arguments": {},
            "result": result, "error": error, "role": "assistant"})
    };
    let json = json!({"version": "1.0", "messages": [
        {"type": "TextMessage", "text": "Pay", "role": "user"},
        call("a", json!(null), json!("no answer")), call("b", json!({"paid": 7}), json!(null)),
        call("c", json!(null), json!(null)),
        {"type": "TextMessage", "text": "Paid.", "role": "assistant"},
    ]});
    let manager = read(&json).unwrap();
    let roles: Vec<Role> = manager.records().iter().map(|record| record.role()).collect();
    let (user, assistant) = (Role::User, Role::Assistant);
    assert_eq!(roles, [user, assistant, user, assistant, user, assistant, user, assistant]);
    assert_eq!(written(&manager), json);
}

#[test]
fn parallel_calls_among_texts_round_trip() {
    let mut manager = Manager::new();
    manager.add_user("Move it, and pay").unwrap();
    let find = ToolCall::new("a", "find", Value::map([("id", 7)]).unwrap()).unwrap();
    let pay = ToolCall::new("b", "pay", Value::Null).unwrap();
    let parts: [Content; 5] =
        ["One".into(), find.clone().into(), "moment".into(), pay.clone().into(), "please.".into()];
    manager.add_assistant(parts).unwrap();
    let error = ToolError::new("no answer").with_type("Timeout").with_retryable(true);
    let found = [ResultContent::from("found"), Value::from("a string of data").into()];
    manager.add_user([Content::from(find.success(found)), pay.failure(error).into(), "Well?".into()]).unwrap();
    manager.add_system(["Be brief.", "Be kind."]).unwrap();
    let json = json!({"version": "1.0", "messages": [
        {"type": "TextMessage", "text": "Move it, and pay", "role": "user"},
        {"type": "ToolCallMessage", "message": "One", "tool_name": "find", "tool_call_id": "a", "arguments": {"id": 7},
            "result": null, "error": null, "result_contents": [
                {"type": "text", "text": "found"}, {"type": "json", "json": "a string of data"}], "role": "assistant"},
        {"type": "ToolCallMessage", "message": "moment", "tool_name": "pay", "tool_call_id": "b", "arguments": null,
            "result": null, "error": "no answer", "error_type": "Timeout", "retryable": true, "role": "assistant",
            "continues": true},
        {"type": "TextMessage", "text": "please.", "role": "assistant", "continues": true},
        {"type": "TextMessage", "text": "Well?", "role": "user"},
        {"type": "AgentMessage", "text": "Be brief.", "role": "system"},
        {"type": "AgentMessage", "text": "Be kind.", "role": "system", "continues": true},
    ]});
    assert_eq!(written(&manager), json);
    assert_eq!(said(&read(&json).unwrap().records()), said(&manager.records()));
}

#[test]
fn late_and_missing_results_keep_their_place() {
    let mut manager = Manager::new();
    manager.add_user("Pay").unwrap();
    let [late, never] = ["late", "never"].map(|id| ToolCall::new(id, "pay", Value::Null).unwrap());
    manager.add_assistant([Content::from(late.clone()), never.into()]).unwrap();
    manager.add_user("Hello?").unwrap();
    manager.add_assistant("One moment.").unwrap();
    manager.add_user([Content::from("Well?"), late.success(["paid"]).into()]).unwrap();
    let call = |id: &str| {
        json!({"type": "ToolCallMessage", "message": "", "tool_name": "pay", "tool_call_id": id, "arguments": null,
            "role": "assistant"})
    };
    let mut second = call("never");
    second["continues"] = true.into();
    let json = json!({"version": "1.0", "messages": [
        {"type": "TextMessage", "text": "Pay", "role": "user"}, call("late"), second,
        {"type": "TextMessage", "text": "Hello?", "role": "user"},
        {"type": "TextMessage", "text": "One moment.", "role": "assistant"},
        {"type": "TextMessage", "text": "Well?", "role": "user"},
        {"type": "ToolResultMessage", "tool_name": "pay", "tool_call_id": "late", "result": "paid", "error": null,
            "role": "user"},
    ]});
    assert_eq!(written(&manager), json);
    let again = read(&json).unwrap();
    assert_eq!(said(&again.records()), said(&manager.records()));
    assert_eq!(again.open_tool_calls().len(), 1);
}

#[test]
fn bytes_and_unheard_text_are_losses() {
    let mut manager = Manager::new();
    manager.add_user("Pay").unwrap();
    let call = ToolCall::new("a", "pay", Value::from(b"hi".as_slice())).unwrap();
    let id = manager.add_assistant([Content::from("One moment."), call.into()]).unwrap().id();
    let heard = verbale::Heard::new(3, verbale::HeardSource::Estimate);
    manager.entry(&id).unwrap().set_heard(heard).unwrap();
    let losses = export_versioned(&manager).losses;
    assert_eq!(losses, [(id, loss::UNHEARD), (id, loss::VALUE_TYPE)]);
}

#[test]
fn merged_parts_and_confidences_are_losses() {
    let mut manager = Manager::new();
    let merged = manager.add_user("Hi, there").unwrap().id();
    manager.add_user("are you there?").unwrap();
    manager.add_assistant("Yes.").unwrap();
    let sure = Draft::new(Role::User, "Good").with_confidence(0.93.try_into().unwrap()).unwrap();
    let sure = manager.add(sure).unwrap().id();
    let losses = export_versioned(&manager).losses;
    assert_eq!(losses, [(merged, loss::PARTS), (sure, loss::PARTS)]);
}

#[test]
fn errors_name_path_and_quote_nothing() {
    let call = |key: &str, value: Option<Json>| {
        let mut json = example();
        let entries = json["messages"][3].as_object_mut().unwrap();
        match value {
            Some(value) => entries.insert(key.to_owned(), value),
            None => entries.remove(key),
        };
        json
    };
    let of = |item: Json| json!({"version": "1.0", "messages": [item]});
    let mut errors = Vec::new();
    for json in [
        json!({"messages": [], "version": "2.0"}),
        json!({"messages": []}),
        json!({"version": "1.0"}),
        json!({"version": 1.0, "messages": []}),
        json!({"version": "1.0", "messages": {}}),
        of(json!({"text": "secret"})),
        of(json!(["TextMessage", "secret"])),
        of(json!({"type": "secret"})),
        of(json!({"type": "TextMessage", "text": "secret"})),
        of(json!({"type": "TextMessage", "text": "secret", "role": "secret"})),
        of(json!({"type": "TextMessage", "role": "user"})),
        of(json!({"type": "TextMessage", "text": "a", "role": "user", "secret": 1})),
        of(json!({"type": "AgentMessage", "text": "a", "role": "user"})),
        of(json!({"type": "TextMessage", "text": " ", "role": "user"})),
        of(json!({"type": "AgentMessage", "text": " ", "role": "system"})),
        call("tool_name", None),
        call("tool_call_id", None),
        call("arguments", None),
        call("tool_name", Some(json!("no name!"))),
        call("result_contents", Some(json!([{"type": "text", "text": "secret"}]))),
        of(json!({"type": "ImageMessage", "role": "user"})),
        of(json!({"type": "ImageMessage", "role": "user", "data": "secret!"})),
        of(json!({"type": "ImageMessage", "role": "user", "url": "secret", "title": "secret"})),
        of(json!({"type": "TextMessage", "text": "secret", "role": "user", "continues": true})),
        of(json!({"type": "ToolResultMessage", "tool_name": "f", "tool_call_id": "a", "result": 1, "role": "user"})),
    ] {
        errors.push(read(&json).unwrap_err());
    }
    let all: String = errors.iter().map(|error| format!("{error:?} {:?}", error.source())).collect();
    assert!(!all.contains("secret"), "{all}");
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    $.version (line 1, column 30): the name is unknown; use one of `1.0`
    $ (line 1, column 15): the key `version` is missing
    $ (line 1, column 1): the key `messages` is missing
    $.version (line 1, column 26): expected a string, found a number
    $.messages (line 1, column 13): expected a list, found an object
    $.messages[0] (line 1, column 30): the key `type` is missing
    $.messages[0] (line 1, column 14): expected an object, found a list
    $.messages[0].type (line 1, column 29): the name is unknown; use one of `AgentMessage`, `TextMessage`, `ToolCallMessage`, `ToolResultMessage`, `ImageMessage`, `AudioMessage`, `VideoMessage`, `DocumentMessage`
    $.messages[0] (line 1, column 51): the key `role` is missing
    $.messages[0].role (line 1, column 29): the name is unknown; use one of `user`, `assistant`, `system`
    $.messages[0] (line 1, column 14): the key `text` is missing
    $.messages[0] (line 1, column 14): an unknown key cannot be kept; remove it (known keys: type, role, continues, text)
    $.messages[0] (line 1, column 14): an item of this `type` cannot have this `role`
    $.messages[0] (line 1, column 14): the conversation refuses the message
    $.messages[0] (line 1, column 14): the conversation refuses the message
    $.messages[3] (line 1, column 250): the key `tool_name` is missing
    $.messages[3] (line 1, column 250): the key `tool_call_id` is missing
    $.messages[3] (line 1, column 250): the key `arguments` is missing
    $.messages[3].tool_name (line 1, column 429): a tool name has 1 to 64 characters of [a-zA-Z0-9_-]; this one has 8 bytes
    $.messages[3] (line 1, column 250): only one of `result` and `result_contents` can hold the result; the other must be null
    $.messages[0] (line 1, column 14): expected the data under one of `url`, `data` and `content_id`
    $.messages[0].data (line 1, column 22): expected bytes in base64
    $.messages[0] (line 1, column 14): an unknown key cannot be kept; remove it (known keys: type, source, url, data, content_id, mime_type, prompt_hint, id, role, continues)
    $.messages[0] (line 1, column 14): `continues` needs an item of the same role directly before it
    $.messages[0] (line 1, column 14): no tool call with this id precedes the result
    ");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_conversation_round_trips(records in conversation(true)) {
        let manager = Manager::restore(records.clone()).unwrap();
        let export = export_versioned(&manager);
        for (_, loss) in &export.losses {
            prop_assert!([loss::SUMMARY, loss::UNHEARD, loss::PARTS].contains(loss), "{loss}");
        }
        let again = imported(&export.text).unwrap();
        prop_assert_eq!(said(&again.records()), said(&records), "{}", export.text);
        let second = export_versioned(&again);
        let third = export_versioned(&imported(&second.text).unwrap());
        prop_assert_eq!(&second.text, &third.text);
        // An import may merge messages that were separate, so the lost parts differ.
        let others = |export: &Export| export.losses.iter().filter(|(_, loss)| *loss != loss::PARTS).count();
        prop_assert_eq!(others(&second), others(&third));
    }
}
