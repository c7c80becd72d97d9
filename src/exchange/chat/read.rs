//! Reads chat messages.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{DEFAULT_CONVERSATION, INPUT_ID, MESSAGE_ID};
use crate::clock::ManualClock;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::importer::{Moment, Spoken};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::reason::JsonKind;
use crate::exchange::{block, plain};
use crate::manager::MessagesManager;
use crate::message::{Content, Draft, Map, MessageId, MessageWrapper};

type Conversations<W> = Vec<(String, MessagesManager<W>)>;

#[derive(Deserialize)]
struct Messages<'a> {
    #[serde(borrow)]
    messages: Option<&'a RawValue>,
}

/// An event of a service that submits a message at a scheduled time.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    scheduled_time: Option<Moment>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    #[serde(rename = "modality_type")]
    _modality_type: Option<Modality>,
    #[serde(borrow)]
    input_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message_id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    conversation_id: Option<Cow<'a, str>>,
    role: Spoken,
    #[serde(borrow)]
    content: &'a RawValue,
    timestamp: Option<Moment>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Modality {
    Chat,
}

/// A message with its place in the order.
struct Listed<'a, 'p> {
    conversation: Cow<'a, str>,
    at_ms: i64,
    /// The id, if the message has a time. Otherwise the message keeps its place.
    order: Option<Cow<'a, str>>,
    index: usize,
    node: Node<'a, 'p>,
    message: Message<'a>,
}

/// Imports the conversations of chat messages. Returns each with its id, in the order of the ids.
///
/// The text is a list of messages, an object that has the list under `messages`, or one message. Other keys beside
/// `messages` are skipped.
///
/// Returns [`ExchangeError`] if a message lacks a key or has an unknown one, if a role or the type of a block is
/// unknown, if a `message_id` appears twice in one conversation, or if a message is blank.
///
/// # The format
///
/// Chat messages: each with its id, its conversation, its role, its content, its time and its metadata.
///
/// ```json
/// [ {"message_id": "01JRZJ166J2WRMF990535EVSQS", "conversation_id": "default", "role": "user",
///    "content": "What's in this image?", "timestamp": "2024-03-15T10:30:00Z", "metadata": {"confidence": 0.93}},
///   {"message_id": "m-2", "conversation_id": "default", "role": "user",
///    "content": [{"type": "image", "source": "url", "url": "https://example.com/image.jpg"}],
///    "timestamp": "2024-03-15T10:30:02Z"} ]
/// ```
///
/// - A text holds messages of several conversations. An import orders the messages of each conversation by time, and
///   messages of one time by `input_id` or else `message_id`. The messages are not merged, even if two of one role are
///   consecutive; the window shows such messages as one.
/// - A message may also be a submitted input: `modality_type` is `chat`. Its `input_id` becomes its id if it has no
///   `message_id`, and is otherwise kept in the custom data under `chatInputId`. An input may also be in an event,
///   under `data`; the `scheduled_time` of the event is then the time of an input without a `timestamp`.
/// - A message without any time gets the time of the import, and keeps its place among such messages.
/// - A `message_id` that is a ULID becomes the id of the message. Any other `message_id` is kept in the custom data
///   under `chatMessageId`, and exported from there. A message without a `message_id` gets a new id.
/// - A missing `conversation_id` is `default`. `metadata` is the custom data of the message.
/// - `content` is a text, or a list of blocks: `text`; `image`, `audio` and `video` with the `source` `url`, `base64`
///   (under `data`), or `content_id` (in a content store), and `mime_type`, `id` and `prompt_hint` if known; `document`
///   the same, with a `title`.
/// - `timestamp` is the time at which the message was added, in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339). It
///   is truncated to milliseconds.
///
/// ```
/// use verbale::exchange::{ImportOptions, export_chat, import_chat};
/// use verbale::{MessagesManager, PlainMessage};
///
/// # fn main() -> Result<(), verbale::exchange::ExchangeError> {
/// let json = r#"[{"message_id":"m-1","conversation_id":"c-7","role":"user","content":"Is it open?","timestamp":"2024-03-15T10:30:00Z"}]"#;
/// let conversations: Vec<(String, MessagesManager<PlainMessage>)> = import_chat(json, &ImportOptions::default())?;
/// let export = export_chat(conversations.iter().map(|(id, manager)| (id.as_str(), manager)));
/// assert_eq!(export.text, json);
/// assert!(export.losses.is_empty());
/// # Ok(()) }
/// ```
pub fn import_chat<W: MessageWrapper>(
    json: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<Conversations<W>, ExchangeError> {
    options.read(json.as_ref(), |node| match node.kind() {
        JsonKind::List => list(node.items()?, options),
        JsonKind::Object => match node.object::<Messages<'_>>()?.messages {
            Some(messages) => list(node.under("messages", messages).items()?, options),
            None => list(std::iter::once(node), options),
        },
        _ => Err(node.wrong_kind("a list of messages, an object with `messages`, or a message")),
    })
}

