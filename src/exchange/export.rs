//! [`Export`]: a conversation as text, and the losses of the text.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use super::json::Json;
use super::{pairs, plain};
use crate::manager::MessagesManager;
use crate::message::{
    Content, Contents, Media, Message, MessageId, MessageWrapper, Role, RoleHint, ToolCallId, ToolError, Value,
};

/// A conversation as text of a format, with everything that the format cannot express.
///
/// The documentation of a format lists what it always leaves out. Everything else that is left out is in `losses`.
/// `Debug` prints the size of the text, not the words.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Export {
    /// The text.
    pub text: String,
    /// The losses, each with the id of its message and a name such as `a summary`, in the order of the messages.
    pub losses: Vec<(MessageId, &'static str)>,
}

impl fmt::Debug for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Export({} bytes, {:?})", self.text.len(), self.losses)
    }
}

/// A kind of information that an exported text lacks.
#[derive(Debug, Clone, Copy)]
pub(super) enum LossKind {
    /// A summary.
    Summary,
    /// System instructions.
    Instructions,
    /// Text that was generated and not heard.
    Unheard,
    /// An image, audio, a video or a document.
    Attachment,
    /// A MIME type, a title or a label of an attachment.
    Label,
    /// A tool call or its result.
    ToolCall,
    /// The mark that a tool call failed, the type of its failure, or whether to retry.
    Failure,
    /// The type of a value: data is written as text, or bytes as base64.
    ValueType,
    /// The ids and times of the parts of a merged message, or the confidence of a part.
    Parts,
    /// The order in which things were said.
    Order,
    /// A content of a newer version.
    Unknown,
}

impl LossKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Summary => "a summary",
            Self::Instructions => "system instructions",
            Self::Unheard => "text that was not heard",
            Self::Attachment => "an image, audio, a video or a document",
            Self::Label => "a MIME type, a title or a label",
            Self::ToolCall => "a tool call or its result",
            Self::Failure => "details of a failed tool call",
            Self::ValueType => "the type of a value",
            Self::Parts => "the ids, times and confidence of its parts",
            Self::Order => "the order in which things were said",
            Self::Unknown => "a content of a newer version",
        }
    }
}

/// Returns the name of a role that all providers share.
pub(super) const fn role_name(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System | Role::Summary => "system",
    }
}

/// Returns the role of a message for a provider: the [hint](crate::message::Decision::role_hint) of its decision,
/// unless the message has tool calls or results, or the hint is `tool`. Providers refuse plain text with the role of a
/// tool.
pub(super) fn role_for_provider(message: &Message) -> Role {
    let hint = message.metadata().decision().and_then(|decision| decision.role_hint);
    match hint.filter(|_| !message.contents().iter().any(is_of_tools)) {
        Some(RoleHint::User) => Role::User,
        Some(RoleHint::Assistant) => Role::Assistant,
        Some(RoleHint::System) => Role::System,
        Some(RoleHint::Tool) | None => message.role(),
    }
}

/// Returns whether a content is a tool call or a result.
pub(super) fn is_of_tools(content: &Content) -> bool {
    matches!(content, Content::ToolCall(_) | Content::ToolResult(_))
}

/// Collects the losses of an export, message by message.
#[derive(Debug, Default)]
pub(super) struct Losses {
    list: Vec<(MessageId, &'static str)>,
    message: Option<MessageId>,
    /// The tool calls and results that lack their other half.
    broken: HashSet<ToolCallId>,
}

impl Losses {
    /// Sets the message that the next losses belong to.
    pub fn set_message(&mut self, message: MessageId) {
        self.message = Some(message);
    }

    /// Notes a loss of the current message, once.
    pub fn note(&mut self, loss: LossKind) {
        let Some(message) = self.message else { return };
        let loss = loss.name();
        if !self.list.iter().rev().take_while(|(before, _)| *before == message).any(|(_, before)| *before == loss) {
            self.list.push((message, loss));
        }
    }

    pub fn note_if(&mut self, is_lost: bool, loss: LossKind) {
        if is_lost {
            self.note(loss);
        }
    }

    /// Notes the type and the retry flag of a failure, for a format that writes only its message.
    pub fn note_failure(&mut self, error: &ToolError) {
        self.note_if(error.error_type().is_some() || error.retryable().is_some(), LossKind::Failure);
    }

    /// Notes the labels of media that a format does not write.
    pub fn note_labels(&mut self, media: &Media) {
        self.note_if(media.label.is_some() || media.unknown.is_some(), LossKind::Label);
    }

    /// Notes the ids, times and confidence of parts, for a format that writes a message as a whole.
    pub fn note_parts(&mut self, message: &Message) {
        let is_lost = message.parts().len() > 1 || message.parts().any(|part| part.confidence().is_some());
        self.note_if(is_lost, LossKind::Parts);
    }

    /// Notes the summary, which no provider's window can hold.
    pub fn note_summary<W: MessageWrapper>(&mut self, manager: &MessagesManager<W>) {
        if let Some(summary) = manager.last_summary() {
            self.set_message(summary.id());
            self.note(LossKind::Summary);
        }
    }

    /// Returns a value as plain JSON.
    pub fn plain<'a>(&mut self, value: &'a Value) -> Json<'a> {
        self.note_if(!plain::is_plain(value), LossKind::ValueType);
        Json::Plain(value)
    }

    /// Returns whether to write a content. A content of a newer version, or half of a tool pair, is not written,
    /// because no format can express it.
    pub fn is_written(&mut self, content: &Content) -> bool {
        let is_unknown = matches!(content, Content::Unknown(_));
        self.note_if(is_unknown, LossKind::Unknown);
        !is_unknown && self.is_paired(content)
    }

    /// Returns whether a content is anything but half of a broken tool pair.
    pub fn is_paired(&mut self, content: &Content) -> bool {
        let is_broken = pairs::is_broken(&self.broken, content);
        self.note_if(is_broken, LossKind::ToolCall);
        !is_broken
    }

    /// Returns the export of `text` with these losses.
    pub fn into_export(self, text: String) -> Export {
        Export { text, losses: self.list }
    }
}

/// Calls `write` for each message with its heard contents, except for fakes and for summaries, which are lost.
///
/// Blank texts are left out, because an import refuses a message that holds nothing else, such as one whose first
/// space alone was heard.
pub(super) fn each_message<'a, W: MessageWrapper + 'a>(
    manager: &'a MessagesManager<W>,
    losses: &mut Losses,
    mut write: impl FnMut(&'a Message, Cow<'a, Contents>, &mut Losses),
) {
    losses.broken = pairs::broken(manager);
    for message in manager.all().map(W::message).filter(|message| !message.is_fake()) {
        losses.set_message(message.id());
        if message.role() == Role::Summary {
            losses.note(LossKind::Summary);
            continue;
        }
        let heard = message.heard_contents();
        let is_cut = matches!(&heard, Cow::Owned(heard) if heard != message.contents());
        losses.note_if(is_cut, LossKind::Unheard);
        let heard = match heard.iter().any(Content::is_blank) {
            true => Cow::Owned(heard.iter().filter(|content| !content.is_blank()).cloned().collect()),
            false => heard,
        };
        write(message, heard, losses);
    }
}
