//! [`Export`]: a conversation as text, and what the text could not say.

use std::borrow::Cow;
use std::fmt;

use super::json::Json;
use super::plain;
use crate::manager::MessagesManager;
use crate::message::{Content, Contents, Message, MessageId, MessageWrapper, Role, RoleHint, Value};

/// A conversation as text of a format, and what the format has no words for.
///
/// Nothing is left out silently: what the documentation of a format does not say to be left out always is in `losses`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Export {
    /// The text.
    pub text: String,
    /// The losses, in the order of the messages.
    pub losses: Vec<Loss>,
}

/// The size of the text, not the words.
impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Export({} bytes, {:?})", self.text.len(), self.losses)
    }
}

/// A part of a message that an exported text lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The message.
    pub message: MessageId,
    /// The kind of loss.
    pub what: Lost,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "of message {}: {}", self.message, self.what)
    }
}

/// The kinds of losses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Lost {
    /// A summary.
    Summary,
    /// System instructions.
    Instructions,
    /// Words that were generated and not heard.
    Unheard,
    /// An image, sound or video.
    Media,
    /// A document.
    Document,
    /// A MIME type, a title or a label of media or a document.
    Label,
    /// A tool call.
    ToolCall,
    /// The result of a tool call.
    ToolResult,
    /// That a tool call failed, the type of its failure, or whether to retry.
    Failure,
    /// That a part of a result is data: it is written as a text.
    ResultJson,
    /// That a value in data is bytes.
    Value,
    /// The ids and times of the parts of a merged message, or the confidence of one.
    Parts,
    /// The order in which things were said.
    Order,
    /// A content of a newer version.
    Unknown,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Summary => "a summary",
            Self::Instructions => "system instructions",
            Self::Unheard => "what was not heard",
            Self::Media => "an image, sound or video",
            Self::Document => "a document",
            Self::Label => "a MIME type, a title or a label",
            Self::ToolCall => "a tool call",
            Self::ToolResult => "the result of a tool call",
            Self::Failure => "what is known of a failed tool call",
            Self::ResultJson => "that a result is data",
            Self::Value => "bytes in data",
            Self::Parts => "the ids, times and confidence of its parts",
            Self::Order => "the order in which things were said",
            Self::Unknown => "a content of a newer version",
        })
    }
}

/// The name of a role, as providers have it.
pub(super) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System | Role::Summary => "system",
    }
}

/// The role that a provider's message has: the [hint](crate::message::Decision::role_hint) of its decision, where there
/// is one and the message holds neither tool calls nor results. No provider takes words as those of a tool.
pub(super) fn role_for_provider(message: &Message) -> Role {
    let is_of_tools = |content: &Content| content.as_tool_call().is_some() || content.as_result().is_some();
    let hint = message.metadata().decision().and_then(|decision| decision.role_hint);
    match hint.filter(|_| !message.contents().iter().any(is_of_tools)) {
        Some(RoleHint::User) => Role::User,
        Some(RoleHint::Assistant) => Role::Assistant,
        Some(RoleHint::System) => Role::System,
        Some(RoleHint::Tool) | None => message.role(),
    }
}

/// Collects what is lost.
#[derive(Debug, Default)]
pub(super) struct Losses(Vec<Loss>);

impl Losses {
    /// Takes note that `what` of `message` is not said; once is enough.
    pub fn note(&mut self, message: MessageId, what: Lost) {
        let loss = Loss { message, what };
        if !self.0.iter().rev().take_while(|before| before.message == message).any(|before| *before == loss) {
            self.0.push(loss);
        }
    }

    /// A value as plain JSON.
    pub fn plain<'a>(&mut self, of: MessageId, value: &'a Value) -> Json<'a> {
        if !plain::is_plain(value) {
            self.note(of, Lost::Value);
        }
        Json::Plain(value)
    }

    /// Notes a loss if `untold` is present.
    pub fn note_some<T>(&mut self, of: MessageId, what: Lost, untold: &Option<T>) {
        if untold.is_some() {
            self.note(of, what);
        }
    }

    /// Whether a content says something. Blank is what was not heard, and no format has a newer writer's contents.
    pub fn says_something(&mut self, of: MessageId, content: &Content) -> bool {
        if matches!(content, Content::Unknown(_)) {
            self.note(of, Lost::Unknown);
            return false;
        }
        !content.is_blank()
    }

    /// The text of an export, with these losses.
    pub fn beside(self, text: String) -> Export {
        Export { text, losses: self.0 }
    }
}

/// Calls `each` for each message that somebody said or instructed, with its contents as they were heard: not for fakes,
/// and not for summaries, which are lost.
pub(super) fn each_said<'a, W: MessageWrapper + 'a>(
    manager: &'a MessagesManager<W>,
    losses: &mut Losses,
    mut each: impl FnMut(&'a Message, Cow<'a, Contents>, &mut Losses),
) {
    for message in manager.all().map(W::message).filter(|message| !message.is_fake()) {
        if message.role() == Role::Summary {
            losses.note(message.id(), Lost::Summary);
            continue;
        }
        let heard = message.heard_contents();
        if matches!(&heard, Cow::Owned(heard) if heard != message.contents()) {
            losses.note(message.id(), Lost::Unheard);
        }
        each(message, heard, losses);
    }
}
