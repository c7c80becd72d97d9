//! The parts of a chat message's content.

use crate::exchange::budget;
use crate::exchange::bytes;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::export::{Losses, Lost};
use crate::exchange::lexer::Kind;
use crate::exchange::reader::{Others, Reader};
use crate::exchange::writer::Writer;
use crate::message::{Content, Document, Map, Media, MediaKind, MessageId, Source, Text, Value};

/// How closely a model is to look at an image: kept as what a newer version may know.
const DETAIL: &str = "detail";
const AUDIO_FORMATS: [(&str, &str); 2] = [("wav", "audio/wav"), ("mp3", "audio/mpeg")];

/// The contents that a `content` is: none, one text, or a list of parts.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Vec<Content>, ExchangeError> {
    match reader.kind()? {
        Kind::Null => {
            reader.null()?;
            Ok(Vec::new())
        }
        Kind::String => Ok(vec![reader.text()?.into()]),
        Kind::List => {
            let count = reader.count()?;
            reader.take(count.saturating_mul(size_of::<Content>()))?;
            let mut contents = Vec::with_capacity(count);
            reader.list(|reader| {
                contents.push(part(reader)?);
                Ok(())
            })?;
            Ok(contents)
        }
        _ => Err(reader.wrong_kind("a string or a list of parts")),
    }
}

fn part(reader: &mut Reader<'_>) -> Result<Content, ExchangeError> {
    let (mut kind, mut content) = (None, None);
    let known = &["type", "text", "refusal", "image_url", "input_audio", "file"];
    reader.object(known, Others::Refuse, |reader, key| {
        if key == "type" {
            let name = reader.quoted()?;
            let unknown =
                Problem::UnknownType { what: "`type` of a part", known: "text, refusal, image_url, input_audio, file" };
            kind = known.iter().skip(1).find(|known| name.is(known));
            return kind.map_or_else(|| Err(reader.error(unknown)), |_| Ok(()));
        }
        if content.is_some() {
            return Err(reader.error(Problem::Invalid { reason: "a part holds one thing" }));
        }
        let read = match key {
            "text" | "refusal" => reader.text()?.into(),
            "image_url" => image(reader)?,
            "input_audio" => audio(reader)?,
            _ => file(reader)?,
        };
        content = Some((key, read));
        Ok(())
    })?;
    let kind = kind.ok_or_else(|| reader.missing("type"))?;
    let content = content.filter(|(key, _)| key == kind);
    content.map(|(_, content)| content).ok_or_else(|| reader.missing(kind))
}

fn image(reader: &mut Reader<'_>) -> Result<Content, ExchangeError> {
    let (mut source, mut detail) = (None, None);
    reader.object(&["url", DETAIL], Others::Refuse, |reader, key| {
        if key == DETAIL {
            detail = Some(reader.text()?);
            return Ok(());
        }
        let url = reader.string()?;
        source = Some(match data_url(reader, &url)? {
            Some(data) => data,
            None => {
                reader.take(budget::text_bytes(url.len()))?;
                (Source::Url(url.into()), None)
            }
        });
        Ok(())
    })?;
    let (source, mime_type) = source.ok_or_else(|| reader.missing("url"))?;
    reader.take(size_of::<Media>())?;
    let mut media = Media::new(MediaKind::Image, source);
    media.mime_type = mime_type;
    if let Some(detail) = detail {
        reader.take(budget::map_bytes(1) + DETAIL.len())?;
        let entries = [(DETAIL.to_owned(), Value::String(detail))].into();
        media.unknown = Some(Map::new(entries).map_err(|error| reader.error(error))?);
    }
    Ok(media.into())
}

fn audio(reader: &mut Reader<'_>) -> Result<Content, ExchangeError> {
    let (mut data, mut mime_type) = (None, None);
    reader.object(&["data", "format"], Others::Refuse, |reader, key| {
        let string = reader.string()?;
        if key == "data" {
            data = Some(bytes::decoded(reader, &string)?);
            return Ok(());
        }
        mime_type = AUDIO_FORMATS.iter().find(|(format, _)| *format == string).map(|(_, mime_type)| *mime_type);
        let unknown = Problem::UnknownType { what: "format of sound", known: "wav, mp3" };
        mime_type.map_or_else(|| Err(reader.error(unknown)), |_| Ok(()))
    })?;
    let data = data.ok_or_else(|| reader.missing("data"))?;
    let mime_type = mime_type.ok_or_else(|| reader.missing("format"))?;
    reader.take(size_of::<Media>() + budget::text_bytes(mime_type.len()))?;
    Ok(Media::new(MediaKind::Audio, Source::Bytes(data)).with_mime_type(mime_type).into())
}

fn file(reader: &mut Reader<'_>) -> Result<Content, ExchangeError> {
    let (mut data, mut title) = (None, None);
    reader.object(&["file_data", "filename", "file_id"], Others::Refuse, |reader, key| {
        if reader.null()? {
            return Ok(());
        }
        match key {
            "file_data" => {
                let string = reader.string()?;
                data = Some(match data_url(reader, &string)? {
                    Some(data) => data,
                    None => (Source::Bytes(bytes::decoded(reader, &string)?), None),
                });
            }
            "filename" => title = Some(reader.text()?),
            _ => return Err(reader.error(Problem::NotKept { what: "a file that only its own service has" })),
        }
        Ok(())
    })?;
    let (source, mime_type) = data.ok_or_else(|| reader.missing("file_data"))?;
    reader.take(size_of::<Document>())?;
    let mut document = Document::new(source);
    (document.mime_type, document.title) = (mime_type, title);
    Ok(document.into())
}

