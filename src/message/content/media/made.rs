//! How [`Media`] and [`Document`] are made from bytes, from URLs and from content ids.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::mime::{checked, known};
use super::sniff::sniff;
use super::{Document, Media, MediaKind, Source};
use crate::message::error::MessageError;
use crate::message::text::Text;

impl Media {
    /// An image from its bytes. Errors: as [`from_bytes`](Self::from_bytes).
    pub fn image(bytes: impl Into<Arc<[u8]>>) -> Result<Self, MessageError> {
        Self::from_bytes(MediaKind::Image, bytes, None)
    }

    /// Sound from its bytes. Errors: as [`from_bytes`](Self::from_bytes).
    pub fn audio(bytes: impl Into<Arc<[u8]>>) -> Result<Self, MessageError> {
        Self::from_bytes(MediaKind::Audio, bytes, None)
    }

    /// A video from its bytes. Errors: as [`from_bytes`](Self::from_bytes).
    pub fn video(bytes: impl Into<Arc<[u8]>>) -> Result<Self, MessageError> {
        Self::from_bytes(MediaKind::Video, bytes, None)
    }

    /// Media from its bytes. Its MIME type is the given one or, without one, what the bytes are; where they do not tell,
    /// it has none. `application/octet-stream` counts as none.
    ///
    /// Errors: no bytes; a given type that is none, or not what the bytes are; a given type, or bytes, of another kind.
    pub fn from_bytes(
        kind: MediaKind,
        bytes: impl Into<Arc<[u8]>>,
        mime_type: Option<&str>,
    ) -> Result<Self, MessageError> {
        let (source, mime_type) = checked_bytes(Some(kind), bytes.into(), mime_type)?;
        Ok(Self { mime_type, ..Self::new(kind, source) })
    }

    /// Media at a URL. A `data:` URL in base64 is read at once, as [`from_bytes`](Self::from_bytes) does.
    ///
    /// Errors: no URL with a scheme; as of the bytes of a `data:` URL.
    pub fn from_url(kind: MediaKind, url: impl Into<Text>) -> Result<Self, MessageError> {
        let (source, mime_type) = checked_url(Some(kind), url.into())?;
        Ok(Self { mime_type, ..Self::new(kind, source) })
    }

    /// Media in a content store, such as `sha256:…`. The model is given it once
    /// [`resolve`](crate::contents::resolve) has put its bytes in.
    pub fn from_content_id(kind: MediaKind, id: impl Into<Text>) -> Self {
        Self::new(kind, Source::ContentId(id.into()))
    }

    /// The MIME type for a provider, in small letters and without parameters: what the bytes are, where they are here and
    /// tell; else the one that it says. `None` where neither is known, or is not of its kind.
    pub fn known_type(&self) -> Option<Text> {
        known(Some(self.kind), &self.source, self.mime_type.as_deref())
    }
}

impl Document {
    /// A document from its bytes: as [`Media::from_bytes`]. A text without a type is `text/plain`, for Markdown and CSV
    /// cannot be told from it.
    ///
    /// Errors: as there; an image, sound or a video is no document.
    pub fn from_bytes(bytes: impl Into<Arc<[u8]>>, mime_type: Option<&str>) -> Result<Self, MessageError> {
        let (source, mime_type) = checked_bytes(None, bytes.into(), mime_type)?;
        Ok(Self { mime_type, ..Self::new(source) })
    }

    /// A document at a URL: as [`Media::from_url`].
    ///
    /// Errors: as there.
    pub fn from_url(url: impl Into<Text>) -> Result<Self, MessageError> {
        let (source, mime_type) = checked_url(None, url.into())?;
        Ok(Self { mime_type, ..Self::new(source) })
    }

    /// A document in a content store: as [`Media::from_content_id`].
    pub fn from_content_id(id: impl Into<Text>) -> Self {
        Self::new(Source::ContentId(id.into()))
    }

    /// The MIME type for a provider: as [`Media::known_type`].
    pub fn known_type(&self) -> Option<Text> {
        known(None, &self.source, self.mime_type.as_deref())
    }
}

fn checked_bytes(
    kind: Option<MediaKind>,
    bytes: Arc<[u8]>,
    given: Option<&str>,
) -> Result<(Source, Option<Text>), MessageError> {
    if bytes.is_empty() {
        return Err(MessageError::NoBytes);
    }
    let mime_type = checked(kind, given, sniff(&bytes))?;
    Ok((Source::Bytes(bytes), mime_type))
}

fn checked_url(kind: Option<MediaKind>, url: Text) -> Result<(Source, Option<Text>), MessageError> {
    const BASE64: &str = ";base64";
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !is_scheme || rest.is_empty() || rest.contains(char::is_whitespace) {
        return Err(MessageError::InvalidUrl { length: url.len() });
    }
    if !scheme.eq_ignore_ascii_case("data") {
        return Ok((Source::Url(url), None));
    }
    let (header, data) = rest.split_once(',').ok_or(MessageError::InvalidDataUrl)?;
    let is_base64 = header.len().checked_sub(BASE64.len()).and_then(|at| header.get(at..));
    if !is_base64.is_some_and(|end| end.eq_ignore_ascii_case(BASE64)) {
        return Err(MessageError::InvalidDataUrl);
    }
    let given = header.split(';').next().filter(|given| !given.is_empty());
    let bytes = STANDARD.decode(data).map_err(|_| MessageError::InvalidDataUrl)?;
    checked_bytes(kind, bytes.into(), given)
}
