//! Reads `system` and `messages`.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::failure::tool_error;
use crate::exchange::importer::{Id, Importer, Spoken, Typed};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::reason::JsonKind;
use crate::exchange::{media, plain};
use crate::manager::MessagesManager;
use crate::message::{
    Content, MediaKind, MessageWrapper, Outcome, ResultContent, Role, Source, Text, ToolCallId, ToolName, is_blank,
};

#[derive(Deserialize)]
struct Message<'a> {
    role: Spoken,
    #[serde(borrow)]
    content: &'a RawValue,
}

/// A block. Its type decides which keys it may have.
#[derive(Deserialize)]
struct Block<'a> {
    r#type: Kind,
    text: Option<Text>,
    #[serde(borrow)]
    source: Option<&'a RawValue>,
    title: Option<Text>,
    id: Option<Id<ToolCallId>>,
    name: Option<Id<ToolName>>,
    #[serde(borrow, default, deserialize_with = "plain::present")]
    input: Option<&'a RawValue>,
    tool_use_id: Option<Id<ToolCallId>>,
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

/// Imports the conversation of a request: an object with `messages` and maybe `system`, or the list of messages alone.
/// Other keys of the object are skipped.
///
/// - `system` is a string or a list of texts. Each becomes a system message.
/// - A `content` is a string or a list of blocks: `text`, `image`, `document`, `tool_use` and `tool_result`. A `source` is
///   `base64`, `url`, or, for a document, `text`. A `cache_control` belongs to the request and is skipped.
/// - A `tool_result` with `is_error` holds texts, which become the message of the error. A call that repeats the id of
///   an answered call gets a new id, such as `call_1-2`.
///
/// Returns [`ExchangeError`] if the text is not of this form, if it holds something that cannot be kept, such as
/// `thinking`, citations or a file stored at Anthropic, or if the conversation refuses a message: a result before its
/// call, a second result, a blank message.
///
/// # The format
///
/// Anthropic's [Messages](https://docs.anthropic.com/en/api/messages): `system` and `messages` with blocks.
///
/// An import reads a whole conversation. [`window_anthropic`](super::window_anthropic) writes only the messages that the
/// model gets now.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage};
/// # use verbale::exchange::{ImportOptions, import_anthropic, window_anthropic};
/// # fn main() -> Result<(), verbale::exchange::ExchangeError> {
/// let json = r#"{"system":"You are a bank.","messages":[{"role":"user","content":"Hi"}]}"#;
/// let manager: MessagesManager<PlainMessage> = import_anthropic(json, &ImportOptions::default())?;
/// let window = window_anthropic(&manager);
/// assert_eq!(
///     window.text,
///     r#"{"system":[{"type":"text","text":"You are a bank."}],"messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}]}"#
/// );
/// # Ok(()) }
/// ```
pub fn import_anthropic<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    Importer::import_request(json.as_ref(), options, add_instructions, add_message)
}

fn add_instructions<W: MessageWrapper>(importer: &mut Importer<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    for instruction in parts(node)? {
        match instruction {
            ResultContent::Text(text) if is_blank(&text) => {}
            ResultContent::Text(text) => importer.add(node, Role::System, vec![text.into()])?,
            _ => return Err(node.invalid("`system` can hold only texts")),
        }
    }
    Ok(())
}

fn add_message<W: MessageWrapper>(importer: &mut Importer<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let message: Message<'_> = node.object_of("role content")?;
    let role = message.role.into();
    let content = node.under("content", message.content);
    let contents = match content.kind() {
        JsonKind::String => vec![Content::Text(content.text()?)],
        _ => content.each(|block| read_block(&block, importer))?,
    };
    importer.add(node, role, contents)
}

fn read_block<W: MessageWrapper>(node: &Node<'_, '_>, importer: &mut Importer<W>) -> Result<Content, ExchangeError> {
    let block = block_of(node)?;
    match block.r#type {
        Kind::ToolUse => {
            let (Id(id), Id(name)) = (node.need("id", block.id)?, node.need("name", block.name)?);
            let input = node.need("input", block.input)?;
            let input = plain::read(&node.under("input", input))?;
            Ok(importer.call(node, id, name, input)?.into())
        }
        Kind::ToolResult => {
            let Id(id) = node.need("tool_use_id", block.tool_use_id)?;
            let contents = block.content.map(|content| parts(&node.under("content", content)));
            let contents = contents.transpose()?.unwrap_or_default();
            let outcome = if block.is_error == Some(true) { failure(node, contents)? } else { Ok(contents) };
            Ok(importer.result(node, &id, outcome)?.into())
        }
        Kind::Text | Kind::Image | Kind::Document => {
            media::content(part(node, block)?).ok_or_else(|| node.invalid("a message cannot hold this block"))
        }
    }
}

/// Reads a block with the keys of its type. A `cache_control` belongs to the request.
fn block_of<'a>(node: &Node<'a, '_>) -> Result<Block<'a>, ExchangeError> {
    node.object_of(match node.object::<Typed<Kind>>()?.r#type {
        Kind::Text => "type cache_control text",
        Kind::Image => "type cache_control source",
        Kind::Document => "type cache_control source title",
        Kind::ToolUse => "type cache_control id name input",
        Kind::ToolResult => "type cache_control tool_use_id content is_error",
    })
}

fn failure(node: &Node<'_, '_>, contents: Vec<ResultContent>) -> Result<Outcome, ExchangeError> {
    let texts = contents.into_iter().map(|content| match content {
        ResultContent::Text(text) => Ok(text.as_str().to_owned()),
        _ => Err(node.error(Problem::not_kept("media or a document in an error"))),
    });
    let message = texts.collect::<Result<Vec<_>, _>>()?.join("\n");
    tool_error(node, message).map(Err)
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
            media::media(MediaKind::Document, source, mime_type, block.title).into()
        }
        Kind::ToolUse | Kind::ToolResult => {
            return Err(node.invalid("instructions and results cannot hold tool calls or results"));
        }
    })
}

fn read_source(node: &Node<'_, '_>) -> Result<(Source, Option<Text>), ExchangeError> {
    let located: Located<'_> = node.object_of("type media_type data url")?;
    let data = || Ok(node.under("data", node.need("data", located.data)?));
    let source = match located.r#type {
        SourceKind::Base64 => media::bytes(&data()?)?,
        SourceKind::Text => Source::Bytes(data()?.text()?.as_bytes().into()),
        SourceKind::Url => Source::Url(node.need("url", located.url)?),
    };
    Ok((source, located.media_type))
}
