//! Reading lines.

use std::sync::Arc;

use crate::clock::{IdSource, ManualClock};
use crate::exchange::block::{self, Attached};
use crate::exchange::budget::{self, Budget};
use crate::exchange::failure::Failure;
use crate::exchange::intake::{self, Intake, Shape};
use crate::exchange::lexer::Kind;
use crate::exchange::reader::{Others, Reader};
use crate::exchange::{ExchangeError, Problem, moment, value};
use crate::manager::MessagesManager;
use crate::message::{
    Document, Invocation, InvocationId, InvocationResult, MessageWrapper, Outcome, ResultContent, Role, Source, Text,
    ToolName,
};

#[derive(Debug, Clone, Copy)]
enum Line {
    Said(Role),
    Document,
    Invocation,
    Result,
}

const LINES: [(&str, Line); 6] = [
    ("user", Line::Said(Role::User)),
    ("assistant", Line::Said(Role::Assistant)),
    ("supervisor", Line::Said(Role::Supervisor)),
    ("document", Line::Document),
    ("invocation", Line::Invocation),
    ("result", Line::Result),
];

/// All lines of a text.
pub(super) fn lines<W: MessageWrapper>(
    bytes: &[u8],
    ids: Arc<dyn IdSource>,
) -> Result<MessagesManager<W>, ExchangeError> {
    let text = intake::utf8(bytes)?;
    let budget = Budget::of(text.len());
    let numbered = || (1..).zip(text.split('\n')).filter(|(_, line)| !line.trim().is_empty());
    let mut shape = Shape::default();
    for (number, line) in numbered() {
        match kind(&mut Reader::new(line, number, &budget))? {
            Line::Said(role) => shape.message(role),
            Line::Document | Line::Result => shape.message(Role::User),
            Line::Invocation => {
                shape.message(Role::Assistant);
                shape.calls(1);
            }
        }
    }
    let clock = ManualClock::new(0);
    let all = Reader::new(text, 1, &budget);
    let mut reading = Lines { intake: Intake::new(Arc::new(clock.clone()), ids, &shape, &all)?, clock };
    for (number, line) in numbered() {
        let mut reader = Reader::new(line, number, &budget);
        reading.read(&mut reader)?;
        reader.end()?;
    }
    Ok(reading.intake.into_manager())
}

fn kind(reader: &mut Reader<'_>) -> Result<Line, ExchangeError> {
    block::one_of(reader, &["role"], &LINES, "user, assistant, supervisor, document, invocation, result")
}

/// The lines that were read.
struct Lines<W> {
    intake: Intake<W>,
    clock: ManualClock,
}

