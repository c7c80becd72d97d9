//! Reading `system` and `messages`.

use std::sync::Arc;

use super::blocks;
use crate::clock::{Clock, IdSource};
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::intake::{Intake, Shape};
use crate::exchange::lexer::Kind;
use crate::exchange::reader::{Others, Reader};
use crate::manager::MessagesManager;
use crate::message::{MessageWrapper, Role};

const KEYS: &[&str] = &["system", "messages"];

pub(super) fn conversation<W: MessageWrapper>(
    reader: &mut Reader<'_>,
    clock: &Arc<dyn Clock>,
    ids: &Arc<dyn IdSource>,
) -> Result<MessagesManager<W>, ExchangeError> {
    let mut shape = Shape::default();
    let is_bare = reader.kind()? == Kind::List;
    let mut has_messages = is_bare;
    reader.ahead(|reader| {
        if is_bare {
            return count_messages(reader, &mut shape);
        }
        reader.object(KEYS, Others::Ignore, |reader, key| {
            if key == "messages" {
                has_messages = true;
                return count_messages(reader, &mut shape);
            }
            if reader.null()? {
                return Ok(());
            }
            (0..reader.count()?).for_each(|_| shape.message(Role::Supervisor));
            reader.skip()
        })
    })?;
    if !has_messages {
        return Err(reader.missing("messages"));
    }
    let mut intake = Intake::new(clock.clone(), ids.clone(), &shape, reader)?;
    if is_bare {
        add_messages(reader, &mut intake)?;
        return Ok(intake.into_manager());
    }
    // Instructions come first, wherever they stand.
    reader.ahead(|reader| {
        reader.object(KEYS, Others::Ignore, |reader, key| {
            if key == "system" { add_instructions(reader, &mut intake) } else { reader.skip() }
        })
    })?;
    reader.object(KEYS, Others::Ignore, |reader, key| {
        if key == "messages" { add_messages(reader, &mut intake) } else { reader.skip() }
    })?;
    Ok(intake.into_manager())
}

/// Counts messages and calls.
fn count_messages(reader: &mut Reader<'_>, shape: &mut Shape) -> Result<(), ExchangeError> {
    reader.list(|reader| {
        let mut role = None;
        reader.object(&["role", "content"], Others::Ignore, |reader, key| {
            if key == "role" {
                role = Some(read_role(reader)?);
                return Ok(());
            }
            reader.list(|reader| {
                reader.object(&[blocks::TOOL_USE], Others::Ignore, |reader, _| {
                    shape.calls(1);
                    reader.skip()
                })
            })
        })?;
        shape.message(role.ok_or_else(|| reader.missing("role"))?);
        Ok(())
    })
}

fn read_role(reader: &mut Reader<'_>) -> Result<Role, ExchangeError> {
    match &*reader.string()? {
        "user" => Ok(Role::User),
        "assistant" => Ok(Role::Assistant),
        "system" => Ok(Role::Supervisor),
        _ => Err(reader.error(Problem::UnknownType { what: "`role`", known: "user, assistant, system" })),
    }
}

fn add_instructions<W: MessageWrapper>(reader: &mut Reader<'_>, intake: &mut Intake<W>) -> Result<(), ExchangeError> {
    if reader.null()? {
        return Ok(());
    }
    reader.list(|reader| {
        let mut text = None;
        reader.object(&["text", "cachePoint", "guardContent"], Others::Refuse, |reader, key| match key {
            "text" => {
                text = Some(reader.text()?);
                Ok(())
            }
            "cachePoint" => reader.skip(),
            _ => Err(reader.error(Problem::NotKept { what: "what a guardrail is to look at" })),
        })?;
        if let Some(text) = text {
            intake.add(reader, Role::Supervisor, vec![text.into()])?;
        }
        Ok(())
    })
}

fn add_messages<W: MessageWrapper>(reader: &mut Reader<'_>, intake: &mut Intake<W>) -> Result<(), ExchangeError> {
    reader.list(|reader| {
        let (mut role, mut contents) = (None, None);
        reader.object(&["role", "content"], Others::Refuse, |reader, key| {
            match key {
                "role" => role = Some(read_role(reader)?),
                _ => contents = Some(blocks::read(reader, intake)?),
            }
            Ok(())
        })?;
        let role = role.ok_or_else(|| reader.missing("role"))?;
        intake.add(reader, role, contents.ok_or_else(|| reader.missing("content"))?)?;
        Ok(())
    })
}