fn list<'a: 'p, 'p, W: MessageWrapper>(
    nodes: impl Iterator<Item = Node<'a, 'p>>,
    options: &ImportOptions,
) -> Result<Conversations<W>, ExchangeError> {
    let now_ms = options.clock.now_ms();
    let listed = nodes.enumerate().map(|(index, node)| read_message(node, index, now_ms));
    let mut listed: Vec<Listed<'_, '_>> = listed.collect::<Result<_, _>>()?;
    refuse_repeated_ids(&listed)?;
    listed.sort_by(|a, b| {
        (&a.conversation, a.at_ms, &a.order, a.index).cmp(&(&b.conversation, b.at_ms, &b.order, b.index))
    });
    let mut conversations: Vec<(String, Conversation<W>)> = Vec::new();
    for next in listed {
        let id = next.conversation.clone().into_owned();
        if conversations.last().is_none_or(|(last, _)| *last != id) {
            conversations.push((id, Conversation::new(options)));
        }
        if let Some((_, conversation)) = conversations.last_mut() {
            conversation.add(next)?;
        }
    }
    Ok(conversations.into_iter().map(|(id, conversation)| (id, conversation.manager)).collect())
}

fn read_message<'a: 'p, 'p>(node: Node<'a, 'p>, index: usize, now_ms: i64) -> Result<Listed<'a, 'p>, ExchangeError> {
    let event: Event<'_> = node.object()?;
    let message: Message<'_> = match event.data {
        Some(data) => node.under("data", data).object()?,
        None => node.object()?,
    };
    let given = message.timestamp.or(event.scheduled_time);
    let order = given.and(message.input_id.as_ref().or(message.message_id.as_ref())).cloned();
    Ok(Listed {
        conversation: message.conversation_id.clone().unwrap_or(Cow::Borrowed(DEFAULT_CONVERSATION)),
        at_ms: given.map_or(now_ms, |Moment(at_ms)| at_ms),
        order,
        index,
        node,
        message,
    })
}

/// Returns an error if an id appears twice in one conversation.
fn refuse_repeated_ids(listed: &[Listed<'_, '_>]) -> Result<(), ExchangeError> {
    let mut seen = HashSet::new();
    for Listed { conversation, node, message, .. } in listed {
        if message.message_id.as_ref().is_some_and(|id| !id.is_empty() && !seen.insert((conversation, id))) {
            return Err(node.invalid("another message of the conversation has the same `message_id`"));
        }
    }
    Ok(())
}

/// A conversation that is being read.
struct Conversation<W> {
    manager: MessagesManager<W>,
    clock: ManualClock,
}

impl<W: MessageWrapper> Conversation<W> {
    fn new(options: &ImportOptions) -> Self {
        let clock = ManualClock::new(0);
        Self { manager: MessagesManager::new().with_clock(Arc::new(clock.clone()), options.ids.clone()), clock }
    }

    fn add(&mut self, Listed { at_ms, node, message, .. }: Listed<'_, '_>) -> Result<(), ExchangeError> {
        let mut draft = Draft::new(message.role.into(), contents(&node.under("content", message.content))?);
        let mut data = message
            .metadata
            .map_or_else(|| Ok(Map::default()), |metadata| entries(&node.under("metadata", metadata)))?;
        // Without a `message_id`, the `input_id` is the id.
        let (id, input) = match (message.message_id.filter(|id| !id.is_empty()), message.input_id) {
            (Some(id), input) => (Some(id), input),
            (None, input) => (input, None),
        };
        draft.id = id.as_ref().and_then(|id| id.parse().ok().filter(|own: &MessageId| own.to_string() == *id));
        let other = id.filter(|_| draft.id.is_none());
        for (key, id) in [(MESSAGE_ID, other), (INPUT_ID, input)] {
            if let Some(id) = id {
                data.insert(key.to_owned(), id.into_owned().into());
            }
        }
        self.clock.set(at_ms);
        let mut entry = self.manager.add_apart(draft).map_err(|error| node.error(error))?;
        entry.set_all_data(data);
        Ok(())
    }
}

fn contents(node: &Node<'_, '_>) -> Result<Vec<Content>, ExchangeError> {
    match node.kind() {
        JsonKind::String => Ok(vec![Content::Text(node.text()?)]),
        JsonKind::List => node.each(|block| block::read(&block)),
        _ => Err(node.wrong_kind("a text or a list of blocks")),
    }
}

fn entries(node: &Node<'_, '_>) -> Result<Map, ExchangeError> {
    let entries = plain::entries(node)?;
    if [MESSAGE_ID, INPUT_ID].iter().any(|key| entries.get(key).is_some()) {
        return Err(node.error(Problem::not_kept("a `chatMessageId` or `chatInputId` in metadata")));
    }
    Ok(entries)
}
