//! Reading `system` and `messages`.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::intake::{Intake, Speaker};
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::{MessageWrapper, Role};

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
    let system = |intake: &mut Intake<W>, system: &Node<'_, '_>| {
        system.each(|instruction| add_instruction(intake, &instruction)).map(drop)
    };
    Intake::request(options, node, system, add)
}

fn add_instruction<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    match node.one_of(&["text", "cachePoint", "guardContent"])? {
        ("text", text) => intake.add(node, Role::System, vec![text.text()?.into()]),
        ("cachePoint", _) => Ok(()),
        _ => Err(node.error(Problem::not_kept("`guardContent`"))),
    }
}

fn add<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let message: Message<'_> = node.object()?;
    let blocks = node.under("content", message.content).each(|block| blocks::read(&block, intake))?;
    intake.add(node, message.role.into(), blocks.into_iter().flatten().collect())
}
