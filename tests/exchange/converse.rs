//! Bedrock's Converse JSON.

use serde_json::{Value as Json, json};
use verbale::bedrock::to_json;
use verbale::exchange::{export_converse, import_converse};
use verbale::message::{Media, MediaKind, ResultContent, Source, ToolError};
use verbale::{BedrockMessage, Content, Heard, HeardSource, MessageWrapper, MessagesManager, Role, ToolCall, Value};

use super::loss;

use crate::formats::{Manager, manager, options, said};

fn import(json: &Json) -> Result<Manager, String> {
    import_converse(json.to_string(), &options()).map_err(|error| error.to_string())
}

fn export(manager: &Manager) -> (Json, Vec<String>) {
    let export = export_converse(manager);
    (serde_json::from_str(&export.text).unwrap(), export.losses.iter().map(|(_, loss)| loss.to_string()).collect())
}

fn full() -> Json {
    // The bytes begin like real files, because a `BedrockMessage` checks them.
    let [png, gif, pdf] = ["iVBORw0KGgo=", "R0lGODlhAQ==", "JVBERi0xLjQ="].map(|base64| json!({"bytes": base64}));
    let bytes = json!({"bytes": "aGk="});
    let in_s3 = json!({"s3Location": {"uri": "s3://bucket/key"}});
    json!({
        "system": [{"text": "You are an airline."}, {"text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [
                {"text": "Look"},
                {"image": {"format": "png", "source": png}},
                {"video": {"format": "mov", "source": in_s3}},
                {"audio": {"format": "mp3", "source": bytes}},
                {"document": {"format": "pdf", "name": "Terms", "source": pdf}},
            ]},
            {"role": "assistant", "content": [
                {"toolUse": {"toolUseId": "a", "name": "f", "input": {"n": [1, -2.5, null, true, "x", {}]}}},
                {"text": "One moment."},
                {"toolUse": {"toolUseId": "b", "name": "g", "input": {}}},
            ]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "a", "status": "success", "content": [
                    {"text": "1"}, {"json": {"a": [1]}}, {"image": {"format": "gif", "source": gif}},
                    {"document": {"format": "txt", "name": "T", "source": in_s3}}]}},
                {"toolResult": {"toolUseId": "b", "status": "error", "content": [{"text": "no answer"}]}},
                {"text": "Well?"},
            ]},
            {"role": "system", "content": [{"text": "Now be long."}]},
            {"role": "assistant", "content": [{"text": "Here."}]},
        ],
    })
}

#[test]
fn shared_content_round_trips() {
    let json = full();
    let manager = import(&json).unwrap();
    assert_eq!(export(&manager), (json.clone(), vec![]));
    let again = import(&export(&manager).0).unwrap();
    assert!(said(&again) == said(&manager));
    let answer = &said(&manager)[4].1;
    let Err(error) = answer[1].as_result().unwrap().outcome() else { panic!("not a failure") };
    assert_eq!((error.message(), answer[1].as_result().unwrap().name().as_str()), ("no answer", "g"));
    assert!(answer[0].as_result().unwrap().outcome() != answer[1].as_result().unwrap().outcome());
}

#[test]
fn export_equals_sdk_request() {
    let mut json = full();
    // A `BedrockMessage` replaces audio by a text.
    json["messages"][0]["content"].as_array_mut().unwrap().remove(3);
    let manager: MessagesManager<BedrockMessage> = import_converse(json.to_string(), &options()).unwrap();
    let sent: Vec<Json> = manager.messages().map(|message| to_json(&message.to_raw().unwrap())).collect();
    // A `BedrockMessage` has its tool calls last.
    for message in json["messages"].as_array_mut().unwrap() {
        message["content"].as_array_mut().unwrap().sort_by_key(|block| block.get("toolUse").is_some());
    }
    let spoken = json["messages"].as_array().unwrap().iter().filter(|message| message["role"] != "system");
    assert_eq!(sent, spoken.cloned().collect::<Vec<_>>());
}

