//! Attachments: base64, `data:` URLs, media and documents.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::{ExchangeError, Problem};
use super::node::Node;
use crate::message::{Content, Media, MediaKind, ResultContent, Source, Text};

/// Decodes base64.
pub(super) fn decode(base64: &str) -> Result<Arc<[u8]>, Problem> {
    let bytes = STANDARD.decode(base64).map_err(|_| Problem::malformed("expected bytes in base64"))?;
    Ok(bytes.into())
}

/// Decodes the base64 string of a node.
pub(super) fn bytes(node: &Node<'_, '_>) -> Result<Source, ExchangeError> {
    let base64: Cow<'_, str> = node.read()?;
    decode(&base64).map(Source::Bytes).map_err(|problem| node.error(problem))
}

/// Returns a URL, or the bytes and the MIME type of a `data:` URL.
pub(super) fn located(url: &str) -> Result<(Source, Option<Text>), Problem> {
    let Some(data) = url.strip_prefix("data:") else { return Ok((Source::Url(url.into()), None)) };
    let (mime_type, base64) =
        data.split_once(";base64,").ok_or_else(|| Problem::malformed("a `data:` URL must be in base64"))?;
    Ok((Source::Bytes(decode(base64)?), Some(mime_type).filter(|mime_type| !mime_type.is_empty()).map(Text::from)))
}

pub(super) fn media(kind: MediaKind, source: Source, mime_type: Option<Text>, label: Option<Text>) -> Media {
    let mut media = Media::new(kind, source);
    (media.mime_type, media.label) = (mime_type, label);
    media
}

/// Returns a part of a result as the content of a message, or `None` if a message cannot hold it.
pub(super) fn content(part: ResultContent) -> Option<Content> {
    match part {
        ResultContent::Text(text) => Some(Content::Text(text)),
        ResultContent::Media(media) => Some(Content::Media(media)),
        ResultContent::Json(_) | ResultContent::Unknown(_) => None,
    }
}
