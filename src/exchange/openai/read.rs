//! Reading chat messages.

use std::sync::Arc;

use super::parts;
use crate::clock::{Clock, IdSource};
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::intake::{Intake, Shape};
use crate::exchange::lexer::Kind;
use crate::exchange::reader::{Others, Reader};
use crate::exchange::value;
use crate::manager::MessagesManager;
use crate::message::{
    Content, Invocation, InvocationId, InvocationResult, Map, MessageWrapper, Outcome, ResultContent, Role, Text,
    ToolName, Value, is_blank,
};

const KEYS: &[&str] = &["role", "content", "name", "tool_calls", "tool_call_id", "refusal"];

pub(super) fn conversation<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
) -> Result<MessagesManager<W>, ExchangeError> {
    if reader.kind()? == Kind::List {
        return messages(reader, clock, ids);
    }
    let mut manager = None;
    reader.object(&["messages"], Others::Ignore, |reader, _| {
        manager = Some(messages(reader, clock.clone(), ids.clone())?);
        Ok(())
    })?;
    manager.ok_or_else(|| reader.missing("messages"))
}

fn messages<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
) -> Result<MessagesManager<W>, ExchangeError> {
    let shape = reader.ahead(shape)?;
    let mut intake = Intake::new(clock, ids, &shape, reader)?;
    reader.list(|reader| {
        let mut fields = Fields::default();
        reader.object(KEYS, Others::Refuse, |reader, key| fields.read(reader, key))?;
        fields.add_to(&mut intake, reader)
    })?;
    Ok(intake.into_manager())
}

/// Counts messages and calls.
fn shape(reader: &mut Reader<'_>) -> Result<Shape, ExchangeError> {
    let mut shape = Shape::default();
    reader.list(|reader| {
        let mut speaker = None;
        reader.object(&["role", "tool_calls"], Others::Ignore, |reader, key| {
            if key == "role" {
                speaker = Some(Speaker::read(reader)?);
            } else {
                if reader.kind()? == Kind::List {
                    shape.calls(reader.count()?);
                }
                reader.skip()?;
            }
            Ok(())
        })?;
        let speaker = speaker.ok_or_else(|| reader.missing("role"))?;
        shape.message(speaker.role());
        Ok(())
    })?;
    Ok(shape)
}

/// A role of chat messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    System,
    User,
    Assistant,
    Tool,
}

impl Speaker {
    fn read(reader: &mut Reader<'_>) -> Result<Self, ExchangeError> {
        match &*reader.string()? {
            "system" | "developer" => Ok(Self::System),
            "user" => Ok(Self::User),
            "assistant" => Ok(Self::Assistant),
            "tool" => Ok(Self::Tool),
            _ => Err(reader
                .error(Problem::UnknownType { what: "`role`", known: "system, developer, user, assistant, tool" })),
        }
    }

    fn role(self) -> Role {
        match self {
            Self::System => Role::Supervisor,
            Self::User | Self::Tool => Role::User,
            Self::Assistant => Role::Assistant,
        }
    }
}

/// What was read of a message, whatever the order of its keys.
#[derive(Default)]
struct Fields {
    speaker: Option<Speaker>,
    /// `None` where the key is missing, nothing where it is `null`.
    content: Option<Vec<Content>>,
    /// Whether `content` is `""`.
    says_nothing: bool,
    refusal: Option<Content>,
    calls: Vec<Call>,
    name: Option<Text>,
    answers: Option<InvocationId>,
}

struct Call {
    id: InvocationId,
    name: ToolName,
    arguments: Value,
}

impl Fields {
    fn read(&mut self, reader: &mut Reader<'_>, key: &'static str) -> Result<(), ExchangeError> {
        if key != "content" && reader.null()? {
            return Ok(());
        }
        match key {
            "role" => self.speaker = Some(Speaker::read(reader)?),
            "content" => {
                let is_one = reader.kind()? == Kind::String;
                let content = parts::read(reader)?;
                self.says_nothing =
                    is_one && content.iter().all(|text| text.as_text().is_some_and(|text| text.is_empty()));
                self.content = Some(content);
            }
            "refusal" => self.refusal = Some(reader.text()?.into()),
            "name" => self.name = Some(reader.text()?),
            "tool_call_id" => self.answers = Some(invocation_id(reader)?),
            _ => self.calls = calls(reader)?,
        }
        Ok(())
    }

