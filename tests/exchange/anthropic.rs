//! Anthropic's Messages.

use serde_json::{Value as Json, json};
use verbale::exchange::{import_anthropic, window_anthropic};
use verbale::message::{Media, MediaKind, Source, ToolError};
use verbale::{Content, Contents, Role, ToolCall, Value};

use super::loss;

use crate::formats::{Manager, manager, options, said};

fn import(json: &Json) -> Result<Manager, String> {
    import_anthropic(json.to_string(), &options()).map_err(|error| error.to_string())
}

fn window(manager: &Manager) -> (Json, Vec<String>) {
    let window = window_anthropic(manager);
    (serde_json::from_str(&window.text).unwrap(), window.losses.iter().map(|(_, loss)| loss.to_string()).collect())
}

fn png() -> Json {
    json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="})
}

#[test]
fn imported_request_comes_back_as_window() {
    let request = json!({
        "model": "claude-haiku-4-5",
        "max_tokens": 200,
        "system": "You are an airline.",
        "messages": [
            {"role": "user", "content": "Two seats, and look:"},
            {"role": "user", "content": [
                {"type": "image", "source": png()},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/i.png"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Terms."}, "title": "T"},
            ]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "toolu_1", "name": "find", "input": {"seats": 2}},
                {"type": "tool_use", "id": "toolu_2", "name": "user", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no answer", "is_error": true},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [
                    {"type": "text", "text": "free"}, {"type": "image", "source": png()}]},
                {"type": "text", "text": "Well?", "cache_control": {"type": "ephemeral"}, "citations": null},
            ]},
        ],
    });
    let manager = import(&request).unwrap();
    let said = said(&manager);
    let roles: Vec<Role> = said.iter().map(|(role, _)| *role).collect();
    assert_eq!(roles, [Role::System, Role::User, Role::Assistant, Role::User]);
    let Err(error) = said[3].1[0].as_result().unwrap().outcome() else { panic!("not a failure") };
    assert_eq!(*error, ToolError::new("no answer"));
    let (json, losses) = window(&manager);
    assert_eq!(losses, [""; 0]);
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        json,
        json!({
            "system": [text("You are an airline.")],
            "messages": [
                {"role": "user", "content": [
                    text("Two seats, and look:"),
                    request["messages"][1]["content"][0],
                    request["messages"][1]["content"][1],
                    request["messages"][1]["content"][2],
                ]},
                request["messages"][2],
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_2", "content": [text("no answer")], "is_error": true},
                    request["messages"][3]["content"][1],
                    text("Well?"),
                ]},
            ],
        })
    );
    assert!(crate::formats::said(&import(&json).unwrap()) == said);
}

#[test]
fn numbers_stay_exact() {
    let text = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"n":[12345678901234567890123.5,1E40,0.1,18446744073709551615]}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"ok"}]}]}]}"#;
    let manager: Manager = import_anthropic(text, &options()).unwrap();
    assert_eq!(window_anthropic(&manager).text, text);
}

#[test]
fn window_replaces_unaccepted_content_and_reports_losses() {
    let mut conversation = manager();
    let call = ToolCall::new("a", "f", Value::from(7)).unwrap();
    conversation.add_system("Be brief.").unwrap();
    conversation.add_assistant([Content::from(call.clone()), "One moment.".into()]).unwrap();
    let sound = Media::new(MediaKind::Audio, Source::Bytes(b"hi".as_slice().into()));
    let stored = Media::new(MediaKind::Document, Source::ContentId("sha256:ab".into()));
    conversation.add_user([Content::from(sound), stored.into(), call.success([Value::from(8)]).into()]).unwrap();
    let (json, losses) = window(&conversation);
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        json["messages"],
        json!([
            {"role": "user", "content": [text("...")]},
            {"role": "assistant", "content": [
                text("One moment."), {"type": "tool_use", "id": "a", "name": "f", "input": {"arguments": 7}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": [text("8")]},
                text("[audio: not available to the model]"),
                text("[document: not available to the model]"),
            ]},
        ])
    );
    assert_eq!(losses, [loss::VALUE_TYPE, loss::ATTACHMENT]);
}

