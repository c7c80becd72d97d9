//! [`Media`]: an attachment of a message.

mod entries;
mod made;
mod mime;
mod sniff;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::names::names;
use crate::message::text::Text;
use crate::message::value::Map;
use entries::Entries;

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
    /// A reference document, such as a PDF or a table.
    Document,
}

impl MediaKind {
    /// The name of the kind with its article.
    pub(crate) const fn with_article(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Audio => "audio",
            Self::Video => "a video",
            Self::Document => "a document",
        }
    }
}

names!(MediaKind { Image: "image", Audio: "audio", Video: "video", Document: "document" });

/// The location of the data of [`Media`].
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

/// An image, audio, a video or a document.
///
/// [`from_bytes`](Self::from_bytes) detects the MIME type of the bytes, or checks the given one.
/// [`new`](Self::new), [`with_mime_type`](Self::with_mime_type) and deserialization check nothing.
///
/// ```
/// # use verbale::message::{Media, MediaKind};
/// # fn main() -> Result<(), verbale::message::MessageError> {
/// # let photo = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
/// let receipt = Media::from_bytes(MediaKind::Image, photo, None)?.with_label("the receipt");
/// assert_eq!(receipt.known_type().as_deref(), Some("image/png"));
///
/// let error = Media::from_bytes(MediaKind::Image, photo, Some("image/jpeg")).unwrap_err();
/// assert!(error.to_string().starts_with("the bytes are image/png, not image/jpeg"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Entries", into = "Entries")]
pub struct Media {
    pub(crate) kind: MediaKind,
    pub(crate) source: Source,
    pub(crate) mime_type: Option<Text>,
    pub(crate) label: Option<Text>,
    /// Entries that a newer version wrote.
    pub(crate) unknown: Option<Map>,
}

impl Media {
    /// Creates media of a kind from a source, without any check.
    pub fn new(kind: MediaKind, source: Source) -> Self {
        Self { kind, source, mime_type: None, label: None, unknown: None }
    }

    /// Sets the MIME type, which is not checked.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<Text>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// Sets the label that names the media in the prompt, such as `the receipt`. The label of a document is its title.
    #[must_use]
    pub fn with_label(mut self, label: impl Into<Text>) -> Self {
        self.label = Some(label.into());
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

    /// Returns the label for the prompt, which is the title of a document, if any.
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }
}

#[cfg(test)]
mod tests;
