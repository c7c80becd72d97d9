//! Reads lines.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::clock::ManualClock;
use crate::exchange::block;
use crate::exchange::error::ExchangeError;
use crate::exchange::failure::Failure;
use crate::exchange::importer::{Id, Importer, Moment};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::reason::JsonKind;
use crate::exchange::{media, plain};
use crate::manager::MessagesManager;
use crate::message::{
    Confidence, Content, Draft, Media, MediaKind, MessageError, MessageId, MessageWrapper, Role, Source, Text,
    ToolCallId, ToolName,
};

#[derive(Deserialize)]
struct Typed {
    role: Kind,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Kind {
    User,
    Assistant,
    #[serde(rename = "supervisor", alias = "system")]
    System,
    Document,
    #[serde(rename = "invocation")]
    ToolCall,
    Result,
}

impl Kind {
    const fn role(self) -> Role {
        match self {
            Self::User | Self::Document | Self::Result => Role::User,
            Self::Assistant | Self::ToolCall => Role::Assistant,
            Self::System => Role::System,
        }
    }

    const fn keys(self) -> &'static str {
        match self {
            Self::User | Self::Assistant | Self::System => "role content timestamp message_id confidence",
            Self::Document => "role title content timestamp message_id confidence",
            Self::ToolCall => "role identifier name arguments timestamp message_id confidence",
            Self::Result => "role invocation_id content error error_type retryable timestamp message_id confidence",
        }
    }
}

/// A line. Its role decides which keys it may have.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    timestamp: Moment,
    message_id: Option<Id<MessageId>>,
    confidence: Option<&'a RawValue>,
    content: Option<&'a RawValue>,
    title: Option<Text>,
    identifier: Option<Id<ToolCallId>>,
    name: Option<Id<ToolName>>,
    #[serde(default, deserialize_with = "plain::present")]
    arguments: Option<&'a RawValue>,
    invocation_id: Option<Id<ToolCallId>>,
    error: Option<Text>,
    error_type: Option<Text>,
    retryable: Option<bool>,
}

/// The values that all lines of one part share.
#[derive(PartialEq)]
struct Head {
    role: Role,
    at_ms: i64,
    id: Option<MessageId>,
    confidence: Option<Confidence>,
}

/// A part of a message. More of its lines may follow.
struct Part<'a> {
    node: Node<'a, 'a>,
    head: Head,
    contents: Vec<Content>,
}

impl Line<'_> {
    fn head(&self, node: &Node<'_, '_>, kind: Kind) -> Result<Head, ExchangeError> {
        let Moment(at_ms) = self.timestamp;
        let confidence = self.confidence.map(|confidence| read_confidence(&node.under("confidence", confidence)));
        let id = self.message_id.map(|Id(id)| id);
        Ok(Head { role: kind.role(), at_ms, id, confidence: confidence.transpose()? })
    }
}

fn read_confidence(node: &Node<'_, '_>) -> Result<Confidence, ExchangeError> {
    if node.kind() != JsonKind::Number {
        return Err(node.wrong_kind(JsonKind::Number.name()));
    }
    node.json().parse().map_err(|error: MessageError| node.error(error))
}

