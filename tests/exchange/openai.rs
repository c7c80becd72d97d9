//! OpenAI's chat messages.

use serde_json::{Value as Json, json};
use verbale::exchange::{export_openai, import_openai};
use verbale::message::{Media, MediaKind, ResultContent, Source, ToolError};
use verbale::{Content, Heard, HeardSource, MessageWrapper, Role, ToolCall, Value};

use super::loss;

use crate::formats::{Manager, manager, options, said};

fn import(json: &Json) -> Result<Manager, String> {
    import_openai(json.to_string(), &options()).map_err(|error| error.to_string())
}

fn export(manager: &Manager) -> (Json, Vec<String>) {
    let export = export_openai(manager);
    (serde_json::from_str(&export.text).unwrap(), export.losses.iter().map(|(_, loss)| loss.to_string()).collect())
}

/// Asserts that an import of the export equals the conversation and exports to the same text.
fn assert_round_trips(manager: &Manager) {
    let (json, losses) = export(manager);
    assert_eq!(losses, [""; 0]);
    let back = import(&json).unwrap();
    assert!(said(&back) == said(manager), "{json}");
    assert_eq!(export(&back).0, json);
}

#[test]
fn conversation_with_tools_round_trips() {
    let json = json!([
        {"role": "system", "content": "You are an airline."},
        {"role": "assistant", "content": "Good morning."},
        {"role": "user", "content": "Two \"seats\", please\n"},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{\"seats\":2}"}},
            {"id": "call_2", "type": "function", "function": {"name": "user", "arguments": "{}"}},
        ]},
        {"role": "tool", "tool_call_id": "call_2", "content": ""},
        {"role": "tool", "tool_call_id": "call_1", "content": "{\"free\": true}"},
        {"role": "user", "content": "Well?"},
        {"role": "assistant", "content": "There are two.", "tool_calls": [
            {"id": "call_3", "type": "function", "function": {"name": "book", "arguments": "[1.5,-2,1e40,12345678901234567890123]"}},
        ]},
        {"role": "tool", "tool_call_id": "call_3", "content": "booked"},
    ]);
    let manager = import(&json).unwrap();
    let roles: Vec<Role> = said(&manager).iter().map(|(role, _)| *role).collect();
    let (user, assistant) = (Role::User, Role::Assistant);
    assert_eq!(roles, [Role::System, assistant, user, assistant, user, assistant, user]);
    let (_, answer) = &said(&manager)[4];
    assert_eq!(answer[0].as_result().unwrap().name().as_str(), "user");
    assert_eq!(answer.len(), 3);
    assert!(manager.meta_messages()[1].message().is_fake());
    let (mut exported, losses) = export(&manager);
    assert_eq!(losses, [""; 0]);
    let arguments = &mut exported[7]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, "[1.5,-2,1E40,12345678901234567890123]");
    *arguments = json[7]["tool_calls"][0]["function"]["arguments"].clone();
    assert_eq!(exported, json);
    assert_round_trips(&manager);
}

#[test]
fn parts_round_trip() {
    let json = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "Look,"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "high"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/i.png"}},
            {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
            {"type": "file", "file": {"filename": "terms.pdf", "file_data": "data:application/pdf;base64,aGk="}},
            {"type": "file", "file": {"file_data": "aGk="}},
        ]},
        {"role": "assistant", "content": "I see.", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": "null"}}]},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": ""}]},
        {"role": "assistant", "content": null, "tool_calls": [
            {"id": "b", "type": "function", "function": {"name": "f", "arguments": "\"x\""}}]},
        {"role": "tool", "tool_call_id": "b", "content": [{"type": "text", "text": "1"}, {"type": "text", "text": "2"}]},
    ]);
    let manager = import(&json).unwrap();
    let image = Media::new(MediaKind::Image, Source::Url("https://example.com/i.png".into()));
    assert!(said(&manager)[0].1[2] == Content::from(image));
    assert_eq!(export(&manager), (json, vec![]));
    assert_round_trips(&manager);
}

#[test]
fn equivalent_forms_are_imported() {
    let json = json!({"model": "m", "messages": [
        {"content": [{"text": "Brief.", "type": "text"}], "role": "developer"},
        {"role": "user", "content": "Hi"},
        {"role": "user", "content": "there", "name": null, "annotations": []},
        {"role": "assistant", "content": null, "refusal": "I cannot.", "audio": null},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": ""}}]},
        {"role": "tool", "tool_call_id": "a", "name": "f", "content": "ok"},
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "g", "arguments": " "}}]},
        {"role": "tool", "tool_call_id": "a", "content": "once more"},
    ], "n": 1});
    let manager = import(&json).unwrap();
    let none = json!("{}");
    let call =
        |id: &str, name: &str| json!([{"id": id, "type": "function", "function": {"name": name, "arguments": none}}]);
    let expected = json!([
        {"role": "system", "content": "Brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "there"}]},
        {"role": "assistant", "content": "I cannot.", "tool_calls": call("a", "f")},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "assistant", "content": null, "tool_calls": call("a-2", "g")},
        {"role": "tool", "tool_call_id": "a-2", "content": "once more"},
    ]);
    assert_eq!(export(&manager), (expected, vec![]));
    assert_round_trips(&manager);
}

