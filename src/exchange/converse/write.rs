//! Writing `system` and `messages`.

use super::formats::{S3, format};
use super::wire;
use crate::exchange::export::{Export, Losses, Lost, each_said, role_name};
use crate::exchange::json::{Items, Json};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Document, Media, MediaKind, Message, MessageId, MessageWrapper, Outcome, ResultContent, Role, Source,
    ToolResult,
};

/// Converse knows no document without a name.
const UNTITLED: &str = "document";

pub(super) fn conversation<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    let (mut system, mut messages) = (Items::default(), Items::default());
    // Converse refuses two messages of one role in a row.
    let mut turn: Option<(Role, Items)> = None;
    let mut is_opening = true;
    each_said(manager, &mut losses, |message, contents, losses| {
        is_opening &= message.role() == Role::System;
        if is_opening {
            return write_blocks(&mut system, message, &contents, losses);
        }
        let role = message.role();
        if let Some((_, blocks)) = turn.as_mut().filter(|(last, _)| *last == role && role.is_spoken()) {
            return write_blocks(blocks, message, &contents, losses);
        }
        let mut blocks = Items::default();
        write_blocks(&mut blocks, message, &contents, losses);
        if !blocks.is_empty() {
            close(&mut messages, turn.replace((role, blocks)));
        }
    });
    close(&mut messages, turn);
    let system = Some(system).filter(|system| !system.is_empty()).map(Json::Written);
    losses.beside(Json::object([("system", system), ("messages", Some(Json::Written(messages)))]).to_string())
}

fn close(messages: &mut Items, turn: Option<(Role, Items)>) {
    let Some((role, blocks)) = turn else { return };
    messages.push(&wire::message(role_name(role), Json::Written(blocks)));
}

fn write_blocks(blocks: &mut Items, message: &Message, contents: &[Content], losses: &mut Losses) {
    let of = message.id();
    for content in contents {
        let block = match content {
            // Converse takes attachments from the user only.
            Content::Media(_) if message.role() != Role::User => Err(Lost::Media),
            Content::Document(_) if message.role() != Role::User => Err(Lost::Document),
            Content::Text(text) => Ok(wire::text(text)),
            Content::Media(media) => write_media(media, of, losses),
            Content::Document(document) => write_document(document, of, losses),
            Content::ToolCall(call) => {
                let input = losses.plain(of, call.arguments());
                Ok(wire::one("toolUse", wire::tool_use(call.id().as_str(), call.name().as_str(), input)))
            }
            Content::ToolResult(result) => Ok(wire::one("toolResult", write_result(result, of, losses))),
            Content::Unknown(_) => Err(Lost::Unknown),
        };
        match block {
            Ok(block) => blocks.push(&block),
            Err(lost) => losses.note(of, lost),
        }
    }
}

fn write_result<'a>(result: &'a ToolResult, of: MessageId, losses: &mut Losses) -> Json<'a> {
    let (content, status) = match result.outcome() {
        Outcome::Success(contents) => {
            (contents.iter().filter_map(|content| write_content(content, of, losses)).collect(), "success")
        }
        Outcome::Failure(error) => {
            if error.error_type().is_some() || error.retryable().is_some() {
                losses.note(of, Lost::Failure);
            }
            (Json::List(vec![wire::text(error.message())]), "error")
        }
    };
    wire::tool_result(result.tool_call_id().as_str(), content, Some(status))
}

fn write_content<'a>(content: &'a ResultContent, of: MessageId, losses: &mut Losses) -> Option<Json<'a>> {
    let block = match content {
        ResultContent::Text(text) => Ok(wire::text(text)),
        ResultContent::Json(value) => Ok(wire::one("json", losses.plain(of, value))),
        // A result has no block for sound.
        ResultContent::Media(media) if media.kind == MediaKind::Audio => Err(Lost::Media),
        ResultContent::Media(media) => write_media(media, of, losses),
        ResultContent::Document(document) => write_document(document, of, losses),
        ResultContent::Unknown(_) => Err(Lost::Unknown),
    };
    block.map_err(|lost| losses.note(of, lost)).ok()
}

fn write_media<'a>(media: &'a Media, of: MessageId, losses: &mut Losses) -> Result<Json<'a>, Lost> {
    let format = format(Some(media.kind), media.mime_type.as_deref()).ok_or(Lost::Media)?;
    let source = write_source(&media.source).ok_or(Lost::Media)?;
    if media.prompt_hint.is_some() || media.unknown.is_some() {
        losses.note(of, Lost::Label);
    }
    Ok(wire::one(media.kind.as_str(), wire::file(format, None, Some(source))))
}

fn write_document<'a>(document: &'a Document, of: MessageId, losses: &mut Losses) -> Result<Json<'a>, Lost> {
    let format = format(None, document.mime_type.as_deref()).ok_or(Lost::Document)?;
    let source = write_source(&document.source).ok_or(Lost::Document)?;
    losses.note_some(of, Lost::Label, &document.unknown);
    let name = document.title.as_deref().unwrap_or(UNTITLED);
    Ok(wire::one("document", wire::file(format, Some(name), Some(source))))
}

/// Where Bedrock finds data.
fn write_source(source: &Source) -> Option<Json<'_>> {
    match source {
        Source::Bytes(bytes) => Some(wire::bytes(bytes)),
        Source::Url(url) if url.starts_with(S3) => Some(wire::s3(url, None)),
        Source::Url(_) | Source::ContentId(_) => None,
    }
}
