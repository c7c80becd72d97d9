//! Reads a list of messages.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::exchange::block;
use crate::exchange::error::ExchangeError;
use crate::exchange::failure::Failure;
use crate::exchange::importer::{Id, Importer, Speaker};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::plain;
use crate::exchange::reason::JsonKind;
use crate::manager::{ManagerError, MessagesManager, Refusal};
use crate::message::{
    Content, MediaKind, MessageWrapper, Outcome, ResultContent, Role, Text, ToolCallId, ToolName, ToolResult, is_blank,
};

/// The version, which is checked before anything else.
#[derive(Deserialize)]
struct Versioned {
    #[serde(rename = "version")]
    _version: Version,
}

#[derive(Deserialize)]
enum Version {
    #[serde(rename = "1.0")]
    V1,
}

/// The keys that decide how an item is read.
#[derive(Deserialize)]
struct Typed {
    r#type: Kind,
    role: Speaker,
    #[serde(default)]
    continues: bool,
}

#[derive(Deserialize, Clone, Copy)]
#[expect(clippy::enum_variant_names, reason = "the names of the format")]
enum Kind {
    AgentMessage,
    TextMessage,
    ToolCallMessage,
    ToolResultMessage,
    ImageMessage,
    AudioMessage,
    VideoMessage,
    DocumentMessage,
}

/// A call with its result, or a result alone. The type decides which keys it may have.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Item<'a> {
    message: Option<Text>,
    tool_name: Option<Id<ToolName>>,
    tool_call_id: Option<Id<ToolCallId>>,
    #[serde(default, deserialize_with = "plain::present")]
    arguments: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "plain::present")]
    result: Option<&'a RawValue>,
    result_contents: Option<&'a RawValue>,
    error: Option<Text>,
    error_type: Option<Text>,
    retryable: Option<bool>,
}

const TEXT: &str = "type role continues text";
const CALL: &str =
    "message arguments type tool_name tool_call_id result error error_type retryable result_contents role continues";
/// The keys that both calls and results have.
const RESULT: &str = CALL.split_at("message arguments ".len()).1;

impl Item<'_> {
    /// Returns the outcome of the call, or nothing if the item has none.
    fn take_outcome(&mut self, node: &Node<'_, '_>) -> Result<Option<Outcome>, ExchangeError> {
        let result = self.result.map(|result| read_result(&node.under("result", result))).transpose()?;
        let parts = self.result_contents.map(|parts| {
            let parts = node.under("result_contents", parts);
            parts.each(|part| block::read_of_result(&part))
        });
        let contents = match (result, parts.transpose()?) {
            (result, None) => result,
            (None, Some(parts)) => Some(parts),
            (Some(result), Some(parts)) if result.is_empty() => Some(parts),
            (Some(_), Some(_)) => {
                return Err(node.invalid(
                    "only one of `result` and `result_contents` can hold the result; the other must be null",
                ));
            }
        };
        Failure { message: self.error.take(), kind: self.error_type.take(), retryable: self.retryable }
            .outcome(node, contents)
    }
}

fn read_result(node: &Node<'_, '_>) -> Result<Vec<ResultContent>, ExchangeError> {
    Ok(match node.kind() {
        JsonKind::Null => Vec::new(),
        JsonKind::String => vec![ResultContent::Text(node.text()?)],
        _ => vec![ResultContent::Json(plain::read(node)?)],
    })
}

/// Imports a conversation from an object with `version` and `messages`.
///
/// Returns [`ExchangeError`] if the version is not `1.0`, if an item has an unknown type, lacks a key or has an unknown
/// one, or if the conversation refuses a message: a blank one, or a result without a call.
///
/// # The format
///
/// Versioned JSON: a list of texts, instructions and tool calls with their results, each with its `type`.
///
/// ```json
/// { "messages": [
///     {"type": "AgentMessage", "text": "You answer the phone.", "role": "system"},
///     {"type": "TextMessage", "text": "What's the weather in Paris?", "role": "user"},
///     {"type": "ToolCallMessage", "message": "I'll check", "tool_name": "get_weather", "tool_call_id": "call_123",
///      "arguments": {"location": "Paris"}, "result": "Sunny, 22°C", "error": null, "role": "assistant"}],
///   "version": "1.0" }
/// ```
///
/// The `message` of a tool call is the assistant's text before it. More rules:
///
/// - `"continues": true` marks an item that belongs to the same message as the item before it: the second of several
///   parallel calls, a text after a call, another part of an instruction.
/// - A call without a result has neither `result` nor `error`. A result that comes later, or among texts, is a
///   `ToolResultMessage`: `tool_name`, `tool_call_id`, `result`, `error`, and `role` `user`.
/// - `result` is a text if the result is one text, JSON data if the result is one JSON value, and `null` if the result
///   is empty. For any other result, and for a JSON string or `null`, `result` is `null`, and `result_contents` lists
///   the parts. Each has the `type` `text` (with `text`), `json` (with `json`), or that of an attachment.
/// - `error` is the message for the model, with `error_type` and `retryable` if known. A `result` beside an `error` is
///   appended to the message.
/// - `ImageMessage`, `AudioMessage`, `VideoMessage` and `DocumentMessage` have one of `url`, `data` (base64) and
///   `content_id` (in a content store), `mime_type`, `id` and `prompt_hint` or `title` if known, and a `role`.
///
/// An export always leaves out ids, times, marks, decisions and custom data. Only records keep them.
///
/// ```
/// use verbale::exchange::{ImportOptions, export_versioned, import_versioned};
/// use verbale::{MessagesManager, PlainMessage};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut manager = MessagesManager::<PlainMessage>::new();
/// manager.add_user("Hi, there")?;
/// let export = export_versioned(&manager);
/// assert_eq!(export.text, r#"{"messages":[{"type":"TextMessage","text":"Hi, there","role":"user"}],"version":"1.0"}"#);
/// assert!(export.losses.is_empty());
/// let imported: MessagesManager<PlainMessage> = import_versioned(&export.text, &ImportOptions::default())?;
/// assert_eq!(export_versioned(&imported), export);
/// # Ok(()) }
/// ```
pub fn import_versioned<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    options.read(json.as_ref(), |node| {
        node.object::<Versioned>()?;
        let messages = node.last_of("version messages")?;
        let importer = Importer::new(options);
        let mut items = Items { importer, answers: Vec::new(), instructions: Vec::new(), role: None };
        messages.each(|item| items.read(&item))?;
        items.finish_message(&messages)?;
        Ok(items.importer.into_manager())
    })
}

