//! Media and documents as attachments of Converse, in a message or in a tool result.

use std::fmt;

use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, DocumentBlock, DocumentFormat, DocumentSource, ImageBlock, ImageFormat, ImageSource, S3Location,
    ToolResultContentBlock, VideoBlock, VideoFormat, VideoSource,
};
use bytes::Bytes;

use super::error::BedrockError;
use super::escape::{label, unavailable};
use super::profile::service::MAX_DOCUMENT_NAME;
use crate::exchange::converse::formats::format;
use crate::message::{Media, MediaKind, Source, is_blank};

/// An attachment, or the text that replaces it.
pub(super) enum Attachment {
    Image(ImageBlock),
    Video(VideoBlock),
    Document(DocumentBlock),
    Text(String),
}

impl From<Attachment> for ContentBlock {
    fn from(attachment: Attachment) -> Self {
        match attachment {
            Attachment::Image(image) => Self::Image(image),
            Attachment::Video(video) => Self::Video(video),
            Attachment::Document(document) => Self::Document(document),
            Attachment::Text(text) => Self::Text(text),
        }
    }
}

impl From<Attachment> for ToolResultContentBlock {
    fn from(attachment: Attachment) -> Self {
        match attachment {
            Attachment::Image(image) => Self::Image(image),
            Attachment::Video(video) => Self::Video(video),
            Attachment::Document(document) => Self::Document(document),
            Attachment::Text(text) => Self::Text(text),
        }
    }
}

impl Attachment {
    /// Converts an image or a video, after its label if it has one, or a document. Media that Converse does not accept
    /// become a text.
    ///
    /// Returns [`BedrockError`] if the SDK refuses to build the block.
    pub(super) fn media(media: &Media) -> Result<Vec<Self>, BedrockError> {
        let block = match media.kind {
            MediaKind::Image => image_source(media).ok().map(|(format, source)| {
                let source = source.map(ImageSource::Bytes, ImageSource::S3Location);
                let image = ImageBlock::builder().format(format).source(source).build();
                image.map(Self::Image).map_err(BedrockError::build("an image block"))
            }),
            MediaKind::Video => video_source(media).ok().map(|(format, source)| {
                let source = source.map(VideoSource::Bytes, VideoSource::S3Location);
                let video = VideoBlock::builder().format(format).source(source).build();
                video.map(Self::Video).map_err(BedrockError::build("a video block"))
            }),
            MediaKind::Document => document_source(media).ok().map(|(format, source)| {
                let source = source.map(DocumentSource::Bytes, DocumentSource::S3Location);
                let name = document_name(media.label.as_deref().unwrap_or_default());
                let document = DocumentBlock::builder().format(format).name(name).source(source).build();
                document.map(Self::Document).map_err(BedrockError::build("a document block"))
            }),
            MediaKind::Audio => None,
        };
        let Some(block) = block.transpose()? else { return Ok(vec![Self::Text(media_text(media))]) };
        // A document has its label as its name.
        let hint = hint(media).filter(|_| media.kind != MediaKind::Document);
        let hint = hint.map(|hint| Self::Text(label(media.kind.as_str(), hint)));
        Ok(hint.into_iter().chain([block]).collect())
    }
}

/// Why an attachment becomes a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsupported {
    /// Converse has an audio block, but the text models refuse the whole request.
    Audio,
    FromAssistant,
    NoBytes,
    /// Bedrock fetches only from S3.
    Url,
    ContentId,
    /// The type is unknown or not supported. Holds the supported types.
    Format(&'static str),
}

/// Writes the reason and what to do, without words of the call.
impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Audio => "the model does not support audio: add a transcript as text",
            Self::FromAssistant => "Converse accepts attachments only from users: add it to a user message",
            Self::NoBytes => "it is empty: add its bytes",
            Self::Url => "Bedrock does not fetch its URL: add its bytes, or, for Nova, an `s3://` URL",
            Self::ContentId => "it is in a content store: load it with `contents::resolve`",
            Self::Format(supported) => {
                return write!(f, "its type is unknown or not supported: use {supported}");
            }
        })
    }
}

const IMAGES: &str = "image/png, image/jpeg, image/gif or image/webp";
const VIDEOS: &str = "video/mp4, video/quicktime, video/webm, video/x-matroska, video/mpeg, video/3gpp, video/x-flv or \
                      video/x-ms-wmv";
