//! Writing contents as objects with `type`.

use crate::exchange::export::{Losses, Lost};
use crate::exchange::writer::{Fidelity, Writer};
use crate::message::{Content, Document, Media, MessageId, ResultContent, Source, Text};

/// Whether blocks name their `source`: `url`, `base64` or `content_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::exchange) enum Naming {
    Named,
    Unnamed,
}

/// Writes a content that [`is_told`].
pub(in crate::exchange) fn write(
    writer: &mut Writer,
    content: &Content,
    naming: Naming,
    of: MessageId,
    losses: &mut Losses,
) {
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
pub(in crate::exchange) fn write_of_result(
    writer: &mut Writer,
    content: &ResultContent,
    of: MessageId,
    losses: &mut Losses,
) {
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
pub(in crate::exchange) fn media_entries(writer: &mut Writer, media: &Media, of: MessageId, losses: &mut Losses) {
    source_entry(writer, &media.source);
    write_optional(writer, "mime_type", media.mime_type.as_ref());
    write_optional(writer, "prompt_hint", media.prompt_hint.as_ref());
    if media.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
}

/// Writes the entries of a document into the object that is being written, but for the `type`.
pub(in crate::exchange) fn document_entries(
    writer: &mut Writer,
    document: &Document,
    of: MessageId,
    losses: &mut Losses,
) {
    source_entry(writer, &document.source);
    write_optional(writer, "mime_type", document.mime_type.as_ref());
    write_optional(writer, "title", document.title.as_ref());
    if document.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
}

/// Writes where data is into the object that is being written.
pub(in crate::exchange) fn source_entry(writer: &mut Writer, source: &Source) {
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
pub(in crate::exchange) fn is_told(content: &Content, of: MessageId, losses: &mut Losses) -> bool {
    if matches!(content, Content::Unknown(_)) {
        losses.note(of, Lost::Unknown);
        return false;
    }
    !content.is_blank()
}
