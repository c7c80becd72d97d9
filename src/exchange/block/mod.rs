//! A content as an object with `type`, in the formats that leave it open how it looks.
//!
//! | `type` | beside it |
//! | --- | --- |
//! | `text` | `text` |
//! | `image`, `audio`, `video` | one of `url`, `data` (base64) and `content_id`; `mime_type`, `prompt_hint` where known |
//! | `document` | the same, with `title` in place of `prompt_hint` |
//! | `json`, in results only | `json` |

mod attached;
mod write;

pub(super) use attached::{Attached, optional_text};
pub(super) use write::{Naming, document_entries, is_told, media_entries, source_entry, write, write_of_result};

use super::error::{ExchangeError, Problem};
use super::reader::{Others, Reader};
use super::value;
use crate::message::{Content, Document, Media, MediaKind, ResultContent, Text};

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
