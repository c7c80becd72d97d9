//! Writes contents as objects with `type`.

use super::{ID, PLAIN};
use crate::exchange::export::{LossKind, Losses};
use crate::exchange::json::Json;
use crate::message::{Content, Map, Media, MediaKind, ResultContent, Source, Value};

/// The key of a document's label.
pub(in crate::exchange) const TITLE: &str = "title";

/// Whether blocks name their `source`: `url`, `base64` or `content_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exchange) enum Naming {
    Named,
    Unnamed,
}

/// Writes a content. Returns `None` for tool calls, results and contents of a newer version.
pub(in crate::exchange) fn write<'a>(content: &'a Content, naming: Naming, losses: &mut Losses) -> Option<Json<'a>> {
    let loss = match content {
        Content::Text(text) => return Some(text_block(text.as_str())),
        Content::Media(media) => return Some(media_block(media, naming, losses)),
        Content::ToolCall(_) | Content::ToolResult(_) => LossKind::ToolCall,
        Content::Unknown(_) => LossKind::Unknown,
    };
    losses.note(loss);
    None
}

/// Writes a part of the result of a tool.
pub(in crate::exchange) fn write_of_result<'a>(content: &'a ResultContent, losses: &mut Losses) -> Option<Json<'a>> {
    Some(match content {
        ResultContent::Text(text) => text_block(text.as_str()),
        ResultContent::Json(value) => {
            Json::object([("type", Some("json".into())), ("json", Some(losses.plain(value)))])
        }
        ResultContent::Media(media) => media_block(media, Naming::Unnamed, losses),
        ResultContent::Unknown(_) => {
            losses.note(LossKind::Unknown);
            return None;
        }
    })
}

/// Writes a text with its `type`, as OpenAI and Anthropic have it too.
pub(in crate::exchange) fn text_block<'a>(text: impl Into<Json<'a>>) -> Json<'a> {
    Json::object([("type", Some("text".into())), ("text", Some(text.into()))])
}

fn media_block<'a>(media: &'a Media, naming: Naming, losses: &mut Losses) -> Json<'a> {
    let mime_type = media.mime_type.as_deref();
    match &media.source {
        // A text in a content store is imported as such a document.
        Source::ContentId(id)
            if media.kind == MediaKind::Document
                && media.label.is_none()
                && media.unknown.is_none()
                && mime_type.is_some_and(|mime_type| mime_type.starts_with("text/")) =>
        {
            Json::object([
                ("type", Some("text".into())),
                ("content_id", Some(id.into())),
                ("mime_type", mime_type.filter(|mime_type| *mime_type != PLAIN).map(Json::from)),
            ])
        }
        source => named(media.kind.as_str(), naming, source).and(media_entries(media, losses)),
    }
}

fn named<'a>(kind: &'a str, naming: Naming, source: &Source) -> Json<'a> {
    let name = match source {
        Source::Bytes(_) => "base64",
        Source::Url(_) => "url",
        Source::ContentId(_) => "content_id",
    };
    Json::object([("type", Some(kind.into())), ("source", (naming == Naming::Named).then(|| name.into()))])
}

/// Returns the entries of media without the `type`.
pub(in crate::exchange) fn media_entries<'a>(media: &'a Media, losses: &mut Losses) -> Json<'a> {
    let label = if media.kind == MediaKind::Document { TITLE } else { "prompt_hint" };
    Json::object([
        source_entry(&media.source),
        ("mime_type", media.mime_type.as_ref().map(Json::from)),
        (label, media.label.as_ref().map(Json::from)),
        id_entry(media.unknown.as_ref(), losses),
    ])
}

/// Returns the entry that locates the data.
fn source_entry(source: &Source) -> (&str, Option<Json<'_>>) {
    match source {
        Source::Bytes(bytes) => ("data", Some(Json::Bytes(bytes))),
        Source::Url(url) => ("url", Some(url.into())),
        Source::ContentId(id) => ("content_id", Some(id.into())),
    }
}

fn id_entry<'a>(unknown: Option<&'a Map>, losses: &mut Losses) -> (&'a str, Option<Json<'a>>) {
    let id = unknown.and_then(|unknown| unknown.get(ID)).and_then(Value::as_str);
    losses.note_if(unknown.map_or(0, |unknown| unknown.len()) > usize::from(id.is_some()), LossKind::Unknown);
    (ID, id.map(Json::from))
}
