//! Writes `system` and `messages`.

use super::formats::{S3, format};
use super::wire;
use crate::exchange::export::{Export, LossKind, Losses, each_message, role_name};
use crate::exchange::json::{Items, Json};
use crate::manager::MessagesManager;
use crate::message::{Content, Media, MediaKind, Message, MessageWrapper, ResultContent, Role, Source, ToolResult};

/// The name of a document without a title. Converse requires one.
const UNTITLED: &str = "document";

/// Exports the conversation as `system` and `messages` of Converse.
///
/// The texts of the system messages at the start are `system`. Later system messages have the role `system`.
/// Consecutive messages of one role become one. A document without a title gets the name `document`. The export always
/// leaves out fakes, marks, custom data, steps, and the ids, times and confidence of messages and their parts.
///
/// The export leaves out results without their calls, and calls whose result may be in a missing message. It repairs
/// nothing else, so Bedrock may refuse it. For a request, use the [window](MessagesManager::to_raw) of a manager of
/// `BedrockMessage`s.
///
/// [Losses](Export::losses) are summaries; text that was not heard; a tool call or result without its other half;
/// attachments outside user messages, with a source other than bytes or an `s3://` URL, or with a MIME type that has no
/// format in Converse; labels; the type of a failure and whether to retry; bytes in data.
pub fn export_converse<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    let (mut system, mut messages) = (Items::default(), Items::default());
    // Converse refuses two consecutive messages of one role.
    let mut turn: Option<(Role, Items)> = None;
    let mut is_start = true;
    each_message(manager, &mut losses, |message, contents, losses| {
        is_start &= message.role() == Role::System;
        if is_start {
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
    losses.into_export(Json::object([("system", system), ("messages", Some(Json::Written(messages)))]).to_string())
}

fn close(messages: &mut Items, turn: Option<(Role, Items)>) {
    let Some((role, blocks)) = turn else { return };
    messages.push(&wire::message(role_name(role), Json::Written(blocks)));
}

fn write_blocks(blocks: &mut Items, message: &Message, contents: &[Content], losses: &mut Losses) {
    for content in contents {
        if !losses.is_paired(content) {
            continue;
        }
        let block = match content {
            // Converse accepts attachments only from the user.
            Content::Media(_) if message.role() != Role::User => Err(LossKind::Attachment),
            Content::Text(text) => Ok(wire::text(text)),
            Content::Media(media) => write_media(media, losses),
            Content::ToolCall(call) => {
                let input = losses.plain(call.arguments());
                Ok(wire::one("toolUse", wire::tool_use(call.id().as_str(), call.name().as_str(), input)))
            }
            Content::ToolResult(result) => Ok(wire::one("toolResult", write_result(result, losses))),
            Content::Unknown(_) => Err(LossKind::Unknown),
        };
        match block {
            Ok(block) => blocks.push(&block),
            Err(loss) => losses.note(loss),
        }
    }
}

fn write_result<'a>(result: &'a ToolResult, losses: &mut Losses) -> Json<'a> {
    let (content, status) = match result.outcome() {
        Ok(contents) => (contents.iter().filter_map(|content| write_content(content, losses)).collect(), "success"),
        Err(error) => {
            losses.note_failure(error);
            (Json::List(vec![wire::text(error.message())]), "error")
        }
    };
    wire::tool_result(result.tool_call_id().as_str(), content, Some(status))
}

fn write_content<'a>(content: &'a ResultContent, losses: &mut Losses) -> Option<Json<'a>> {
    let block = match content {
        ResultContent::Text(text) => Ok(wire::text(text)),
        ResultContent::Json(value) => Ok(wire::one("json", losses.plain(value))),
        // A result has no block for audio.
        ResultContent::Media(media) if media.kind == MediaKind::Audio => Err(LossKind::Attachment),
        ResultContent::Media(media) => write_media(media, losses),
        ResultContent::Unknown(_) => Err(LossKind::Unknown),
    };
    block.map_err(|loss| losses.note(loss)).ok()
}

fn write_media<'a>(media: &'a Media, losses: &mut Losses) -> Result<Json<'a>, LossKind> {
    let format = format(media.kind, media.mime_type.as_deref()).ok_or(LossKind::Attachment)?;
    let source = write_source(&media.source).ok_or(LossKind::Attachment)?;
    let name = if media.kind == MediaKind::Document {
        losses.note_if(media.unknown.is_some(), LossKind::Label);
        Some(media.label.as_deref().unwrap_or(UNTITLED))
    } else {
        losses.note_labels(media);
        None
    };
    Ok(wire::one(media.kind.as_str(), wire::file(format, name, Some(source))))
}

/// Returns the source of data that Bedrock can read.
fn write_source(source: &Source) -> Option<Json<'_>> {
    match source {
        Source::Bytes(bytes) => Some(wire::bytes(bytes)),
        Source::Url(url) if url.starts_with(S3) => Some(wire::s3(url, None)),
        Source::Url(_) | Source::ContentId(_) => None,
    }
}