impl<W: MessageWrapper> Lines<W> {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
        let line = kind(reader)?;
        self.clock.set(moment::timestamp(reader)?);
        match line {
            Line::Said(role) => self.said(reader, role),
            Line::Document => self.document(reader),
            Line::Invocation => self.invocation(reader),
            Line::Result => self.result(reader),
        }
    }

    fn said(&mut self, reader: &mut Reader<'_>, role: Role) -> Result<(), ExchangeError> {
        let mut contents = None;
        reader.object(&["role", "content", "timestamp"], Others::Refuse, |reader, key| {
            match key {
                "content" if !reader.null()? => contents = Some(one_or_more(reader, block::read)?),
                "content" => {}
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        match contents {
            Some(contents) => self.intake.add(reader, role, contents).map(drop),
            None if role == Role::Assistant => Ok(()),
            None => Err(reader.missing("content")),
        }
    }

    fn document(&mut self, reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
        let (mut title, mut document) = (None, None);
        reader.object(&["role", "title", "content", "timestamp"], Others::Refuse, |reader, key| {
            match key {
                "title" => title = block::optional_text(reader)?,
                "content" => document = Some(reference(reader)?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        let mut document = document.ok_or_else(|| reader.missing("content"))?;
        document.title = title;
        self.intake.add(reader, Role::User, vec![document.into()]).map(drop)
    }

    fn invocation(&mut self, reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
        const KEYS: &[&str] = &["role", "identifier", "name", "arguments", "timestamp"];
        let (mut id, mut name, mut arguments) = (None, None, None);
        reader.object(KEYS, Others::Refuse, |reader, key| {
            match key {
                "identifier" => id = Some(call_id(reader)?),
                "name" => {
                    let text = reader.text()?;
                    name = Some(ToolName::new(text).map_err(|error| reader.error(error))?);
                }
                "arguments" => arguments = Some(value::read(reader)?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        let id = id.ok_or_else(|| reader.missing("identifier"))?;
        let name = name.ok_or_else(|| reader.missing("name"))?;
        let arguments = arguments.ok_or_else(|| reader.missing("arguments"))?;
        let id = self.intake.id_of_call(reader, id)?;
        reader.take(size_of::<Invocation>())?;
        let call = Invocation::of(id, name, arguments);
        self.intake.add(reader, Role::Assistant, vec![call.into()]).map(drop)
    }

    fn result(&mut self, reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
        const KEYS: &[&str] = &["role", "invocation_id", "content", "error", "error_type", "retryable", "timestamp"];
        let (mut id, mut contents, mut failure) = (None, None, Failure::default());
        reader.object(KEYS, Others::Refuse, |reader, key| {
            match key {
                "invocation_id" => id = Some(call_id(reader)?),
                "content" if !reader.null()? => contents = Some(one_or_more(reader, block::read_of_result)?),
                "error" | "error_type" | "retryable" => failure.read(reader, key)?,
                "role" | "timestamp" => reader.skip()?,
                _ => {}
            }
            Ok(())
        })?;
        let id = id.ok_or_else(|| reader.missing("invocation_id"))?;
        let (id, name) = self.intake.answered(reader, &id)?;
        let outcome = match (contents, failure.into_error(reader)?) {
            (Some(contents), None) => Outcome::Success(contents),
            (None, Some(error)) => Outcome::Failure(error),
            (Some(contents), Some(error)) if contents.iter().all(|content| says(content, error.message())) => {
                Outcome::Failure(error)
            }
            (Some(_), Some(_)) => return Err(reader.error(Problem::NotKept { what: "a content beside an error" })),
            (None, None) => return Err(reader.missing("content")),
        };
        reader.take(size_of::<InvocationResult>())?;
        let result = InvocationResult::new(id, name, outcome);
        self.intake.add(reader, Role::User, vec![result.into()]).map(drop)
    }
}

/// Whether a part of a failed result is nothing, or what the error says.
fn says(content: &ResultContent, error: &str) -> bool {
    matches!(content, ResultContent::Text(text) if text.is_empty() || text == error)
}

fn call_id(reader: &mut Reader<'_>) -> Result<InvocationId, ExchangeError> {
    let id = reader.text()?;
    InvocationId::new(id).map_err(|error| reader.error(error))
}

/// What stands here alone or in a list.
fn one_or_more<T>(
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&mut Reader<'_>) -> Result<T, ExchangeError>,
) -> Result<Vec<T>, ExchangeError> {
    let is_list = reader.kind()? == Kind::List;
    let count = if is_list { reader.count()? } else { 1 };
    reader.take(count.saturating_mul(size_of::<T>()))?;
    let mut all = Vec::with_capacity(count);
    if !is_list {
        all.push(read(reader)?);
        return Ok(all);
    }
    reader.list(|reader| {
        all.push(read(reader)?);
        Ok(())
    })?;
    Ok(all)
}

/// The content of a document's line.
fn reference(reader: &mut Reader<'_>) -> Result<Document, ExchangeError> {
    if !block::one_of(reader, &["type"], &[("text", true), ("document", false)], "text, document")? {
        let mut attached = Attached::default();
        const KEYS: &[&str] = &["type", "url", "data", "content_id", "mime_type"];
        reader.object(KEYS, Others::Refuse, |reader, key| attached.read(reader, key))?;
        return attached.into_document(reader);
    }
    let mut attached = Attached::default();
    let mut words: Option<Text> = None;
    reader.object(&["type", "text", "mime_type", "content_id"], Others::Refuse, |reader, key| {
        match key {
            "text" => words = block::optional_text(reader)?,
            _ => attached.read(reader, key)?,
        }
        Ok(())
    })?;
    attached.mime_type = attached.mime_type.or_else(|| Some(block::PLAIN.into()));
    // The format's own document has an empty text beside an id.
    if let Some(words) = words.filter(|words| attached.source.is_none() || !words.is_empty()) {
        reader.take(budget::text_bytes(words.len()))?;
        attached.put(Source::Bytes(words.as_bytes().into()), reader)?;
    }
    attached.into_document(reader)
}
