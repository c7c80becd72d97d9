//! The blocks of a message.

use super::media::{read_document, read_media, write_document, write_media};
use super::results;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::export::{Losses, Lost};
use crate::exchange::intake::Intake;
use crate::exchange::reader::{Others, Reader};
use crate::exchange::value;
use crate::exchange::writer::{Fidelity, Writer};
use crate::message::{Content, Invocation, InvocationId, MediaKind, MessageId, MessageWrapper, ToolName};

pub(super) const TOOL_USE: &str = "toolUse";
const BLOCKS: &[&str] = &[
    "text",
    "image",
    "video",
    "audio",
    "document",
    TOOL_USE,
    "toolResult",
    "cachePoint",
    "reasoningContent",
    "guardContent",
    "citationsContent",
    "searchResult",
];

/// The contents of a message.
pub(super) fn read<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    intake: &mut Intake<W>,
) -> Result<Vec<Content>, ExchangeError> {
    let count = reader.count()?;
    reader.take(count.saturating_mul(size_of::<Content>()))?;
    let mut contents = Vec::with_capacity(count);
    reader.list(|reader| {
        contents.extend(block(reader, intake)?);
        Ok(())
    })?;
    Ok(contents)
}

/// A content; none for a cache point, which is the request's.
fn block<W: MessageWrapper>(reader: &mut Reader<'_>, intake: &mut Intake<W>) -> Result<Option<Content>, ExchangeError> {
    let mut content = None;
    reader.object(BLOCKS, Others::Refuse, |reader, key| {
        if content.is_some() {
            return Err(reader.error(Problem::Invalid { reason: "a block holds one thing" }));
        }
        content = Some(match key {
            "text" => Some(reader.text()?.into()),
            "image" => Some(read_media(reader, MediaKind::Image)?.into()),
            "video" => Some(read_media(reader, MediaKind::Video)?.into()),
            "audio" => Some(read_media(reader, MediaKind::Audio)?.into()),
            "document" => Some(read_document(reader)?.into()),
            TOOL_USE => Some(tool_use(reader, intake)?.into()),
            "toolResult" => Some(results::read(reader, intake)?.into()),
            "cachePoint" => {
                reader.skip()?;
                None
            }
            other => return Err(reader.error(Problem::NotKept { what: name_of(other) })),
        });
        Ok(())
    })?;
    content.ok_or_else(|| reader.missing("text"))
}

/// What a block is called that has no place in a conversation here.
fn name_of(key: &str) -> &'static str {
    match key {
        "reasoningContent" => "the reasoning of a model",
        "guardContent" => "what a guardrail is to look at",
        "citationsContent" => "a text with citations",
        _ => "a search result",
    }
}

fn tool_use<W: MessageWrapper>(reader: &mut Reader<'_>, intake: &mut Intake<W>) -> Result<Invocation, ExchangeError> {
    let (mut id, mut name, mut input) = (None, None, None);
    reader.object(&["toolUseId", "name", "input"], Others::Refuse, |reader, key| {
        match key {
            "toolUseId" => id = Some(InvocationId::new(reader.text()?).map_err(|error| reader.error(error))?),
            "name" => name = Some(ToolName::new(reader.text()?).map_err(|error| reader.error(error))?),
            _ => input = Some(value::read(reader)?),
        }
        Ok(())
    })?;
    let id = id.ok_or_else(|| reader.missing("toolUseId"))?;
    let name = name.ok_or_else(|| reader.missing("name"))?;
    let input = input.ok_or_else(|| reader.missing("input"))?;
    reader.take(size_of::<Invocation>())?;
    Ok(Invocation::of(intake.id_of_call(reader, id)?, name, input))
}

/// Writes a content as a block; what Converse has no words for is lost.
pub(super) fn write(writer: &mut Writer, content: &Content, message: MessageId, losses: &mut Losses) {
    let written = match content {
        Content::Text(text) => {
            writer.object(|writer| writer.key("text").string(text));
            Ok(())
        }
        Content::Media(media) => write_media(writer, media, message, losses),
        Content::Document(document) => write_document(writer, document, message, losses),
        Content::Invocation(invocation) => write_tool_use(writer, invocation),
        Content::InvocationResult(result) => {
            results::write(writer, result, message, losses);
            Ok(())
        }
        Content::Unknown(_) => Err(Lost::Unknown),
    };
    if let Err(lost) = written {
        losses.note(message, lost);
    }
}

fn write_tool_use(writer: &mut Writer, invocation: &Invocation) -> Result<(), Lost> {
    let mut fidelity = Fidelity::Exact;
    writer.object(|writer| {
        writer.key(TOOL_USE).object(|writer| {
            writer.key("toolUseId").string(invocation.id().as_str());
            writer.key("name").string(invocation.name().as_str());
            fidelity = writer.key("input").value(invocation.arguments());
        });
    });
    if fidelity == Fidelity::Exact { Ok(()) } else { Err(Lost::Value) }
}
