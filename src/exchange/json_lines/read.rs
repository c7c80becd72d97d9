//! Reading lines.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::clock::ManualClock;
use crate::exchange::block;
use crate::exchange::error::ExchangeError;
use crate::exchange::failure::Failure;
use crate::exchange::intake::{CallId, Intake, Moment, Tool};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::wrong::JsonKind;
use crate::exchange::{media, plain};
use crate::manager::MessagesManager;
use crate::message::{Content, Document, MessageWrapper, Role, Source, Text};

#[derive(Deserialize)]
struct Typed {
    role: Kind,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Kind {
    User,
    Assistant,
    Supervisor,
    Document,
    Invocation,
    Result,
}

impl Kind {
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::User | Self::Assistant | Self::Supervisor => &["role", "content", "timestamp"],
            Self::Document => &["role", "title", "content", "timestamp"],
            Self::Invocation => &["role", "identifier", "name", "arguments", "timestamp"],
            Self::Result => &["role", "invocation_id", "content", "error", "error_type", "retryable", "timestamp"],
        }
    }
}

/// A line, whose keys depend on its role.
#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct Line<'a> {
    timestamp: Moment,
    content: Option<&'a RawValue>,
    title: Option<Text>,
    identifier: Option<CallId>,
    name: Option<Tool>,
    #[serde(default, deserialize_with = "plain::present")]
    arguments: Option<&'a RawValue>,
    invocation_id: Option<CallId>,
    error: Option<Text>,
    error_type: Option<Text>,
    retryable: Option<bool>,
}

/// Reads all lines of a text.
pub(super) fn lines<W: MessageWrapper>(
    text: &str,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    let clock = ManualClock::new(0);
    let mut intake = Intake::with_clock(options, Arc::new(clock.clone()));
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        read(&mut intake, &Node::parse(text, line)?, &clock)?;
    }
    Ok(intake.into_manager())
}

fn read<W: MessageWrapper>(
    intake: &mut Intake<W>,
    node: &Node<'_, '_>,
    clock: &ManualClock,
) -> Result<(), ExchangeError> {
    let Typed { role: kind } = node.object()?;
    let line: Line<'_> = node.object_of(kind.keys())?;
    let Moment(at_ms) = line.timestamp;
    clock.set(at_ms);
    let content = line.content.map(|content| node.under("content", content));
    let role = match kind {
        Kind::User => Role::User,
        Kind::Assistant => Role::Assistant,
        Kind::Supervisor => Role::Supervisor,
        Kind::Document => {
            let document = read_document(&node.need("content", content)?, line.title)?;
            return intake.add(node, Role::User, vec![document.into()]);
        }
        Kind::Invocation => {
            let (CallId(id), Tool(name)) = (node.need("identifier", line.identifier)?, node.need("name", line.name)?);
            let arguments = node.under("arguments", node.need("arguments", line.arguments)?);
            let call = intake.call(node, id, name, plain::read(&arguments)?)?;
            return intake.add(node, Role::Assistant, vec![call.into()]);
        }
        Kind::Result => {
            let CallId(id) = node.need("invocation_id", line.invocation_id)?;
            let contents = content.map(|content| one_or_more(&content, block::read_of_result)).transpose()?;
            let failure = Failure { message: line.error, kind: line.error_type, retryable: line.retryable };
            let outcome = failure.outcome(node, contents)?;
            let result = intake.result(node, &id, node.need("content", outcome)?)?;
            return intake.add(node, Role::User, vec![result.into()]);
        }
    };
    match content {
        None if role == Role::Assistant => Ok(()),
        content => intake.add(node, role, one_or_more(&node.need("content", content)?, block::read)?),
    }
}

/// Reads one item, or a list of items.
fn one_or_more<T>(
    node: &Node<'_, '_>,
    read: impl Fn(&Node<'_, '_>) -> Result<T, ExchangeError>,
) -> Result<Vec<T>, ExchangeError> {
    if node.kind() == JsonKind::List { node.each(|item| read(&item)) } else { Ok(vec![read(node)?]) }
}

/// Reads the content of a document's line: a document, or a text that is one.
fn read_document(node: &Node<'_, '_>, title: Option<Text>) -> Result<Document, ExchangeError> {
    #[derive(Deserialize)]
    struct Typed {
        mime_type: Option<Text>,
    }
    let mut document = match block::read(node)? {
        Content::Document(document) => *document,
        Content::Text(text) => {
            let mime_type = node.object::<Typed>()?.mime_type.unwrap_or_else(|| block::PLAIN.into());
            media::document(Source::Bytes(text.as_bytes().into()), Some(mime_type), None)
        }
        _ => return Err(node.invalid("a document is a text or a document")),
    };
    if document.title.is_some() && title.is_some() {
        return Err(node.invalid("a document has one `title`"));
    }
    document.title = document.title.or(title);
    Ok(document)
}
