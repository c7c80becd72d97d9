//! A content as an object with `type`, in the formats that leave it open how it looks.
//!
//! | `type` | beside it |
//! | --- | --- |
//! | `text` | `text` |
//! | `image`, `audio`, `video` | one of `url`, `data` (base64) and `content_id`; `mime_type`, `prompt_hint` where known |
//! | `document` | the same, with `title` in place of `prompt_hint` |
//! | `json`, in results only | `json` |

use super::bytes;
use super::error::{ExchangeError, Problem};
use super::export::{Losses, Lost};
use super::reader::{Others, Reader};
use super::value;
use super::writer::{Fidelity, Writer};
use crate::message::{Content, Document, Media, MediaKind, MessageId, ResultContent, Source, Text};

#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Json,
    Media(MediaKind),
    Document,
}

const KINDS: [(&str, Kind); 6] = [
    ("text", Kind::Text),
    ("image", Kind::Media(MediaKind::Image)),
    ("audio", Kind::Media(MediaKind::Audio)),
    ("video", Kind::Media(MediaKind::Video)),
    ("document", Kind::Document),
    ("json", Kind::Json),
];

/// The content here.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Content, ExchangeError> {
    let kinds = KINDS.get(..5).unwrap_or_default();
    Ok(match one_of(reader, &["type"], kinds, "text, image, audio, video, document")? {
        Kind::Media(kind) => read_media(reader, kind)?.into(),
        Kind::Document => read_document(reader)?.into(),
        Kind::Text | Kind::Json => Content::Text(read_text(reader)?),
    })
}

/// The part of a tool's result here.
pub(super) fn read_of_result(reader: &mut Reader<'_>) -> Result<ResultContent, ExchangeError> {
    Ok(match one_of(reader, &["type"], &KINDS, "text, image, audio, video, document, json")? {
        Kind::Media(kind) => ResultContent::Media(Box::new(read_media(reader, kind)?)),
        Kind::Document => ResultContent::Document(Box::new(read_document(reader)?)),
        Kind::Text => ResultContent::Text(read_text(reader)?),
        Kind::Json => {
            let mut json = None;
            reader.object(&["type", "json"], Others::Refuse, |reader, key| {
                match key {
                    "json" => json = Some(value::read(reader)?),
                    _ => reader.skip()?,
                }
                Ok(())
            })?;
            ResultContent::Json(json.ok_or_else(|| reader.missing("json"))?)
        }
    })
}

/// The list of parts of a tool's result here.
pub(super) fn read_parts(reader: &mut Reader<'_>) -> Result<Vec<ResultContent>, ExchangeError> {
    let count = reader.count()?;
    reader.take(count.saturating_mul(size_of::<ResultContent>()))?;
    let mut parts = Vec::with_capacity(count);
    reader.list(|reader| {
        parts.push(read_of_result(reader)?);
        Ok(())
    })?;
    Ok(parts)
}

/// Which of `known` the object here has under the one key of `key`; stays where it is.
pub(super) fn one_of<T: Copy>(
    reader: &mut Reader<'_>,
    key: &'static [&'static str; 1],
    known: &[(&str, T)],
    listed: &'static str,
) -> Result<T, ExchangeError> {
    let [name] = key;
    let found = reader.ahead(|reader| {
        let mut found = None;
        reader.object(key, Others::Ignore, |reader, what| {
            let said = reader.quoted()?;
            found = known.iter().find(|(name, _)| said.is(name)).map(|(_, meant)| *meant);
            found.map_or_else(|| Err(reader.error(Problem::UnknownType { what, known: listed })), |_| Ok(()))
        })?;
        Ok(found)
    })?;
    found.ok_or_else(|| reader.missing(name))
}

fn read_text(reader: &mut Reader<'_>) -> Result<Text, ExchangeError> {
    let mut text = None;
    reader.object(&["type", "text", "mime_type", "content_id"], Others::Refuse, |reader, key| {
        match key {
            "text" => text = Some(reader.text()?),
            "mime_type" => plain(reader)?,
            "content_id" if !reader.null()? => return Err(reader.error(IN_A_STORE)),
            _ if key == "type" => reader.skip()?,
            _ => {}
        }
        Ok(())
    })?;
    text.ok_or_else(|| reader.missing("text"))
}

