//! Chat messages of several conversations.

use std::error::Error;
use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use verbale::clock::SequentialIds;
use verbale::exchange::{ExchangeError, Export, Lost, Problem, chat};
use verbale::message::{Media, MediaKind, Source};
use verbale::{
    Content, Contents, Invocation, ManagerError, MessageId, MessageWrapper, PlainMessage, Record, Role, Timing, Value,
};

use crate::random::{Manager, conversation};

type Conversations = Vec<(String, Manager)>;

fn imported(json: &str) -> Result<Conversations, ExchangeError> {
    chat::import_with_ids::<PlainMessage>(json, Arc::new(SequentialIds::default()))
}

fn read(json: &Json) -> Result<Conversations, ExchangeError> {
    imported(&json.to_string())
}

fn exported(conversations: &Conversations) -> Export {
    chat::export(conversations.iter().map(|(id, manager)| (id.as_str(), manager)))
}

fn written(conversations: &Conversations) -> Json {
    serde_json::from_str(&exported(conversations).text).unwrap()
}

fn message(id: &str, conversation: &str, role: &str, content: impl Into<Json>, second: u32) -> Json {
    json!({"message_id": id, "conversation_id": conversation, "role": role, "content": content.into(),
        "timestamp": format!("2024-03-15T10:30:{second:02}Z")})
}

/// What is said, the fakes aside: by which id, in which role, when.
fn messages(manager: &Manager) -> Vec<(MessageId, Role, Contents, Option<i64>)> {
    let messages = manager.meta_messages().iter().map(PlainMessage::message).filter(|message| !message.is_fake());
    let parts = |message: &verbale::Message| {
        (message.id(), message.role(), message.contents().clone(), message.metadata().timing(Timing::Creation))
    };
    messages.map(parts).collect()
}

fn words(manager: &Manager) -> Vec<String> {
    let texts = |message: &PlainMessage| message.contents().texts().map(|text| text.to_string()).collect::<String>();
    manager.meta_messages().iter().map(texts).collect()
}

#[test]
fn messages_of_several_conversations_go_in_and_come_out() {
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
    assert_eq!(records[1].metadata().aux().get(chat::MESSAGE_ID), Some(&Value::from("m-2")));
    assert_eq!(default.messages().count(), 2);
    assert_eq!(words(other)[..2], ["...", "Hello!"]);
    assert_eq!(other.records()[2].contents().len(), 5);
    assert_eq!(written(&conversations), json);
    assert!(exported(&conversations).losses.is_empty());
    assert_eq!(Manager::restore(default.records()).unwrap(), *default);

    let state = json!({"modality_type": "chat", "messages": json, "update_count": 5});
    assert_eq!(written(&read(&state).unwrap()), json);
}

#[test]
fn messages_stand_in_the_order_of_their_times_then_of_their_ids() {
    let json = json!([
        message("c", "default", "user", "4", 2), message("b", "default", "assistant", "2", 1),
        message("a", "default", "user", "1", 1), message("10", "default", "user", "3", 2),
        {"role": "user", "content": "0", "timestamp": "2024-03-15T11:29:59+01:00"},
    ]);
    let conversations = read(&json).unwrap();
    assert_eq!(words(&conversations[0].1), ["0", "1", "2", "3", "4"]);
    assert_eq!(conversations[0].1.messages().count(), 3);
    assert_eq!(conversations[0].0, "default");
}

#[test]
fn an_id_stays_with_its_message_where_a_fake_opens() {
    let id = "01JRZJ166J2WRMF990535EVSQS";
    let conversations = read(&json!([message(id, "default", "assistant", "Hello!", 1)])).unwrap();
    let records = conversations[0].1.records();
    assert!(records[0].is_fake() && records[0].id() == MessageId::from(0));
    assert_eq!(records[1].id().to_string(), id);
    // Not as it is written by those who keep to the letter.
    let conversations = read(&json!([message(&id.to_lowercase(), "default", "user", "Hello!", 1)])).unwrap();
    assert_eq!(written(&conversations)[0]["message_id"], json!(id.to_lowercase()));
}

#[test]
fn what_chat_messages_cannot_say_is_a_loss() {
    let mut manager = Manager::new();
    let instructions = manager.add_supervisor("Be brief.").unwrap().id();
    manager.add_user("Pay").unwrap().set_data("bytes", Value::from(vec![1])).unwrap();
    let asked = manager.meta_messages()[1].id();
    let call = Invocation::new("a", "pay", Value::Null).unwrap();
    let answer = manager.add_assistant([Content::from("One moment."), call.clone().into()]).unwrap().id();
    let result = manager.add_user(call.success(["paid"])).unwrap().id();
    let export = chat::export([("c", &manager)]);
    let losses: Vec<_> = export.losses.iter().map(|loss| (loss.message, loss.what)).collect();
    assert_eq!(
        losses,
        [
            (instructions, Lost::Instructions),
            (asked, Lost::Value),
            (answer, Lost::Invocation),
            (result, Lost::InvocationResult)
        ]
    );
    let json: Json = serde_json::from_str(&export.text).unwrap();
    let contents: Vec<&Json> = json.as_array().unwrap().iter().map(|message| &message["content"]).collect();
    assert_eq!(contents, [&json!("Pay"), &json!("One moment.")]);
}

