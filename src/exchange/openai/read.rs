//! Reading chat messages.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::parts;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::intake::{CallId, Intake, Tool};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::plain;
use crate::manager::MessagesManager;
use crate::message::{Content, Map, MessageWrapper, Outcome, ResultContent, Role, Text, Value, is_blank};

#[derive(Deserialize)]
struct Message<'a> {
    role: Speaker,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<Text>,
    name: Option<Text>,
    #[serde(borrow)]
    tool_calls: Option<&'a RawValue>,
    tool_call_id: Option<CallId>,
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
    id: CallId,
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
    name: Tool,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

pub(super) fn conversation<W: MessageWrapper>(
    node: &Node<'_, '_>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    // OpenAI has no `system` beside the messages.
    Intake::request(options, node, |_, _| Ok(()), add)
}

fn add<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let message: Message<'_> = node.object_of(&["role", "content", "name", "tool_calls", "tool_call_id", "refusal"])?;
    let role = match message.role {
        Speaker::Tool => return add_result(intake, node, message),
        Speaker::System => Role::System,
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
    };
    if message.tool_call_id.is_some() {
        return Err(node.invalid("only tool messages have a `tool_call_id`"));
    }
    if message.name.is_some() {
        return Err(node.error(Problem::not_kept("the name of a participant")));
    }
    if role != Role::Assistant && (message.tool_calls.is_some() || message.refusal.is_some()) {
        return Err(node.invalid("only assistant messages have `tool_calls` or a `refusal`"));
    }
    if role != Role::Assistant {
        node.need("content", message.content)?;
    }
    let mut contents = contents(node, message.content)?;
    contents.extend(message.refusal.map(Content::Text));
    if let Some(calls) = message.tool_calls {
        node.under("tool_calls", calls).each(|call| {
            contents.push(read_call(intake, &call)?);
            Ok(())
        })?;
    }
    intake.add(node, role, contents)
}

fn contents(node: &Node<'_, '_>, content: Option<&RawValue>) -> Result<Vec<Content>, ExchangeError> {
    content.map_or_else(|| Ok(Vec::new()), |content| parts::read(&node.under("content", content)))
}

fn read_call<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
    let call: Call<'_> = node.object()?;
    let function = node.under("function", call.function);
    let called: Called<'_> = function.object()?;
    let arguments = read_arguments(&function.under("arguments", called.arguments))?;
    Ok(intake.call(node, call.id.0, called.name.0, arguments)?.into())
}

fn read_arguments(node: &Node<'_, '_>) -> Result<Value, ExchangeError> {
    let json: Cow<'_, str> = node.read()?;
    let arguments =
        if is_blank(&json) { Map::new([].into()).map(Value::Map).map_err(Problem::from) } else { plain::parse(&json) };
    arguments.map_err(|problem| node.error(problem))
}

fn add_result<W: MessageWrapper>(
    intake: &mut Intake<W>,
    node: &Node<'_, '_>,
    message: Message<'_>,
) -> Result<(), ExchangeError> {
    let CallId(id) = node.need("tool_call_id", message.tool_call_id)?;
    node.need("content", message.content)?;
    let contents = contents(node, message.content)?;
    // An empty string is how OpenAI says nothing.
    let says_nothing = message.content.is_some_and(|content| content.get() == "\"\"");
    let parts = contents.into_iter().filter(|_| !says_nothing).filter_map(as_result).collect();
    let result = intake.result(node, &id, Outcome::Success(parts))?;
    if message.name.is_some_and(|name| name.as_str() != result.name().as_str()) {
        return Err(node.invalid("`name` is that of another tool than was called"));
    }
    intake.add(node, Role::User, vec![result.into()])
}

/// A part as one of a result. Every part that is read can be one.
fn as_result(content: Content) -> Option<ResultContent> {
    match content {
        Content::Text(text) => Some(ResultContent::Text(text)),
        Content::Media(media) => Some(ResultContent::Media(media)),
        Content::Document(document) => Some(ResultContent::Document(document)),
        Content::ToolCall(_) | Content::ToolResult(_) | Content::Unknown(_) => None,
    }
}
