//! A content as an object with `type`, for the formats that define no object of their own.
//!
//! | `type` | further keys |
//! | --- | --- |
//! | `text` | `text`, or `content_id` if the text is in a content store |
//! | `image`, `audio`, `video` | one of `url`, `data` (base64) and `content_id`; `mime_type`, `prompt_hint` and `id` if known |
//! | `document` | the same, with `title` instead of `prompt_hint` |
//! | `json`, in results only | `json` |

mod write;

use serde::Deserialize;
use serde_json::value::RawValue;

pub(super) use write::{Naming, TITLE, media_entries, text_block, write, write_of_result};

use super::error::ExchangeError;
use super::importer::Typed;
use super::media;
use super::node::Node;
use super::plain;
use crate::message::{Content, Map, Media, MediaKind, ResultContent, Source, Text, Value};

/// The MIME type of a text without one.
pub(super) const PLAIN: &str = "text/plain";
/// The key of the id that a service gives to an attachment.
const ID: &str = "id";

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Text,
    Image,
    Audio,
    Video,
    Document,
    Json,
}

/// Reads a content of a message.
pub(super) fn read(node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
    let content = media::content(read_of_result(node)?);
    content.ok_or_else(|| node.invalid("only the result of a tool can hold `json`"))
}

/// Reads a part of the result of a tool.
pub(super) fn read_of_result(node: &Node<'_, '_>) -> Result<ResultContent, ExchangeError> {
    Ok(match node.object::<Typed<Kind>>()?.r#type {
        Kind::Text => read_text(node)?,
        Kind::Image => read_media(node, MediaKind::Image)?.into(),
        Kind::Audio => read_media(node, MediaKind::Audio)?.into(),
        Kind::Video => read_media(node, MediaKind::Video)?.into(),
        Kind::Document => read_media(node, MediaKind::Document)?.into(),
        Kind::Json => ResultContent::Json(plain::read(&node.last_of("type json")?)?),
    })
}

/// A content. Its type decides which keys it may have.
#[derive(Deserialize)]
struct Block<'a> {
    text: Option<Text>,
    url: Option<Text>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    content_id: Option<Text>,
    mime_type: Option<Text>,
    prompt_hint: Option<Text>,
    title: Option<Text>,
    id: Option<Text>,
}

impl Block<'_> {
    /// Takes the source of the data. A `content_id` beside the data is the id of the data.
    fn source(&mut self, node: &Node<'_, '_>) -> Result<Source, ExchangeError> {
        match (self.url.take(), self.data, self.content_id.take()) {
            (Some(url), None, None) => Ok(Source::Url(url)),
            (None, Some(data), _) => media::bytes(&node.under("data", data)),
            (None, None, Some(id)) => Ok(Source::ContentId(id)),
            _ => Err(node.invalid("expected the data under one of `url`, `data` and `content_id`")),
        }
    }

    /// Takes the id that the service gave, which is kept as an unknown entry.
    fn id(&mut self, node: &Node<'_, '_>) -> Result<Option<Map>, ExchangeError> {
        let entries = self.id.take().map(|id| [(ID.to_owned(), Value::String(id))].into());
        entries.map(Map::new).transpose().map_err(|error| node.error(error))
    }
}

/// Reads a text. Its MIME type is not kept, because the model gets only the text.
fn read_text(node: &Node<'_, '_>) -> Result<ResultContent, ExchangeError> {
    let block: Block<'_> = node.object_of("type text mime_type content_id")?;
    Ok(match (block.text.filter(|text| !text.is_empty() || block.content_id.is_none()), block.content_id) {
        (Some(text), _) => ResultContent::Text(text),
        // The text is in a content store.
        (None, id) => {
            let mime_type = block.mime_type.unwrap_or_else(|| PLAIN.into());
            media::media(MediaKind::Document, Source::ContentId(node.need("text", id)?), Some(mime_type), None).into()
        }
    })
}

/// Reads media, from a block or from an item of versioned JSON.
pub(super) fn read_media(node: &Node<'_, '_>, kind: MediaKind) -> Result<Media, ExchangeError> {
    const KEYS: &str = "type source url data content_id mime_type prompt_hint id role continues";
    const DOCUMENT_KEYS: &str = "type source url data content_id mime_type title id role continues";
    let keys = if kind == MediaKind::Document { DOCUMENT_KEYS } else { KEYS };
    let mut block: Block<'_> = node.object_of(keys)?;
    let label = block.prompt_hint.take().or(block.title.take());
    let mut media = media::media(kind, block.source(node)?, block.mime_type.take(), label);
    media.unknown = block.id(node)?;
    Ok(media)
}