/// The items read so far.
struct Items<W> {
    importer: Importer<W>,
    /// The results beside the assistant's last calls. They become the message after the calls.
    answers: Vec<Content>,
    /// The parts of the current instruction.
    instructions: Vec<Content>,
    /// The role of the last item.
    role: Option<Role>,
}

impl<W: MessageWrapper> Items<W> {
    fn read(&mut self, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
        let Typed { r#type: kind, role: speaker, continues } = node.object()?;
        let role = Role::from(speaker);
        let has_role = match kind {
            Kind::AgentMessage => role == Role::System,
            Kind::ToolCallMessage => role == Role::Assistant,
            Kind::ToolResultMessage => role == Role::User,
            _ => true,
        };
        if !has_role {
            return Err(node.invalid("an item of this `type` cannot have this `role`"));
        }
        let last = self.role.replace(role);
        if !continues {
            self.finish_message(node)?;
        } else if last != Some(role) {
            return Err(node.invalid("`continues` needs an item of the same role directly before it"));
        }
        let media = |kind| Ok(block::read_media(node, kind)?.into());
        let content = match kind {
            Kind::AgentMessage | Kind::TextMessage => node.last_of(TEXT)?.text()?.into(),
            Kind::ImageMessage => media(MediaKind::Image)?,
            Kind::AudioMessage => media(MediaKind::Audio)?,
            Kind::VideoMessage => media(MediaKind::Video)?,
            Kind::DocumentMessage => media(MediaKind::Document)?,
            Kind::ToolCallMessage => return self.call(node),
            Kind::ToolResultMessage => self.result(node)?,
        };
        self.add(node, role, vec![content])
    }

    /// Adds the messages that the next item cannot continue.
    fn finish_message(&mut self, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
        for (role, contents) in [(Role::User, &mut self.answers), (Role::System, &mut self.instructions)] {
            if !contents.is_empty() {
                self.importer.add(node, role, std::mem::take(contents))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, node: &Node<'_, '_>, role: Role, mut contents: Vec<Content>) -> Result<(), ExchangeError> {
        if role != Role::System {
            return self.importer.add(node, role, contents);
        }
        if contents.iter().all(Content::is_blank) {
            return Err(node.error(ManagerError::from(Refusal::Blank)));
        }
        self.instructions.append(&mut contents);
        Ok(())
    }

    fn call(&mut self, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
        let mut item: Item<'_> = node.object_of(CALL)?;
        let outcome = item.take_outcome(node)?;
        let (Id(id), Id(name)) =
            (node.need("tool_call_id", item.tool_call_id)?, node.need("tool_name", item.tool_name)?);
        let arguments = plain::read(&node.under("arguments", node.need("arguments", item.arguments)?))?;
        let call = self.importer.call(node, id, name, arguments)?;
        let result = outcome.map(|outcome| ToolResult::new(call.id().clone(), call.name().clone(), outcome));
        let text = item.message.filter(|message| !is_blank(message)).map(Content::from);
        self.add(node, Role::Assistant, text.into_iter().chain([call.into()]).collect())?;
        self.answers.extend(result.map(Content::from));
        Ok(())
    }

    fn result(&mut self, node: &Node<'_, '_>) -> Result<Content, ExchangeError> {
        let mut item: Item<'_> = node.object_of(RESULT)?;
        let outcome = item.take_outcome(node)?;
        let Id(id) = node.need("tool_call_id", item.tool_call_id)?;
        let Id(name) = node.need("tool_name", item.tool_name)?;
        let result = self.importer.result(node, &id, node.need("result", outcome)?)?;
        if *result.name() != name {
            return Err(node.invalid("`tool_name` differs from the name of the called tool"));
        }
        Ok(result.into())
    }
}
