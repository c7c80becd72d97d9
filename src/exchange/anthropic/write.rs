//! Writes the window as `system` and `messages`.

use crate::exchange::block::text_block;
use crate::exchange::export::{Export, LossKind, Losses, role_for_provider};
use crate::exchange::json::Json;
use crate::exchange::pairs::note_broken;
use crate::exchange::window::{is_web, known_image, unavailable};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Media, MediaKind, MessageWrapper, PLACEHOLDER, ResultContent, Role, Source, ToolCall, ToolResult, Value,
    is_blank,
};

/// The order of blocks in a message: results first, calls last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Result,
    Said,
    Call,
}

type Blocks<'a> = Vec<(Order, Json<'a>)>;

/// Writes the [window](MessagesManager::messages), which is what the model gets now, as `system` and `messages` of a
/// request.
///
/// - `system` holds all system instructions, in order.
/// - Roles alternate and a user message is first. Results open the user message after their calls, and nothing follows
///   calls in a message. No text is blank. Arguments that are not an object become `{"arguments": …}`, as for Bedrock.
/// - Attachments that Anthropic does not accept become a text: `[audio: not available to the model]`.
/// - A message without calls and results gets the role of its [role hint](crate::message::Decision::role_hint) if the
///   hint is `user` or `assistant`.
///
/// [Losses](Export::losses) are the summary; a tool call or result whose other half is missing; attachments that are
/// left out; labels; the type of data, which is text here; the type of a failure. Pass the
/// [summary](MessagesManager::last_summary) to the model in an instruction of your own, marked as data.
pub fn window_anthropic<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    losses.note_summary(manager);
    note_broken(manager, &mut losses);
    let mut system = Vec::new();
    for message in manager.system_messages() {
        losses.set_message(message.id());
        for content in message.contents() {
            match content {
                Content::Text(text) => system.push(text_block(text.as_str())),
                Content::Media(_) => losses.note(LossKind::Attachment),
                _ => losses.note(LossKind::Unknown),
            }
        }
    }
    let window: Vec<_> = manager.messages().collect();
    let mut turns: Vec<(Role, Blocks<'_>)> = Vec::new();
    for message in window.iter().map(|wrapper| wrapper.message()) {
        let role = match role_for_provider(message) {
            Role::System | Role::Summary => message.role(),
            spoken => spoken,
        };
        if turns.is_empty() && role == Role::Assistant {
            turns.push((Role::User, vec![(Order::Said, text_block(PLACEHOLDER))]));
        }
        losses.set_message(message.id());
        let blocks = message.contents().iter().filter_map(|content| block(content, role, &mut losses));
        match turns.last_mut() {
            Some((last, before)) if *last == role => before.extend(blocks),
            _ => {
                let blocks = blocks.collect();
                turns.push((role, blocks));
            }
        }
    }
    let messages = turns.into_iter().map(|(role, mut blocks)| {
        blocks.sort_by_key(|(order, _)| *order);
        let content = blocks.into_iter().map(|(_, block)| block).collect();
        Json::object([("role", Some(role.as_str().into())), ("content", Some(content))])
    });
    let messages = messages.collect();
    let system = (!system.is_empty()).then_some(Json::List(system));
    losses.into_export(Json::object([("system", system), ("messages", Some(messages))]).to_string())
}

fn block<'a>(content: &'a Content, role: Role, losses: &mut Losses) -> Option<(Order, Json<'a>)> {
    Some(match content {
        Content::Text(text) => (Order::Said, text_block(text.as_str())),
        // Anthropic accepts attachments only from the user.
        Content::Media(media) => (Order::Said, media_block(media, role == Role::User, losses)),
        Content::ToolCall(call) => (Order::Call, call_block(call, losses)),
        Content::ToolResult(result) => (Order::Result, result_block(result, losses)),
        Content::Unknown(_) => {
            losses.note(LossKind::Unknown);
            return None;
        }
    })
}

