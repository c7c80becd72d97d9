//! Binary data of media and documents: base64 and `data:` URLs.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::error::{ExchangeError, Problem};
use super::node::Node;
use crate::message::{Document, Media, MediaKind, Source, Text};

/// The bytes that `base64` says.
pub(super) fn decoded(base64: &str) -> Result<Arc<[u8]>, Problem> {
    let bytes = STANDARD.decode(base64).map_err(|_| Problem::invalid("bytes belong here, in base64"))?;
    Ok(bytes.into())
}

/// The bytes that the string of a node says in base64.
pub(super) fn bytes(node: &Node<'_, '_>) -> Result<Source, ExchangeError> {
    let base64: Cow<'_, str> = node.read()?;
    decoded(&base64).map(Source::Bytes).map_err(|problem| node.error(problem))
}

/// A URL, or the bytes of a `data:` URL with their MIME type.
pub(super) fn located(url: &str) -> Result<(Source, Option<Text>), Problem> {
    let Some(data) = url.strip_prefix("data:") else { return Ok((Source::Url(url.into()), None)) };
    let (mime_type, base64) =
        data.split_once(";base64,").ok_or_else(|| Problem::invalid("a `data:` URL is in base64 here"))?;
    Ok((Source::Bytes(decoded(base64)?), Some(mime_type).filter(|mime_type| !mime_type.is_empty()).map(Text::from)))
}

/// Media of these parts.
pub(super) fn media(kind: MediaKind, source: Source, mime_type: Option<Text>, hint: Option<Text>) -> Media {
    let mut media = Media::new(kind, source);
    (media.mime_type, media.prompt_hint) = (mime_type, hint);
    media
}

/// A document of these parts.
pub(super) fn document(source: Source, mime_type: Option<Text>, title: Option<Text>) -> Document {
    let mut document = Document::new(source);
    (document.mime_type, document.title) = (mime_type, title);
    document
}