/// Imports the conversation of lines in this format, with their times. Empty lines are skipped.
///
/// Returns [`ExchangeError`] if a line is not JSON, has an unknown role, lacks a key or has an unknown one, if a
/// `message_id` appears in lines that are not consecutive, if lines with one `message_id` differ in their speaker, time
/// or confidence, if a line holds something that cannot be kept, such as an image beside an error, or if the
/// conversation refuses a message: a blank one, or a result without a call.
///
/// # The format
///
/// JSON Lines of role, content and time: one line for each content, tool call and result.
///
/// ```json
/// {"role":"supervisor","content":{"type":"text","text":"Be brief."},"timestamp":"2025-11-18T10:29:59Z"}
/// {"role":"user","content":{"type":"text","text":"What's the weather in SF?"},"timestamp":"2025-11-18T10:30:00Z"}
/// {"role":"user","content":{"type":"image","content_id":"sha256:abc123"},"timestamp":"2025-11-18T10:30:00Z"}
/// {"role":"document","title":"Terms","content":{"type":"text","text":"…"},"timestamp":"2025-11-18T10:30:00Z"}
/// {"role":"invocation","identifier":"call_123","name":"get_weather","arguments":{"location":"SF"},"timestamp":"2025-11-18T10:30:02Z"}
/// {"role":"result","invocation_id":"call_123","content":{"type":"text","text":"62°F"},"timestamp":"2025-11-18T10:30:03Z"}
/// {"role":"assistant","content":{"type":"text","text":"It is 62°F."},"timestamp":"2025-11-18T10:30:15Z"}
/// ```
///
/// - `timestamp` is the time at which the message was added, in [RFC 3339](https://www.rfc-editor.org/rfc/rfc3339). It
///   is truncated to milliseconds.
/// - `message_id` is the id of the message, or of the [part](crate::message::Part) of a merged one. `confidence` is the
///   confidence of the part. Both may be missing; the message then gets a new id. Consecutive lines with one
///   `message_id` are the contents of one part. Consecutive messages of one role are merged again, so that an import of
///   an export without losses returns an equal conversation.
/// - `content` is a text, or `image`, `audio` or `video` with one of `content_id` (in a content store), `url` and `data`
///   (base64), and `mime_type`, `id` and `prompt_hint` if known. Several contents of one line, such as those of an
///   instruction, are a list. A `content_id` beside `data` is not kept.
/// - A text may have a `mime_type`, such as `text/markdown`. The type is not kept, because the model gets only the text. A
///   `content_id` without text means that the text is in a content store. It becomes a document, which
///   [`resolve`](crate::contents::resolve) reads for a model.
/// - A line of role `document` is a message of the user. Its `content` is a text, whose `mime_type` defaults to
///   `text/plain`, or `{"type":"document"}` with its data as media have it. In lines of other roles, a document is a
///   content `{"type":"document"}` with its `title`.
/// - An `assistant` line without `content` means that the assistant only called tools. Such a line adds nothing.
/// - The `content` of a `result` is like that of a message, or `{"type":"json"}` with its data under `json`. A list
///   holds several parts, or none. A failed result has `error`, with `error_type` and `retryable` if known. A content
///   beside an error is appended to it, because the model gets one text of a failed call.
/// - A line of role `supervisor` or `system` is a system message. An export writes `supervisor`.
///
/// An export always leaves out fakes, marks, decisions, custom data, and all times but the creation of each part. Only
/// records keep them.
///
/// ```
/// use verbale::exchange::{ImportOptions, export_json_lines, import_json_lines};
/// use verbale::{MessagesManager, PlainMessage};
///
/// # fn main() -> Result<(), verbale::exchange::ExchangeError> {
/// let line = r#"{"role":"user","content":{"type":"text","text":"Is it open?"},"timestamp":"2025-11-18T10:30:00Z","message_id":"01KABDA6E06MT7YGHZPM4XYZ3S","confidence":0.93}"#;
/// let manager: MessagesManager<PlainMessage> = import_json_lines(line, &ImportOptions::default())?;
/// let export = export_json_lines(&manager);
/// assert_eq!(export.text, format!("{line}\n"));
/// assert!(export.losses.is_empty());
/// # Ok(()) }
/// ```
pub fn import_json_lines<W: MessageWrapper>(
    lines: impl AsRef<[u8]>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    let text = options.text(lines.as_ref())?;
    let clock = ManualClock::new(0);
    let mut lines = Lines { importer: Importer::with_clock(options, Arc::new(clock.clone())), clock, part: None };
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        lines.read(Node::parse(text, line)?)?;
    }
    lines.add_part()?;
    Ok(lines.importer.into_manager())
}

/// The lines read so far.
struct Lines<'a, W> {
    importer: Importer<W>,
    clock: ManualClock,
    /// The part of the last line, if the line has an id.
    part: Option<Part<'a>>,
}