#[test]
fn export_holds_only_complete_pairs() {
    let mut conversation = manager();
    let call = |id: &str| ToolCall::new(id, "f", Value::Null).unwrap();
    conversation.add_user("Hi").unwrap();
    conversation.add_assistant([call("a").into(), Content::from("One moment"), call("b").into()]).unwrap();
    conversation.add_user([call("a").success(["1"]).into(), Content::from("Hello?")]).unwrap();
    conversation.add_user(call("b").success(["2"])).unwrap();
    conversation.add_assistant(["Two.".into(), Content::from(call("c"))]).unwrap();
    conversation.add_user("And?").unwrap();
    let ids: Vec<_> = conversation.meta_messages().iter().map(|wrapper| wrapper.id()).collect();
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "null"}});
    let expected = json!([
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "One moment", "tool_calls": [call("a"), call("b")]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
        {"role": "user", "content": "Hello?"},
        {"role": "assistant", "content": "Two."},
        {"role": "user", "content": "And?"},
    ]);
    assert_eq!(export(&conversation).0, expected);
    let losses = export_openai(&conversation).losses;
    assert_eq!(losses, [(ids[1], loss::ORDER), (ids[2], loss::ORDER), (ids[3], loss::TOOL_CALL)]);
    assert_round_trips(&import(&expected).unwrap());
}

#[test]
fn unsupported_content_is_reported_as_loss() {
    let mut conversation = manager();
    let call = |id: &str| ToolCall::new(id, "f", Value::from(vec![1])).unwrap();
    conversation.add_user("Hi").unwrap();
    conversation.add_assistant("I am fine, and you?").unwrap().set_heard(Heard::new(9, HeardSource::Estimate)).unwrap();
    conversation.add_user("What?").unwrap();
    let summarizing = conversation.summarizing().unwrap();
    conversation.add_summary("They greet.", &summarizing).unwrap();
    conversation.add_assistant([call("a"), call("b")]).unwrap();
    let error = ToolError::new("no answer").with_type("Timeout");
    let data = Value::map([("free", true)]).unwrap();
    let results = [call("a").failure(error), call("b").success([ResultContent::Json(data)])];
    conversation.add_user(results.map(Content::from).to_vec()).unwrap();
    let sound = Media::new(MediaKind::Audio, Source::ContentId("sha256:ab".into()));
    conversation
        .add_user([Content::from(sound), Media::new(MediaKind::Document, Source::Url("https://e.com".into())).into()])
        .unwrap();
    conversation
        .add_user(Media::new(MediaKind::Image, Source::Bytes(b"hi".as_slice().into())).with_label("me"))
        .unwrap();
    let (json, losses) = export(&conversation);
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "\"AQ==\""}});
    assert_eq!(
        json,
        json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "I am fine"},
            {"role": "user", "content": "What?"},
            {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
            {"role": "tool", "tool_call_id": "a", "content": "no answer"},
            {"role": "tool", "tool_call_id": "b", "content": "{\"free\":true}"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:;base64,aGk="}}]},
        ])
    );
    use loss::{ATTACHMENT, FAILURE, LABEL, SUMMARY, UNHEARD, VALUE_TYPE};
    assert_eq!(losses, [UNHEARD, SUMMARY, VALUE_TYPE, FAILURE, VALUE_TYPE, ATTACHMENT, LABEL]);
    assert_eq!(export_openai(&conversation).losses[0], (conversation.meta_messages()[1].message().id(), UNHEARD));
    let back = import(&json).unwrap();
    assert_eq!(export(&back), (json, vec![]));
}

