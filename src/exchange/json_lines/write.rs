//! Writes the lines of a message. The lines of each part have its id, time and confidence.

use std::borrow::Cow;

use crate::clock::write_moment;
use crate::exchange::block::{self, Naming};
use crate::exchange::export::{Export, LossKind, Losses, each_message};
use crate::exchange::failure;
use crate::exchange::json::Json;
use crate::manager::MessagesManager;
use crate::message::{
    Content, Media, MediaKind, Message, MessageWrapper, Part, Role, Source, ToolCall, ToolResult, Value,
};

/// Exports the conversation in the format of [`import_json_lines`](super::import_json_lines).
///
/// This format is for people and other programs. Without loss, Serde writes and reads a
/// [`MessagesManager`].
///
/// [Losses](Export::losses) are summaries, text that was not heard, bytes in data, results without their calls, and
/// calls whose result may be in a missing message.
pub fn export_json_lines<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let (mut lines, mut losses) = (String::new(), Losses::default());
    each_message(manager, &mut losses, |message, contents, losses| {
        for (part, contents) in message.heard_parts(&contents) {
            write_part(&mut lines, message, part, contents, losses);
        }
    });
    losses.into_export(lines)
}

fn write_part(lines: &mut String, message: &Message, part: Part<'_>, contents: &[Content], losses: &mut Losses) {
    let role = message.role();
    let (at, id) = (write_moment(part.created_ms()), part.id().to_string());
    let confidence = part.confidence().map(|confidence| Value::from(confidence.clone()));
    let speaker = if role == Role::System { "supervisor" } else { role.as_str() };
    let written: Vec<&Content> = contents.iter().filter(|content| losses.is_written(content)).collect();
    let mut line = |kind: &str, entries: Json<'_>| {
        let common = Json::object([
            ("timestamp", Some(at.as_str().into())),
            ("message_id", Some(id.as_str().into())),
            ("confidence", confidence.as_ref().map(Json::Plain)),
        ]);
        let line = Json::object([("role", Some(kind.into()))]).and(entries).and(common);
        lines.push_str(&line.to_string());
        lines.push('\n');
    };
    if !role.is_spoken() && written.len() > 1 {
        // Separate lines would become several messages.
        let blocks = written.iter().filter_map(|content| block::write(content, Naming::Unnamed, losses)).collect();
        return line(speaker, Json::object([("content", Some(blocks))]));
    }
    for content in written {
        match content {
            Content::ToolCall(call) => line("invocation", tool_call(call, losses)),
            Content::ToolResult(answer) => line("result", result(answer, losses)),
            Content::Media(media) if media.kind == MediaKind::Document && role == Role::User => {
                line("document", reference(media, losses));
            }
            content => line(speaker, Json::object([("content", block::write(content, Naming::Unnamed, losses))])),
        }
    }
}

fn tool_call<'a>(call: &'a ToolCall, losses: &mut Losses) -> Json<'a> {
    losses.note_if(call.unknown.is_some(), LossKind::Unknown);
    Json::object([
        ("identifier", Some(call.id().as_str().into())),
        ("name", Some(call.name().as_str().into())),
        ("arguments", Some(losses.plain(call.arguments()))),
    ])
}

fn result<'a>(result: &'a ToolResult, losses: &mut Losses) -> Json<'a> {
    losses.note_if(result.unknown.is_some(), LossKind::Unknown);
    let outcome = match result.outcome() {
        Err(error) => failure::entries(error, losses),
        Ok(contents) => {
            let mut blocks = contents.iter().filter_map(|content| block::write_of_result(content, losses));
            let content = match contents.len() {
                1 => blocks.next().unwrap_or(Json::List(Vec::new())),
                _ => blocks.collect(),
            };
            Json::object([("content", Some(content))])
        }
    };
    Json::object([("invocation_id", Some(result.tool_call_id().as_str().into()))]).and(outcome)
}

/// Returns the entries of a document of the user.
fn reference<'a>(document: &'a Media, losses: &mut Losses) -> Json<'a> {
    let mime_type = document.mime_type.as_deref();
    let content = match document_text(document) {
        Some((key, text)) => {
            losses.note_if(document.unknown.is_some(), LossKind::Unknown);
            let named = mime_type.filter(|mime_type| *mime_type != block::PLAIN);
            Json::object([
                ("type", Some("text".into())),
                (key, Some(text.into())),
                ("mime_type", named.map(Json::from)),
            ])
        }
        None => Json::object([("type", Some("document".into()))])
            .and(block::media_entries(document, losses).without(block::TITLE)),
    };
    Json::object([(block::TITLE, document.label.as_ref().map(Json::from)), ("content", Some(content))])
}

/// Returns the text of a document, or its id in a content store, with the key of either.
fn document_text(document: &Media) -> Option<(&'static str, Cow<'_, str>)> {
    if !document.mime_type.as_ref().is_some_and(|mime_type| mime_type.starts_with("text/")) {
        return None;
    }
    match &document.source {
        Source::Bytes(bytes) => Some(("text", std::str::from_utf8(bytes).ok()?.into())),
        Source::ContentId(id) => Some(("content_id", id.as_str().into())),
        Source::Url(_) => None,
    }
}
