//! Reading a list of messages.

use std::sync::Arc;

use super::VERSION;
use super::answer::Answer;
use crate::clock::{Clock, IdSource};
use crate::exchange::block::{self, Attached};
use crate::exchange::intake::{Intake, Shape};
use crate::exchange::reader::{Others, Reader};
use crate::exchange::{ExchangeError, Problem, value};
use crate::manager::{ManagerError, MessagesManager};
use crate::message::{Content, Invocation, InvocationResult, MediaKind, MessageWrapper, Role, is_blank};

#[derive(Debug, Clone, Copy)]
enum Kind {
    Agent,
    Text,
    Call,
    Result,
    Media(MediaKind),
    Document,
}

const KINDS: [(&str, Kind); 8] = [
    ("AgentMessage", Kind::Agent),
    ("TextMessage", Kind::Text),
    ("ToolCallMessage", Kind::Call),
    ("ToolResultMessage", Kind::Result),
    ("ImageMessage", Kind::Media(MediaKind::Image)),
    ("AudioMessage", Kind::Media(MediaKind::Audio)),
    ("VideoMessage", Kind::Media(MediaKind::Video)),
    ("DocumentMessage", Kind::Document),
];
const LISTED: &str = "AgentMessage, TextMessage, ToolCallMessage, ToolResultMessage, ImageMessage, AudioMessage, \
    VideoMessage, DocumentMessage";

/// The whole text: an object with `version` and `messages`.
pub(super) fn list<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn IdSource>,
) -> Result<MessagesManager<W>, ExchangeError> {
    check_version(reader)?;
    let mut list = None;
    reader.object(&["messages", "version"], Others::Refuse, |reader, key| {
        if key == "version" {
            return reader.skip();
        }
        let shape = reader.ahead(shape)?;
        let intake = Intake::new(clock.clone(), ids.clone(), &shape, reader)?;
        let mut items = Items { intake, answers: Vec::new(), instructions: Vec::new(), role: None };
        reader.list(|reader| items.read(reader))?;
        list = Some(items.finish(reader)?);
        Ok(())
    })?;
    list.ok_or_else(|| reader.missing("messages"))
}

/// Of another version nothing can be said, not even what is wrong with it.
fn check_version(reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
    let is_there = reader.ahead(|reader| {
        let mut is_there = false;
        reader.object(&["version"], Others::Ignore, |reader, _| {
            is_there = reader.quoted()?.is(VERSION);
            if is_there { Ok(()) } else { Err(reader.error(Problem::UnknownVersion { known: VERSION })) }
        })?;
        Ok(is_there)
    })?;
    if is_there { Ok(()) } else { Err(reader.missing("version")) }
}

/// What the list holds.
fn shape(reader: &mut Reader<'_>) -> Result<Shape, ExchangeError> {
    let mut shape = Shape::default();
    reader.list(|reader| {
        let kind = kind(reader)?;
        shape.message(role(reader, kind)?);
        if matches!(kind, Kind::Call) {
            shape.calls(1);
            // The result, if it stands there.
            shape.message(Role::User);
        }
        reader.skip()
    })?;
    Ok(shape)
}

fn kind(reader: &mut Reader<'_>) -> Result<Kind, ExchangeError> {
    block::one_of(reader, &["type"], &KINDS, LISTED)
}

/// Who speaks in the item here. Of some types that is clear.
fn role(reader: &mut Reader<'_>, kind: Kind) -> Result<Role, ExchangeError> {
    let (roles, listed): (&[_], _) = match kind {
        Kind::Agent => (&[("system", Role::Supervisor)], "system"),
        Kind::Call => (&[("assistant", Role::Assistant)], "assistant"),
        Kind::Result => (&[("user", Role::User)], "user"),
        Kind::Text | Kind::Media(_) | Kind::Document => (
            &[("user", Role::User), ("assistant", Role::Assistant), ("system", Role::Supervisor)],
            "user, assistant, system",
        ),
    };
    block::one_of(reader, &["role"], roles, listed)
}

/// The items that were read.
struct Items<W> {
    intake: Intake<W>,
    /// The results that stood beside the assistant's last calls: they come in the message behind these.
    answers: Vec<Content>,
    /// An instruction of which another part may come.
    instructions: Vec<Content>,
    /// Of the last item.
    role: Option<Role>,
}

impl<W: MessageWrapper> Items<W> {
    fn read(&mut self, reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
        let kind = kind(reader)?;
        let role = role(reader, kind)?;
        if !self.continues(reader, role)? {
            self.next(reader)?;
        }
        match kind {
            Kind::Agent | Kind::Text => self.text(reader, role),
            Kind::Call => self.call(reader),
            Kind::Result => self.result(reader),
            Kind::Media(kind) => self.media(reader, kind, role),
            Kind::Document => self.document(reader, role),
        }
    }

