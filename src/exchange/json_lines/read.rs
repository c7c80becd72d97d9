//! Reading lines.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::clock::ManualClock;
use crate::exchange::block;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::failure::Failure;
use crate::exchange::intake::{CallId, Intake, Moment, Tool};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::{media, plain};
use crate::manager::MessagesManager;
use crate::message::{Content, Document, MessageWrapper, Role, Source, Text};

/// What decides how a line is read.
#[derive(Deserialize)]
struct Line {
    role: Kind,
    timestamp: Moment,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said<'a> {
    #[serde(rename = "role")]
    _role: IgnoredAny,
    #[serde(rename = "timestamp")]
    _timestamp: IgnoredAny,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference<'a> {
    #[serde(rename = "role")]
    _role: IgnoredAny,
    #[serde(rename = "timestamp")]
    _timestamp: IgnoredAny,
    title: Option<Text>,
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Called<'a> {
    #[serde(rename = "role")]
    _role: IgnoredAny,
    #[serde(rename = "timestamp")]
    _timestamp: IgnoredAny,
    identifier: CallId,
    name: Tool,
    #[serde(borrow)]
    arguments: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer<'a> {
    #[serde(rename = "role")]
    _role: IgnoredAny,
    #[serde(rename = "timestamp")]
    _timestamp: IgnoredAny,
    invocation_id: CallId,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
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
        let node = Node::parse(text, line)?;
        let Line { role, timestamp: Moment(at_ms) } = node.object()?;
        clock.set(at_ms);
        read(&mut intake, &node, role)?;
    }
    Ok(intake.into_manager())
}

fn read<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>, kind: Kind) -> Result<(), ExchangeError> {
    let role = match kind {
        Kind::User => Role::User,
        Kind::Assistant => Role::Assistant,
        Kind::Supervisor => Role::Supervisor,
        Kind::Document => {
            let reference: Reference<'_> = node.object()?;
            let content = node.under("content", reference.content);
            let document = read_document(&content, reference.title)?;
            return intake.add(node, Role::User, vec![document.into()]);
        }
        Kind::Invocation => {
            let called: Called<'_> = node.object()?;
            let arguments = plain::read(&node.under("arguments", called.arguments))?;
            let call = intake.call(node, called.identifier.0, called.name.0, arguments)?;
            return intake.add(node, Role::Assistant, vec![call.into()]);
        }
        Kind::Result => {
            let answer: Answer<'_> = node.object()?;
            let contents = answer
                .content
                .map(|content| one_or_more(&node.under("content", content), |part| block::read_of_result(part)));
            let failure = Failure { message: answer.error, kind: answer.error_type, retryable: answer.retryable };
            let outcome = failure.outcome(node, contents.transpose()?)?;
            let outcome = outcome.ok_or_else(|| node.error(Problem::missing("content")))?;
            let result = intake.result(node, &answer.invocation_id.0, outcome)?;
            return intake.add(node, Role::User, vec![result.into()]);
        }
    };
    let said: Said<'_> = node.object()?;
    match said.content {
        Some(content) => {
            let contents = one_or_more(&node.under("content", content), |block| block::read(block))?;
            intake.add(node, role, contents)
        }
        None if role == Role::Assistant => Ok(()),
        None => Err(node.error(Problem::missing("content"))),
    }
}

/// Reads what stands alone or in a list.
fn one_or_more<T>(
    node: &Node<'_, '_>,
    mut read: impl FnMut(&Node<'_, '_>) -> Result<T, ExchangeError>,
) -> Result<Vec<T>, ExchangeError> {
    if node.kind() == "a list" { node.each(|item| read(&item)) } else { Ok(vec![read(node)?]) }
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
