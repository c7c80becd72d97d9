//! Media and documents as Converse takes them, in a message and in the result of a tool alike.

use std::fmt;

use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, DocumentBlock, DocumentFormat, DocumentSource, ImageBlock, ImageFormat, ImageSource, S3Location,
    ToolResultContentBlock, VideoBlock, VideoFormat, VideoSource,
};
use bytes::Bytes;

use super::error::BedrockError;
use super::escape::{label, unavailable};
use crate::exchange::converse::formats::format;
use crate::message::{Document, Media, MediaKind, Source, Text, is_blank};

/// The longest name of a document that Bedrock takes, in characters.
pub(super) const MAX_DOCUMENT_NAME: usize = 200;

/// An attachment, or a text about it.
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
    /// An image or video, behind its hint where it has one; what Converse does not take, as a text.
    ///
    /// Errors: the SDK refuses to build it.
    pub(super) fn media(media: &Media) -> Result<Vec<Self>, BedrockError> {
        let block = match media.kind {
            MediaKind::Image => match taken_image(media) {
                Ok((format, source)) => {
                    let image = ImageBlock::builder().format(format).source(source.into()).build();
                    Self::Image(image.map_err(BedrockError::build("an image block"))?)
                }
                Err(_) => return Ok(vec![Self::Text(told_media(media))]),
            },
            MediaKind::Video => match taken_video(media) {
                Ok((format, source)) => {
                    let video = VideoBlock::builder().format(format).source(source.into()).build();
                    Self::Video(video.map_err(BedrockError::build("a video block"))?)
                }
                Err(_) => return Ok(vec![Self::Text(told_media(media))]),
            },
            MediaKind::Audio => return Ok(vec![Self::Text(told_media(media))]),
        };
        let hint = hint(media).map(|hint| Self::Text(label(media.kind.as_str(), hint)));
        Ok(hint.into_iter().chain([block]).collect())
    }

    /// A document; what Converse does not take, as a text.
    ///
    /// Errors: the SDK refuses to build it.
    pub(super) fn document(document: &Document) -> Result<Self, BedrockError> {
        let Ok((format, source)) = taken_document(document) else {
            return Ok(Self::Text(told_document(document)));
        };
        let name = document_name(document.title.as_deref().unwrap_or_default());
        let document = DocumentBlock::builder().format(format).name(name).source(source.into()).build();
        Ok(Self::Document(document.map_err(BedrockError::build("a document block"))?))
    }
}

/// Why the model is told of an attachment, and not given it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untaken {
    /// Converse has a block for it, but the models that hold a dialogue in it refuse the whole request.
    Sound,
    OfAssistant,
    NoBytes,
    /// Bedrock fetches from S3 only.
    Url,
    ContentId,
    /// Its type is not known, or Converse does not take it; with those that it takes.
    Format(&'static str),
}

/// In words that tell nothing of what was said, and what to do.
impl fmt::Display for Untaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sound => "the model takes no sound: add what is said in it as a text",
            Self::OfAssistant => "the model takes none from the assistant: add it to a user message",
            Self::NoBytes => "it has no bytes",
            Self::Url => "Bedrock does not fetch its URL: add its bytes, or, for Nova, an `s3://` URL",
            Self::ContentId => "it is in a content store: put its bytes in with `contents::resolve`",
            Self::Format(known) => {
                return write!(f, "its type is not known, or none that Converse takes: {known}");
            }
        })
    }
}

const IMAGES: &str = "image/png, image/jpeg, image/gif, image/webp";
const VIDEOS: &str = "video/mp4, video/quicktime, video/webm, video/x-matroska, video/mpeg, video/3gpp, video/x-flv, \
                      video/x-ms-wmv";
const DOCUMENTS: &str = "application/pdf, text/plain, text/markdown, text/html, text/csv, or one of Word or Excel";

/// Why a user's media is told of; `None` where it is given.
pub(super) fn untaken_media(media: &Media) -> Option<Untaken> {
    match media.kind {
        MediaKind::Image => taken_image(media).err(),
        MediaKind::Video => taken_video(media).err(),
        MediaKind::Audio => Some(Untaken::Sound),
    }
}

