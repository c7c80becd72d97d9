//! Writes the items of a list of messages.

use std::collections::HashMap;

use super::inline;
use crate::exchange::export::{Export, LossKind, Losses, each_message, role_name};
use crate::exchange::json::{self, Json};
use crate::exchange::{block, failure};
use crate::manager::MessagesManager;
use crate::message::{
    Content, MediaKind, Message, MessageWrapper, ResultContent, Role, Text, ToolCall, ToolCallId, ToolResult, Value,
};

/// Exports the conversation in the format of [`import_versioned`](super::import_versioned).
///
/// [Losses](Export::losses) are summaries, text that was not heard, the parts of merged messages, bytes in data,
/// results without their calls, and calls whose result may be in a missing message.
pub fn export_versioned<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    let list = json::Items::default();
    let mut items = Items { list, inline: inline::results(manager), role: None, continues: false };
    each_message(manager, &mut losses, |message, contents, losses| items.write(message, &contents, losses));
    let messages = Json::Written(items.list);
    losses.into_export(Json::object([("messages", Some(messages)), ("version", Some("1.0".into()))]).to_string())
}

/// The items, written message by message.
struct Items<'m> {
    list: json::Items,
    /// The results that are written beside their calls.
    inline: HashMap<&'m ToolCallId, &'m ToolResult>,
    /// The role of the last item.
    role: Option<Role>,
    /// Whether the next item gets `continues`.
    continues: bool,
}

impl Items<'_> {
    /// Writes the heard contents of a message.
    fn write(&mut self, message: &Message, contents: &[Content], losses: &mut Losses) {
        let role = message.role();
        let written: Vec<&Content> = contents.iter().filter(|content| losses.is_written(content)).collect();
        if written.is_empty() {
            return;
        }
        losses.note_parts(message);
        if self.role.replace(role) != Some(role) || !role.is_spoken() {
            self.continues = false;
        }
        // A text directly before a call belongs to the item of the call.
        let mut before: Option<&Text> = None;
        for content in written {
            if let (Some(before), None) = (before, content.as_tool_call()) {
                self.text(role, before);
            }
            match content {
                Content::Text(_) | Content::Unknown(_) => {}
                Content::ToolCall(call) => self.call(before, call, losses),
                Content::ToolResult(result) => self.result(result, losses),
                Content::Media(media) => {
                    let kind = match media.kind {
                        MediaKind::Image => "ImageMessage",
                        MediaKind::Audio => "AudioMessage",
                        MediaKind::Video => "VideoMessage",
                        MediaKind::Document => "DocumentMessage",
                    };
                    self.item(kind, role, block::media_entries(media, losses));
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

    fn call(&mut self, before: Option<&Text>, call: &ToolCall, losses: &mut Losses) {
        losses.note_if(call.unknown.is_some(), LossKind::Unknown);
        let entries = Json::object([
            ("message", Some(before.map_or("", Text::as_str).into())),
            ("tool_name", Some(call.name().as_str().into())),
            ("tool_call_id", Some(call.id().as_str().into())),
            ("arguments", Some(losses.plain(call.arguments()))),
        ]);
        let result = self.inline.get(call.id()).copied();
        let outcome = result.map_or_else(|| Json::object([]), |result| outcome_entries(result, losses));
        self.item("ToolCallMessage", Role::Assistant, entries.and(outcome));
        self.continues = true;
    }

    fn result(&mut self, result: &ToolResult, losses: &mut Losses) {
        if self.inline.contains_key(result.tool_call_id()) {
            return;
        }
        let entries = Json::object([
            ("tool_name", Some(result.name().as_str().into())),
            ("tool_call_id", Some(result.tool_call_id().as_str().into())),
        ]);
        self.item("ToolResultMessage", Role::User, entries.and(outcome_entries(result, losses)));
    }

    fn item(&mut self, kind: &str, role: Role, entries: Json<'_>) {
        let common = Json::object([
            ("role", Some(role_name(role).into())),
            ("continues", self.continues.then_some(Json::Bool(true))),
        ]);
        self.list.push(&Json::object([("type", Some(kind.into()))]).and(entries).and(common));
        // An import merges consecutive messages of a spoken role anyway.
        self.continues |= !role.is_spoken();
    }
}

fn outcome_entries<'a>(result: &'a ToolResult, losses: &mut Losses) -> Json<'a> {
    losses.note_if(result.unknown.is_some(), LossKind::Unknown);
    let contents = match result.outcome() {
        Ok(contents) => contents,
        Err(error) => {
            return Json::object([("result", Some(Json::Null))]).and(failure::entries(error, losses));
        }
    };
    let (one, parts) = match contents.as_slice() {
        [] => (Json::Null, None),
        [ResultContent::Text(text)] => (text.into(), None),
        // An import would read a string as a text, and `null` as an empty result.
        [ResultContent::Json(value)] if !matches!(value, Value::Null | Value::String(_)) => (losses.plain(value), None),
        contents => {
            let parts = contents.iter().filter_map(|content| block::write_of_result(content, losses)).collect();
            (Json::Null, Some(parts))
        }
    };
    Json::object([("result", Some(one)), ("error", Some(Json::Null)), ("result_contents", parts)])
}