/// Words are got from there by who has the store.
const IN_A_STORE: Problem =
    Problem::Invalid { reason: "the text is in a content store; put it in its place, as `text`" };

/// The MIME type of a text that names none.
pub(super) const PLAIN: &str = "text/plain";

fn plain(reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
    if reader.null()? || reader.quoted()?.is(PLAIN) {
        return Ok(());
    }
    Err(reader.error(Problem::NotKept { what: "a MIME type of a text" }))
}

/// What is read of media or a document.
#[derive(Default)]
pub(super) struct Attached {
    pub source: Option<Source>,
    pub mime_type: Option<Text>,
    /// The `prompt_hint` or the `title`.
    label: Option<Text>,
}

impl Attached {
    /// Reads the value under a key of media or documents; others are skipped.
    pub fn read(&mut self, reader: &mut Reader<'_>, key: &str) -> Result<(), ExchangeError> {
        match key {
            "mime_type" => self.mime_type = optional_text(reader)?,
            "prompt_hint" | "title" => self.label = optional_text(reader)?,
            "url" | "data" | "content_id" if reader.null()? => {}
            "url" => {
                let url = reader.text()?;
                self.put(Source::Url(url), reader)?;
            }
            "content_id" => {
                let id = reader.text()?;
                self.put(Source::ContentId(id), reader)?;
            }
            "data" => {
                let base64 = reader.string()?;
                self.put(Source::Bytes(bytes::decoded(reader, &base64)?), reader)?;
            }
            _ => reader.skip()?,
        }
        Ok(())
    }

    /// Takes where the data is, which was just read.
    pub fn put(&mut self, source: Source, reader: &Reader<'_>) -> Result<(), ExchangeError> {
        if self.source.replace(source).is_some() { Err(one_source(reader)) } else { Ok(()) }
    }

    /// As media, which the reader has just read.
    pub fn into_media(self, kind: MediaKind, reader: &Reader<'_>) -> Result<Media, ExchangeError> {
        reader.take(size_of::<Media>())?;
        let mut media = Media::new(kind, self.source.ok_or_else(|| one_source(reader))?);
        (media.mime_type, media.prompt_hint) = (self.mime_type, self.label);
        Ok(media)
    }

    /// As a document, which the reader has just read.
    pub fn into_document(self, reader: &Reader<'_>) -> Result<Document, ExchangeError> {
        reader.take(size_of::<Document>())?;
        let mut document = Document::new(self.source.ok_or_else(|| one_source(reader))?);
        (document.mime_type, document.title) = (self.mime_type, self.label);
        Ok(document)
    }
}

fn one_source(reader: &Reader<'_>) -> ExchangeError {
    reader.error(Problem::Invalid { reason: "the data belongs here, under one of `url`, `data` and `content_id`" })
}

fn read_media(reader: &mut Reader<'_>, kind: MediaKind) -> Result<Media, ExchangeError> {
    const KEYS: &[&str] = &["type", "source", "url", "data", "content_id", "mime_type", "prompt_hint"];
    let mut attached = Attached::default();
    reader.object(KEYS, Others::Refuse, |reader, key| attached.read(reader, key))?;
    attached.into_media(kind, reader)
}

fn read_document(reader: &mut Reader<'_>) -> Result<Document, ExchangeError> {
    const KEYS: &[&str] = &["type", "source", "url", "data", "content_id", "mime_type", "title"];
    let mut attached = Attached::default();
    reader.object(KEYS, Others::Refuse, |reader, key| attached.read(reader, key))?;
    attached.into_document(reader)
}

/// The string here, to be kept; `null` is none.
pub(super) fn optional_text(reader: &mut Reader<'_>) -> Result<Option<Text>, ExchangeError> {
    if reader.null()? { Ok(None) } else { reader.text().map(Some) }
}

