//! Writing `system` and `messages`.

use super::blocks;
use crate::exchange::export::{Export, Losses, Lost, each_said};
use crate::exchange::writer::Writer;
use crate::manager::MessagesManager;
use crate::message::{Content, MessageWrapper, Role};

pub(super) fn conversation<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    let mut writer = Writer::default();
    let opening = opening(manager);
    writer.object(|writer| {
        let mut instructions = Writer::default();
        write_instructions(&mut instructions, manager, opening, &mut losses);
        let instructions = instructions.into_text();
        if !instructions.is_empty() {
            writer.key("system").list(|writer| writer.written(&instructions));
        }
        writer.key("messages").list(|writer| write_messages(writer, manager, opening, &mut losses));
    });
    losses.beside(writer.into_text())
}

/// How many supervisor messages stand in front.
fn opening<W: MessageWrapper>(manager: &MessagesManager<W>) -> usize {
    manager.all().take_while(|wrapper| wrapper.role() == Role::Supervisor).count()
}

fn write_instructions<W: MessageWrapper>(
    writer: &mut Writer,
    manager: &MessagesManager<W>,
    opening: usize,
    losses: &mut Losses,
) {
    for message in manager.all().take(opening) {
        for content in message.contents() {
            match content {
                Content::Text(text) => writer.object(|writer| writer.key("text").string(text)),
                // Supervisor messages hold neither calls nor results.
                other => losses.note(message.id(), taken(Role::Supervisor, other).err().unwrap_or(Lost::Unknown)),
            }
        }
    }
}

fn write_messages<W: MessageWrapper>(
    writer: &mut Writer,
    manager: &MessagesManager<W>,
    opening: usize,
    losses: &mut Losses,
) {
    let mut in_front = opening;
    let mut turn: Option<Turn> = None;
    each_said(manager, losses, |message, contents, losses| {
        if in_front > 0 {
            in_front -= 1;
            return;
        }
        let mut blocks = Writer::default();
        for content in contents {
            match taken(message.role(), content) {
                Ok(()) => blocks::write(&mut blocks, content, message.id(), losses),
                Err(lost) => losses.note(message.id(), lost),
            }
        }
        let blocks = blocks.into_text();
        match &mut turn {
            _ if blocks.is_empty() => {}
            // Converse refuses two messages of one role behind each other.
            Some(turn) if turn.role == message.role() && turn.role.is_spoken() => turn.blocks.written(&blocks),
            _ => {
                let next = Turn::new(message.role(), &blocks);
                turn.replace(next).into_iter().for_each(|last| last.write(writer));
            }
        }
    });
    turn.into_iter().for_each(|last| last.write(writer));
}

/// Whether a message of this role can hold a content: Converse takes attachments from the user only.
fn taken(role: Role, content: &Content) -> Result<(), Lost> {
    match content {
        Content::Media(_) if role != Role::User => Err(Lost::Media),
        Content::Document(_) if role != Role::User => Err(Lost::Document),
        _ => Ok(()),
    }
}

/// What one side says until the other does.
struct Turn {
    role: Role,
    /// The items of a list.
    blocks: Writer,
}

impl Turn {
    fn new(role: Role, blocks: &str) -> Self {
        let mut turn = Self { role, blocks: Writer::default() };
        turn.blocks.written(blocks);
        turn
    }

    fn write(self, writer: &mut Writer) {
        writer.object(|writer| {
            writer.key("role").string(match self.role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Supervisor | Role::Summary => "system",
            });
            writer.key("content").list(|writer| writer.written(&self.blocks.into_text()));
        });
    }
}