#[test]
fn equivalent_forms_are_imported() {
    let bare = json!([
        {"content": [{"text": "Hi", "type": "text"}], "role": "user", "id": null},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": null}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": []}]},
    ]);
    let manager = import(&bare).unwrap();
    let call = |id: &str, input: Value| ToolCall::new(id, "f", input).unwrap();
    let (first, again) = (call("a", Value::Null), call("a-2", Value::map::<&str, Value>([]).unwrap()));
    let expected: Vec<(Role, Contents)> = vec![
        (Role::User, "Hi".into()),
        (Role::Assistant, first.clone().into()),
        (Role::User, first.success([""; 0]).into()),
        (Role::Assistant, again.clone().into()),
        (Role::User, again.success([""; 0]).into()),
    ];
    assert_eq!(said(&manager), expected);
    let list =
        json!({"messages": bare, "system": [{"type": "text", "text": "Brief."}, {"type": "text", "text": "Kind."}]});
    assert_eq!(
        said(&import(&list).unwrap())[..2].to_vec(),
        [(Role::System, Contents::from("Brief.")), (Role::System, Contents::from("Kind.")),]
    );
}

#[test]
fn errors_name_path_and_quote_nothing() {
    let user = |block: Json| json!({"messages": [{"role": "user", "content": [block]}]});
    let mut errors = Vec::new();
    for json in [
        json!({"messages": "secret"}),
        json!({"system": 7, "messages": []}),
        json!({"system": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}], "messages": []}),
        json!([{"role": "system", "content": "secret"}]),
        json!([{"role": "user", "content": 7}]),
        json!([{"role": "user", "content": ""}]),
        json!([{"role": "user", "content": "a", "secret": {"secret": 1e300}}]),
        user(json!({"type": "thinking", "thinking": "secret"})),
        user(json!({"type": "text", "text": "a", "citations": [{"secret": 1}]})),
        user(json!({"type": "text", "text": "a", "input": "secret"})),
        user(json!({"type": "image"})),
        user(json!({"type": "image", "source": {"type": "file", "file_id": "secret"}})),
        user(json!({"type": "image", "source": {"type": "base64", "data": "secret!"}})),
        user(json!({"type": "tool_use", "id": "a", "name": "secret name", "input": {}})),
        user(json!({"type": "tool_use", "id": "a", "name": "f"})),
        user(json!({"type": "tool_use", "id": "a", "name": "f", "input": {}})),
        user(json!({"type": "tool_result", "tool_use_id": "a", "content": "secret"})),
        user(json!({"type": "tool_result", "tool_use_id": "a", "is_error": true})),
    ] {
        errors.push(import(&json).unwrap_err());
    }
    let errors = errors.join("\n");
    assert!(!errors.contains("secret"), "{errors}");
    insta::assert_snapshot!(errors, @r"
    $.messages (line 1, column 13): expected a list, found a string
    $.system (line 1, column 25): expected a string or a list of blocks, found a number
    $.system[0] (line 1, column 26): instructions and results cannot hold tool calls or results
    $[0].role (line 1, column 36): the name is unknown; use one of `user` or `assistant`
    $[0].content (line 1, column 13): expected a list, found a number
    $[0] (line 1, column 2): the conversation refuses the message
    $[0] (line 1, column 2): an unknown key cannot be kept; remove it (known keys: role, content)
    $.messages[0].content[0].type (line 1, column 63): the name is unknown; use one of `text`, `image`, `document`, `tool_use`, `tool_result`
    $.messages[0].content[0] (line 1, column 26): an unknown key cannot be kept; remove it (known keys: type, cache_control, text)
    $.messages[0].content[0] (line 1, column 26): an unknown key cannot be kept; remove it (known keys: type, cache_control, text)
    $.messages[0].content[0] (line 1, column 26): the key `source` is missing
    $.messages[0].content[0].source (line 1, column 36): an unknown key cannot be kept; remove it (known keys: type, media_type, data, url)
    $.messages[0].content[0].source.data (line 1, column 44): expected bytes in base64
    $.messages[0].content[0].name (line 1, column 66): a tool name has 1 to 64 characters of [a-zA-Z0-9_-]; this one has 11 bytes
    $.messages[0].content[0] (line 1, column 26): the key `input` is missing
    $.messages[0] (line 1, column 14): the conversation refuses the message
    $.messages[0].content[0] (line 1, column 26): no tool call with this id precedes the result
    $.messages[0].content[0] (line 1, column 26): the message of a tool call's error is blank; say what went wrong
    ");
}
