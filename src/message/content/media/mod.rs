//! [`Media`] and [`Document`]: attachments of a message.

mod made;
mod mime;
mod sniff;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::codec::{not_empty, present};
use crate::message::names::names;
use crate::message::text::Text;
use crate::message::value::Map;

/// The kind of media. Providers need it even if the MIME type is absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MediaKind {
    /// An image.
    Image,
    /// Audio.
    Audio,
    /// A video.
    Video,
}

impl MediaKind {
    /// The name of the kind with its article.
    pub(crate) const fn with_article(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Audio => "audio",
            Self::Video => "a video",
        }
    }
}

names!(MediaKind { Image: "image", Audio: "audio", Video: "video" });

/// The location of the data of a [`Media`] or [`Document`].
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// The bytes themselves.
    #[serde(with = "super::codec::bytes")]
    Bytes(Arc<[u8]>),
    /// A URL.
    Url(Text),
    /// An id in a content store, such as `sha256:…`.
    ContentId(Text),
}

impl Source {
    /// The approximate size of the whole attachment in a record in bytes.
    pub(crate) fn record_bytes(&self) -> usize {
        // 100 bytes cover the kind, the MIME type and the label. JSON encodes bytes in base64.
        100 + match self {
            Self::Bytes(bytes) => bytes.len().div_ceil(3) * 4,
            Self::Url(text) | Self::ContentId(text) => text.len(),
        }
    }
}

/// Shows kind and length, because a URL may contain secrets.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Url(url) => write!(f, "Url({} bytes)", url.len()),
            Self::ContentId(id) => write!(f, "ContentId({})", id.as_str().escape_debug()),
        }
    }
}

/// An image, audio or video.
///
/// [`from_bytes`](Self::from_bytes) detects the MIME type of the bytes, or checks the given one.
/// [`new`](Self::new), [`with_mime_type`](Self::with_mime_type) and deserialization check nothing.
///
/// ```
/// # use verbale::message::{Media, MediaKind};
/// # fn main() -> Result<(), verbale::message::MessageError> {
/// # let photo = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
/// let receipt = Media::from_bytes(MediaKind::Image, photo, None)?.with_prompt_hint("the receipt");
/// assert_eq!(receipt.known_type().as_deref(), Some("image/png"));
///
/// let error = Media::from_bytes(MediaKind::Image, photo, Some("image/jpeg")).unwrap_err();
/// assert!(error.to_string().starts_with("the bytes are image/png, not image/jpeg"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Media {
    #[serde(rename = "type")]
    pub(crate) kind: MediaKind,
    #[serde(flatten)]
    pub(crate) source: Source,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) mime_type: Option<Text>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) prompt_hint: Option<Text>,
    /// Entries that a newer version wrote.
    #[serde(flatten, deserialize_with = "not_empty", skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<Map>,
}

impl Media {
    /// Creates media of a kind from a source, without any check.
    pub fn new(kind: MediaKind, source: Source) -> Self {
        Self { kind, source, mime_type: None, prompt_hint: None, unknown: None }
    }

    /// Sets the MIME type, which is not checked.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<Text>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets a label that names the media in the prompt, such as `the receipt`.
    #[must_use]
    pub fn with_prompt_hint(mut self, hint: impl Into<Text>) -> Self {
        self.prompt_hint = Some(hint.into());
        self
    }

    /// Returns the kind.
    pub fn kind(&self) -> MediaKind {
        self.kind
    }

    /// Returns the location of the data.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the label for the prompt, if any.
    pub fn prompt_hint(&self) -> Option<&str> {
        self.prompt_hint.as_deref()
    }
}

/// A reference document.
///
/// [`from_bytes`](Self::from_bytes) and [`from_url`](Self::from_url) check it as those of [`Media`] do.
/// [`new`](Self::new) and [`with_mime_type`](Self::with_mime_type) check nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Document {
    #[serde(flatten)]
    pub(crate) source: Source,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<Text>,
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub(crate) mime_type: Option<Text>,
    /// Entries that a newer version wrote.
    #[serde(flatten, deserialize_with = "not_empty", skip_serializing_if = "Option::is_none")]
    pub(crate) unknown: Option<Map>,
}

impl Document {
    /// Creates a document from a source, without any check.
    pub fn new(source: Source) -> Self {
        Self { source, title: None, mime_type: None, unknown: None }
    }

    /// Sets the title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<Text>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the MIME type, which is not checked.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<Text>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Returns the location of the data.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Returns the title, if any.
    pub fn title(&self) -> Option<&str> {
        self.title.as_deref()
    }
}

#[cfg(test)]
mod tests;