#[test]
fn export_follows_converse_rules() {
    let mut conversation = manager();
    let image = || Media::new(MediaKind::Image, Source::Bytes(b"hi".as_slice().into())).with_mime_type("image/png");
    conversation.add_system(image()).unwrap();
    conversation.add_user("Hi").unwrap();
    conversation.add_assistant("I am fine, and you?").unwrap().set_heard(Heard::new(4, HeardSource::Estimate)).unwrap();
    conversation.add_assistant([image().into(), Content::from("Hello?")]).unwrap();
    conversation.add_system([image().into(), Content::from("Be brief.")]).unwrap();
    assert_eq!(conversation.meta_messages().len(), 5);
    let (json, losses) = export(&conversation);
    assert_eq!(
        json,
        json!({"messages": [
            {"role": "user", "content": [{"text": "Hi"}]},
            // Converse refuses consecutive messages of one role, and images that are not the user's.
            {"role": "assistant", "content": [{"text": "I am"}, {"text": "Hello?"}]},
            {"role": "system", "content": [{"text": "Be brief."}]},
        ]})
    );
    assert_eq!(losses, [loss::ATTACHMENT, loss::UNHEARD, loss::ATTACHMENT, loss::ATTACHMENT]);
    assert_eq!(export(&import(&json).unwrap()), (json, vec![]));
}

#[test]
fn equivalent_forms_are_imported() {
    let bare = json!([
        {"content": [{"cachePoint": {"type": "default"}}, {"text": "Hi"}], "role": "user"},
        {"role": "assistant", "content": [{"toolUse": {"input": 7, "name": "f", "toolUseId": "a"}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": []}}]},
        {"role": "assistant", "content": [{"toolUse": {"input": null, "name": "f", "toolUseId": "a"}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "content": [{"json": [1]}], "status": null}}]},
    ]);
    let call = |id: &str, input: Json| json!({"role": "assistant", "content": [{"toolUse": {"toolUseId": id, "name": "f", "input": input}}]});
    let result = |id: &str, content: Json| json!({"role": "user", "content": [{"toolResult": {"toolUseId": id, "content": content, "status": "success"}}]});
    let expected = json!([
        {"role": "user", "content": [{"text": "Hi"}]},
        call("a", json!(7)), result("a", json!([])), call("a-2", json!(null)), result("a-2", json!([{"json": [1]}])),
    ]);
    assert_eq!(export(&import(&bare).unwrap()), (json!({"messages": expected}), vec![]));
    let late = json!({"toolConfig": {"tools": []}, "messages": bare, "system": [{"text": "Brief."}, {"cachePoint": {"type": "default"}}]});
    let manager = import(&late).unwrap();
    assert_eq!(said(&manager)[0].0, Role::System);
    assert_eq!(export(&manager), (json!({"system": [{"text": "Brief."}], "messages": expected}), vec![]));
}

#[test]
fn unsupported_content_is_reported_as_loss() {
    let mut conversation = manager();
    conversation.add_system("Brief.").unwrap();
    conversation.add_assistant("I am fine, and you?").unwrap().set_heard(Heard::new(0, HeardSource::Estimate)).unwrap();
    conversation.add_user("What?").unwrap();
    let call = ToolCall::new("a", "f", Value::from(vec![1])).unwrap();
    conversation.add_assistant(call.clone()).unwrap();
    let error = ToolError::new("no answer").with_retryable(true);
    let url = || Source::Url("https://e.com".into());
    let here = || Source::Bytes(b"hi".as_slice().into());
    conversation
        .add_user([
            Content::from(call.failure(error)),
            Media::new(MediaKind::Image, url()).with_mime_type("image/png").into(),
            Media::new(MediaKind::Document, here()).into(),
            Media::new(MediaKind::Document, here()).with_mime_type("text/csv").into(),
            Media::new(MediaKind::Image, here()).with_mime_type("image/png").with_label("me").into(),
        ])
        .unwrap();
    let (json, losses) = export(&conversation);
    let bytes = json!({"bytes": "aGk="});
    assert_eq!(
        json,
        json!({"system": [{"text": "Brief."}], "messages": [
            {"role": "user", "content": [{"text": "What?"}]},
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": "AQ=="}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "a", "content": [{"text": "no answer"}], "status": "error"}},
                {"document": {"format": "csv", "name": "document", "source": bytes}},
                {"image": {"format": "png", "source": bytes}},
            ]},
        ]})
    );
    use loss::{ATTACHMENT, FAILURE, LABEL, UNHEARD, VALUE_TYPE};
    assert_eq!(losses, [UNHEARD, VALUE_TYPE, FAILURE, ATTACHMENT, LABEL]);
    assert_eq!(export(&import(&json).unwrap()), (json, vec![]));
}