#[test]
fn what_is_wrong_is_told_with_its_place_and_never_quoted() {
    let of = |key: &str, value: Option<Json>| {
        let mut message = message("secret", "secret", "user", "secret", 1);
        let entries = message.as_object_mut().unwrap();
        match value {
            Some(value) => drop(entries.insert(key.to_owned(), value)),
            None => drop(entries.remove(key)),
        }
        json!([message])
    };
    let invalid = |reason| Problem::Invalid { reason };
    let no_data = "the data belongs here, under one of `url`, `data` and `content_id`";
    let moment = "a moment as in RFC 3339 belongs here, such as 2025-11-18T10:30:00Z";
    let twice = "another message of the conversation has this id";
    let known = &["message_id", "conversation_id", "role", "content", "timestamp", "metadata"];
    for (json, path, problem) in [
        (
            json!("secret"),
            "$",
            Problem::WrongKind { expected: "a list of messages, or an object with `messages`,", found: "a string" },
        ),
        (json!({"secret": []}), "$", Problem::MissingKey { key: "messages" }),
        (
            json!({"messages": ["secret"]}),
            "$.messages[0]",
            Problem::WrongKind { expected: "an object", found: "a string" },
        ),
        (of("role", None), "$[0]", Problem::MissingKey { key: "role" }),
        (
            of("role", Some(json!("secret"))),
            "$[0].role",
            Problem::UnknownType { what: "role", known: "user, assistant" },
        ),
        (of("content", None), "$[0]", Problem::MissingKey { key: "content" }),
        (
            of("content", Some(json!(7))),
            "$[0].content",
            Problem::WrongKind { expected: "a text, or a list of blocks,", found: "a number" },
        ),
        (of("content", Some(json!(" "))), "$[0]", Problem::Refused(ManagerError::Blank)),
        (of("content", Some(json!([{"text": "secret"}]))), "$[0].content[0]", Problem::MissingKey { key: "type" }),
        (
            of("content", Some(json!([{"type": "secret"}]))),
            "$[0].content[0].type",
            Problem::UnknownType { what: "type", known: "text, image, audio, video, document" },
        ),
        (of("content", Some(json!([{"type": "image", "source": "url"}]))), "$[0].content[0]", invalid(no_data)),
        (
            of("content", Some(json!([{"type": "image", "url": "secret", "data": "aGk="}]))),
            "$[0].content[0].url",
            invalid(no_data),
        ),
        (of("timestamp", None), "$[0]", Problem::MissingKey { key: "timestamp" }),
        (of("timestamp", Some(json!("secret"))), "$[0].timestamp", invalid(moment)),
        (
            of("metadata", Some(json!([]))),
            "$[0].metadata",
            Problem::WrongKind { expected: "an object", found: "a list" },
        ),
        (
            of("metadata", Some(json!({"chatMessageId": "secret"}))),
            "$[0].metadata",
            Problem::NotKept { what: "a `chatMessageId` in metadata" },
        ),
        (
            of("message_id", Some(json!(7))),
            "$[0].message_id",
            Problem::WrongKind { expected: "a string", found: "a number" },
        ),
        (of("secret", Some(json!("secret"))), "$[0]", Problem::UnknownKey { known }),
        (
            json!([
                message("a", "c", "user", "1", 1),
                message("b", "c", "user", "2", 1),
                message("a", "c", "user", "3", 2)
            ]),
            "$[2].message_id",
            invalid(twice),
        ),
    ] {
        let error = read(&json).unwrap_err();
        assert_eq!((error.place().path.as_str(), error.problem()), (path, &problem), "{json}");
        let all = format!("{error} {error:?} {:?}", error.source());
        assert!(!all.contains("secret"), "{all}");
    }
    let twice = r#"[{"role":"user","content":"a","timestamp":"2024-03-15T10:30:00Z","metadata":{"a":1,"a":2}}]"#;
    assert_eq!(*imported(twice).unwrap_err().problem(), Problem::RepeatedKey);
}

#[test]
fn a_conversation_of_a_year_fits_with_ids_of_elsewhere() {
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
    fn any_conversations_come_back_message_by_message(
        first in conversation(false), second in conversation(true), data in crate::random::value(),
    ) {
        let restored = |records: Vec<Record>| {
            let mut manager = Manager::restore(records).unwrap();
            let ids: Vec<MessageId> = manager.meta_messages().iter().map(PlainMessage::id).collect();
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
fn media_of_an_assistant_come_back() {
    let mut manager = Manager::new();
    manager.add_user("Show me").unwrap();
    let image = Media::new(MediaKind::Image, Source::Bytes(vec![1, 2, 3].into())).with_mime_type("image/png");
    manager.add_assistant(image.clone()).unwrap();
    let again = imported(&chat::export([("c", &manager)]).text).unwrap();
    assert_eq!(*again[0].1.records()[1].contents(), Contents::from(image));
}
