//! Chat messages of several conversations.

use std::error::Error;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use verbale::exchange::{ExchangeError, Export, export_chat, import_chat};
use verbale::message::{Media, MediaKind, Source};
use verbale::{Content, Contents, MessageId, MessageWrapper, PlainMessage, Record, Role, Timing, ToolCall, Value};

use super::loss;

use crate::formats::options;
use crate::random::{Manager, conversation};

type Conversations = Vec<(String, Manager)>;

fn imported(json: &str) -> Result<Conversations, ExchangeError> {
    import_chat::<PlainMessage>(json, &options())
}

fn read(json: &Json) -> Result<Conversations, ExchangeError> {
    imported(&json.to_string())
}

fn exported(conversations: &Conversations) -> Export {
    export_chat(conversations.iter().map(|(id, manager)| (id.as_str(), manager)))
}

fn written(conversations: &Conversations) -> Json {
    serde_json::from_str(&exported(conversations).text).unwrap()
}

fn message(id: &str, conversation: &str, role: &str, content: impl Into<Json>, second: u32) -> Json {
    json!({"message_id": id, "conversation_id": conversation, "role": role, "content": content.into(),
        "timestamp": format!("2024-03-15T10:30:{second:02}Z")})
}

/// Returns the id, role, contents and time of each message except fakes.
fn messages(manager: &Manager) -> Vec<(MessageId, Role, Contents, Option<i64>)> {
    let messages = manager.meta_messages().iter().map(PlainMessage::message).filter(|message| !message.is_fake());
    let parts = |message: &verbale::Message| {
        (message.id(), message.role(), message.contents().clone(), message.metadata().timing(Timing::Creation))
    };
    messages.map(parts).collect()
}

fn texts(manager: &Manager) -> Vec<String> {
    let text = |message: &PlainMessage| message.contents().texts().map(|text| text.to_string()).collect::<String>();
    manager.meta_messages().iter().map(text).collect()
}

#[test]
fn several_conversations_round_trip() {
    let id = "01JRZJ166J2WRMF990535EVSQS";
    let mut first = message(id, "default", "user", "What's the weather today?", 1);
    first["metadata"] = json!({"confidence": 0.93, "tokens": {"input": 7}});
    let image = json!([{"type": "text", "text": "What's in this image?"},
        {"type": "image", "source": "url", "url": "https://example.com/image.jpg"},
        {"type": "audio", "source": "base64", "data": "aGk=", "mime_type": "audio/wav"},
        {"type": "video", "source": "content_id", "content_id": "sha256:ab", "prompt_hint": "the door"},
        {"type": "document", "source": "url", "url": "https://example.com/a.pdf", "title": "Terms"}]);
    let json = json!([
        first,
        message("m-2", "default", "assistant", "It's sunny.", 2),
        message("m-3", "default", "assistant", "And hot.", 2),
        message("m-1", "other", "assistant", "Hello!", 1),
        message("m-2", "other", "user", image, 3),
    ]);
    let conversations = read(&json).unwrap();
    let ids: Vec<&str> = conversations.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["default", "other"]);
    let [(_, default), (_, other)] = conversations.as_slice() else { panic!("not two") };
    let records = default.records();
    assert_eq!((records[0].id().to_string().as_str(), records.len()), (id, 3));
    assert_eq!(records[0].metadata().aux().get("confidence"), Some(&Value::try_from(0.93).unwrap()));
    assert_eq!(records[1].metadata().aux().get("chatMessageId"), Some(&Value::from("m-2")));
    assert_eq!(default.messages().count(), 2);
    assert_eq!(texts(other)[..2], ["...", "Hello!"]);
    assert_eq!(other.records()[2].contents().len(), 5);
    assert_eq!(written(&conversations), json);
    assert!(exported(&conversations).losses.is_empty());
    assert_eq!(Manager::restore(default.records()).unwrap(), *default);

    let state = json!({"modality_type": "chat", "messages": json, "update_count": 5});
    assert_eq!(written(&read(&state).unwrap()), json);
}

#[test]
fn messages_are_ordered_by_time_then_id() {
    let json = json!([
        message("c", "default", "user", "4", 2), message("b", "default", "assistant", "2", 1),
        message("a", "default", "user", "1", 1), message("10", "default", "user", "3", 2),
        {"role": "user", "content": "0", "timestamp": "2024-03-15T11:29:59+01:00"},
    ]);
    let conversations = read(&json).unwrap();
    assert_eq!(texts(&conversations[0].1), ["0", "1", "2", "3", "4"]);
    assert_eq!(conversations[0].1.messages().count(), 3);
    assert_eq!(conversations[0].0, "default");
}

