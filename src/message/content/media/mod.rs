//! [`Media`] and [`Document`]: contents that are not spoken.

mod made;
mod mime;
mod sniff;

use std::fmt;
use std::sync::Arc;

use crate::message::text::Text;
use crate::message::value::Map;

/// What kind of media; a provider needs to know, a MIME type is often absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MediaKind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Moving pictures.
    Video,
}

impl MediaKind {
    /// The kind as it stands in records: `image`, `audio` or `video`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
        }
    }

    /// The kind as it is told in a sentence.
    pub(crate) const fn with_article(self) -> &'static str {
        match self {
            Self::Image => "an image",
            Self::Audio => "sound",
            Self::Video => "a video",
        }
    }
}

/// Where the data of a [`Media`] or [`Document`] is.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// Here.
    Bytes(Arc<[u8]>),
    /// At a URL.
    Url(Text),
    /// In a content store, under an id such as `sha256:…`.
    ContentId(Text),
}

impl Source {
    /// About how many bytes of a record it takes, with what stands beside it.
    pub(crate) fn record_bytes(&self) -> usize {
        // Kind, MIME type, hint; bytes are in base64 in JSON.
        100 + match self {
            Self::Bytes(bytes) => bytes.len().div_ceil(3) * 4,
            Self::Url(text) | Self::ContentId(text) => text.len(),
        }
    }
}

/// Kind and length; a URL may hold secrets.
impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Self::Url(url) => write!(f, "Url({} bytes)", url.len()),
            Self::ContentId(id) => write!(f, "ContentId({})", id.as_str().escape_debug()),
        }
    }
}

/// An image, sound or video.
///
/// [`image`](Self::image), [`audio`](Self::audio), [`video`](Self::video) and [`from_bytes`](Self::from_bytes) look at the
/// bytes and find out their MIME type, or hold them to the given one; [`from_url`](Self::from_url) and
/// [`from_content_id`](Self::from_content_id) say where the data is. What stands in records, and what
/// [`new`](Self::new) and [`with_mime_type`](Self::with_mime_type) are told, is not checked: a log reads back what it holds.
///
/// ```
/// # use verbale::message::{Media, MediaKind};
/// # fn main() -> Result<(), verbale::message::MessageError> {
/// # let photo = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice();
/// let receipt = Media::image(photo)?.with_prompt_hint("the receipt");
/// assert_eq!(receipt.mime_type.as_deref(), Some("image/png"));
///
/// let error = Media::from_bytes(MediaKind::Image, photo, Some("image/jpeg")).unwrap_err();
/// assert!(error.to_string().starts_with("the bytes are image/png, and not image/jpeg"));
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Media {
    /// What kind of media.
    pub kind: MediaKind,
    /// Where the data is.
    pub source: Source,
    /// The MIME type, such as `image/png`, where it is known.
    pub mime_type: Option<Text>,
    /// A label for the prompt; no meaning beyond that.
    pub prompt_hint: Option<Text>,
    /// What a newer writer said beyond that.
    pub(crate) unknown: Option<Map>,
}

impl Media {
    /// Media of a kind, from a source, without a look at it.
    pub fn new(kind: MediaKind, source: Source) -> Self {
        Self { kind, source, mime_type: None, prompt_hint: None, unknown: None }
    }

    /// The same with a MIME type, which is not checked.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<Text>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }

    /// The same with a label for the prompt.
    #[must_use]
    pub fn with_prompt_hint(mut self, hint: impl Into<Text>) -> Self {
        self.prompt_hint = Some(hint.into());
        self
    }
}

/// A reference document. It is made and checked as [`Media`] is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Document {
    /// Where the data is.
    pub source: Source,
    /// What it is called, where it has a name.
    pub title: Option<Text>,
    /// The MIME type, such as `application/pdf`, where it is known.
    pub mime_type: Option<Text>,
    /// What a newer writer said beyond that.
    pub(crate) unknown: Option<Map>,
}

impl Document {
    /// A document from a source, without a look at it.
    pub fn new(source: Source) -> Self {
        Self { source, title: None, mime_type: None, unknown: None }
    }

    /// The same with a title.
    #[must_use]
    pub fn with_title(mut self, title: impl Into<Text>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// The same with a MIME type, which is not checked.
    #[must_use]
    pub fn with_mime_type(mut self, mime_type: impl Into<Text>) -> Self {
        self.mime_type = Some(mime_type.into());
        self
    }
}

#[cfg(test)]
mod tests;
