//! Writes chat messages.

use super::{INPUT_ID, MESSAGE_ID};
use crate::clock::write_moment;
use crate::exchange::block::{self, Naming};
use crate::exchange::export::{Export, LossKind, Losses, each_message, is_of_tools};
use crate::exchange::json::{Items, Json};
use crate::manager::MessagesManager;
use crate::message::{Content, Message, MessageWrapper, Role, Timing, Value};

/// Exports the messages of conversations, each with its id, as one list in the format of
/// [`import_chat`](super::import_chat).
///
/// The export always leaves out marks, decisions, fakes, and all times but that of creation. [Losses](Export::losses)
/// are instructions, summaries, tool calls and their results; text that was not heard; the parts of merged messages;
/// bytes in custom data.
pub fn export_chat<'a, W: MessageWrapper + 'a>(
    conversations: impl IntoIterator<Item = (&'a str, &'a MessagesManager<W>)>,
) -> Export {
    let (mut messages, mut losses) = (Items::default(), Losses::default());
    for (id, manager) in conversations {
        each_message(manager, &mut losses, |message, contents, losses| {
            write(&mut messages, id, message, &contents, losses);
        });
    }
    losses.into_export(messages.to_list())
}

fn write(messages: &mut Items, conversation: &str, message: &Message, contents: &[Content], losses: &mut Losses) {
    if message.role() == Role::System {
        return losses.note(LossKind::Instructions);
    }
    let written: Vec<&Content> = contents.iter().filter(|content| losses.is_written(content)).collect();
    let blocks = written.iter().filter_map(|content| block::write(content, Naming::Named, losses));
    let blocks: Vec<Json<'_>> = blocks.collect();
    let content = match written.iter().filter(|content| !is_of_tools(content)).collect::<Vec<_>>().as_slice() {
        [] => return,
        [Content::Text(text)] => text.into(),
        _ => Json::List(blocks),
    };
    losses.note_parts(message);
    let aux = message.metadata().aux();
    let id = aux.get(MESSAGE_ID).and_then(Value::as_str).map_or_else(|| message.id().to_string().into(), Json::from);
    let metadata = aux.iter().filter(|(key, _)| *key != MESSAGE_ID && *key != INPUT_ID);
    let metadata: Vec<_> = metadata.map(|(key, value)| (key.as_str(), losses.plain(value))).collect();
    let at = write_moment(message.metadata().timing(Timing::Creation).unwrap_or_default());
    messages.push(&Json::object([
        ("message_id", Some(id)),
        ("input_id", aux.get(INPUT_ID).and_then(Value::as_str).map(Json::from)),
        ("conversation_id", Some(conversation.into())),
        ("role", Some(message.role().as_str().into())),
        ("content", Some(content)),
        ("timestamp", Some(at.into())),
        ("metadata", (!metadata.is_empty()).then_some(Json::Object(metadata))),
    ]));
}