#[test]
fn message_keeps_its_id_after_opening_fake() {
    let id = "01JRZJ166J2WRMF990535EVSQS";
    let conversations = read(&json!([message(id, "default", "assistant", "Hello!", 1)])).unwrap();
    let records = conversations[0].1.records();
    assert!(records[0].is_fake() && records[0].id() == MessageId::from(0));
    assert_eq!(records[1].id().to_string(), id);
    // A lowercase ULID is not canonical, so it is kept as text.
    let conversations = read(&json!([message(&id.to_lowercase(), "default", "user", "Hello!", 1)])).unwrap();
    assert_eq!(written(&conversations)[0]["message_id"], json!(id.to_lowercase()));
}

#[test]
fn unsupported_content_is_reported_as_loss() {
    let mut manager = Manager::new();
    let instructions = manager.add_system("Be brief.").unwrap().id();
    manager.add_user("Pay").unwrap().set_data("bytes", Value::from(vec![1])).unwrap();
    let asked = manager.meta_messages()[1].id();
    let call = ToolCall::new("a", "pay", Value::Null).unwrap();
    let answer = manager.add_assistant([Content::from("One moment."), call.clone().into()]).unwrap().id();
    let result = manager.add_user(call.success(["paid"])).unwrap().id();
    let export = export_chat([("c", &manager)]);
    let losses = export.losses;
    assert_eq!(
        losses,
        [
            (instructions, loss::INSTRUCTIONS),
            (asked, loss::VALUE_TYPE),
            (answer, loss::TOOL_CALL),
            (result, loss::TOOL_CALL)
        ]
    );
    let json: Json = serde_json::from_str(&export.text).unwrap();
    let contents: Vec<&Json> = json.as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(contents, [&json!("Pay"), &json!("One moment.")]);
}

#[test]
fn merged_message_reports_its_parts() {
    let mut manager = Manager::new();
    let merged = manager.add_user("Hi, there").unwrap().id();
    manager.add_user("are you there?").unwrap();
    assert_eq!(export_chat([("c", &manager)]).losses, [(merged, loss::PARTS)]);
}