#[test]
fn export_follows_openai_rules() {
    let mut conversation = manager();
    let call = |id: &str| ToolCall::new(id, "f", Value::Null).unwrap();
    let image = || Media::new(MediaKind::Image, Source::Bytes(b"hi".as_slice().into()));
    conversation.add_system([Content::from("Look at"), image().into()]).unwrap();
    conversation.add_user("Hi").unwrap();
    conversation.add_assistant([image().into(), Content::from(call("a")), call("b").into()]).unwrap();
    let seen = [ResultContent::Media(Box::new(image()))];
    conversation.add_user([call("a").success(seen), call("b").success([""; 0])].map(Content::from)).unwrap();
    let (json, losses) = export(&conversation);
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "null"}});
    assert_eq!(
        json,
        json!([
            {"role": "system", "content": "Look at"},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": null, "tool_calls": [call("a"), call("b")]},
            // OpenAI refuses empty lists, and images that are not the user's.
            {"role": "tool", "tool_call_id": "a", "content": ""},
            {"role": "tool", "tool_call_id": "b", "content": ""},
        ])
    );
    assert_eq!(losses, [loss::ATTACHMENT; 3]);
    let marked = format!("\u{feff}{json}");
    let back = import_openai(marked, &options()).unwrap();
    assert_eq!(export(&back), (json, vec![]));
}

#[test]
fn errors_name_path_and_quote_nothing() {
    let call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let asked = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let answer = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let with_part = |part: Json| json!([{"role": "user", "content": [part]}]);
    let with = |key: &str, value: Json| {
        let mut message = json!({"role": "user", "content": "Hi"});
        message[key] = value;
        message
    };
    let mut errors = Vec::new();
    for json in [
        json!(7),
        json!({"n": 1}),
        json!([with("role", json!("robot"))]),
        json!([{"content": "x"}]),
        json!([{"role": "user"}]),
        json!([with("content", json!(7))]),
        json!([with("content", json!(" "))]),
        json!([with("mood", json!("good"))]),
        json!([with("name", json!("Mia Li"))]),
        json!([with("tool_calls", json!([call]))]),
        json!([with("tool_call_id", json!("a"))]),
        json!([answer]),
        json!([answer, asked]),
        json!([asked, answer, answer]),
        json!([asked, asked]),
        json!([asked, answer, asked, asked]),
        json!([asked, {"role": "tool", "tool_call_id": "a", "name": "g", "content": "x"}]),
        with_part(json!({"type": "hologram"})),
        with_part(json!({"type": "text"})),
        with_part(json!({"type": "file", "file": {"file_id": "f"}})),
        with_part(json!({"type": "image_url", "image_url": {"url": "data:image/png,x"}})),
        json!([{"role": "assistant", "tool_calls": [{"id": "a b", "function": {"name": "f", "arguments": ""}}]}]),
    ] {
        errors.push(import(&json).unwrap_err());
    }
    let arguments =
        json!([{"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{\"a\":"}}]}]);
    errors.push(import(&arguments).unwrap_err());
    let twice = r#"[{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}]"#;
    errors.push(import_openai::<verbale::PlainMessage>(twice, &options()).unwrap_err().to_string());
    insta::assert_snapshot!(errors.join("\n"), @r"
    $ (line 1, column 1): expected an object, found a number
    $ (line 1, column 7): the key `messages` is missing
    $[0].role (line 1, column 31): the name is unknown; use one of `developer`, `system`, `user`, `assistant`, `tool`
    $[0] (line 1, column 16): the key `role` is missing
    $[0] (line 1, column 2): the key `content` is missing
    $[0].content (line 1, column 13): expected a string or a list of parts, found a number
    $[0] (line 1, column 2): the conversation refuses the message
    $[0] (line 1, column 2): an unknown key cannot be kept; remove it (known keys: role, content, name, tool_calls, tool_call_id, refusal)
    $[0] (line 1, column 2): the name of a participant cannot be kept; remove it
    $[0] (line 1, column 2): only assistant messages can have `tool_calls` or a `refusal`
    $[0] (line 1, column 2): only tool messages can have a `tool_call_id`
    $[0] (line 1, column 2): no tool call with this id precedes the result
    $[0] (line 1, column 2): no tool call with this id precedes the result
    $[2] (line 1, column 172): the conversation refuses the message
    $[1] (line 1, column 123): the conversation refuses the message
    $[3] (line 1, column 293): the conversation refuses the message
    $[1] (line 1, column 123): `name` differs from the name of the called tool
    $[0].content[0].type (line 1, column 31): the name is unknown; use one of `text`, `refusal`, `image_url`, `input_audio`, `file`
    $[0].content[0] (line 1, column 14): the key `text` is missing
    $[0].content[0].file (line 1, column 22): a file stored at OpenAI cannot be kept; remove it
    $[0].content[0].image_url (line 1, column 27): a `data:` URL must be in base64
    $[0].tool_calls[0].id (line 1, column 86): a tool call id has 1 to 64 characters of [a-zA-Z0-9_.:-]; this one has 3 bytes
    $[0].tool_calls[0].function.arguments (line 1, column 61): the text is not JSON: EOF while parsing a value
    $[0].content[0] (line 1, column 28): a key appears twice in one object
    ");
}
