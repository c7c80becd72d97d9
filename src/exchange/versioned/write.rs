//! Writing the items of a list of messages.

use std::collections::HashMap;

use crate::exchange::export::{Losses, Lost, role_name};
use crate::exchange::json::{self, Json};
use crate::exchange::{block, failure};
use crate::message::{
    Content, MediaKind, Message, MessageId, Outcome, ResultContent, Role, Text, ToolCall, ToolCallId, ToolResult, Value,
};

/// The items, written message by message.
pub(super) struct Items<'m> {
    list: json::Items,
    inline: HashMap<&'m ToolCallId, &'m ToolResult>,
    /// Who spoke last.
    role: Option<Role>,
    /// Whether the next item has to say that it continues the last one.
    continues: bool,
}

impl<'m> Items<'m> {
    /// Writes `inline` results beside their calls.
    pub fn new(inline: HashMap<&'m ToolCallId, &'m ToolResult>) -> Self {
        Self { list: json::Items::default(), inline, role: None, continues: false }
    }

    pub fn into_list(self) -> json::Items {
        self.list
    }

    /// Writes the heard contents of a message.
    pub fn write(&mut self, message: &Message, contents: &[Content], losses: &mut Losses) {
        let (of, role) = (message.id(), message.role());
        let told: Vec<&Content> = contents.iter().filter(|content| losses.says_something(of, content)).collect();
        if told.is_empty() {
            return;
        }
        if message.parts().len() > 1 || message.parts().any(|part| part.confidence().is_some()) {
            losses.note(of, Lost::Parts);
        }
        if self.role.replace(role) != Some(role) || !role.is_spoken() {
            self.continues = false;
        }
        // A text right before a call is part of the call's item.
        let mut before: Option<&Text> = None;
        for content in told {
            if let (Some(before), None) = (before, content.as_tool_call()) {
                self.text(role, before);
            }
            match content {
                Content::Text(_) | Content::Unknown(_) => {}
                Content::ToolCall(call) => self.call(before, call, of, losses),
                Content::ToolResult(result) => self.result(result, of, losses),
                Content::Media(media) => {
                    let kind = match media.kind {
                        MediaKind::Image => "ImageMessage",
                        MediaKind::Audio => "AudioMessage",
                        MediaKind::Video => "VideoMessage",
                    };
                    self.item(kind, role, block::media_entries(media, of, losses));
                }
                Content::Document(document) => {
                    self.item("DocumentMessage", role, block::document_entries(document, of, losses));
                }
            }
            before = content.as_text();
        }
        if let Some(last) = before {
            self.text(role, last);
        }
    }

    fn text(&mut self, role: Role, text: &Text) {
        let kind = if role == Role::System { "AgentMessage" } else { "TextMessage" };
        self.item(kind, role, Json::object([("text", Some(text.into()))]));
    }

    fn call(&mut self, before: Option<&Text>, call: &ToolCall, of: MessageId, losses: &mut Losses) {
        losses.note_some(of, Lost::Unknown, &call.unknown);
        let entries = Json::object([
            ("message", Some(before.map_or("", Text::as_str).into())),
            ("tool_name", Some(call.name().as_str().into())),
            ("tool_call_id", Some(call.id().as_str().into())),
            ("arguments", Some(losses.plain(of, call.arguments()))),
        ]);
        let result = self.inline.get(call.id()).copied();
        let outcome = result.map_or_else(|| Json::object([]), |result| outcome_entries(result, of, losses));
        self.item("ToolCallMessage", Role::Assistant, entries.and(outcome));
        self.continues = true;
    }

    fn result(&mut self, result: &ToolResult, of: MessageId, losses: &mut Losses) {
        if self.inline.contains_key(result.tool_call_id()) {
            return;
        }
        let entries = Json::object([
            ("tool_name", Some(result.name().as_str().into())),
            ("tool_call_id", Some(result.tool_call_id().as_str().into())),
        ]);
        self.item("ToolResultMessage", Role::User, entries.and(outcome_entries(result, of, losses)));
    }

    fn item(&mut self, kind: &str, role: Role, entries: Json<'_>) {
        let behind =
            Json::object([("role", Some(role_name(role).into())), ("continues", self.continues.then(|| true.into()))]);
        self.list.push(&Json::object([("type", Some(kind.into()))]).and(entries).and(behind));
        // Spoken messages of one role are merged in any case.
        self.continues |= !role.is_spoken();
    }
}

fn outcome_entries<'a>(result: &'a ToolResult, of: MessageId, losses: &mut Losses) -> Json<'a> {
    losses.note_some(of, Lost::Unknown, &result.unknown);
    let contents = match result.outcome() {
        Outcome::Success(contents) => contents,
        Outcome::Failure(error) => {
            return Json::object([("result", Some(Json::Null))]).and(failure::entries(error, of, losses));
        }
    };
    let (one, parts) = match contents.as_slice() {
        [] => (Json::Null, None),
        [ResultContent::Text(text)] => (text.into(), None),
        // A text, or nothing, would be read in its place.
        [ResultContent::Json(value)] if !matches!(value, Value::Null | Value::String(_)) => {
            (losses.plain(of, value), None)
        }
        contents => {
            let parts = contents.iter().filter_map(|content| block::write_of_result(content, of, losses)).collect();
            (Json::Null, Some(parts))
        }
    };
    Json::object([("result", Some(one)), ("error", Some(Json::Null)), ("result_contents", parts)])
}
