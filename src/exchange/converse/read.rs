//! Reading `system` and `messages`.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::blocks;
use crate::exchange::error::{ExchangeError, Problem};
use crate::exchange::intake::Intake;
use crate::exchange::node::Node;
use crate::exchange::options::ImportOptions;
use crate::manager::MessagesManager;
use crate::message::{MessageWrapper, Role, Text};

#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    messages: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Instruction {
    text: Option<Text>,
    #[serde(rename = "cachePoint")]
    _cache_point: Option<IgnoredAny>,
    guard_content: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message<'a> {
    role: Speaker,
    #[serde(borrow)]
    content: &'a RawValue,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Speaker {
    User,
    Assistant,
    System,
}

pub(super) fn conversation<W: MessageWrapper>(
    node: &Node<'_, '_>,
    options: &ImportOptions,
) -> Result<MessagesManager<W>, ExchangeError> {
    let mut intake = Intake::new(options);
    if node.kind() == "a list" {
        node.each(|message| add(&mut intake, &message))?;
        return Ok(intake.into_manager());
    }
    let request: Request<'_> = node.object()?;
    // Instructions come first, wherever they stand.
    if let Some(system) = request.system {
        node.under("system", system).each(|instruction| add_instruction(&mut intake, &instruction))?;
    }
    node.under("messages", request.messages).each(|message| add(&mut intake, &message))?;
    Ok(intake.into_manager())
}

fn add_instruction<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let instruction: Instruction = node.object()?;
    if instruction.guard_content.is_some() {
        return Err(node.error(Problem::not_kept("`guardContent`")));
    }
    let text = instruction.text.into_iter();
    text.map(|text| intake.add(node, Role::Supervisor, vec![text.into()])).collect()
}

fn add<W: MessageWrapper>(intake: &mut Intake<W>, node: &Node<'_, '_>) -> Result<(), ExchangeError> {
    let message: Message<'_> = node.object()?;
    let role = match message.role {
        Speaker::User => Role::User,
        Speaker::Assistant => Role::Assistant,
        Speaker::System => Role::Supervisor,
    };
    let blocks = node.under("content", message.content).each(|block| blocks::read(&block, intake))?;
    intake.add(node, role, blocks.into_iter().flatten().collect())
}
