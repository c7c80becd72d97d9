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
        if opening > 0 {
            writer.key("system").list(|writer| write_instructions(writer, manager, opening, &mut losses));
        }
        writer.key("messages").list(|writer| write_messages(writer, manager, opening, &mut losses));
    });
    losses.beside(writer.into_text())
}

/// How many supervisor messages stand in front.
fn opening<W: MessageWrapper>(manager: &MessagesManager<W>) -> usize {
    manager.meta_messages().iter().take_while(|wrapper| wrapper.role() == Role::Supervisor).count()
}

fn write_instructions<W: MessageWrapper>(
    writer: &mut Writer,
    manager: &MessagesManager<W>,
    opening: usize,
    losses: &mut Losses,
) {
    for message in manager.meta_messages().iter().take(opening) {
        for content in message.contents() {
            match content {
                Content::Text(text) => writer.object(|writer| writer.key("text").string(text)),
                Content::Media(_) => losses.note(message.id(), Lost::Media),
                Content::Document(_) => losses.note(message.id(), Lost::Document),
                // Supervisor messages hold neither calls nor results.
                Content::Invocation(_) | Content::InvocationResult(_) | Content::Unknown(_) => {
                    losses.note(message.id(), Lost::Unknown);
                }
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
    each_said(manager, losses, |message, contents, losses| {
        if in_front > 0 {
            in_front -= 1;
            return;
        }
        let mut inner = Writer::default();
        inner.list(|inner| contents.iter().for_each(|content| blocks::write(inner, content, message.id(), losses)));
        let content = inner.into_text();
        if content == "[]" {
            return;
        }
        writer.object(|writer| {
            writer.key("role").string(match message.role() {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Supervisor | Role::Summary => "system",
            });
            writer.key("content").written(&content);
        });
    });
}
