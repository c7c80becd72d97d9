//! Writing chat messages.

use std::collections::HashMap;

use super::parts;
use crate::exchange::block::text_block;
use crate::exchange::export::{Export, Losses, Lost, each_said, role_for_provider, role_name};
use crate::exchange::json::{Items, Json};
use crate::exchange::window::{Fit, unavailable};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Message, MessageId, MessageWrapper, Outcome, ResultContent, ToolCall, ToolCallId, ToolResult, is_blank,
};

pub(super) fn conversation<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    let mut chat = Chat::new(Fit::Conversation, manager.all().map(W::message));
    each_said(manager, &mut losses, |message, contents, losses| chat.write(message, &contents, losses));
    losses.beside(chat.items.to_list())
}

pub(super) fn window<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    if let Some(summary) = manager.last_summary() {
        losses.note(summary.id(), Lost::Summary);
    }
    let window: Vec<_> = manager.messages().collect();
    let mut chat = Chat::new(Fit::Window, window.iter().map(|wrapper| wrapper.message()));
    for message in manager.system_messages().map(W::message).chain(window.iter().map(|wrapper| wrapper.message())) {
        chat.write(message, message.contents(), &mut losses);
    }
    losses.beside(chat.items.to_list())
}

/// The chat messages written so far.
struct Chat<'m> {
    items: Items,
    fit: Fit,
    /// The result of each answered call: its number in the list, and the message that holds it.
    results: HashMap<&'m ToolCallId, (usize, MessageId, &'m ToolResult)>,
    /// How often somebody spoke.
    turns: usize,
    /// The turn after which each result was written.
    written: HashMap<&'m ToolCallId, usize>,
}

impl<'m> Chat<'m> {
    fn new(fit: Fit, messages: impl Iterator<Item = &'m Message>) -> Self {
        let results = messages.flat_map(|message| message.contents().iter().map(|content| (message.id(), content)));
        let results = results.filter_map(|(of, content)| Some((of, content.as_result()?)));
        let numbered = results.enumerate().map(|(at, (of, result))| (result.tool_call_id(), (at, of, result)));
        Self { items: Items::default(), fit, results: numbered.collect(), turns: 0, written: HashMap::new() }
    }

    /// Writes what was said in a message, then the results of its calls.
    fn write(&mut self, message: &Message, contents: &[Content], losses: &mut Losses) {
        let (of, role) = (message.id(), role_for_provider(message));
        let (mut said, mut calls): (Vec<Json<'_>>, Vec<&ToolCall>) = (Vec::new(), Vec::new());
        for content in contents {
            match content {
                Content::ToolCall(call) if self.results.contains_key(call.id()) => calls.push(call),
                Content::ToolCall(_) => losses.note(of, Lost::ToolCall),
                Content::ToolResult(result) => {
                    // It was written right after its call.
                    let turn = self.written.get(result.tool_call_id());
                    if turn != Some(&self.turns) || !said.is_empty() {
                        losses.note(of, if turn.is_none() { Lost::ToolResult } else { Lost::Order });
                    }
                }
                content => {
                    let part = parts::part(content, role, self.fit, of, losses);
                    if part.is_some() && !calls.is_empty() {
                        losses.note(of, Lost::Order);
                    }
                    said.extend(part);
                }
            }
        }
        if said.is_empty() && calls.is_empty() {
            return;
        }
        self.turns += 1;
        let written = calls.iter().map(|call| write_call(call, of, losses)).collect();
        self.items.push(&Json::object([
            ("role", Some(role_name(role).into())),
            ("content", Some(parts::write(said))),
            ("tool_calls", (!calls.is_empty()).then_some(Json::List(written))),
        ]));
        let mut results: Vec<_> = calls.iter().filter_map(|call| self.results.get(call.id()).copied()).collect();
        results.sort_unstable_by_key(|(at, ..)| *at);
        for (_, of, result) in results {
            self.written.insert(result.tool_call_id(), self.turns);
            self.items.push(&self.result(result, of, losses));
        }
    }

    fn result<'a>(&self, result: &'a ToolResult, of: MessageId, losses: &mut Losses) -> Json<'a> {
        let content = match result.outcome() {
            Outcome::Success(contents) => {
                let told = contents.iter().filter_map(|content| self.part_of_result(content, of, losses)).collect();
                match parts::write(told) {
                    // OpenAI refuses a list of nothing.
                    Json::Null => "".into(),
                    // Read again, an empty string is no text at all.
                    Json::Text(text) if text.is_empty() && self.fit == Fit::Conversation => {
                        Json::List(vec![text_block(text)])
                    }
                    content => content,
                }
            }
            Outcome::Failure(error) => {
                losses.note(of, Lost::Failure);
                error.message().into()
            }
        };
        Json::object([
            ("role", Some("tool".into())),
            ("tool_call_id", Some(result.tool_call_id().as_str().into())),
            ("content", Some(content)),
        ])
    }

    /// A tool gives back texts only.
    fn part_of_result<'a>(&self, content: &'a ResultContent, of: MessageId, losses: &mut Losses) -> Option<Json<'a>> {
        let (kind, lost) = match content {
            ResultContent::Text(text) if self.fit == Fit::Window && is_blank(text) => return None,
            ResultContent::Text(text) => return Some(text_block(text.as_str())),
            ResultContent::Json(value) => {
                losses.note(of, Lost::ResultJson);
                return Some(text_block(losses.plain(of, value).to_string()));
            }
            ResultContent::Media(media) => (media.kind.as_str(), Lost::Media),
            ResultContent::Document(_) => ("document", Lost::Document),
            ResultContent::Unknown(_) => ("result", Lost::Unknown),
        };
        losses.note(of, lost);
        (self.fit == Fit::Window).then(|| unavailable(kind))
    }
}

fn write_call<'a>(call: &'a ToolCall, of: MessageId, losses: &mut Losses) -> Json<'a> {
    let arguments = losses.plain(of, call.arguments()).to_string();
    let function =
        Json::object([("name", Some(call.name().as_str().into())), ("arguments", Some(Json::text(arguments)))]);
    Json::object([
        ("id", Some(call.id().as_str().into())),
        ("type", Some("function".into())),
        ("function", Some(function)),
    ])
}