impl<'a, W: MessageWrapper> Lines<'a, W> {
    fn read(&mut self, node: Node<'a, 'a>) -> Result<(), ExchangeError> {
        let Typed { role: kind } = node.object()?;
        let line: Line<'_> = node.object_of(kind.keys())?;
        let head = line.head(&node, kind)?;
        match &self.part {
            Some(part) if part.head.id != head.id => self.add_part()?,
            Some(part) if part.head != head => {
                return Err(node
                    .invalid("lines with one `message_id` must have the same speaker, `timestamp` and `confidence`"));
            }
            _ => {}
        }
        let Some(contents) = self.contents(&node, kind, line)? else { return Ok(()) };
        let has_id = head.id.is_some();
        self.part.get_or_insert(Part { node, head, contents: Vec::new() }).contents.extend(contents);
        if has_id { Ok(()) } else { self.add_part() }
    }

    /// Adds the last part, which is complete.
    fn add_part(&mut self) -> Result<(), ExchangeError> {
        let Some(Part { node, head, contents }) = self.part.take() else { return Ok(()) };
        self.clock.set(head.at_ms);
        let mut draft = Draft::new(head.role, contents);
        (draft.id, draft.confidence) = (head.id, head.confidence);
        self.importer.add_draft(&node, draft)
    }

    /// Reads the contents of a line, if it has any.
    fn contents(
        &mut self,
        node: &Node<'_, '_>,
        kind: Kind,
        line: Line<'_>,
    ) -> Result<Option<Vec<Content>>, ExchangeError> {
        let content = line.content.map(|content| node.under("content", content));
        Ok(Some(match kind {
            Kind::Document => vec![read_document(&node.need("content", content)?, line.title)?.into()],
            Kind::ToolCall => {
                let (Id(id), Id(name)) = (node.need("identifier", line.identifier)?, node.need("name", line.name)?);
                let arguments = node.under("arguments", node.need("arguments", line.arguments)?);
                vec![self.importer.call(node, id, name, plain::read(&arguments)?)?.into()]
            }
            Kind::Result => {
                let Id(id) = node.need("invocation_id", line.invocation_id)?;
                let contents = content.map(|content| one_or_more(&content, block::read_of_result)).transpose()?;
                let failure = Failure { message: line.error, kind: line.error_type, retryable: line.retryable };
                let outcome = failure.outcome(node, contents)?;
                vec![self.importer.result(node, &id, node.need("content", outcome)?)?.into()]
            }
            Kind::Assistant if content.is_none() => return Ok(None),
            Kind::User | Kind::Assistant | Kind::System => one_or_more(&node.need("content", content)?, block::read)?,
        }))
    }
}

/// Reads one item, or a list of items.
fn one_or_more<T>(
    node: &Node<'_, '_>,
    read: impl Fn(&Node<'_, '_>) -> Result<T, ExchangeError>,
) -> Result<Vec<T>, ExchangeError> {
    if node.kind() == JsonKind::List { node.each(|item| read(&item)) } else { Ok(vec![read(node)?]) }
}

/// Reads the content of a `document` line: a document, or a text that becomes one.
fn read_document(node: &Node<'_, '_>, title: Option<Text>) -> Result<Media, ExchangeError> {
    #[derive(Deserialize)]
    struct Typed {
        mime_type: Option<Text>,
    }
    let mut document = match block::read(node)? {
        Content::Media(media) if media.kind == MediaKind::Document => *media,
        Content::Text(text) => {
            let mime_type = node.object::<Typed>()?.mime_type.unwrap_or_else(|| block::PLAIN.into());
            media::media(MediaKind::Document, Source::Bytes(text.as_bytes().into()), Some(mime_type), None)
        }
        _ => return Err(node.invalid("a document line can hold only a text or a document")),
    };
    if document.label.is_some() && title.is_some() {
        return Err(node.invalid("a document can have only one `title`"));
    }
    document.label = document.label.or(title);
    Ok(document)
}
