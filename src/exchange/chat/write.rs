//! Writing chat messages.

use super::MESSAGE_ID;
use crate::clock::write_moment;
use crate::exchange::block::{self, Naming};
use crate::exchange::export::{Export, Losses, Lost, each_said};
use crate::exchange::writer::{Fidelity, Writer};
use crate::manager::MessagesManager;
use crate::message::{Content, Contents, Message, MessageWrapper, Role, Timing, Value};

/// All messages of all conversations.
pub(super) fn conversations<'a, W: MessageWrapper + 'a>(
    conversations: impl IntoIterator<Item = (&'a str, &'a MessagesManager<W>)>,
) -> Export {
    let (mut writer, mut losses) = (Writer::default(), Losses::default());
    writer.list(|writer| {
        for (id, manager) in conversations {
            each_said(manager, &mut losses, |message, contents, losses| {
                write(writer, id, message, contents, losses);
            });
        }
    });
    losses.beside(writer.into_text())
}

fn write(writer: &mut Writer, conversation: &str, message: &Message, contents: &Contents, losses: &mut Losses) {
    let of = message.id();
    if message.role() == Role::Supervisor {
        return losses.note(of, Lost::Instructions);
    }
    let mut is_told = |content: &&Content| match content {
        Content::Invocation(_) => {
            losses.note(of, Lost::Invocation);
            false
        }
        Content::InvocationResult(_) => {
            losses.note(of, Lost::InvocationResult);
            false
        }
        content => block::is_told(content, of, losses),
    };
    let told: Vec<&Content> = contents.iter().filter(&mut is_told).collect();
    if told.is_empty() {
        return;
    }
    let aux = message.metadata().aux();
    let at = write_moment(message.metadata().timing(Timing::Creation).unwrap_or_default());
    writer.object(|writer| {
        writer.key("message_id");
        match aux.get(MESSAGE_ID).and_then(Value::as_str) {
            Some(id) => writer.string(id),
            None => writer.string(&of.to_string()),
        }
        writer.key("conversation_id").string(conversation);
        writer.key("role").string(message.role().as_str());
        writer.key("content");
        match told.as_slice() {
            [Content::Text(text)] => writer.string(text),
            blocks => writer.list(|writer| {
                blocks.iter().for_each(|content| block::write(writer, content, Naming::Named, of, losses));
            }),
        }
        writer.key("timestamp").string(&at);
        let metadata = || aux.iter().filter(|(key, _)| *key != MESSAGE_ID);
        if metadata().next().is_some() {
            writer.key("metadata").object(|writer| {
                for (key, value) in metadata() {
                    if writer.key(key).value(value) == Fidelity::Told {
                        losses.note(of, Lost::Value);
                    }
                }
            });
        }
    });
}
