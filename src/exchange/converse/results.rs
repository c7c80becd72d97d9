//! `toolResult`: what came of a tool call.

use super::media::{read_document, read_media, write_document, write_media};
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::export::{Losses, Lost};
use crate::exchange::intake::Intake;
use crate::exchange::reader::{Others, Reader};
use crate::exchange::value;
use crate::exchange::writer::{Fidelity, Writer};
use crate::message::{
    InvocationError, InvocationId, InvocationResult, MediaKind, MessageId, MessageWrapper, Outcome, ResultContent,
};

pub(super) fn read<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    intake: &Intake<W>,
) -> Result<InvocationResult, ExchangeError> {
    let (mut id, mut content, mut has_failed) = (None, None, false);
    reader.object(&["toolUseId", "content", "status"], Others::Refuse, |reader, key| {
        match key {
            "toolUseId" => id = Some(InvocationId::new(reader.text()?).map_err(|error| reader.error(error))?),
            "content" => content = Some(contents(reader)?),
            _ if reader.null()? => {}
            _ => has_failed = read_status(reader)?,
        }
        Ok(())
    })?;
    let id = id.ok_or_else(|| reader.missing("toolUseId"))?;
    let content = content.ok_or_else(|| reader.missing("content"))?;
    let (id, name) = intake.answered(reader, &id)?;
    let outcome = if has_failed { Outcome::Failure(failure(reader, content)?) } else { Outcome::Success(content) };
    reader.take(size_of::<InvocationResult>())?;
    Ok(InvocationResult::new(id, name, outcome))
}

/// Whether the status is that of a failure.
fn read_status(reader: &mut Reader<'_>) -> Result<bool, ExchangeError> {
    match &*reader.string()? {
        "success" => Ok(false),
        "error" => Ok(true),
        _ => Err(reader.error(Problem::UnknownType { what: "`status`", known: "success, error" })),
    }
}

fn failure(reader: &Reader<'_>, content: Vec<ResultContent>) -> Result<InvocationError, ExchangeError> {
    match <[ResultContent; 1]>::try_from(content) {
        Ok([ResultContent::Text(text)]) => InvocationError::new(text).map_err(|error| reader.error(error)),
        _ => Err(reader.error(Problem::NotKept { what: "an error that is told in anything but one text" })),
    }
}

fn contents(reader: &mut Reader<'_>) -> Result<Vec<ResultContent>, ExchangeError> {
    let count = reader.count()?;
    reader.take(count.saturating_mul(size_of::<ResultContent>()))?;
    let mut contents = Vec::with_capacity(count);
    reader.list(|reader| {
        contents.push(content(reader)?);
        Ok(())
    })?;
    Ok(contents)
}

fn content(reader: &mut Reader<'_>) -> Result<ResultContent, ExchangeError> {
    let mut content = None;
    let known = &["text", "json", "image", "video", "document", "searchResult"];
    reader.object(known, Others::Refuse, |reader, key| {
        if content.is_some() {
            return Err(reader.error(Problem::Invalid { reason: "a block holds one thing" }));
        }
        content = Some(match key {
            "text" => ResultContent::Text(reader.text()?),
            "json" => ResultContent::Json(value::read(reader)?),
            "image" => ResultContent::Media(Box::new(read_media(reader, MediaKind::Image)?)),
            "video" => ResultContent::Media(Box::new(read_media(reader, MediaKind::Video)?)),
            "document" => ResultContent::Document(Box::new(read_document(reader)?)),
            _ => return Err(reader.error(Problem::NotKept { what: "a search result" })),
        });
        Ok(())
    })?;
    content.ok_or_else(|| reader.missing("text"))
}

pub(super) fn write(writer: &mut Writer, result: &InvocationResult, message: MessageId, losses: &mut Losses) {
    writer.object(|writer| {
        writer.key("toolResult").object(|writer| {
            writer.key("toolUseId").string(result.invocation_id().as_str());
            writer.key("content").list(|writer| match result.outcome() {
                Outcome::Success(contents) => {
                    contents.iter().for_each(|content| write_content(writer, content, message, losses));
                }
                Outcome::Failure(error) => {
                    if error.error_type().is_some() || error.retryable().is_some() {
                        losses.note(message, Lost::Failure);
                    }
                    writer.object(|writer| writer.key("text").string(error.message()));
                }
            });
            let has_failed = matches!(result.outcome(), Outcome::Failure(_));
            writer.key("status").string(if has_failed { "error" } else { "success" });
        });
    });
}

fn write_content(writer: &mut Writer, content: &ResultContent, message: MessageId, losses: &mut Losses) {
    let written = match content {
        ResultContent::Text(text) => {
            writer.object(|writer| writer.key("text").string(text));
            Ok(())
        }
        ResultContent::Json(value) => {
            let mut fidelity = Fidelity::Exact;
            writer.object(|writer| fidelity = writer.key("json").value(value));
            if fidelity == Fidelity::Exact { Ok(()) } else { Err(Lost::Value) }
        }
        // A result has no block for sound.
        ResultContent::Media(media) if media.kind == MediaKind::Audio => Err(Lost::Media),
        ResultContent::Media(media) => write_media(writer, media, message, losses),
        ResultContent::Document(document) => write_document(writer, document, message, losses),
        ResultContent::Unknown(_) => Err(Lost::Unknown),
    };
    if let Err(lost) = written {
        losses.note(message, lost);
    }
}
