//! Images, video, sound and documents.

use super::formats::{format, mime_type};
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::export::{Losses, Lost};
use crate::exchange::reader::{Others, Reader};
use crate::exchange::writer::Writer;
use crate::exchange::{budget, bytes};
use crate::message::{Document, Media, MediaKind, MessageId, Source, Text};

/// What Bedrock reads from by itself.
const S3: &str = "s3://";
/// Converse knows no document without a name.
const UNTITLED: &str = "document";

pub(super) fn read_media(reader: &mut Reader<'_>, kind: MediaKind) -> Result<Media, ExchangeError> {
    let (mut mime_type, mut data) = (None, None);
    reader.object(&["format", "source"], Others::Refuse, |reader, key| {
        match key {
            "format" => mime_type = Some(read_format(reader, Some(kind))?),
            _ => data = Some(source(reader)?),
        }
        Ok(())
    })?;
    let mut media = Media::new(kind, data.ok_or_else(|| reader.missing("source"))?);
    media.mime_type = Some(mime_type.ok_or_else(|| reader.missing("format"))?);
    reader.take(size_of::<Media>())?;
    Ok(media)
}

pub(super) fn read_document(reader: &mut Reader<'_>) -> Result<Document, ExchangeError> {
    let (mut mime_type, mut title, mut data) = (None, None, None);
    let known = &["format", "name", "source", "context", "citations"];
    reader.object(known, Others::Refuse, |reader, key| {
        match key {
            "format" => mime_type = Some(read_format(reader, None)?),
            "name" => title = Some(reader.text()?),
            "source" => data = Some(source(reader)?),
            _ if reader.null()? => {}
            _ => return Err(reader.error(Problem::NotKept { what: "the context or the citations of a document" })),
        }
        Ok(())
    })?;
    let mut document = Document::new(data.ok_or_else(|| reader.missing("source"))?);
    document.mime_type = Some(mime_type.ok_or_else(|| reader.missing("format"))?);
    document.title = Some(title.ok_or_else(|| reader.missing("name"))?);
    reader.take(size_of::<Document>())?;
    Ok(document)
}

fn read_format(reader: &mut Reader<'_>, kind: Option<MediaKind>) -> Result<Text, ExchangeError> {
    let known = match kind {
        Some(MediaKind::Image) => "png, jpeg, gif, webp",
        Some(MediaKind::Video) => "mp4, mov, webm, mkv, mpeg, mpg, three_gp, flv, wmv",
        Some(MediaKind::Audio) => "mp3, wav, flac, ogg, opus, aac, m4a and others",
        None => "pdf, txt, md, html, csv, doc, docx, xls, xlsx",
    };
    let mime_type = mime_type(kind, &reader.string()?)
        .ok_or_else(|| reader.error(Problem::UnknownType { what: "`format`", known }))?;
    reader.take(budget::text_bytes(mime_type.len()))?;
    Ok(mime_type.into())
}

fn source(reader: &mut Reader<'_>) -> Result<Source, ExchangeError> {
    let mut source = None;
    reader.object(&["bytes", "s3Location", "text", "content"], Others::Refuse, |reader, key| {
        if source.is_some() {
            return Err(reader.error(Problem::Invalid { reason: "a `source` is one thing" }));
        }
        source = Some(match key {
            "bytes" => {
                let base64 = reader.string()?;
                Source::Bytes(bytes::decoded(reader, &base64)?)
            }
            "s3Location" => s3_location(reader)?,
            _ => return Err(reader.error(Problem::NotKept { what: "a document that is given as texts" })),
        });
        Ok(())
    })?;
    source.ok_or_else(|| reader.missing("bytes"))
}

fn s3_location(reader: &mut Reader<'_>) -> Result<Source, ExchangeError> {
    let mut uri = None;
    reader.object(&["uri", "bucketOwner"], Others::Refuse, |reader, key| {
        match key {
            "uri" => uri = Some(reader.text()?),
            _ if reader.null()? => {}
            _ => return Err(reader.error(Problem::NotKept { what: "the owner of a bucket" })),
        }
        Ok(())
    })?;
    let uri = uri.filter(|uri| uri.starts_with(S3));
    let invalid = || reader.error(Problem::Invalid { reason: "the `uri` of an `s3Location` begins with s3://" });
    uri.map(Source::Url).ok_or_else(invalid)
}

/// Writes media as a block. Errors: Converse has no words for them.
pub(super) fn write_media(
    writer: &mut Writer,
    media: &Media,
    message: MessageId,
    losses: &mut Losses,
) -> Result<(), Lost> {
    let kind = Some(media.kind);
    let format = format(kind, media.mime_type.as_deref()).ok_or(Lost::Media)?;
    let located = Located::of(&media.source).ok_or(Lost::Media)?;
    if media.prompt_hint.is_some() || media.unknown.is_some() {
        losses.note(message, Lost::Label);
    }
    writer.object(|writer| {
        writer.key(media.kind.as_str()).object(|writer| {
            writer.key("format").string(format);
            located.write(writer);
        });
    });
    Ok(())
}

/// Writes a document as a block. Errors: Converse has no words for it.
pub(super) fn write_document(
    writer: &mut Writer,
    document: &Document,
    message: MessageId,
    losses: &mut Losses,
) -> Result<(), Lost> {
    let format = format(None, document.mime_type.as_deref()).ok_or(Lost::Document)?;
    let located = Located::of(&document.source).ok_or(Lost::Document)?;
    if document.unknown.is_some() {
        losses.note(message, Lost::Label);
    }
    writer.object(|writer| {
        writer.key("document").object(|writer| {
            writer.key("format").string(format);
            writer.key("name").string(document.title.as_deref().unwrap_or(UNTITLED));
            located.write(writer);
        });
    });
    Ok(())
}

/// Where Bedrock finds data.
enum Located<'a> {
    Here(&'a [u8]),
    InS3(&'a str),
}

impl<'a> Located<'a> {
    fn of(source: &'a Source) -> Option<Self> {
        match source {
            Source::Bytes(bytes) => Some(Self::Here(bytes)),
            Source::Url(url) if url.starts_with(S3) => Some(Self::InS3(url)),
            Source::Url(_) | Source::ContentId(_) => None,
        }
    }

    fn write(&self, writer: &mut Writer) {
        writer.key("source").object(|writer| match self {
            Self::Here(bytes) => writer.key("bytes").base64(bytes),
            Self::InS3(uri) => writer.key("s3Location").object(|writer| writer.key("uri").string(uri)),
        });
    }
}
