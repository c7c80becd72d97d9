//! Constructors of [`Media`] from bytes and URLs.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::mime::{checked, known};
use super::sniff::sniff;
use super::{Media, MediaKind, Source};
use crate::message::error::MessageError;
use crate::message::text::Text;

impl Media {
    /// Creates media from its bytes.
    ///
    /// If `mime_type` is `None` or `application/octet-stream`, the media gets the MIME type detected from the bytes, if
    /// any. Most types are detected only with the feature `media`. Plain text without a given type gets the type
    /// `text/plain`, because its bytes do not show whether it is Markdown or CSV.
    ///
    /// Returns a [`MessageError`] if there are no bytes, if `mime_type` is not a MIME type or contradicts the bytes, or if
    /// the given or the detected type is not of this kind.
    pub fn from_bytes(
        kind: MediaKind,
        bytes: impl Into<Arc<[u8]>>,
        mime_type: Option<&str>,
    ) -> Result<Self, MessageError> {
        let (source, mime_type) = checked_bytes(kind, bytes.into(), mime_type)?;
        Ok(Self { mime_type, ..Self::new(kind, source) })
    }

    /// Creates media at a URL, which is not fetched. A `data:` URL in base64 is decoded and checked as by
    /// [`from_bytes`](Self::from_bytes).
    ///
    /// Returns a [`MessageError`] if the text is not a URL with a scheme, or if the bytes of a `data:` URL are refused.
    pub fn from_url(kind: MediaKind, url: impl Into<Text>) -> Result<Self, MessageError> {
        let (source, mime_type) = checked_url(kind, url.into())?;
        Ok(Self { mime_type, ..Self::new(kind, source) })
    }

    /// Returns the MIME type for a provider, in lower case and without parameters.
    ///
    /// This is the type that was set, unless it contradicts the bytes or the kind; otherwise it is the type detected
    /// from the bytes. Returns `None` if neither fits the kind.
    pub fn known_type(&self) -> Option<Text> {
        known(self.kind, &self.source, self.mime_type.as_deref())
    }
}

fn checked_bytes(
    kind: MediaKind,
    bytes: Arc<[u8]>,
    given: Option<&str>,
) -> Result<(Source, Option<Text>), MessageError> {
    if bytes.is_empty() {
        return Err(MessageError::NO_BYTES);
    }
    let mime_type = checked(kind, given, sniff(&bytes))?;
    Ok((Source::Bytes(bytes), mime_type))
}

fn checked_url(kind: MediaKind, url: Text) -> Result<(Source, Option<Text>), MessageError> {
    const BASE64: &str = ";base64";
    let (scheme, rest) = url.split_once(':').unwrap_or_default();
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    if !is_scheme || rest.is_empty() || rest.contains(char::is_whitespace) {
        let text = format!(
            "a URL has a scheme, a colon and no white space, as in `https://…`; these {} bytes are not one",
            url.len()
        );
        return Err(MessageError::with_details(text));
    }
    if !scheme.eq_ignore_ascii_case("data") {
        return Ok((Source::Url(url), None));
    }
    let (header, data) = rest.split_once(',').ok_or(MessageError::INVALID_DATA_URL)?;
    let is_base64 = header.len().checked_sub(BASE64.len()).and_then(|at| header.get(at..));
    if !is_base64.is_some_and(|end| end.eq_ignore_ascii_case(BASE64)) {
        return Err(MessageError::INVALID_DATA_URL);
    }
    let given = header.split(';').next().filter(|given| !given.is_empty());
    let bytes = STANDARD.decode(data).map_err(|_| MessageError::INVALID_DATA_URL)?;
    checked_bytes(kind, bytes.into(), given)
}
