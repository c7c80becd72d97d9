//! Writes chat messages.

use std::collections::HashMap;

use super::parts;
use crate::exchange::block::text_block;
use crate::exchange::export::{Export, LossKind, Losses, each_message, role_for_provider, role_name};
use crate::exchange::json::{Items, Json};
use crate::exchange::pairs::note_broken;
use crate::exchange::window::{Fit, unavailable};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Message, MessageId, MessageWrapper, ResultContent, ToolCall, ToolCallId, ToolResult, is_blank,
};

/// Exports the whole conversation as a list of chat messages that OpenAI accepts.
///
/// - System messages are `system`. A message of several texts has them as parts.
/// - The export holds only complete pairs: a call that has a result, and the result directly after it as a `tool` message.
///   An empty result is `""`.
/// - A message without calls and results gets the role of its [role hint](crate::message::Decision::role_hint), unless
///   the hint is `tool`.
/// - The export always leaves out fakes, marks, custom data, steps, and the ids, times and confidence of messages and
///   their parts.
///
/// [Losses](Export::losses) are
///
/// - summaries, and text that was not heard;
/// - calls without a result;
/// - the order, if the assistant spoke after a call in one message, or if a result came late;
/// - attachments outside the user's own words, such as those in results; video; audio that is neither `audio/wav` nor
///   `audio/mpeg`; attachments that are neither bytes nor an image's URL;
/// - the labels of attachments;
/// - the type of a result that is data or a failure, because every result is a text in this format; bytes in arguments.
pub fn export_openai<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    let mut chat = Chat::new(Fit::Conversation, manager.all().map(W::message));
    each_message(manager, &mut losses, |message, contents, losses| chat.write(message, &contents, losses));
    losses.into_export(chat.items.to_list())
}

/// Writes the [window](MessagesManager::messages), which is what the model gets now, as the `messages` of a request.
///
/// All system instructions come first, then the messages of the window. Each call is followed by its result, and no text
/// is blank. Attachments that OpenAI does not accept become a text: `[image: not available to the model]`. The role hint
/// applies as in [`export_openai`].
///
/// [Losses](Export::losses) are as in [`export_openai`]. They include the summary: pass
/// [`last_summary`](MessagesManager::last_summary) to the model in an instruction of your own, marked as data.
pub fn window_openai<W: MessageWrapper>(manager: &MessagesManager<W>) -> Export {
    let mut losses = Losses::default();
    losses.note_summary(manager);
    note_broken(manager, &mut losses);
    let window: Vec<_> = manager.messages().collect();
    let mut chat = Chat::new(Fit::Window, window.iter().map(|wrapper| wrapper.message()));
    for message in manager.system_messages().map(W::message).chain(window.iter().map(|wrapper| wrapper.message())) {
        chat.write(message, message.contents(), &mut losses);
    }
    losses.into_export(chat.items.to_list())
}

/// The chat messages written so far.
struct Chat<'m> {
    items: Items,
    fit: Fit,
    /// The result of each answered call, with its position among the results and the message that holds it.
    results: HashMap<&'m ToolCallId, (usize, MessageId, &'m ToolResult)>,
    /// The number of messages written, without results.
    turns: usize,
    /// The value of `turns` when each result was written.
    written: HashMap<&'m ToolCallId, usize>,
}

impl<'m> Chat<'m> {
    fn new(fit: Fit, messages: impl Iterator<Item = &'m Message>) -> Self {
        let results = messages.flat_map(|message| message.contents().iter().map(|content| (message.id(), content)));
        let results = results.filter_map(|(of, content)| Some((of, content.as_result()?)));
        let numbered = results.enumerate().map(|(at, (of, result))| (result.tool_call_id(), (at, of, result)));
        Self { items: Items::default(), fit, results: numbered.collect(), turns: 0, written: HashMap::new() }
    }

    /// Writes a message, then the results of its calls.
    fn write(&mut self, message: &Message, contents: &[Content], losses: &mut Losses) {
        losses.set_message(message.id());
        let role = role_for_provider(message);
        let (mut said, mut calls): (Vec<Json<'_>>, Vec<&ToolCall>) = (Vec::new(), Vec::new());
        for content in contents {
            match content {
                Content::ToolCall(call) if self.results.contains_key(call.id()) => calls.push(call),
                Content::ToolCall(_) => losses.note(LossKind::ToolCall),
                Content::ToolResult(result) => {
                    // The result was written directly after its call.
                    let turn = self.written.get(result.tool_call_id());
                    if turn != Some(&self.turns) || !said.is_empty() {
                        losses.note(if turn.is_none() { LossKind::ToolCall } else { LossKind::Order });
                    }
                }
                content => {
                    let part = parts::part(content, role, self.fit, losses);
                    if part.is_some() && !calls.is_empty() {
                        losses.note(LossKind::Order);
                    }
                    said.extend(part);
                }
            }
        }
        if said.is_empty() && calls.is_empty() {
            return;
        }
        self.turns += 1;
        let written = calls.iter().map(|call| write_call(call, losses)).collect();
        self.items.push(&Json::object([
            ("role", Some(role_name(role).into())),
            ("content", Some(parts::write(said))),
            ("tool_calls", (!calls.is_empty()).then_some(Json::List(written))),
        ]));
        let mut results: Vec<_> = calls.iter().filter_map(|call| self.results.get(call.id()).copied()).collect();
        results.sort_unstable_by_key(|(at, ..)| *at);
        for (_, of, result) in results {
            losses.set_message(of);
            self.written.insert(result.tool_call_id(), self.turns);
            self.items.push(&self.result(result, losses));
        }
    }

    fn result<'a>(&self, result: &'a ToolResult, losses: &mut Losses) -> Json<'a> {
        let content = match result.outcome() {
            Ok(contents) => {
                let parts = contents.iter().filter_map(|content| self.result_part(content, losses)).collect();
                match parts::write(parts) {
                    // OpenAI refuses an empty list.
                    Json::Null => "".into(),
                    // An import reads an empty string as no text at all.
                    Json::Text(text) if text.is_empty() && self.fit == Fit::Conversation => {
                        Json::List(vec![text_block(text)])
                    }
                    content => content,
                }
            }
            Err(error) => {
                losses.note(LossKind::Failure);
                error.message().into()
            }
        };
        Json::object([
            ("role", Some("tool".into())),
            ("tool_call_id", Some(result.tool_call_id().as_str().into())),
            ("content", Some(content)),
        ])
    }

    /// Writes a part of a result, which is always a text.
    fn result_part<'a>(&self, content: &'a ResultContent, losses: &mut Losses) -> Option<Json<'a>> {
        let (kind, loss) = match content {
            ResultContent::Text(text) if self.fit == Fit::Window && is_blank(text) => return None,
            ResultContent::Text(text) => return Some(text_block(text.as_str())),
            ResultContent::Json(value) => {
                losses.note(LossKind::ValueType);
                return Some(text_block(losses.plain(value).to_string()));
            }
            ResultContent::Media(media) => (media.kind.as_str(), LossKind::Attachment),
            ResultContent::Unknown(_) => ("result", LossKind::Unknown),
        };
        losses.note(loss);
        (self.fit == Fit::Window).then(|| unavailable(kind))
    }
}

fn write_call<'a>(call: &'a ToolCall, losses: &mut Losses) -> Json<'a> {
    let arguments = losses.plain(call.arguments()).to_string();
    let function = Json::object([("name", Some(call.name().as_str().into())), ("arguments", Some(arguments.into()))]);
    Json::object([
        ("id", Some(call.id().as_str().into())),
        ("type", Some("function".into())),
        ("function", Some(function)),
    ])
}
