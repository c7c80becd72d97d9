//! A content as an object with `type`, in the formats that leave it open how it looks.
//!
//! | `type` | beside it |
//! | --- | --- |
//! | `text` | `text`, or `content_id` where the words are in a content store |
//! | `image`, `audio`, `video` | one of `url`, `data` (base64) and `content_id`; `mime_type`, `prompt_hint`, `id` where known |
//! | `document` | the same, with `title` in place of `prompt_hint` |
//! | `json`, in results only | `json` |

mod write;

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

pub(super) use write::{Naming, document_entries, media_entries, text_block, write, write_of_result};

use super::error::ExchangeError;
use super::media;
use super::node::Node;
use super::plain;
use crate::message::{Content, Document, Map, Media, MediaKind, ResultContent, Source, Text, Value};

/// The MIME type of a text that names none.
pub(super) const PLAIN: &str = "text/plain";
/// The key of an id that a service gives to media.
const ID: &str = "id";

#[derive(Deserialize)]
struct Typed {
    r#type: Kind,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Text,
    Image,
    Audio,
    Video,
    Document,
    Json,
}

/// Reads a content.
pub(super) fn read(node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
    Ok(match read_of_result(node)? {
        ResultContent::Text(text) => Content::Text(text),
        ResultContent::Media(media) => Content::Media(media),
        ResultContent::Document(document) => Content::Document(document),
        ResultContent::Json(_) | ResultContent::Unknown(_) => {
            return Err(node.invalid("only the result of a tool holds `json`"));
        }
    })
}

/// Reads a part of the result of a tool.
pub(super) fn read_of_result(node: &Node<'_, '_>) -> Result<ResultContent, ExchangeError> {
    Ok(match node.object::<Typed>()?.r#type {
        Kind::Text => read_text(node)?,
        Kind::Image => ResultContent::from(read_media(node, MediaKind::Image)?),
        Kind::Audio => ResultContent::from(read_media(node, MediaKind::Audio)?),
        Kind::Video => ResultContent::from(read_media(node, MediaKind::Video)?),
        Kind::Document => ResultContent::from(node.object::<Attached<'_>>()?.into_document(node)?),
        Kind::Json => {
            #[derive(Deserialize)]
            #[serde(deny_unknown_fields)]
            struct Data<'a> {
                #[serde(rename = "type")]
                _type: IgnoredAny,
                #[serde(borrow)]
                json: &'a RawValue,
            }
            let data: Data<'_> = node.object()?;
            ResultContent::Json(plain::read(&node.under("json", data.json))?)
        }
    })
}

/// A MIME type of a text is not kept: the model gets the words.
fn read_text(node: &Node<'_, '_>) -> Result<ResultContent, ExchangeError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Words {
        #[serde(rename = "type")]
        _type: IgnoredAny,
        text: Option<Text>,
        mime_type: Option<Text>,
        content_id: Option<Text>,
    }
    let words: Words = node.object()?;
    Ok(match (words.text, words.content_id) {
        // A text that is in a store has none in its place.
        (None, Some(id)) => stored_text(id, words.mime_type).into(),
        (Some(text), Some(id)) if text.is_empty() => stored_text(id, words.mime_type).into(),
        (Some(text), _) => ResultContent::Text(text),
        (None, None) => return Err(node.error(super::Problem::missing("text"))),
    })
}

fn stored_text(id: Text, mime_type: Option<Text>) -> Document {
    media::document(Source::ContentId(id), Some(mime_type.unwrap_or_else(|| PLAIN.into())), None)
}

/// Reads media. Where the data is there too, a `content_id` is that of the data.
pub(super) fn read_media(node: &Node<'_, '_>, kind: MediaKind) -> Result<Media, ExchangeError> {
    node.object::<Attached<'_>>()?.into_media(kind, node)
}

/// Media or a document, within the formats that have them as objects of their own.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Attached<'a> {
    #[serde(rename = "type")]
    _type: Option<IgnoredAny>,
    #[serde(rename = "source")]
    _source: Option<IgnoredAny>,
    #[serde(rename = "role")]
    _role: Option<IgnoredAny>,
    #[serde(rename = "continues")]
    _continues: Option<IgnoredAny>,
    url: Option<Text>,
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    content_id: Option<Text>,
    mime_type: Option<Text>,
    prompt_hint: Option<Text>,
    title: Option<Text>,
    id: Option<Text>,
}

impl Attached<'_> {
    fn source(&mut self, node: &Node<'_, '_>) -> Result<Source, ExchangeError> {
        match (self.url.take(), self.data.take(), self.content_id.take()) {
            (Some(url), None, None) => Ok(Source::Url(url)),
            (None, Some(data), _) => media::decoded(&data).map(Source::Bytes).map_err(|problem| node.error(problem)),
            (None, None, Some(id)) => Ok(Source::ContentId(id)),
            _ => Err(node.invalid("the data belongs here, under one of `url`, `data` and `content_id`")),
        }
    }

    pub fn into_media(mut self, kind: MediaKind, node: &Node<'_, '_>) -> Result<Media, ExchangeError> {
        let mut media = media::media(kind, self.source(node)?, self.mime_type.take(), self.prompt_hint.take());
        media.unknown = self.id(node)?;
        if self.title.is_some() {
            return Err(node.invalid("only a document has a `title`; media have a `prompt_hint`"));
        }
        Ok(media)
    }

    pub fn into_document(mut self, node: &Node<'_, '_>) -> Result<Document, ExchangeError> {
        let mut document = media::document(self.source(node)?, self.mime_type.take(), self.title.take());
        document.unknown = self.id(node)?;
        if self.prompt_hint.is_some() {
            return Err(node.invalid("only media have a `prompt_hint`; a document has a `title`"));
        }
        Ok(document)
    }

    /// The id of the service, which is kept as what a newer version may know.
    fn id(&mut self, node: &Node<'_, '_>) -> Result<Option<Map>, ExchangeError> {
        let entries = self.id.take().map(|id| [(ID.to_owned(), Value::String(id))].into());
        entries.map(Map::new).transpose().map_err(|error| node.error(error))
    }
}
