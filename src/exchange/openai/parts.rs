//! The parts of a chat message's content.

use std::borrow::Cow;

use serde::Deserialize;

use crate::exchange::block::text_block;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::export::{LossKind, Losses};
use crate::exchange::importer::Typed;
use crate::exchange::json::Json;
use crate::exchange::media::{self, decode, located};
use crate::exchange::node::Node;
use crate::exchange::reason::JsonKind;
use crate::exchange::window::{Fit, is_web, known_image, unavailable};
use crate::message::{Content, Map, Media, MediaKind, Role, Source, Text, Value, is_blank};

/// The key of the detail level of an image. Media keep it as an unknown entry.
const DETAIL: &str = "detail";
const WAV: &str = "audio/wav";
const MP3: &str = "audio/mpeg";

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Refusal,
    ImageUrl,
    InputAudio,
    File,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Image<'a> {
    #[serde(borrow)]
    url: Cow<'a, str>,
    detail: Option<Text>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Audio<'a> {
    #[serde(borrow)]
    data: Cow<'a, str>,
    format: AudioFormat,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum AudioFormat {
    Wav,
    Mp3,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    #[serde(borrow)]
    file_data: Option<Cow<'a, str>>,
    filename: Option<Text>,
    #[serde(borrow)]
    file_id: Option<Cow<'a, str>>,
}

/// Reads a `content`: a text or a list of parts.
pub(super) fn read(node: &Node<'_, '_>) -> Result<Vec<Content>, ExchangeError> {
    match node.kind() {
        JsonKind::String => Ok(vec![Content::Text(node.text()?)]),
        JsonKind::List => node.each(|part| read_part(&part)),
        _ => Err(node.wrong_kind("a string or a list of parts")),
    }
}

fn read_part(node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
    match node.object::<Typed<Kind>>()?.r#type {
        Kind::Text => Ok(Content::Text(node.last_of("type text")?.text()?)),
        Kind::Refusal => Ok(Content::Text(node.last_of("type refusal")?.text()?)),
        Kind::ImageUrl => image(&node.last_of("type image_url")?),
        Kind::InputAudio => audio(&node.last_of("type input_audio")?),
        Kind::File => file(&node.last_of("type file")?),
    }
}

fn image(node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
    let image: Image<'_> = node.object()?;
    let (source, mime_type) = located(&image.url).map_err(|problem| node.error(problem))?;
    let mut media = media::media(MediaKind::Image, source, mime_type, None);
    let detail = image.detail.map(|detail| Map::new([(DETAIL.to_owned(), Value::String(detail))].into()));
    media.unknown = detail.transpose().map_err(|error| node.error(error))?;
    Ok(media.into())
}

fn audio(node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
    let audio: Audio<'_> = node.object()?;
    let data = decode(&audio.data).map_err(|problem| node.error(problem))?;
    let mime_type = match audio.format {
        AudioFormat::Wav => WAV,
        AudioFormat::Mp3 => MP3,
    };
    Ok(media::media(MediaKind::Audio, Source::Bytes(data), Some(mime_type.into()), None).into())
}

fn file(node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
    let file: File<'_> = node.object()?;
    if file.file_id.is_some() {
        return Err(node.error(Problem::not_kept("a file stored at OpenAI")));
    }
    let data = node.need("file_data", file.file_data)?;
    let found = if data.starts_with("data:") {
        located(&data)
    } else {
        decode(&data).map(|bytes| (Source::Bytes(bytes), None))
    };
    let (source, mime_type) = found.map_err(|problem| node.error(problem))?;
    Ok(media::media(MediaKind::Document, source, mime_type, file.filename).into())
}