    fn add_to<W: MessageWrapper>(self, intake: &mut Intake<W>, reader: &Reader<'_>) -> Result<(), ExchangeError> {
        let speaker = self.speaker.ok_or_else(|| reader.missing("role"))?;
        let invalid = |reason| Err(reader.error(Problem::Invalid { reason }));
        if speaker != Speaker::Assistant && (!self.calls.is_empty() || self.refusal.is_some()) {
            return invalid("only assistant messages have `tool_calls` or a `refusal`");
        }
        if speaker != Speaker::Tool {
            if self.answers.is_some() {
                return invalid("only tool messages have a `tool_call_id`");
            }
            if self.name.is_some() {
                return Err(reader.error(Problem::NotKept { what: "the name of a participant" }));
            }
        }
        if speaker == Speaker::Tool {
            return self.add_result_to(intake, reader);
        }
        if self.content.is_none() && speaker != Speaker::Assistant {
            return Err(reader.missing("content"));
        }
        let mut contents = self.content.unwrap_or_default();
        let more = self.calls.len() + usize::from(self.refusal.is_some());
        reader.take(more * size_of::<Content>())?;
        contents.reserve_exact(more);
        contents.extend(self.refusal);
        let collected = more * size_of::<Content>() + self.calls.len() * size_of::<Call>();
        for call in self.calls {
            reader.take(size_of::<Invocation>())?;
            let id = intake.id_of_call(reader, call.id)?;
            contents.push(Invocation::of(id, call.name, call.arguments).into());
        }
        intake.add(reader, speaker.role(), contents)?;
        reader.give_back(collected);
        Ok(())
    }

    fn add_result_to<W: MessageWrapper>(
        self,
        intake: &mut Intake<W>,
        reader: &Reader<'_>,
    ) -> Result<(), ExchangeError> {
        let id = self.answers.ok_or_else(|| reader.missing("tool_call_id"))?;
        let content = self.content.ok_or_else(|| reader.missing("content"))?;
        let (id, name) = intake.answered(reader, &id)?;
        if self.name.is_some_and(|told| told.as_str() != name.as_str()) {
            return Err(reader.error(Problem::Invalid { reason: "`name` is that of another tool than was called" }));
        }
        reader.take(size_of::<InvocationResult>() + content.len() * size_of::<ResultContent>())?;
        let mut parts = Vec::with_capacity(content.len());
        if !self.says_nothing {
            parts.extend(content.into_iter().filter_map(as_result));
        }
        let result = InvocationResult::new(id, name, Outcome::Success(parts));
        intake.add(reader, Role::User, vec![result.into()])?;
        Ok(())
    }
}

/// A part as one of a result; all that parts are read as can be that.
fn as_result(content: Content) -> Option<ResultContent> {
    match content {
        Content::Text(text) => Some(ResultContent::Text(text)),
        Content::Media(media) => Some(ResultContent::Media(media)),
        Content::Document(document) => Some(ResultContent::Document(document)),
        Content::Invocation(_) | Content::InvocationResult(_) | Content::Unknown(_) => None,
    }
}

fn calls(reader: &mut Reader<'_>) -> Result<Vec<Call>, ExchangeError> {
    let count = reader.count()?;
    reader.take(count.saturating_mul(size_of::<Call>()))?;
    let mut calls = Vec::with_capacity(count);
    reader.list(|reader| {
        let (mut id, mut function) = (None, None);
        reader.object(&["id", "type", "function"], Others::Refuse, |reader, key| {
            match key {
                "id" => id = Some(invocation_id(reader)?),
                "function" => function = Some(called(reader)?),
                _ if reader.string()? == "function" => {}
                _ => return Err(reader.error(Problem::UnknownType { what: "`type` of a tool", known: "function" })),
            }
            Ok(())
        })?;
        let (name, arguments) = function.ok_or_else(|| reader.missing("function"))?;
        calls.push(Call { id: id.ok_or_else(|| reader.missing("id"))?, name, arguments });
        Ok(())
    })?;
    Ok(calls)
}

fn called(reader: &mut Reader<'_>) -> Result<(ToolName, Value), ExchangeError> {
    let (mut name, mut arguments) = (None, None);
    reader.object(&["name", "arguments"], Others::Refuse, |reader, key| {
        match key {
            "name" => name = Some(ToolName::new(reader.text()?).map_err(|error| reader.error(error))?),
            _ => arguments = Some(json_in_a_string(reader)?),
        }
        Ok(())
    })?;
    let arguments = arguments.ok_or_else(|| reader.missing("arguments"))?;
    Ok((name.ok_or_else(|| reader.missing("name"))?, arguments))
}

fn json_in_a_string(reader: &mut Reader<'_>) -> Result<Value, ExchangeError> {
    let string = reader.string()?;
    if is_blank(&string) {
        return Map::new([].into()).map(Value::Map).map_err(|error| reader.error(error));
    }
    let mut inner = reader.inside(&string);
    let value = value::read(&mut inner)?;
    inner.end()?;
    reader.drop_copy(string);
    Ok(value)
}

fn invocation_id(reader: &mut Reader<'_>) -> Result<InvocationId, ExchangeError> {
    InvocationId::new(reader.text()?).map_err(|error| reader.error(error))
}