/// Why a user's document is told of; `None` where it is given.
pub(super) fn untaken_document(document: &Document) -> Option<Untaken> {
    taken_document(document).err()
}

fn taken_image(media: &Media) -> Result<(ImageFormat, Located), Untaken> {
    taken(&media.source, || format(Some(media.kind), media.known_type().as_deref()).map(ImageFormat::from), IMAGES)
}

fn taken_video(media: &Media) -> Result<(VideoFormat, Located), Untaken> {
    taken(&media.source, || format(Some(media.kind), media.known_type().as_deref()).map(VideoFormat::from), VIDEOS)
}

fn taken_document(document: &Document) -> Result<(DocumentFormat, Located), Untaken> {
    taken(&document.source, || format(None, document.known_type().as_deref()).map(DocumentFormat::from), DOCUMENTS)
}

fn taken<F>(source: &Source, format: impl FnOnce() -> Option<F>, known: &'static str) -> Result<(F, Located), Untaken> {
    let located = Located::new(source)?;
    Ok((format().ok_or(Untaken::Format(known))?, located))
}

/// The media as a text, where the model cannot be given it.
pub(super) fn told_media(media: &Media) -> String {
    unavailable(media.kind.as_str(), hint(media).or(media.mime_type.as_deref()))
}

fn hint(media: &Media) -> Option<&str> {
    media.prompt_hint.as_deref().filter(|hint| !is_blank(hint))
}

/// The document as a text, where the model cannot be given it.
pub(super) fn told_document(document: &Document) -> String {
    let label = document.title.as_ref().or(document.mime_type.as_ref());
    unavailable("document", label.map(Text::as_str))
}

/// Data that Bedrock can read.
enum Located {
    Bytes(Blob),
    S3(S3Location),
}

impl Located {
    fn new(source: &Source) -> Result<Self, Untaken> {
        match source {
            Source::Bytes(bytes) if bytes.is_empty() => Err(Untaken::NoBytes),
            Source::Bytes(bytes) => Ok(Self::Bytes(Blob::from_maybe_shared(Bytes::from_owner(bytes.clone())))),
            Source::Url(url) if url.starts_with("s3://") => {
                S3Location::builder().uri(url.as_str()).build().map(Self::S3).map_err(|_| Untaken::Url)
            }
            Source::Url(_) => Err(Untaken::Url),
            Source::ContentId(_) => Err(Untaken::ContentId),
        }
    }
}

impl From<Located> for ImageSource {
    fn from(located: Located) -> Self {
        match located {
            Located::Bytes(bytes) => Self::Bytes(bytes),
            Located::S3(location) => Self::S3Location(location),
        }
    }
}

impl From<Located> for VideoSource {
    fn from(located: Located) -> Self {
        match located {
            Located::Bytes(bytes) => Self::Bytes(bytes),
            Located::S3(location) => Self::S3Location(location),
        }
    }
}

impl From<Located> for DocumentSource {
    fn from(located: Located) -> Self {
        match located {
            Located::Bytes(bytes) => Self::Bytes(bytes),
            Located::S3(location) => Self::S3Location(location),
        }
    }
}

/// A name that Bedrock takes: what it does not take becomes a single space.
pub(super) fn document_name(title: &str) -> String {
    let words = title.split(|c: char| !is_of_document_name(c)).filter(|word| !word.is_empty());
    let mut name = words.fold(String::new(), |mut name, word| {
        if !name.is_empty() {
            name.push(' ');
        }
        name.push_str(word);
        name
    });
    name.truncate(MAX_DOCUMENT_NAME);
    name.truncate(name.trim_end().len());
    if name.is_empty() { "document".to_owned() } else { name }
}

/// Whether Bedrock takes the name of a document.
pub(super) fn is_document_name(name: &str) -> bool {
    (1..=MAX_DOCUMENT_NAME).contains(&name.chars().count())
        && !name.contains("  ")
        && name.chars().all(|c| c == ' ' || is_of_document_name(c))
}

/// Whether Bedrock takes the character in the name of a document, beside single spaces.
fn is_of_document_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '(' | ')' | '[' | ']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_gets_a_name_that_bedrock_takes() {
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