#[test]
fn errors_name_path_and_quote_nothing() {
    let of = |key: &str, value: Option<Json>| {
        let mut message = message("secret", "secret", "user", "secret", 1);
        let entries = message.as_object_mut().unwrap();
        match value {
            Some(value) => drop(entries.insert(key.to_owned(), value)),
            None => drop(entries.remove(key)),
        }
        json!([message])
    };
    let mut errors = Vec::new();
    for json in [
        json!("secret"),
        json!({"secret": []}),
        json!({"messages": ["secret"]}),
        of("role", None),
        of("role", Some(json!("secret"))),
        of("content", None),
        of("content", Some(json!(7))),
        of("content", Some(json!(" "))),
        of("content", Some(json!([{"text": "secret"}]))),
        of("content", Some(json!([{"type": "secret"}]))),
        of("content", Some(json!([{"type": "json", "json": "secret"}]))),
        of("content", Some(json!([{"type": "image", "source": "url"}]))),
        of("content", Some(json!([{"type": "image", "url": "secret", "data": "aGk="}]))),
        of("timestamp", Some(json!("secret"))),
        of("modality_type", Some(json!("secret"))),
        of("metadata", Some(json!([]))),
        of("metadata", Some(json!({"chatMessageId": "secret"}))),
        of("message_id", Some(json!(7))),
        of("secret", Some(json!("secret"))),
        json!([
            message("a", "c", "user", "1", 1),
            message("b", "c", "user", "2", 1),
            message("a", "c", "user", "3", 2)
        ]),
    ] {
        errors.push(read(&json).unwrap_err());
    }
    let twice = r#"[{"role":"user","content":"a","timestamp":"2024-03-15T10:30:00Z","metadata":{"a":1,"a":2}}]"#;
    errors.push(imported(twice).unwrap_err());
    let all: String = errors.iter().map(|error| format!("{error:?} {:?}", error.source())).collect();
    assert!(!all.contains("secret"), "{all}");
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(errors.join("\n"), @r"
    $ (line 1, column 1): expected a list of messages, an object with `messages`, or a message, found a string
    $ (line 1, column 9): an unknown key cannot be kept; remove it (known keys: `modality_type`, `input_id`, `message_id`, `conversation_id`, `role`, `content`, `timestamp`, `metadata`)
    $.messages[0] (line 1, column 14): expected an object, found a string
    $[0] (line 1, column 105): the key `role` is missing
    $[0].role (line 1, column 85): the name is unknown; use one of `user` or `assistant`
    $[0] (line 1, column 100): the key `content` is missing
    $[0].content (line 1, column 13): expected a text or a list of blocks, found a number
    $[0] (line 1, column 2): the conversation refuses the message
    $[0].content[0] (line 1, column 30): the key `type` is missing
    $[0].content[0].type (line 1, column 29): the name is unknown; use one of `text`, `image`, `audio`, `video`, `document`, `json`
    $[0].content[0] (line 1, column 14): only the result of a tool can hold `json`
    $[0].content[0] (line 1, column 14): expected the data under one of `url`, `data` and `content_id`
    $[0].content[0] (line 1, column 14): expected the data under one of `url`, `data` and `content_id`
    $[0].timestamp (line 1, column 105): expected a time in RFC 3339, such as 2025-11-18T10:30:00Z
    $[0].modality_type (line 1, column 94): the name is unknown; use one of `chat`
    $[0].metadata (line 1, column 82): expected an object, found a list
    $[0].metadata (line 1, column 82): a `chatMessageId` or `chatInputId` in metadata cannot be kept; remove it
    $[0].message_id (line 1, column 62): expected a string, found a number
    $[0] (line 1, column 92): an unknown key cannot be kept; remove it (known keys: `modality_type`, `input_id`, `message_id`, `conversation_id`, `role`, `content`, `timestamp`, `metadata`)
    $[2] (line 1, column 210): another message of the conversation has the same `message_id`
    $[0].metadata (line 1, column 77): a key appears twice in one object
    ");
}

#[test]
fn thousands_of_messages_keep_foreign_ids() {
    let uuid = |number: usize| format!("6f9619ff-8b86-d011-b42d-{number:012}");
    let said =
        "I would like to know whether the ferry on Friday takes bicycles, and how much that costs for two adults. ";
    let messages: Vec<Json> = (0..5_000)
        .map(|number| message(&uuid(number), "default", ["user", "assistant"][number % 2], said.repeat(2), 1))
        .collect();
    let conversations = read(&json!(messages)).unwrap();
    assert_eq!(conversations[0].1.meta_messages().len(), 5_000);
    assert_eq!(written(&conversations), json!(messages));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_conversations_round_trip_message_by_message(
        first in conversation(false), second in conversation(true), data in crate::random::value(),
    ) {
        let restored = |records: Vec<Record>| {
            let mut manager = Manager::restore(records).unwrap();
            let ids: Vec<MessageId> = manager.meta_messages().iter().map(|wrapper| wrapper.id()).collect();
            for id in ids.iter().step_by(3) {
                manager.entry(id).unwrap().set_data("data", data.clone()).unwrap();
            }
            manager
        };
        let conversations = vec![("a".to_owned(), restored(first)), ("b \"c\"".to_owned(), restored(second))];
        let export = exported(&conversations);
        let again = imported(&export.text).unwrap();
        let second = exported(&again);
        prop_assert_eq!((&second.text, second.losses.len()), (&export.text, 0));
        if export.losses.is_empty() {
            let spoken = conversations.iter().filter(|(_, manager)| !manager.meta_messages().is_empty());
            let before: Vec<_> = spoken.map(|(id, manager)| (id, messages(manager))).collect();
            let after: Vec<_> = again.iter().map(|(id, manager)| (id, messages(manager))).collect();
            prop_assert_eq!(before, after);
        }
    }
}

#[test]
fn assistant_media_round_trip() {
    let mut manager = Manager::new();
    manager.add_user("Show me").unwrap();
    let image = Media::new(MediaKind::Image, Source::Bytes(vec![1, 2, 3].into())).with_mime_type("image/png");
    manager.add_assistant(image.clone()).unwrap();
    let again = imported(&export_chat([("c", &manager)]).text).unwrap();
    assert_eq!(*again[0].1.records()[1].contents(), Contents::from(image));
}