    /// Whether the item here is of the same message as the last one.
    fn continues(&mut self, reader: &mut Reader<'_>, role: Role) -> Result<bool, ExchangeError> {
        let last = self.role.replace(role);
        reader.ahead(|reader| {
            let mut continues = false;
            reader.object(&["continues"], Others::Ignore, |reader, _| {
                continues = reader.bool()?;
                if continues && last != Some(role) {
                    const REASON: &str = "this continues a message of the same role, which does not stand before it";
                    return Err(reader.error(Problem::Invalid { reason: REASON }));
                }
                Ok(())
            })?;
            Ok(continues)
        })
    }

    /// The message before is complete.
    fn next(&mut self, reader: &Reader<'_>) -> Result<(), ExchangeError> {
        for (role, contents) in [(Role::User, &mut self.answers), (Role::Supervisor, &mut self.instructions)] {
            if !contents.is_empty() {
                self.intake.add(reader, role, std::mem::take(contents))?;
            }
        }
        Ok(())
    }

    fn finish(mut self, reader: &Reader<'_>) -> Result<MessagesManager<W>, ExchangeError> {
        self.next(reader)?;
        Ok(self.intake.into_manager())
    }

    /// Adds what was just read.
    fn add(&mut self, reader: &Reader<'_>, role: Role, mut contents: Vec<Content>) -> Result<(), ExchangeError> {
        if role != Role::Supervisor {
            self.intake.add(reader, role, contents)?;
        } else if contents.iter().all(Content::is_blank) {
            return Err(reader.error(ManagerError::Blank));
        } else {
            reader.take(2 * size_of::<Content>())?;
            self.instructions.append(&mut contents);
        }
        Ok(())
    }

    fn text(&mut self, reader: &mut Reader<'_>, role: Role) -> Result<(), ExchangeError> {
        let mut text = None;
        reader.object(&["type", "text", "role", "continues"], Others::Refuse, |reader, key| {
            match key {
                "text" => text = Some(reader.text()?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        let text = text.ok_or_else(|| reader.missing("text"))?;
        self.add(reader, role, vec![text.into()])
    }

    fn media(&mut self, reader: &mut Reader<'_>, kind: MediaKind, role: Role) -> Result<(), ExchangeError> {
        const KEYS: &[&str] = &["type", "url", "data", "content_id", "mime_type", "prompt_hint", "role", "continues"];
        let mut attached = Attached::default();
        reader.object(KEYS, Others::Refuse, |reader, key| attached.read(reader, key))?;
        let media = attached.into_media(kind, reader)?;
        self.add(reader, role, vec![media.into()])
    }

    fn document(&mut self, reader: &mut Reader<'_>, role: Role) -> Result<(), ExchangeError> {
        const KEYS: &[&str] = &["type", "url", "data", "content_id", "mime_type", "title", "role", "continues"];
        let mut attached = Attached::default();
        reader.object(KEYS, Others::Refuse, |reader, key| attached.read(reader, key))?;
        let document = attached.into_document(reader)?;
        self.add(reader, role, vec![document.into()])
    }

    fn call(&mut self, reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
        const KEYS: &[&str] = &[
            "type",
            "message",
            "tool_name",
            "tool_call_id",
            "arguments",
            "result",
            "error",
            "error_type",
            "retryable",
            "result_contents",
            "role",
            "continues",
        ];
        let mut message = None;
        let mut arguments = None;
        let mut answer = Answer::default();
        reader.object(KEYS, Others::Refuse, |reader, key| {
            match key {
                "message" => message = block::optional_text(reader)?,
                "arguments" => arguments = Some(value::read(reader)?),
                _ => answer.read(reader, key)?,
            }
            Ok(())
        })?;
        let (id, name) = answer.take_call(reader)?;
        let arguments = arguments.ok_or_else(|| reader.missing("arguments"))?;
        let id = self.intake.id_of_call(reader, id)?;
        reader.take(size_of::<Invocation>())?;
        let call = Invocation::of(id.clone(), name.clone(), arguments);
        let said = message.filter(|message| !is_blank(message)).map(Content::from);
        self.add(reader, Role::Assistant, said.into_iter().chain([call.into()]).collect())?;
        if let Some(outcome) = answer.into_outcome(reader)? {
            reader.take(size_of::<InvocationResult>() + 2 * size_of::<Content>())?;
            self.answers.push(InvocationResult::new(id, name, outcome).into());
        }
        Ok(())
    }

    fn result(&mut self, reader: &mut Reader<'_>) -> Result<(), ExchangeError> {
        const KEYS: &[&str] = &[
            "type",
            "tool_name",
            "tool_call_id",
            "result",
            "error",
            "error_type",
            "retryable",
            "result_contents",
            "role",
            "continues",
        ];
        let mut answer = Answer::default();
        reader.object(KEYS, Others::Refuse, |reader, key| answer.read(reader, key))?;
        let (id, name) = answer.take_call(reader)?;
        let (id, _) = self.intake.answered(reader, &id)?;
        let outcome = answer.into_outcome(reader)?.ok_or_else(|| reader.missing("result"))?;
        reader.take(size_of::<InvocationResult>())?;
        let result = InvocationResult::new(id, name, outcome);
        self.add(reader, Role::User, vec![result.into()])
    }
}
