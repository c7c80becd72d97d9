//! Media and documents as Converse takes them, in a message and in the result of a tool alike.

use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    ContentBlock, DocumentBlock, DocumentFormat, DocumentSource, ImageBlock, ImageFormat, ImageSource, S3Location,
    ToolResultContentBlock, VideoBlock, VideoFormat, VideoSource,
};
use bytes::Bytes;

use super::error::BedrockError;
use super::escape::unavailable;
use crate::message::{Document, Media, MediaKind, MessageId, Source, Text};

/// The longest name of a document that Bedrock takes, in characters.
pub(super) const MAX_DOCUMENT_NAME: usize = 200;

/// An attachment, or the text that stands in for it.
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
    /// An image or video of message `id`; sound, and what lies where Bedrock cannot reach it, as a text.
    ///
    /// Errors: a MIME type that Converse does not take, or none.
    pub(super) fn media(media: &Media, id: MessageId) -> Result<Self, BedrockError> {
        let format = |kind, known| move || BedrockError::UnknownFormat { id, kind, known };
        match (media.kind, Located::new(&media.source)) {
            (MediaKind::Image, Some(source)) => {
                const KNOWN: &str = "image/png, image/jpeg, image/gif, image/webp";
                let format = media_type(&media.mime_type, image_format).ok_or_else(format("an image", KNOWN))?;
                let image = ImageBlock::builder().format(format).source(source.into()).build();
                Ok(Self::Image(image.map_err(BedrockError::build("an image block"))?))
            }
            (MediaKind::Video, Some(source)) => {
                const KNOWN: &str = "video/mp4, video/quicktime, video/webm, video/x-matroska, video/mpeg, \
                                     video/3gpp, video/x-flv, video/x-ms-wmv";
                let format = media_type(&media.mime_type, video_format).ok_or_else(format("a video", KNOWN))?;
                let video = VideoBlock::builder().format(format).source(source.into()).build();
                Ok(Self::Video(video.map_err(BedrockError::build("a video block"))?))
            }
            // Converse has a block for sound, but the models that hold a dialogue in it refuse the whole request.
            (MediaKind::Audio, _) | (_, None) => Ok(Self::Text(told_media(media))),
        }
    }

    /// A document of message `id`; what lies where Bedrock cannot reach it, as a text.
    ///
    /// Errors: a MIME type that Converse does not take, or none.
    pub(super) fn document(document: &Document, id: MessageId) -> Result<Self, BedrockError> {
        const KNOWN: &str = "application/pdf, text/plain, text/markdown, text/html, text/csv, or one of Word or Excel";
        let Some(source) = Located::new(&document.source) else {
            return Ok(Self::Text(told_document(document)));
        };
        let format = media_type(&document.mime_type, document_format).ok_or(BedrockError::UnknownFormat {
            id,
            kind: "a document",
            known: KNOWN,
        })?;
        let name = document_name(document.title.as_deref().unwrap_or_default());
        let document = DocumentBlock::builder().format(format).name(name).source(source.into()).build();
        Ok(Self::Document(document.map_err(BedrockError::build("a document block"))?))
    }
}

/// The media as a text, where the model cannot be given it.
pub(super) fn told_media(media: &Media) -> String {
    let label = media.prompt_hint.as_ref().or(media.mime_type.as_ref());
    unavailable(media.kind.as_str(), label.map(Text::as_str))
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
    /// `None` for other URLs than `s3://` and for a content id: Bedrock fetches neither.
    fn new(source: &Source) -> Option<Self> {
        match source {
            Source::Bytes(bytes) => Some(Self::Bytes(Blob::from_maybe_shared(Bytes::from_owner(bytes.clone())))),
            Source::Url(url) if url.starts_with("s3://") => {
                S3Location::builder().uri(url.as_str()).build().ok().map(Self::S3)
            }
            _ => None,
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

/// The format of a MIME type, which may have parameters and capitals.
fn media_type<F>(mime_type: &Option<Text>, format: impl FnOnce(&str) -> Option<F>) -> Option<F> {
    let essence = mime_type.as_deref()?.split(';').next()?;
    format(&essence.trim().to_ascii_lowercase())
}

fn image_format(mime_type: &str) -> Option<ImageFormat> {
    Some(match mime_type {
        "image/png" => ImageFormat::Png,
        "image/jpeg" | "image/jpg" => ImageFormat::Jpeg,
        "image/gif" => ImageFormat::Gif,
        "image/webp" => ImageFormat::Webp,
        _ => return None,
    })
}

fn video_format(mime_type: &str) -> Option<VideoFormat> {
    Some(match mime_type {
        "video/mp4" => VideoFormat::Mp4,
        "video/quicktime" => VideoFormat::Mov,
        "video/webm" => VideoFormat::Webm,
        "video/x-matroska" | "video/matroska" => VideoFormat::Mkv,
        "video/mpeg" => VideoFormat::Mpeg,
        "video/3gpp" => VideoFormat::ThreeGp,
        "video/x-flv" => VideoFormat::Flv,
        "video/x-ms-wmv" => VideoFormat::Wmv,
        _ => return None,
    })
}

fn document_format(mime_type: &str) -> Option<DocumentFormat> {
    Some(match mime_type {
        "application/pdf" => DocumentFormat::Pdf,
        "text/plain" => DocumentFormat::Txt,
        "text/markdown" => DocumentFormat::Md,
        "text/html" => DocumentFormat::Html,
        "text/csv" => DocumentFormat::Csv,
        "application/msword" => DocumentFormat::Doc,
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => DocumentFormat::Docx,
        "application/vnd.ms-excel" => DocumentFormat::Xls,
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => DocumentFormat::Xlsx,
        _ => return None,
    })
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

    #[test]
    fn a_mime_type_may_have_parameters_and_capitals() {
        let format = |mime: &str| media_type(&Some(mime.into()), document_format);
        assert_eq!(format("Text/Plain; charset=utf-8"), Some(DocumentFormat::Txt));
        assert_eq!(format("text/plainer"), None);
        assert_eq!(media_type(&Some("image/jpg".into()), image_format), Some(ImageFormat::Jpeg));
        assert_eq!(media_type(&None, image_format), None);
    }
}
