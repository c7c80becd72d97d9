//! The versioned JSON of a list of messages.

use std::error::Error;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use verbale::clock::{SequentialIds, SystemClock};
use verbale::exchange::{ExchangeError, Lost, Problem, versioned};
use verbale::message::{InvocationError, ResultContent};
use verbale::{Content, Invocation, PlainMessage, Role, Value};

use crate::random::{Manager, conversation, said};

fn imported(text: &str) -> Result<Manager, ExchangeError> {
    versioned::import_with_clock::<PlainMessage>(text, Arc::new(SystemClock), Arc::new(SequentialIds::default()))
}

fn read(json: &Json) -> Result<Manager, ExchangeError> {
    imported(&json.to_string())
}

fn written(manager: &Manager) -> Json {
    serde_json::from_str(&versioned::export(manager).text).unwrap()
}

/// As it stands in the format's own document.
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
fn the_document_s_example_goes_in_and_comes_out() {
    let manager = read(&example()).unwrap();
    let call = Invocation::new("call_123", "get_weather", Value::map([("location", "Paris")]).unwrap()).unwrap();
    let expected: Vec<(Role, verbale::Contents)> = vec![
        (Role::Supervisor, "You are a helpful assistant".into()),
        (Role::Assistant, "Hello! How can I help you today?".into()),
        (Role::User, "What's the weather in Paris?".into()),
        (Role::Assistant, vec![Content::from("I'll check the weather for you"), call.clone().into()].into()),
        (Role::User, call.success(["Sunny, 22°C"]).into()),
    ];
    assert_eq!(said(&manager.records()), expected);
    assert!(manager.records()[1].is_fake());
    assert_eq!(written(&manager), example());
    assert!(versioned::export(&manager).losses.is_empty());
}

