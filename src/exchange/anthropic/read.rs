//! Reading `system` and `messages`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::intake::{CallId, Intake, Spoken, Tool};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::wrong::JsonKind;
use crate::exchange::{media, plain};
use crate::manager::MessagesManager;
use crate::message::{
    Content, MediaKind, MessageWrapper, Outcome, ResultContent, Role, Source, Text, ToolCallError, is_blank,
};

#[derive(Deserialize)]
struct Message<'a> {
    role: Spoken,
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
struct Typed {
    r#type: Kind,
}

/// A block, whose keys depend on its type.
#[derive(Deserialize)]
struct Block<'a> {
    r#type: Kind,
    text: Option<Text>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
    title: Option<Text>,
    id: Option<CallId>,
    name: Option<Tool>,
    #[serde(borrow, default, deserialize_with = "plain::present")]
    input: Option<&'a RawValue>,
    tool_use_id: Option<CallId>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    is_error: Option<bool>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Image,
    Document,
    ToolUse,
    ToolResult,
}

#[derive(Deserialize)]
struct Located<'a> {
    r#type: SourceKind,
    media_type: Option<Text>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    url: Option<Text>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum SourceKind {
    Base64,
    Url,
    Text,
}

pub(super) fn conversation<W: MessageWrapper>(
    node: &Node<'_, '_>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    Intake::request(options, node, add_instructions, add)
}

fn add_instructions<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    for instruction in parts(node)? {
        match instruction {
            ResultContent::Text(text) if is_blank(&text) => {}
            ResultContent::Text(text) => intake.add(node, Role::System, vec![text.into()])?,
            _ => return Err(node.invalid("`system` holds texts")),
        }
    }
    Ok(())
}

fn add<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let message: Message<'_> = node.object_of(&["role", "content"])?;
    let role = message.role.into();
    let content = node.under("content", message.content);
    let contents = match content.kind() {
        JsonKind::String => vec![Content::Text(content.text()?)],
        _ => content.each(|block| read_block(&block, intake))?,
    };
    intake.add(node, role, contents)
}

fn read_block<W: MessageWrapper>(node: &Node<'_, '_>, intake: &mut Intake<W>) -> Result<Content, ExchangeError> {
    let block = block_of(node)?;
    match block.r#type {
        Kind::ToolUse => {
            let (CallId(id), Tool(name)) = (node.need("id", block.id)?, node.need("name", block.name)?);
            let input = node.need("input", block.input)?;
            let input = plain::read(&node.under("input", input))?;
            Ok(intake.call(node, id, name, input)?.into())
        }
        Kind::ToolResult => {
            let CallId(id) = node.need("tool_use_id", block.tool_use_id)?;
            let contents = block.content.map(|content| parts(&node.under("content", content)));
            let contents = contents.transpose()?.unwrap_or_default();
            let outcome =
                if block.is_error == Some(true) { failure(node, contents)? } else { Outcome::Success(contents) };
            Ok(intake.result(node, &id, outcome)?.into())
        }
        Kind::Text | Kind::Image | Kind::Document => Ok(match part(node, block)? {
            ResultContent::Text(text) => Content::Text(text),
            ResultContent::Media(media) => Content::Media(media),
            ResultContent::Document(document) => Content::Document(document),
            ResultContent::Json(_) | ResultContent::Unknown(_) => return Err(node.invalid("this is no content")),
        }),
    }
}

/// Reads a block with the keys of its type. A `cache_control` is the request's.
fn block_of<'a>(node: &Node<'a, '_>) -> Result<Block<'a>, ExchangeError> {
    let Typed { r#type: kind } = node.object()?;
    node.object_of(match kind {
        Kind::Text => &["type", "cache_control", "text"],
        Kind::Image => &["type", "cache_control", "source"],
        Kind::Document => &["type", "cache_control", "source", "title"],
        Kind::ToolUse => &["type", "cache_control", "id", "name", "input"],
        Kind::ToolResult => &["type", "cache_control", "tool_use_id", "content", "is_error"],
    })
}

fn failure(node: &Node<'_, '_>, contents: Vec<ResultContent>) -> Result<Outcome, ExchangeError> {
    let texts = contents.into_iter().map(|content| match content {
        ResultContent::Text(text) => Ok(text.as_str().to_owned()),
        _ => Err(node.error(Problem::not_kept("media or a document in an error"))),
    });
    let message = texts.collect::<Result<Vec<_>, _>>()?.join("\n");
    ToolCallError::new(message).map(Outcome::Failure).map_err(|error| node.error(error))
}

/// Reads a string, or a list of texts, images and documents.
fn parts(node: &Node<'_, '_>) -> Result<Vec<ResultContent>, ExchangeError> {
    match node.kind() {
        JsonKind::String => Ok(vec![ResultContent::Text(node.text()?)]),
        JsonKind::List => node.each(|block| part(&block, block_of(&block)?)),
        _ => Err(node.wrong_kind("a string or a list of blocks")),
    }
}

fn part(node: &Node<'_, '_>, block: Block<'_>) -> Result<ResultContent, ExchangeError> {
    let source = || read_source(&node.under("source", node.need("source", block.source)?));
    Ok(match block.r#type {
        Kind::Text => ResultContent::Text(node.need("text", block.text)?),
        Kind::Image => {
            let (source, mime_type) = source()?;
            media::media(MediaKind::Image, source, mime_type, None).into()
        }
        Kind::Document => {
            let (source, mime_type) = source()?;
            media::document(source, mime_type, block.title).into()
        }
        Kind::ToolUse | Kind::ToolResult => {
            return Err(node.invalid("neither instructions nor results hold calls or results"));
        }
    })
}

fn read_source(node: &Node<'_, '_>) -> Result<(Source, Option<Text>), ExchangeError> {
    let located: Located<'_> = node.object_of(&["type", "media_type", "data", "url"])?;
    let data = || Ok(node.under("data", node.need("data", located.data)?));
    let source = match located.r#type {
        SourceKind::Base64 => media::bytes(&data()?)?,
        SourceKind::Text => Source::Bytes(data()?.text()?.as_bytes().into()),
        SourceKind::Url => Source::Url(node.need("url", located.url)?),
    };
    Ok((source, located.media_type))
}