#[test]
fn errors_name_path_and_quote_nothing() {
    let user = |block: Json| json!({"messages": [{"role": "user", "content": [block]}]});
    let result = |status: &str, content: Json| {
        json!([
            {"role": "assistant", "content": [{"toolUse": {"toolUseId": "a", "name": "f", "input": {}}}]},
            {"role": "user", "content": [{"toolResult": {"toolUseId": "a", "status": status, "content": content}}]},
        ])
    };
    let mut errors = Vec::new();
    for json in [
        json!({}),
        json!({"messages": {}}),
        json!([{"role": "tool", "content": []}]),
        json!([{"role": "user", "content": []}]),
        json!([{"role": "user"}]),
        json!([{"role": "user", "content": "Hi"}]),
        user(json!({})),
        user(json!({"hologram": 1})),
        user(json!({"text": "a", "toolUse": {}})),
        user(json!({"reasoningContent": {}})),
        user(json!({"image": {"format": "bmp"}})),
        user(json!({"image": {"format": "png", "source": {"bytes": "?"}}})),
        user(json!({"image": {"format": "png", "source": {"s3Location": {"uri": "s3://a", "bucketOwner": "1"}}}})),
        user(json!({"document": {"format": "txt", "name": "a", "source": {"text": "a"}}})),
        user(json!({"toolResult": {"toolUseId": "a", "content": []}})),
        user(json!({"toolUse": {"toolUseId": "a", "name": "f", "input": {}}})),
        result("error", json!([])),
        result("error", json!([{"text": " "}])),
        result("maybe", json!([])),
        json!({"system": [{"guardContent": {}}], "messages": []}),
    ] {
        errors.push(import(&json).unwrap_err());
    }
    insta::assert_snapshot!(errors.join("\n"), @r"
    $ (line 1, column 2): the key `messages` is missing
    $.messages (line 1, column 13): expected a list, found an object
    $[0].role (line 1, column 28): the name is unknown; use one of `user`, `assistant`, `system`
    $[0] (line 1, column 2): the conversation refuses the message
    $[0] (line 1, column 16): the key `content` is missing
    $[0].content (line 1, column 13): expected a list, found a string
    $.messages[0].content[0] (line 1, column 26): the key `text` is missing
    $.messages[0].content[0] (line 1, column 26): an unknown key cannot be kept; remove it (known keys: text, image, video, audio, document, toolUse, toolResult, cachePoint, reasoningContent, guardContent, citationsContent, searchResult)
    $.messages[0].content[0] (line 1, column 26): expected one entry, found several
    $.messages[0].content[0].reasoningContent (line 1, column 46): `reasoningContent` cannot be kept; remove it
    $.messages[0].content[0].image (line 1, column 50): the key `source` is missing
    $.messages[0].content[0].image.source.bytes (line 1, column 69): expected bytes in base64
    $.messages[0].content[0].image.source.s3Location (line 1, column 74): the owner of a bucket cannot be kept; remove it
    $.messages[0].content[0].document.source.text (line 1, column 82): a document made of texts cannot be kept; remove it
    $.messages[0].content[0].toolResult (line 1, column 40): no tool call with this id precedes the result
    $.messages[0] (line 1, column 14): the conversation refuses the message
    $[1].content[0].toolResult (line 1, column 113): a failed result that is not exactly one text cannot be kept; remove it
    $[1].content[0].toolResult (line 1, column 113): the message of a tool call's error is blank; say what went wrong
    $[1].content[0].toolResult.status (line 1, column 142): the name is unknown; use one of `success` or `error`
    $.system[0] (line 1, column 26): `guardContent` cannot be kept; remove it
    ");
    let data = result("success", json!([{"json": {"a": 1}}]));
    let expected = Ok(vec![ResultContent::Json(Value::map([("a", 1)]).unwrap())]);
    assert!(*said(&import(&data).unwrap())[1].1[0].as_result().unwrap().outcome() == expected);
}
