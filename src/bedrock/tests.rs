//! Requests from random conversations are valid.

use proptest::collection::vec;
use proptest::prelude::*;

use super::document::to_document;
use super::profile::Profile;
use super::request::ConverseRequest;
use super::validate::validate_for;
use super::*;
use crate::message::{
    Content, Media, MediaKind, Message, MessageId, MessageWrapper, Position, ResultContent, Role, Source, ToolCall,
    ToolError, Value,
};

fn source() -> impl Strategy<Value = Source> {
    prop_oneof![
        Just(Source::Bytes(b"hi".as_slice().into())),
        ".{0,4}".prop_map(|path| Source::Url(format!("s3://calls/{path}").into())),
        ".*".prop_map(|url| Source::Url(url.into())),
        Just(Source::ContentId("sha256:ab".into())),
    ]
}

fn media() -> impl Strategy<Value = Media> {
    let kind = prop_oneof![
        Just((MediaKind::Image, "image/png")),
        Just((MediaKind::Video, "video/mp4")),
        Just((MediaKind::Audio, "audio/mpeg")),
    ];
    (kind, source(), ".*").prop_map(|((kind, mime_type), source, hint)| {
        Media::new(kind, source).with_mime_type(mime_type).with_label(hint)
    })
}

fn document() -> impl Strategy<Value = Media> {
    let title = prop_oneof![Just("report".to_owned()), ".*"];
    (source(), title).prop_map(|(source, title)| {
        Media::new(MediaKind::Document, source).with_label(title).with_mime_type("text/plain")
    })
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(" ".to_owned()), Just("[tool result: {}]".to_owned()), ".*"]
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(Value::from(b"hi".as_slice())),
        ".*".prop_map(Value::from),
        vec((".*", ".*"), 0..3).prop_map(|entries| Value::map(entries).unwrap()),
    ]
}

/// Contents of a user or the assistant without tool calls and results.
fn contents() -> impl Strategy<Value = Vec<Content>> {
    let one = prop_oneof![3 => text().prop_map(Content::from), 1 => media().prop_map(Content::from)];
    (vec(one, 0..3), proptest::option::of(document())).prop_map(|(mut contents, document)| {
        contents.extend(document.map(Content::from));
        contents
    })
}

/// The arguments and the outcome of a tool call.
type Called = (Value, Result<Vec<ResultContent>, ToolError>);

fn called() -> impl Strategy<Value = Called> {
    let content = prop_oneof![
        text().prop_map(ResultContent::from),
        value().prop_map(ResultContent::from),
        media().prop_map(|media| ResultContent::Media(media.into())),
    ];
    let failure = ("x.*", any::<bool>())
        .prop_map(|(message, retryable)| ToolError::new(message).with_type("Timeout").with_retryable(retryable));
    (value(), prop_oneof![vec(content, 0..3).prop_map(Ok), failure.prop_map(Err)])
}

/// Turns: contents of the user, contents of the assistant, and tool calls of the assistant.
fn turns() -> impl Strategy<Value = Vec<(Vec<Content>, Vec<Content>, Vec<Called>)>> {
    vec((contents(), contents(), vec(called(), 0..3)), 0..4)
}

fn raw(role: Role, mut contents: Vec<Content>) -> aws_sdk_bedrockruntime::types::Message {
    // The manager refuses a blank message.
    contents.push("...".into());
    let message = Message::new(MessageId::from(7), Position::message(0), role, contents.into(), 0);
    BedrockMessage::from(message).to_raw().unwrap()
}

proptest! {
    #[test]
    fn request_from_any_conversation_is_valid(turns in turns(), last in contents(), summary in proptest::option::of(text()), tools: bool) {
        let (mut messages, mut answers) = (Vec::new(), Vec::new());
        for (t, (user, mut assistant, called)) in turns.into_iter().enumerate() {
            // The caller speaks before the results arrive.
            messages.push(raw(Role::User, user.into_iter().chain(std::mem::take(&mut answers)).collect()));
            for (c, (arguments, outcome)) in called.into_iter().enumerate() {
                let call = ToolCall::new(format!("call_{t}_{c}"), "get_user", arguments).unwrap();
                answers.push(Content::from(match outcome {
                    Ok(contents) => call.success(contents),
                    Err(error) => call.failure(error),
                }));
                assistant.push(call.into());
            }
            messages.push(raw(Role::Assistant, assistant));
        }
        messages.push(raw(Role::User, last.into_iter().chain(answers).collect()));

        let request = ConverseRequest::new("model").system("You answer.").summary(summary.as_deref());
        let request = request.messages(messages);
        let request = if tools { request.tools(some_tools()) } else { request };
        // Repair handles contents that only some models accept.
        let mut profile = Profile::claude();
        (profile.supports_videos, profile.supports_s3) = (true, true);
        prop_assert_eq!(validate_for(&request.into_input().unwrap(), &profile), []);
    }
}

fn some_tools() -> aws_sdk_bedrockruntime::types::ToolConfiguration {
    use aws_sdk_bedrockruntime::types::{Tool, ToolConfiguration, ToolInputSchema, ToolSpecification};
    let schema = ToolInputSchema::Json(to_document(&Value::map([("type", "object")]).unwrap()));
    let spec = ToolSpecification::builder().name("get_user").input_schema(schema).build().unwrap();
    ToolConfiguration::builder().tools(Tool::ToolSpec(spec)).build().unwrap()
}