/// Writes the parts of a message: a single text as a string, others as a list.
pub(super) fn write(mut parts: Vec<Json<'_>>) -> Json<'_> {
    match parts.as_mut_slice() {
        [] => Json::Null,
        [Json::Object(entries)] if entries.iter().all(|(key, _)| matches!(*key, "type" | "text")) => {
            entries.pop().map_or(Json::Null, |(_, text)| text)
        }
        _ => Json::List(parts),
    }
}

/// Writes a part of a message of `role`. Returns `None` if OpenAI cannot express it.
pub(super) fn part<'a>(content: &'a Content, role: Role, fit: Fit, losses: &mut Losses) -> Option<Json<'a>> {
    let (written, kind) = match content {
        Content::Text(text) => return Some(text_block(text.as_str())),
        Content::Media(media) => (media_part(media, fit, losses), media.kind.as_str()),
        // Calls and results are not parts.
        Content::ToolCall(_) | Content::ToolResult(_) => return None,
        Content::Unknown(_) => {
            losses.note(LossKind::Unknown);
            return None;
        }
    };
    // OpenAI accepts attachments only from the user.
    let written = written.filter(|_| role == Role::User);
    losses.note_if(written.is_none(), LossKind::Attachment);
    written.or_else(|| (fit == Fit::Window).then(|| unavailable(kind)))
}

fn media_part<'a>(media: &'a Media, fit: Fit, losses: &mut Losses) -> Option<Json<'a>> {
    match (media.kind, &media.source) {
        (MediaKind::Image, source) => {
            let url = match (source, fit) {
                (Source::Bytes(bytes), Fit::Conversation) => {
                    Json::DataUrl(media.mime_type.as_deref().unwrap_or_default().into(), bytes)
                }
                (Source::Bytes(bytes), Fit::Window) => Json::DataUrl(known_image(media)?.into(), bytes),
                (Source::Url(url), Fit::Window) if !is_web(url) => return None,
                (Source::Url(url), _) => url.into(),
                (Source::ContentId(_), _) => return None,
            };
            let detail = media.unknown.as_ref().and_then(|unknown| unknown.get(DETAIL)).and_then(Value::as_str);
            let others = media.unknown.as_ref().map_or(0, |unknown| unknown.len()) > usize::from(detail.is_some());
            let has_lost_type = media.mime_type.is_some() && !matches!(media.source, Source::Bytes(_));
            losses.note_if(media.label.is_some() || others || has_lost_type, LossKind::Label);
            Some(of_type("image_url", Json::object([("url", Some(url)), (DETAIL, detail.map(Json::from))])))
        }
        (MediaKind::Audio, Source::Bytes(bytes)) if fit == Fit::Conversation || !bytes.is_empty() => {
            let format = match media.mime_type.as_deref()? {
                WAV => "wav",
                MP3 => "mp3",
                _ => return None,
            };
            losses.note_labels(media);
            let audio = Json::object([("data", Some(Json::Bytes(bytes))), ("format", Some(format.into()))]);
            Some(of_type("input_audio", audio))
        }
        (MediaKind::Document, Source::Bytes(bytes)) => document_part(media, bytes, fit, losses),
        _ => None,
    }
}

fn document_part<'a>(document: &'a Media, bytes: &'a [u8], fit: Fit, losses: &mut Losses) -> Option<Json<'a>> {
    let (data, title) = match (fit, &document.mime_type) {
        (Fit::Conversation, Some(mime_type)) => (Json::DataUrl(mime_type.as_str().into(), bytes), None),
        (Fit::Conversation, None) => (Json::Bytes(bytes), None),
        (Fit::Window, _) => {
            // OpenAI accepts only this type, and requires a name.
            document.known_type().filter(|known| known == "application/pdf")?;
            (Json::DataUrl("application/pdf".into(), bytes), Some("document.pdf".into()))
        }
    };
    losses.note_if(document.unknown.is_some(), LossKind::Label);
    let title =
        document.label.as_ref().filter(|title| !is_blank(title) || fit == Fit::Conversation).map(Json::from).or(title);
    Some(of_type("file", Json::object([("filename", title), ("file_data", Some(data))])))
}

fn of_type<'a>(kind: &'a str, value: Json<'a>) -> Json<'a> {
    Json::object([("type", Some(kind.into())), (kind, Some(value))])
}
