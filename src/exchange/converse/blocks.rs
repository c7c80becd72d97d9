//! Reading the blocks of a message.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::formats::{self, S3};
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::intake::{CallId, Intake, Tool};
use crate::exchange::node::Node;
use crate::exchange::{media, plain};
use crate::message::{
    Content, Document, InvocationError, Media, MediaKind, MessageWrapper, Outcome, ResultContent, Source, Text,
};

/// A block of a message or of a result: one of these. Which of the two it is of, its reader checks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Block<'a> {
    text: Option<Text>,
    #[serde(borrow, default, deserialize_with = "plain::present")]
    json: Option<&'a RawValue>,
    #[serde(borrow)]
    image: Option<&'a RawValue>,
    #[serde(borrow)]
    video: Option<&'a RawValue>,
    #[serde(borrow)]
    audio: Option<&'a RawValue>,
    #[serde(borrow)]
    document: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_result: Option<&'a RawValue>,
    cache_point: Option<IgnoredAny>,
    reasoning_content: Option<IgnoredAny>,
    guard_content: Option<IgnoredAny>,
    citations_content: Option<IgnoredAny>,
    search_result: Option<IgnoredAny>,
}

/// What is read of a block.
enum Held<'a> {
    Part(ResultContent),
    ToolUse(&'a RawValue),
    ToolResult(&'a RawValue),
    CachePoint,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ToolUse<'a> {
    tool_use_id: CallId,
    name: Tool,
    #[serde(borrow)]
    input: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ToolResult<'a> {
    tool_use_id: CallId,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
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
struct Located<'a> {
    #[serde(borrow)]
    bytes: Option<Cow<'a, str>>,
    #[serde(borrow)]
    s3_location: Option<&'a RawValue>,
    text: Option<IgnoredAny>,
    content: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InS3 {
    uri: Text,
    bucket_owner: Option<IgnoredAny>,
}

/// Reads a block. Returns no content for a cache point, which is the request's.
pub(super) fn read<W: MessageWrapper>(
    node: &Node<'_, '_>,
    intake: &mut Intake<W>,
) -> Result<Option<Content>, ExchangeError> {
    Ok(Some(match read_block(node)? {
        Held::Part(ResultContent::Text(text)) => Content::Text(text),
        Held::Part(ResultContent::Media(media)) => Content::Media(media),
        Held::Part(ResultContent::Document(document)) => Content::Document(document),
        Held::Part(ResultContent::Json(_) | ResultContent::Unknown(_)) => {
            return Err(node.invalid("only the result of a tool holds `json`"));
        }
        Held::CachePoint => return Ok(None),
        Held::ToolUse(call) => {
            let node = node.under("toolUse", call);
            let call: ToolUse<'_> = node.object()?;
            let input = plain::read(&node.under("input", call.input))?;
            intake.call(&node, call.tool_use_id.0, call.name.0, input)?.into()
        }
        Held::ToolResult(result) => {
            let node = node.under("toolResult", result);
            let result: ToolResult<'_> = node.object()?;
            let contents = node.under("content", result.content).each(|block| read_of_result(&block))?;
            let outcome = match result.status {
                Some(Status::Error) => Outcome::Failure(failure(&node, &contents)?),
                Some(Status::Success) | None => Outcome::Success(contents),
            };
            intake.result(&node, &result.tool_use_id.0, outcome)?.into()
        }
    }))
}

fn read_of_result(node: &Node<'_, '_>) -> Result<ResultContent, ExchangeError> {
    match read_block(node)? {
        Held::Part(ResultContent::Media(media)) if media.kind == MediaKind::Audio => {
            Err(node.invalid("the result of a tool holds no sound"))
        }
        Held::Part(part) => Ok(part),
        Held::ToolUse(_) | Held::ToolResult(_) | Held::CachePoint => {
            Err(node.invalid("the result of a tool holds neither calls nor results nor cache points"))
        }
    }
}

fn failure(node: &Node<'_, '_>, contents: &[ResultContent]) -> Result<InvocationError, ExchangeError> {
    match contents {
        [ResultContent::Text(text)] => InvocationError::new(text.clone()).map_err(|error| node.error(error)),
        _ => Err(node.error(Problem::not_kept("an error that is told in anything but one text"))),
    }
}

fn read_block<'a>(node: &Node<'a, '_>) -> Result<Held<'a>, ExchangeError> {
    let block: Block<'a> = node.object()?;
    let untaken = [
        (&block.reasoning_content, "the reasoning of a model"),
        (&block.guard_content, "`guardContent`"),
        (&block.citations_content, "a text with citations"),
        (&block.search_result, "a search result"),
    ];
    if let Some((_, what)) = untaken.into_iter().find(|(held, _)| held.is_some()) {
        return Err(node.error(Problem::not_kept(what)));
    }
    let kinds = [(block.image, MediaKind::Image), (block.video, MediaKind::Video), (block.audio, MediaKind::Audio)];
    let mut held: Vec<Held<'a>> = Vec::with_capacity(1);
    held.extend(block.text.map(|text| Held::Part(ResultContent::Text(text))));
    for (media, kind) in kinds {
        if let Some(media) = media {
            held.push(Held::Part(read_media(&node.under(kind.as_str(), media), kind)?.into()));
        }
    }
    if let Some(document) = block.document {
        held.push(Held::Part(read_document(&node.under("document", document))?.into()));
    }
    if let Some(json) = block.json {
        held.push(Held::Part(plain::read(&node.under("json", json))?.into()));
    }
    held.extend(block.tool_use.map(Held::ToolUse));
    held.extend(block.tool_result.map(Held::ToolResult));
    held.extend(block.cache_point.map(|_| Held::CachePoint));
    match held.len() {
        0 => Err(node.error(Problem::missing("text"))),
        1 => held.pop().ok_or_else(|| node.error(Problem::missing("text"))),
        _ => Err(node.invalid("a block holds one thing")),
    }
}

fn read_media(node: &Node<'_, '_>, kind: MediaKind) -> Result<Media, ExchangeError> {
    let file: File<'_> = node.object()?;
    if file.name.is_some() {
        return Err(node.invalid("only a document has a `name`"));
    }
    Ok(media::media(kind, read_source(node, &file)?, Some(mime_type(node, Some(kind), &file)?), None))
}

fn read_document(node: &Node<'_, '_>) -> Result<Document, ExchangeError> {
    let file: File<'_> = node.object()?;
    if file.context.is_some() || file.citations.is_some() {
        return Err(node.error(Problem::not_kept("the context or the citations of a document")));
    }
    let (source, mime_type) = (read_source(node, &file)?, mime_type(node, None, &file)?);
    let name = file.name.ok_or_else(|| node.error(Problem::missing("name")))?;
    Ok(media::document(source, Some(mime_type), Some(name)))
}

fn mime_type(node: &Node<'_, '_>, kind: Option<MediaKind>, file: &File<'_>) -> Result<Text, ExchangeError> {
    let mime_type = formats::mime_type(kind, &file.format).map(Text::from);
    mime_type.ok_or_else(|| node.error(Problem::UnknownName { known: formats::known(kind) }))
}

fn read_source(node: &Node<'_, '_>, file: &File<'_>) -> Result<Source, ExchangeError> {
    let node = node.under("source", file.source);
    let located: Located<'_> = node.object()?;
    if located.text.is_some() || located.content.is_some() {
        return Err(node.error(Problem::not_kept("a document that is given as texts")));
    }
    match (located.bytes, located.s3_location) {
        (Some(bytes), None) => media::decoded(&bytes).map(Source::Bytes).map_err(|problem| node.error(problem)),
        (None, Some(location)) => {
            let node = node.under("s3Location", location);
            let location: InS3 = node.object()?;
            if location.bucket_owner.is_some() {
                return Err(node.error(Problem::not_kept("the owner of a bucket")));
            }
            if !location.uri.starts_with(S3) {
                return Err(node.invalid("the `uri` of an `s3Location` begins with s3://"));
            }
            Ok(Source::Url(location.uri))
        }
        (Some(_), Some(_)) => Err(node.invalid("a `source` is one thing")),
        (None, None) => Err(node.error(Problem::missing("bytes"))),
    }
}
