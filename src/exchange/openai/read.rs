//! Reads chat messages.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::parts;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::importer::{Id, Importer};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::plain;
use crate::manager::MessagesManager;
use crate::message::{Content, Map, MessageWrapper, ResultContent, Role, Text, ToolCallId, ToolName, Value, is_blank};

#[derive(Deserialize)]
struct Message<'a> {
    role: Speaker,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<Text>,
    name: Option<Text>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    tool_call_id: Option<Id<ToolCallId>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    #[serde(alias = "developer")]
    System,
    User,
    Assistant,
    Tool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call<'a> {
    id: Id<ToolCallId>,
    #[serde(rename = "type")]
    _type: Option<Function>,
    #[serde(rename = "index")]
    _index: Option<IgnoredAny>,
    #[serde(borrow)]
    function: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Function {
    Function,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Called<'a> {
    name: Id<ToolName>,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

/// Imports a list of chat messages, or an object that has the list under `messages`. Other keys of the object are skipped.
///
/// - `system` and `developer` become system messages. A `user` message after results of tools is merged with them.
/// - `content` is a text or a list of parts: `text`, `refusal` (which becomes a text), `image_url` (a `data:` URL becomes
///   bytes with a MIME type; `detail` is kept), `input_audio`, and `file` with its data.
/// - `arguments` of a call are JSON in a string; an empty one is `{}`. A call that repeats the id of an answered call
///   gets a new id, such as `call_1-2`. A result is paired by `tool_call_id` and gets the name of its call.
///
/// Returns [`ExchangeError`] if the text is not of this form, if it holds something that cannot be kept, such as a
/// `name` or the value of an unknown key, or if the conversation refuses a message: a result before its call, a second
/// result, a blank message.
///
/// # The format
///
/// OpenAI's [chat messages](https://platform.openai.com/docs/api-reference/chat/create), with tool calls.
///
/// ```
/// # use verbale::{MessagesManager, PlainMessage};
/// # use verbale::exchange::{ImportOptions, export_openai, import_openai};
/// # fn main() -> Result<(), verbale::exchange::ExchangeError> {
/// let json = r#"[{"role":"user","content":"Is it open?"},{"role":"assistant","content":"Until six."}]"#;
/// let manager: MessagesManager<PlainMessage> = import_openai(json, &ImportOptions::default())?;
/// let export = export_openai(&manager);
/// assert_eq!(export.text, json);
/// assert!(export.losses.is_empty());
/// # Ok(()) }
/// ```
pub fn import_openai<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    // OpenAI has no `system` beside the messages.
    Importer::import_request(json.as_ref(), options, |_, _| Ok(()), add_message)
}

fn add_message<W: MessageWrapper>(importer: &mut Importer<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let message: Message<'_> = node.object_of("role content name tool_calls tool_call_id refusal")?;
    let role = match message.role {
        Speaker::Tool => return add_result(importer, node, message),
        Speaker::System => Role::System,
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
    };
    if message.tool_call_id.is_some() {
        return Err(node.invalid("only tool messages can have a `tool_call_id`"));
    }
    if message.name.is_some() {
        return Err(node.error(Problem::not_kept("the name of a participant")));
    }
    if role != Role::Assistant && (message.tool_calls.is_some() || message.refusal.is_some()) {
        return Err(node.invalid("only assistant messages can have `tool_calls` or a `refusal`"));
    }
    if role != Role::Assistant {
        node.need("content", message.content)?;
    }
    let mut contents = contents(node, message.content)?;
    contents.extend(message.refusal.map(Content::Text));
    if let Some(calls) = message.tool_calls {
        node.under("tool_calls", calls).each(|call| {
            contents.push(read_call(importer, &call)?);
            Ok(())
        })?;
    }
    importer.add(node, role, contents)
}

fn contents(node: &Node<'_, '_>, content: Option<&RawValue>) -> Result<Vec<Content>, ExchangeError> {
    content.map_or_else(|| Ok(Vec::new()), |content| parts::read(&node.under("content", content)))
}

fn read_call<W: MessageWrapper>(importer: &mut Importer<W>, node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
    let call: Call<'_> = node.object()?;
    let function = node.under("function", call.function);
    let called: Called<'_> = function.object()?;
    let arguments = read_arguments(&function.under("arguments", called.arguments))?;
    Ok(importer.call(node, call.id.0, called.name.0, arguments)?.into())
}

fn read_arguments(node: &Node<'_, '_>) -> Result<Value, ExchangeError> {
    let json: Cow<'_, str> = node.read()?;
    let arguments =
        if is_blank(&json) { Map::new([].into()).map(Value::Map).map_err(Problem::from) } else { plain::parse(&json) };
    arguments.map_err(|problem| node.error(problem))
}

fn add_result<W: MessageWrapper>(
    importer: &mut Importer<W>,
    node: &Node<'_, '_>,
    message: Message<'_>,
) -> Result<(), ExchangeError> {
    let Id(id) = node.need("tool_call_id", message.tool_call_id)?;
    node.need("content", message.content)?;
    let contents = contents(node, message.content)?;
    // OpenAI writes a result without parts as an empty string.
    let is_empty = message.content.is_some_and(|content| content.get() == "\"\"");
    let parts = contents.into_iter().filter(|_| !is_empty).filter_map(result_part).collect();
    let result = importer.result(node, &id, Ok(parts))?;
    if message.name.is_some_and(|name| name.as_str() != result.name().as_str()) {
        return Err(node.invalid("`name` differs from the name of the called tool"));
    }
    importer.add(node, Role::User, vec![result.into()])
}

/// Returns a part of a message as a part of a result. A result can hold every part that this format reads.
fn result_part(content: Content) -> Option<ResultContent> {
    match content {
        Content::Text(text) => Some(ResultContent::Text(text)),
        Content::Media(media) => Some(ResultContent::Media(media)),
        Content::ToolCall(_) | Content::ToolResult(_) | Content::Unknown(_) => None,
    }
}
