//! [`Summarizing`]: what is to be summarised, taken from a manager at one moment.

use std::fmt;

use super::format::{self, Format};
use crate::message::Message;

/// What is to be summarised, taken from a manager at one moment.
///
/// Give its text to whatever summarises, and the summary back to the manager with
/// [`add_summary`](crate::MessagesManager::add_summary). For a model, [`for_model`](Self::for_model) is the text that
/// no caller can forge; `to_string()` and [`format`](Self::format) are for people, and for prompts of your own.
#[derive(Debug, Clone, PartialEq)]
pub struct Summarizing {
    previous: Option<Message>,
    /// Without gaps, as in the list: supervisor messages and fakes too.
    range: Vec<Message>,
}

impl Summarizing {
    pub(crate) fn new(previous: Option<Message>, range: Vec<Message>) -> Self {
        Self { previous, range }
    }

    /// The summary before this one, if any, which the new one replaces.
    pub fn previous(&self) -> Option<&Message> {
        self.previous.as_ref()
    }

    /// What was said since, in order: user and assistant messages, without fakes.
    ///
    /// A summary tells their [`heard_contents`](Message::heard_contents).
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.range.iter().filter(|message| message.role().is_spoken() && !message.is_fake())
    }

    /// The conversation as text, in a form of your choice.
    pub fn format(&self, format: &Format) -> String {
        let mut text = String::with_capacity(self.text_bytes());
        // Writing to a String cannot fail.
        let _ = format.write(self, &mut text);
        text
    }

    /// The conversation as text for a model: a JSON object a line, and nothing that a caller says can pose as another
    /// line. First the previous summary, if any.
    ///
    /// ```json
    /// {"summary":["The caller asked for the balance."]}
    /// {"user":["Hi, there","how are you"]}
    /// {"assistant":["One moment.",{"type":"toolCall","id":"call_1","name":"balance","arguments":{}}]}
    /// {"user":[{"type":"toolResult","toolCallId":"call_1","name":"balance","content":["12.50"]}]}
    /// ```
    ///
    /// The lists are contents as in a [`Record`](crate::Record), but for the data of media and documents: of that
    /// they tell the size, as `"bytes": 1234`. Control, bidirectional and line-breaking characters are escaped.
    pub fn for_model(&self) -> String {
        format::json_lines(self)
    }

    /// About how long the text will be.
    pub(super) fn text_bytes(&self) -> usize {
        const TAG: usize = 16;
        let texts = |message: &Message| message.contents().texts().map(|text| TAG + text.len()).sum::<usize>();
        self.previous.iter().chain(&self.range).map(texts).sum()
    }

    pub(super) fn range(&self) -> &[Message] {
        &self.range
    }
}

/// In the default [`Format`].
impl fmt::Display for Summarizing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Format::default().write(self, f)
    }
}