#[test]
fn a_failed_call_and_calls_of_several_rounds_read_as_they_were_made() {
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
fn several_calls_at_once_with_words_around_come_back() {
    let mut manager = Manager::new();
    manager.add_user("Move it, and pay").unwrap();
    let find = Invocation::new("a", "find", Value::map([("id", 7)]).unwrap()).unwrap();
    let pay = Invocation::new("b", "pay", Value::Null).unwrap();
    let parts: [Content; 5] =
        ["One".into(), find.clone().into(), "moment".into(), pay.clone().into(), "please.".into()];
    manager.add_assistant(parts).unwrap();
    let error = InvocationError::new("no answer").unwrap().with_type("Timeout").with_retryable(true);
    let found = [ResultContent::from("found"), Value::from("a string of data").into()];
    manager.add_user([Content::from(find.success(found)), pay.failure(error).into(), "Well?".into()]).unwrap();
    manager.add_supervisor(["Be brief.", "Be kind."]).unwrap();
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
fn a_result_that_comes_late_or_never_keeps_its_place() {
    let mut manager = Manager::new();
    manager.add_user("Pay").unwrap();
    let [late, never] = ["late", "never"].map(|id| Invocation::new(id, "pay", Value::Null).unwrap());
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
    assert_eq!(again.open_invocations().len(), 1);
}

#[test]
fn bytes_in_arguments_and_what_was_not_heard_are_losses() {
    let mut manager = Manager::new();
    manager.add_user("Pay").unwrap();
    let call = Invocation::new("a", "pay", Value::from(b"hi".as_slice())).unwrap();
    let id = manager.add_assistant([Content::from("One moment."), call.into()]).unwrap().id();
    let heard = verbale::Heard::bytes(3, verbale::Provenance::Estimate);
    manager.entry(&id).unwrap().set_heard(heard).unwrap();
    let losses: Vec<_> = versioned::export(&manager).losses.iter().map(|loss| (loss.message, loss.what)).collect();
    assert_eq!(losses, [(id, Lost::Unheard), (id, Lost::Value)]);
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_never_quoted() {
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
    let known = "user, assistant, system";
    for (json, path, problem) in [
        (json!({"messages": [], "version": "2.0"}), "$.version", Problem::UnknownVersion { known: "1.0" }),
        (json!({"messages": []}), "$", Problem::MissingKey { key: "version" }),
        (json!({"version": "1.0"}), "$", Problem::MissingKey { key: "messages" }),
        (
            json!({"version": 1.0, "messages": []}),
            "$.version",
            Problem::WrongKind { expected: "a string", found: "a number" },
        ),
        (
            json!({"version": "1.0", "messages": {}}),
            "$.messages",
            Problem::WrongKind { expected: "a list", found: "an object" },
        ),
        (of(json!({"text": "secret"})), "$.messages[0]", Problem::MissingKey { key: "type" }),
        (
            of(json!({"type": "secret"})),
            "$.messages[0].type",
            Problem::UnknownType {
                what: "type",
                known: "AgentMessage, TextMessage, ToolCallMessage, ToolResultMessage, ImageMessage, AudioMessage, \
                    VideoMessage, DocumentMessage",
            },
        ),
        (of(json!({"type": "TextMessage", "text": "secret"})), "$.messages[0]", Problem::MissingKey { key: "role" }),
        (
            of(json!({"type": "TextMessage", "text": "secret", "role": "secret"})),
            "$.messages[0].role",
            Problem::UnknownType { what: "role", known },
        ),
        (of(json!({"type": "TextMessage", "role": "user"})), "$.messages[0]", Problem::MissingKey { key: "text" }),
        (
            of(json!({"type": "TextMessage", "text": "a", "role": "user", "secret": 1})),
            "$.messages[0]",
            Problem::UnknownKey { known: &["type", "text", "role", "continues"] },
        ),
        (
            of(json!({"type": "AgentMessage", "text": "a", "role": "user"})),
            "$.messages[0].role",
            Problem::UnknownType { what: "role", known: "system" },
        ),
        (
            of(json!({"type": "TextMessage", "text": " ", "role": "user"})),
            "$.messages[0]",
            Problem::Refused(verbale::ManagerError::Blank),
        ),
        (
            of(json!({"type": "AgentMessage", "text": " ", "role": "system"})),
            "$.messages[0]",
            Problem::Refused(verbale::ManagerError::Blank),
        ),
        (call("tool_name", None), "$.messages[3]", Problem::MissingKey { key: "tool_name" }),
        (call("tool_call_id", None), "$.messages[3]", Problem::MissingKey { key: "tool_call_id" }),
        (call("arguments", None), "$.messages[3]", Problem::MissingKey { key: "arguments" }),
        (
            call("tool_name", Some(json!("no name!"))),
            "$.messages[3].tool_name",
            Problem::Content(verbale::message::MessageError::InvalidToolName { length: 8 }),
        ),
        (
            call("error", Some(json!("secret"))),
            "$.messages[3]",
            Problem::Invalid {
                reason: "a result is one of `result`, `result_contents` and `error`: the others are null",
            },
        ),
        (
            of(json!({"type": "ImageMessage", "role": "user"})),
            "$.messages[0]",
            Problem::Invalid { reason: "the data belongs here, under one of `url`, `data` and `content_id`" },
        ),
        (
            of(json!({"type": "ImageMessage", "role": "user", "data": "secret!"})),
            "$.messages[0].data",
            Problem::Invalid { reason: "bytes belong here, in base64" },
        ),
        (
            of(json!({"type": "TextMessage", "text": "secret", "role": "user", "continues": true})),
            "$.messages[0].continues",
            Problem::Invalid { reason: "this continues a message of the same role, which does not stand before it" },
        ),
        (
            of(
                json!({"type": "ToolResultMessage", "tool_name": "f", "tool_call_id": "a", "result": 1, "role": "user"}),
            ),
            "$.messages[0]",
            Problem::Invalid { reason: "this answers a tool call that does not stand before it" },
        ),
    ] {
        let error = read(&json).unwrap_err();
        assert_eq!((error.place().path.as_str(), error.problem()), (path, &problem), "{json}");
        let all = format!("{error} {error:?} {:?}", error.source());
        assert!(!all.contains("secret"), "{all}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_conversation_comes_back_and_stays(records in conversation(true)) {
        let manager = Manager::restore(records.clone()).unwrap();
        let export = versioned::export(&manager);
        for loss in &export.losses {
            prop_assert!(matches!(loss.what, Lost::Summary | Lost::Unheard), "{loss}");
        }
        let again = imported(&export.text).unwrap();
        prop_assert_eq!(said(&again.records()), said(&records), "{}", export.text);
        let second = versioned::export(&again);
        let third = versioned::export(&imported(&second.text).unwrap());
        prop_assert_eq!(second, third);
    }
}