/// Whether blocks name their `source`: `url`, `base64` or `content_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    Named,
    Unnamed,
}

/// Writes a content that [`is_told`].
pub(super) fn write(writer: &mut Writer, content: &Content, naming: Naming, of: MessageId, losses: &mut Losses) {
    match content {
        Content::Text(text) => write_text(writer, text),
        Content::Media(media) => write_media(writer, media, naming, of, losses),
        Content::Document(document) => write_document(writer, document, naming, of, losses),
        Content::Invocation(_) => losses.note(of, Lost::Invocation),
        Content::InvocationResult(_) => losses.note(of, Lost::InvocationResult),
        Content::Unknown(_) => losses.note(of, Lost::Unknown),
    }
}

/// Writes a part of a tool's result.
pub(super) fn write_of_result(writer: &mut Writer, content: &ResultContent, of: MessageId, losses: &mut Losses) {
    match content {
        ResultContent::Text(text) => write_text(writer, text),
        ResultContent::Json(value) => writer.object(|writer| {
            writer.key("type").string("json");
            if writer.key("json").value(value) == Fidelity::Told {
                losses.note(of, Lost::Value);
            }
        }),
        ResultContent::Media(media) => write_media(writer, media, Naming::Unnamed, of, losses),
        ResultContent::Document(document) => write_document(writer, document, Naming::Unnamed, of, losses),
        ResultContent::Unknown(_) => losses.note(of, Lost::Unknown),
    }
}

fn write_text(writer: &mut Writer, text: &Text) {
    writer.object(|writer| {
        writer.key("type").string("text");
        writer.key("text").string(text);
    });
}

fn write_media(writer: &mut Writer, media: &Media, naming: Naming, of: MessageId, losses: &mut Losses) {
    writer.object(|writer| {
        writer.key("type").string(media.kind.as_str());
        write_name(writer, naming, &media.source);
        media_entries(writer, media, of, losses);
    });
}

fn write_document(writer: &mut Writer, document: &Document, naming: Naming, of: MessageId, losses: &mut Losses) {
    writer.object(|writer| {
        writer.key("type").string("document");
        write_name(writer, naming, &document.source);
        document_entries(writer, document, of, losses);
    });
}

fn write_name(writer: &mut Writer, naming: Naming, source: &Source) {
    let name = match source {
        Source::Bytes(_) => "base64",
        Source::Url(_) => "url",
        Source::ContentId(_) => "content_id",
    };
    if naming == Naming::Named {
        writer.key("source").string(name);
    }
}

/// Writes the entries of media into the object that is being written, but for the `type`.
pub(super) fn media_entries(writer: &mut Writer, media: &Media, of: MessageId, losses: &mut Losses) {
    source_entry(writer, &media.source);
    write_optional(writer, "mime_type", media.mime_type.as_ref());
    write_optional(writer, "prompt_hint", media.prompt_hint.as_ref());
    if media.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
}

/// Writes the entries of a document into the object that is being written, but for the `type`.
pub(super) fn document_entries(writer: &mut Writer, document: &Document, of: MessageId, losses: &mut Losses) {
    source_entry(writer, &document.source);
    write_optional(writer, "mime_type", document.mime_type.as_ref());
    write_optional(writer, "title", document.title.as_ref());
    if document.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
}

/// Writes where data is into the object that is being written.
pub(super) fn source_entry(writer: &mut Writer, source: &Source) {
    match source {
        Source::Bytes(bytes) => writer.key("data").base64(bytes),
        Source::Url(url) => writer.key("url").string(url),
        Source::ContentId(id) => writer.key("content_id").string(id),
    }
}

fn write_optional(writer: &mut Writer, key: &str, text: Option<&Text>) {
    if let Some(text) = text {
        writer.key(key).string(text);
    }
}

/// Whether there is something to tell of a content: blank is what was not heard, and a newer version's has no words.
pub(super) fn is_told(content: &Content, of: MessageId, losses: &mut Losses) -> bool {
    if matches!(content, Content::Unknown(_)) {
        losses.note(of, Lost::Unknown);
        return false;
    }
    !content.is_blank()
}
