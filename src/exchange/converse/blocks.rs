//! Reads the blocks of a message.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::formats::{self, S3};
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::failure::tool_error;
use crate::exchange::importer::{Id, Importer};
use crate::exchange::node::Node;
use crate::exchange::{media, plain};
use crate::message::{
    Content, Media, MediaKind, MessageWrapper, ResultContent, Source, Text, ToolCallId, ToolError, ToolName,
};

const BLOCKS: &str = "text image video audio document toolUse toolResult cachePoint reasoningContent guardContent \
                      citationsContent searchResult";
const RESULT_BLOCKS: &str = "text json image video document searchResult";

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ToolUse<'a> {
    tool_use_id: Id<ToolCallId>,
    name: Id<ToolName>,
    #[serde(borrow)]
    input: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ToolResult<'a> {
    tool_use_id: Id<ToolCallId>,
    #[serde(borrow)]
    content: &'a RawValue,
    status: Option<Status>,
}

#[derive(Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Success,
    Error,
}

/// Media or a document.
#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    format: Cow<'a, str>,
    #[serde(borrow)]
    source: &'a RawValue,
    name: Option<Text>,
    context: Option<IgnoredAny>,
    citations: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InS3 {
    uri: Text,
    bucket_owner: Option<IgnoredAny>,
}

/// Reads a block. Returns `None` for a cache point, which belongs to the request.
pub(super) fn read<W: MessageWrapper>(
    node: &Node<'_, '_>,
    importer: &mut Importer<W>,
) -> Result<Option<Content>, ExchangeError> {
    let (kind, node) = node.one_of(BLOCKS)?;
    Ok(Some(match kind {
        "cachePoint" => return Ok(None),
        "toolUse" => {
            let call: ToolUse<'_> = node.object()?;
            let input = plain::read(&node.under("input", call.input))?;
            importer.call(&node, call.tool_use_id.0, call.name.0, input)?.into()
        }
        "toolResult" => {
            let result: ToolResult<'_> = node.object()?;
            let contents = node.under("content", result.content).each(|block| {
                let (kind, block) = block.one_of(RESULT_BLOCKS)?;
                part(kind, &block)
            })?;
            let outcome = match result.status {
                Some(Status::Error) => Err(failure(&node, &contents)?),
                Some(Status::Success) | None => Ok(contents),
            };
            importer.result(&node, &result.tool_use_id.0, outcome)?.into()
        }
        kind => return Ok(media::content(part(kind, &node)?)),
    }))
}

/// Reads a block of a kind that both messages and results can hold.
fn part(kind: &str, node: &Node<'_, '_>) -> Result<ResultContent, ExchangeError> {
    Ok(match kind {
        "text" => ResultContent::Text(node.text()?),
        "json" => ResultContent::Json(plain::read(node)?),
        "image" => read_media(node, MediaKind::Image)?.into(),
        "video" => read_media(node, MediaKind::Video)?.into(),
        "audio" => read_media(node, MediaKind::Audio)?.into(),
        "document" => read_document(node)?.into(),
        other => return Err(node.error(Problem::not_kept(&format!("`{other}`")))),
    })
}

fn failure(node: &Node<'_, '_>, contents: &[ResultContent]) -> Result<ToolError, ExchangeError> {
    match contents {
        [ResultContent::Text(text)] => tool_error(node, text.clone()),
        _ => Err(node.error(Problem::not_kept("a failed result that is not exactly one text"))),
    }
}

fn read_media(node: &Node<'_, '_>, kind: MediaKind) -> Result<Media, ExchangeError> {
    let file: File<'_> = node.object_of("format source")?;
    Ok(media::media(kind, read_source(node, &file)?, Some(mime_type(node, kind, &file)?), None))
}

fn read_document(node: &Node<'_, '_>) -> Result<Media, ExchangeError> {
    let file: File<'_> = node.object_of("format source name context citations")?;
    if file.context.is_some() || file.citations.is_some() {
        return Err(node.error(Problem::not_kept("the context or the citations of a document")));
    }
    let (source, mime_type) = (read_source(node, &file)?, mime_type(node, MediaKind::Document, &file)?);
    Ok(media::media(MediaKind::Document, source, Some(mime_type), Some(node.need("name", file.name)?)))
}

fn mime_type(node: &Node<'_, '_>, kind: MediaKind, file: &File<'_>) -> Result<Text, ExchangeError> {
    let mime_type = formats::mime_type(kind, &file.format).map(Text::from);
    mime_type.ok_or_else(|| node.error(Problem::unknown_name(&formats::known(kind))))
}

fn read_source(node: &Node<'_, '_>, file: &File<'_>) -> Result<Source, ExchangeError> {
    let node = node.under("source", file.source);
    let (kind, node) = node.one_of("bytes s3Location text content")?;
    match kind {
        "bytes" => media::bytes(&node),
        "s3Location" => {
            let location: InS3 = node.object()?;
            if location.bucket_owner.is_some() {
                return Err(node.error(Problem::not_kept("the owner of a bucket")));
            }
            if !location.uri.starts_with(S3) {
                return Err(node.invalid("the `uri` of an `s3Location` must begin with s3://"));
            }
            Ok(Source::Url(location.uri))
        }
        _ => Err(node.error(Problem::not_kept("a document made of texts"))),
    }
}
