//! Reading `system` and `messages`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::intake::{Intake, Speaker};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::exchange::wrong::JsonKind;
use crate::manager::MessagesManager;
use crate::message::{MessageWrapper, Role};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    role: Speaker,
    #[serde(borrow)]
    content: &'a RawValue,
}

pub(super) fn conversation<W: MessageWrapper>(
    node: &Node<'_, '_>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    let mut intake = Intake::new(options);
    if node.kind() == JsonKind::List {
        node.each(|message| add(&mut intake, &message))?;
        return Ok(intake.into_manager());
    }
    let request: Request<'_> = node.object()?;
    // Instructions come first, also if `system` is the last key.
    if let Some(system) = request.system {
        node.under("system", system).each(|instruction| add_instruction(&mut intake, &instruction))?;
    }
    node.under("messages", request.messages).each(|message| add(&mut intake, &message))?;
    Ok(intake.into_manager())
}

fn add_instruction<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    match node.one_of(&["text", "cachePoint", "guardContent"])? {
        ("text", text) => intake.add(node, Role::Supervisor, vec![text.text()?.into()]),
        ("cachePoint", _) => Ok(()),
        _ => Err(node.error(Problem::not_kept("`guardContent`"))),
    }
}

fn add<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let message: Message<'_> = node.object()?;
    let blocks = node.under("content", message.content).each(|block| blocks::read(&block, intake))?;
    intake.add(node, message.role.into(), blocks.into_iter().flatten().collect())
}