/// The bytes of a `data:` URL, and its MIME type where it has one; `None` for another URL.
fn data_url(reader: &Reader<'_>, url: &str) -> Result<Option<(Source, Option<Text>)>, ExchangeError> {
    let Some(data) = url.strip_prefix("data:") else { return Ok(None) };
    let Some((mime_type, base64)) = data.split_once(";base64,") else {
        return Err(reader.error(Problem::Invalid { reason: "a `data:` URL is in base64 here" }));
    };
    let bytes = bytes::decoded(reader, base64)?;
    reader.take(budget::text_bytes(mime_type.len()))?;
    Ok(Some((Source::Bytes(bytes), (!mime_type.is_empty()).then(|| mime_type.into()))))
}

/// Whether a content is a part of what the user says; if not, what is lost.
pub(super) fn check(content: &Content) -> Result<(), Lost> {
    match content {
        Content::Text(_) => Ok(()),
        Content::Media(media) => check_media(media),
        Content::Document(document) => check_document(document),
        Content::Invocation(_) => Err(Lost::Invocation),
        Content::InvocationResult(_) => Err(Lost::InvocationResult),
        Content::Unknown(_) => Err(Lost::Unknown),
    }
}

/// Whether a content is a part of what others than the user say, or of a result: only texts are.
pub(super) fn check_text(content: &Content) -> Result<(), Lost> {
    match content {
        Content::Media(_) => Err(Lost::Media),
        Content::Document(_) => Err(Lost::Document),
        other => check(other),
    }
}

fn check_media(media: &Media) -> Result<(), Lost> {
    match (media.kind, &media.source) {
        (MediaKind::Image, Source::Bytes(_) | Source::Url(_)) => Ok(()),
        (MediaKind::Audio, Source::Bytes(_)) if audio_format(media).is_some() => Ok(()),
        _ => Err(Lost::Media),
    }
}

fn check_document(document: &Document) -> Result<(), Lost> {
    match &document.source {
        Source::Bytes(_) => Ok(()),
        _ => Err(Lost::Document),
    }
}

fn audio_format(media: &Media) -> Option<&'static str> {
    let told = media.mime_type.as_deref()?;
    AUDIO_FORMATS.iter().find(|(_, mime_type)| *mime_type == told).map(|(format, _)| *format)
}

/// Contents that are parts: one text as it is, others as a list.
pub(super) fn write(writer: &mut Writer, contents: &[&Content], message: MessageId, losses: &mut Losses) {
    if let [Content::Text(text)] = contents {
        return writer.string(text);
    }
    writer.list(|writer| contents.iter().for_each(|content| write_part(writer, content, message, losses)));
}

fn write_part(writer: &mut Writer, content: &Content, message: MessageId, losses: &mut Losses) {
    writer.object(|writer| match content {
        Content::Text(text) => write_text(writer, text),
        Content::Media(media) if media.kind == MediaKind::Image => write_image(writer, media, message, losses),
        Content::Media(media) => {
            let label = media.prompt_hint.is_some() || media.unknown.is_some();
            note_label(label, message, losses);
            of_type(writer, "input_audio").object(|writer| {
                if let Source::Bytes(bytes) = &media.source {
                    writer.key("data").base64(bytes);
                }
                writer.key("format").string(audio_format(media).unwrap_or_default());
            });
        }
        Content::Document(document) => {
            note_label(document.unknown.is_some(), message, losses);
            of_type(writer, "file").object(|writer| {
                if let Some(title) = &document.title {
                    writer.key("filename").string(title);
                }
                if let Source::Bytes(bytes) = &document.source {
                    match &document.mime_type {
                        Some(mime_type) => writer.key("file_data").data_url(mime_type, bytes),
                        None => writer.key("file_data").base64(bytes),
                    }
                }
            });
        }
        // Not parts: `check` said so.
        Content::Invocation(_) | Content::InvocationResult(_) | Content::Unknown(_) => {}
    });
}

/// The entries of a part that is a text.
pub(super) fn write_text(writer: &mut Writer, text: &str) {
    of_type(writer, "text").string(text);
}

fn write_image(writer: &mut Writer, media: &Media, message: MessageId, losses: &mut Losses) {
    let detail = media.unknown.as_ref().and_then(|unknown| unknown.get(DETAIL)).and_then(Value::as_str);
    let others = media.unknown.as_ref().map_or(0, |unknown| unknown.len()) > usize::from(detail.is_some());
    let untold_type = media.mime_type.is_some() && !matches!(media.source, Source::Bytes(_));
    note_label(media.prompt_hint.is_some() || others || untold_type, message, losses);
    of_type(writer, "image_url").object(|writer| {
        match &media.source {
            Source::Bytes(bytes) => {
                writer.key("url").data_url(media.mime_type.as_deref().unwrap_or_default(), bytes);
            }
            Source::Url(url) | Source::ContentId(url) => writer.key("url").string(url),
        }
        if let Some(detail) = detail {
            writer.key(DETAIL).string(detail);
        }
    });
}

fn of_type<'a>(writer: &'a mut Writer, kind: &'static str) -> &'a mut Writer {
    writer.key("type").string(kind);
    writer.key(kind)
}

fn note_label(is_lost: bool, message: MessageId, losses: &mut Losses) {
    if is_lost {
        losses.note(message, Lost::Label);
    }
}
