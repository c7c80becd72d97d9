//! Writing the items of a list of messages.

use std::collections::HashMap;

use crate::exchange::export::{Losses, Lost};
use crate::exchange::writer::{Fidelity, Writer};
use crate::exchange::{block, failure};
use crate::message::{
    Content, Contents, Invocation, InvocationId, InvocationResult, MediaKind, Message, MessageId, Outcome,
    ResultContent, Role, Text, Value,
};

/// The items, written message by message.
pub(super) struct Items<'a> {
    inline: HashMap<&'a InvocationId, &'a InvocationResult>,
    /// Who spoke last.
    role: Option<Role>,
    /// Whether the next item has to say that it continues the last one.
    continues: bool,
}

impl<'a> Items<'a> {
    /// With the results that stand beside their calls.
    pub fn new(inline: HashMap<&'a InvocationId, &'a InvocationResult>) -> Self {
        Self { inline, role: None, continues: false }
    }

    /// Writes a message, of which these contents were heard.
    pub fn write(&mut self, writer: &mut Writer, message: &Message, contents: &Contents, losses: &mut Losses) {
        let (of, role) = (message.id(), message.role());
        let mut told = contents.iter().filter(|content| block::is_told(content, of, losses)).collect::<Vec<_>>();
        if told.is_empty() {
            return;
        }
        if self.role.replace(role) != Some(role) || !role.is_spoken() {
            self.continues = false;
        }
        // A text right before a call stands in the item of the call.
        let mut before: Option<&Text> = None;
        for content in told.drain(..) {
            let text = content.as_text();
            if let (Some(before), None) = (before, content.as_invocation()) {
                self.text(writer, role, before);
            }
            match content {
                Content::Text(_) => {}
                Content::Invocation(call) => self.call(writer, before, call, of, losses),
                Content::InvocationResult(result) => self.result(writer, result, of, losses),
                other => self.attached(writer, role, other, of, losses),
            }
            before = text;
        }
        if let Some(last) = before {
            self.text(writer, role, last);
        }
    }

    fn text(&mut self, writer: &mut Writer, role: Role, text: &Text) {
        let kind = if role == Role::Supervisor { "AgentMessage" } else { "TextMessage" };
        self.item(writer, kind, role, |writer| writer.key("text").string(text));
    }

    fn attached(&mut self, writer: &mut Writer, role: Role, content: &Content, of: MessageId, losses: &mut Losses) {
        match content {
            Content::Media(media) => {
                let kind = match media.kind {
                    MediaKind::Image => "ImageMessage",
                    MediaKind::Audio => "AudioMessage",
                    MediaKind::Video => "VideoMessage",
                };
                self.item(writer, kind, role, |writer| block::media_entries(writer, media, of, losses));
            }
            Content::Document(document) => {
                self.item(writer, "DocumentMessage", role, |writer| {
                    block::document_entries(writer, document, of, losses);
                });
            }
            _ => {}
        }
    }

    fn call(
        &mut self,
        writer: &mut Writer,
        before: Option<&Text>,
        call: &Invocation,
        of: MessageId,
        losses: &mut Losses,
    ) {
        let result = self.inline.get(call.id()).copied();
        if call.unknown.is_some() {
            losses.note(of, Lost::Unknown);
        }
        self.item(writer, "ToolCallMessage", Role::Assistant, |writer| {
            writer.key("message").string(before.map_or("", Text::as_str));
            writer.key("tool_name").string(call.name().as_str());
            writer.key("tool_call_id").string(call.id().as_str());
            if writer.key("arguments").value(call.arguments()) == Fidelity::Told {
                losses.note(of, Lost::Value);
            }
            if let Some(result) = result {
                write_outcome(writer, result, of, losses);
            }
        });
        self.continues = true;
    }

    fn result(&mut self, writer: &mut Writer, result: &InvocationResult, of: MessageId, losses: &mut Losses) {
        if self.inline.contains_key(result.invocation_id()) {
            return;
        }
        self.item(writer, "ToolResultMessage", Role::User, |writer| {
            writer.key("tool_name").string(result.name().as_str());
            writer.key("tool_call_id").string(result.invocation_id().as_str());
            write_outcome(writer, result, of, losses);
        });
    }

    /// An item with its type, what `entries` writes, and its role.
    fn item(&mut self, writer: &mut Writer, kind: &str, role: Role, entries: impl FnOnce(&mut Writer)) {
        writer.object(|writer| {
            writer.key("type").string(kind);
            entries(writer);
            writer.key("role").string(if role == Role::Supervisor { "system" } else { role.as_str() });
            if self.continues {
                writer.key("continues").bool(true);
            }
        });
        // Spoken messages of one role are merged in any case.
        self.continues |= !role.is_spoken();
    }
}

fn write_outcome(writer: &mut Writer, result: &InvocationResult, of: MessageId, losses: &mut Losses) {
    if result.unknown.is_some() {
        losses.note(of, Lost::Unknown);
    }
    let contents = match result.outcome() {
        Outcome::Success(contents) => contents,
        Outcome::Failure(error) => {
            writer.key("result").null();
            return failure::write(writer, error, of, losses);
        }
    };
    let mut in_parts = false;
    match contents.as_slice() {
        [ResultContent::Text(text)] => writer.key("result").string(text),
        // A text, or nothing, would be read in its place.
        [ResultContent::Json(value)] if !matches!(value, Value::Null | Value::String(_)) => {
            if writer.key("result").value(value) == Fidelity::Told {
                losses.note(of, Lost::Value);
            }
        }
        contents => {
            writer.key("result").null();
            in_parts = !contents.is_empty();
        }
    }
    writer.key("error").null();
    if in_parts {
        writer.key("result_contents").list(|writer| {
            contents.iter().for_each(|content| block::write_of_result(writer, content, of, losses));
        });
    }
}