const DOCUMENTS: &str = "application/pdf, text/plain, text/markdown, text/html, text/csv, Word or Excel";

/// Returns why media of a user becomes a text, or `None` if Converse accepts it.
pub(super) fn unsupported_media(media: &Media) -> Option<Unsupported> {
    match media.kind {
        MediaKind::Image => image_source(media).err(),
        MediaKind::Video => video_source(media).err(),
        MediaKind::Document => document_source(media).err(),
        MediaKind::Audio => Some(Unsupported::Audio),
    }
}

fn image_source(media: &Media) -> Result<(ImageFormat, Located), Unsupported> {
    supported(&media.source, || format(media.kind, media.known_type().as_deref()), IMAGES)
}

fn video_source(media: &Media) -> Result<(VideoFormat, Located), Unsupported> {
    supported(&media.source, || format(media.kind, media.known_type().as_deref()), VIDEOS)
}

fn document_source(media: &Media) -> Result<(DocumentFormat, Located), Unsupported> {
    supported(&media.source, || format(media.kind, media.known_type().as_deref()), DOCUMENTS)
}

fn supported<F: From<&'static str>>(
    source: &Source,
    format: impl FnOnce() -> Option<&'static str>,
    types: &'static str,
) -> Result<(F, Located), Unsupported> {
    let located = Located::new(source)?;
    Ok((format().ok_or(Unsupported::Format(types))?.into(), located))
}

/// The text that replaces media.
pub(super) fn media_text(media: &Media) -> String {
    unavailable(media.kind.as_str(), hint(media).or(media.mime_type.as_deref()))
}

fn hint(media: &Media) -> Option<&str> {
    media.label.as_deref().filter(|hint| !is_blank(hint))
}

/// Data that Bedrock can read.
enum Located {
    Bytes(Blob),
    S3(S3Location),
}

impl Located {
    fn new(source: &Source) -> Result<Self, Unsupported> {
        match source {
            Source::Bytes(bytes) if bytes.is_empty() => Err(Unsupported::NoBytes),
            Source::Bytes(bytes) => Ok(Self::Bytes(Blob::from_maybe_shared(Bytes::from_owner(bytes.clone())))),
            Source::Url(url) if url.starts_with("s3://") => {
                S3Location::builder().uri(url.as_str()).build().map(Self::S3).map_err(|_| Unsupported::Url)
            }
            Source::Url(_) => Err(Unsupported::Url),
            Source::ContentId(_) => Err(Unsupported::ContentId),
        }
    }

    fn map<S>(self, bytes: fn(Blob) -> S, s3: fn(S3Location) -> S) -> S {
        match self {
            Self::Bytes(blob) => bytes(blob),
            Self::S3(location) => s3(location),
        }
    }
}

/// Converts a title to a document name. Characters that Bedrock refuses become a single space.
pub(super) fn document_name(title: &str) -> String {
    let words: Vec<_> = title.split(|c: char| !is_name_character(c)).filter(|word| !word.is_empty()).collect();
    let mut name = words.join(" ");
    name.truncate(MAX_DOCUMENT_NAME);
    name.truncate(name.trim_end().len());
    if name.is_empty() { "document".to_owned() } else { name }
}

/// Returns whether Bedrock accepts the name of a document.
pub(super) fn is_document_name(name: &str) -> bool {
    (1..=MAX_DOCUMENT_NAME).contains(&name.chars().count())
        && !name.contains("  ")
        && name.chars().all(|c| c == ' ' || is_name_character(c))
}

/// Returns whether a document name may contain the character. Single spaces are allowed too.
fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '(' | ')' | '[' | ']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_becomes_a_valid_document_name() {
        let long = "x ".repeat(150);
        for (title, name) in [
            ("", "document"),
            (" ... ", "document"),
            ("Terms [2024] (v2)-final", "Terms [2024] (v2)-final"),
            ("John's  report.pdf", "John s report pdf"),
            ("テスト　資料.xlsx", "xlsx"),
            ("a\tb\u{3000}c", "a b c"),
            (&long, "x ".repeat(100).trim_end()),
        ] {
            assert_eq!(document_name(title), name, "{title}");
        }
    }
}
