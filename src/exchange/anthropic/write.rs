//! Writing the window as `system` and `messages`.

use crate::exchange::block::text_block;
use crate::exchange::export::{Export, Losses, Lost, role_for_provider};
use crate::exchange::json::Json;
use crate::exchange::window::{is_web, known_image, unavailable};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Document, Media, MediaKind, MessageId, MessageWrapper, Outcome, ResultContent, Role, Source, ToolCall,
    ToolResult, Value, is_blank,
};

/// A user message that opens the window where an assistant would.
const OPENER: &str = "...";

/// The order of blocks in a message: results first, calls last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Order {
    Result,
    Said,
    Call,
}

type Blocks<'a> = Vec<(Order, Json<'a>)>;

pub(super) fn window<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    if let Some(summary) = manager.last_summary() {
        losses.note(summary.id(), Lost::Summary);
    }
    let mut system = Vec::new();
    for message in manager.system_messages() {
        for content in message.contents() {
            match content {
                Content::Text(text) => system.push(text_block(text.as_str())),
                Content::Document(_) => losses.note(message.id(), Lost::Document),
                Content::Media(_) => losses.note(message.id(), Lost::Media),
                _ => losses.note(message.id(), Lost::Unknown),
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
            turns.push((Role::User, vec![(Order::Said, text_block(OPENER))]));
        }
        let of = message.id();
        let blocks = message.contents().iter().filter_map(|content| block(content, role, of, &mut losses));
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
    losses.beside(Json::object([("system", system), ("messages", Some(messages))]).to_string())
}

fn block<'a>(content: &'a Content, role: Role, of: MessageId, losses: &mut Losses) -> Option<(Order, Json<'a>)> {
    Some(match content {
        Content::Text(text) => (Order::Said, text_block(text.as_str())),
        // Only the user sends images and documents.
        Content::Media(media) => (Order::Said, media_block(media, role == Role::User, of, losses)),
        Content::Document(document) => (Order::Said, document_block(document, role == Role::User, of, losses)),
        Content::ToolCall(call) => (Order::Call, call_block(call, of, losses)),
        Content::ToolResult(result) => (Order::Result, result_block(result, of, losses)),
        Content::Unknown(_) => {
            losses.note(of, Lost::Unknown);
            return None;
        }
    })
}

fn call_block<'a>(call: &'a ToolCall, of: MessageId, losses: &mut Losses) -> Json<'a> {
    let input = match call.arguments() {
        Value::Null => Json::object([]),
        arguments @ Value::Map(_) => losses.plain(of, arguments),
        other => Json::object([("arguments", Some(losses.plain(of, other)))]),
    };
    Json::object([
        ("type", Some("tool_use".into())),
        ("id", Some(call.id().as_str().into())),
        ("name", Some(call.name().as_str().into())),
        ("input", Some(input)),
    ])
}

fn result_block<'a>(result: &'a ToolResult, of: MessageId, losses: &mut Losses) -> Json<'a> {
    let (content, is_error) = match result.outcome() {
        Outcome::Success(contents) => {
            let told: Vec<_> = contents.iter().filter_map(|content| result_part(content, of, losses)).collect();
            (told, None)
        }
        Outcome::Failure(error) => {
            if error.error_type().is_some() || error.retryable().is_some() {
                losses.note(of, Lost::Failure);
            }
            (vec![text_block(error.message())], Some(true.into()))
        }
    };
    Json::object([
        ("type", Some("tool_result".into())),
        ("tool_use_id", Some(result.tool_call_id().as_str().into())),
        ("content", (!content.is_empty()).then_some(Json::List(content))),
        ("is_error", is_error),
    ])
}

fn result_part<'a>(content: &'a ResultContent, of: MessageId, losses: &mut Losses) -> Option<Json<'a>> {
    match content {
        ResultContent::Text(text) => (!is_blank(text)).then(|| text_block(text.as_str())),
        ResultContent::Json(value) => {
            losses.note(of, Lost::ResultJson);
            Some(text_block(losses.plain(of, value).to_string()))
        }
        ResultContent::Media(media) => Some(media_block(media, true, of, losses)),
        ResultContent::Document(document) => Some(document_block(document, true, of, losses)),
        ResultContent::Unknown(_) => {
            losses.note(of, Lost::Unknown);
            None
        }
    }
}

fn media_block<'a>(media: &'a Media, is_taken: bool, of: MessageId, losses: &mut Losses) -> Json<'a> {
    let source = match (&media.source, known_image(media)) {
        _ if !is_taken || media.kind != MediaKind::Image => None,
        (Source::Bytes(bytes), Some(mime_type)) => Some(base64(mime_type, bytes)),
        (Source::Url(url), _) if is_web(url) => Some(by_url(url)),
        _ => None,
    };
    let Some(source) = source else {
        losses.note(of, Lost::Media);
        return unavailable(media.kind.as_str());
    };
    if media.prompt_hint.is_some() || media.unknown.is_some() {
        losses.note(of, Lost::Label);
    }
    Json::object([("type", Some("image".into())), ("source", Some(source))])
}

fn document_block<'a>(document: &'a Document, is_taken: bool, of: MessageId, losses: &mut Losses) -> Json<'a> {
    const PDF: &str = "application/pdf";
    let known = document.known_type();
    let source = match (&document.source, known.as_deref()) {
        _ if !is_taken => None,
        (Source::Bytes(bytes), Some(PDF)) => Some(base64(PDF.to_owned(), bytes)),
        (Source::Url(url), Some(PDF)) if is_web(url) => Some(by_url(url)),
        (Source::Bytes(bytes), Some("text/plain")) => {
            let words = std::str::from_utf8(bytes).ok().filter(|words| !is_blank(words));
            words.map(|words| {
                Json::object([
                    ("type", Some("text".into())),
                    ("media_type", Some("text/plain".into())),
                    ("data", Some(words.into())),
                ])
            })
        }
        _ => None,
    };
    let Some(source) = source else {
        losses.note(of, Lost::Document);
        return unavailable("document");
    };
    losses.note_some(of, Lost::Label, &document.unknown);
    let title = document.title.as_ref().filter(|title| !is_blank(title)).map(Json::from);
    Json::object([("type", Some("document".into())), ("source", Some(source)), ("title", title)])
}

fn base64(mime_type: String, bytes: &[u8]) -> Json<'_> {
    Json::object([
        ("type", Some("base64".into())),
        ("media_type", Some(mime_type.into())),
        ("data", Some(Json::Bytes(bytes))),
    ])
}

fn by_url(url: &str) -> Json<'_> {
    Json::object([("type", Some("url".into())), ("url", Some(url.into()))])
}
