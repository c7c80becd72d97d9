//! Writing chat messages.

use super::parts;
use crate::exchange::export::{Export, Losses, Lost, each_said};
use crate::exchange::writer::{Fidelity, Writer};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Contents, Invocation, InvocationResult, MessageId, MessageWrapper, Outcome, ResultContent, Role,
};

pub(super) fn conversation<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    let mut writer = Writer::default();
    writer.list(|writer| {
        each_said(manager, &mut losses, |message, contents, losses| {
            let mut out = Message { writer, losses, id: message.id(), role: message.role() };
            out.write(contents);
        });
    });
    losses.beside(writer.into_text())
}

/// A message that is being written, as one chat message or as several.
struct Message<'a> {
    writer: &'a mut Writer,
    losses: &'a mut Losses,
    id: MessageId,
    role: Role,
}

impl Message<'_> {
    fn write(&mut self, contents: &Contents) {
        let (mut said, mut calls): (Vec<&Content>, Vec<&Invocation>) = (Vec::new(), Vec::new());
        for content in contents {
            match content {
                Content::Invocation(invocation) => calls.push(invocation),
                Content::InvocationResult(result) => {
                    self.close(&mut said, &mut calls);
                    self.result(result);
                }
                other => {
                    let is_part = if self.role == Role::User { parts::check } else { parts::check_text };
                    if let Err(lost) = is_part(other) {
                        self.losses.note(self.id, lost);
                        continue;
                    }
                    if !calls.is_empty() {
                        self.close(&mut said, &mut calls);
                    }
                    said.push(other);
                }
            }
        }
        self.close(&mut said, &mut calls);
    }

    /// Writes what was collected, if anything was.
    fn close(&mut self, said: &mut Vec<&Content>, calls: &mut Vec<&Invocation>) {
        let (said, calls) = (std::mem::take(said), std::mem::take(calls));
        if said.is_empty() && calls.is_empty() {
            return;
        }
        let role = match self.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Supervisor | Role::Summary => "system",
        };
        let Self { writer, losses, id, .. } = self;
        writer.object(|writer| {
            writer.key("role").string(role);
            writer.key("content");
            if said.is_empty() {
                writer.null()
            } else {
                parts::write(writer, &said, *id, losses)
            }
            if !calls.is_empty() {
                writer
                    .key("tool_calls")
                    .list(|writer| calls.iter().for_each(|call| write_call(writer, call, *id, losses)));
            }
        });
    }

    fn result(&mut self, result: &InvocationResult) {
        let Self { writer, losses, id, .. } = self;
        writer.object(|writer| {
            writer.key("role").string("tool");
            writer.key("tool_call_id").string(result.invocation_id().as_str());
            writer.key("content");
            match result.outcome() {
                Outcome::Success(contents) => write_result(writer, contents, *id, losses),
                Outcome::Failure(error) => {
                    losses.note(*id, Lost::Failure);
                    writer.string(error.message());
                }
            }
        });
    }
}

fn write_call(writer: &mut Writer, call: &Invocation, message: MessageId, losses: &mut Losses) {
    let mut arguments = Writer::default();
    if arguments.value(call.arguments()) == Fidelity::Told {
        losses.note(message, Lost::Value);
    }
    writer.object(|writer| {
        writer.key("id").string(call.id().as_str());
        writer.key("type").string("function");
        writer.key("function").object(|writer| {
            writer.key("name").string(call.name().as_str());
            writer.key("arguments").string(&arguments.into_text());
        });
    });
}

/// What a tool gave back, as parts: data as a text.
fn write_result(writer: &mut Writer, contents: &[ResultContent], message: MessageId, losses: &mut Losses) {
    let parts: Vec<Content> = contents
        .iter()
        .filter_map(|content| {
            let part = match content {
                ResultContent::Text(text) => text.clone().into(),
                ResultContent::Json(value) => {
                    losses.note(message, Lost::ResultJson);
                    let mut json = Writer::default();
                    if json.value(value) == Fidelity::Told {
                        losses.note(message, Lost::Value);
                    }
                    json.into_text().into()
                }
                ResultContent::Media(media) => Content::Media(media.clone()),
                ResultContent::Document(document) => Content::Document(document.clone()),
                ResultContent::Unknown(map) => Content::Unknown(map.clone()),
            };
            match parts::check_text(&part) {
                Ok(()) => Some(part),
                Err(lost) => {
                    losses.note(message, lost);
                    None
                }
            }
        })
        .collect();
    match parts.as_slice() {
        // OpenAI refuses a list of none.
        [] => writer.string(""),
        [Content::Text(text)] if text.is_empty() => {
            writer.list(|writer| writer.object(|writer| parts::write_text(writer, text)));
        }
        parts => parts::write(writer, &parts.iter().collect::<Vec<_>>(), message, losses),
    }
}