fn call_block<'a>(call: &'a ToolCall, losses: &mut Losses) -> Json<'a> {
    let input = match call.arguments() {
        Value::Null => Json::object([]),
        arguments @ Value::Map(_) => losses.plain(arguments),
        other => Json::object([("arguments", Some(losses.plain(other)))]),
    };
    Json::object([
        ("type", Some("tool_use".into())),
        ("id", Some(call.id().as_str().into())),
        ("name", Some(call.name().as_str().into())),
        ("input", Some(input)),
    ])
}

fn result_block<'a>(result: &'a ToolResult, losses: &mut Losses) -> Json<'a> {
    let (content, is_error) = match result.outcome() {
        Ok(contents) => {
            let parts: Vec<_> = contents.iter().filter_map(|content| result_part(content, losses)).collect();
            (parts, None)
        }
        Err(error) => {
            losses.note_failure(error);
            (vec![text_block(error.message())], Some(Json::Bool(true)))
        }
    };
    Json::object([
        ("type", Some("tool_result".into())),
        ("tool_use_id", Some(result.tool_call_id().as_str().into())),
        ("content", (!content.is_empty()).then_some(Json::List(content))),
        ("is_error", is_error),
    ])
}

fn result_part<'a>(content: &'a ResultContent, losses: &mut Losses) -> Option<Json<'a>> {
    match content {
        ResultContent::Text(text) => (!is_blank(text)).then(|| text_block(text.as_str())),
        ResultContent::Json(value) => {
            losses.note(LossKind::ValueType);
            Some(text_block(losses.plain(value).to_string()))
        }
        ResultContent::Media(media) => Some(media_block(media, true, losses)),
        ResultContent::Unknown(_) => {
            losses.note(LossKind::Unknown);
            None
        }
    }
}

fn media_block<'a>(media: &'a Media, is_accepted: bool, losses: &mut Losses) -> Json<'a> {
    if media.kind == MediaKind::Document {
        return document_block(media, is_accepted, losses);
    }
    let source = match (&media.source, known_image(media)) {
        _ if !is_accepted || media.kind != MediaKind::Image => None,
        (Source::Bytes(bytes), Some(mime_type)) => Some(data_source("base64", mime_type.into(), Json::Bytes(bytes))),
        (Source::Url(url), _) if is_web(url) => Some(by_url(url)),
        _ => None,
    };
    let Some(source) = source else {
        losses.note(LossKind::Attachment);
        return unavailable(media.kind.as_str());
    };
    losses.note_labels(media);
    Json::object([("type", Some("image".into())), ("source", Some(source))])
}

fn document_block<'a>(document: &'a Media, is_accepted: bool, losses: &mut Losses) -> Json<'a> {
    const PDF: &str = "application/pdf";
    let known = document.known_type();
    let source = match (&document.source, known.as_deref()) {
        _ if !is_accepted => None,
        (Source::Bytes(bytes), Some(PDF)) => Some(data_source("base64", PDF.into(), Json::Bytes(bytes))),
        (Source::Url(url), Some(PDF)) if is_web(url) => Some(by_url(url)),
        (Source::Bytes(bytes), Some("text/plain")) => {
            let text = std::str::from_utf8(bytes).ok().filter(|text| !is_blank(text));
            text.map(|text| data_source("text", "text/plain".into(), text.into()))
        }
        _ => None,
    };
    let Some(source) = source else {
        losses.note(LossKind::Attachment);
        return unavailable("document");
    };
    losses.note_if(document.unknown.is_some(), LossKind::Label);
    let title = document.label.as_ref().filter(|title| !is_blank(title)).map(Json::from);
    Json::object([("type", Some("document".into())), ("source", Some(source)), ("title", title)])
}

fn data_source<'a>(kind: &'a str, mime_type: Json<'a>, data: Json<'a>) -> Json<'a> {
    Json::object([("type", Some(kind.into())), ("media_type", Some(mime_type)), ("data", Some(data))])
}

fn by_url(url: &str) -> Json<'_> {
    Json::object([("type", Some("url".into())), ("url", Some(url.into()))])
}
