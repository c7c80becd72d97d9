//! [`Summarizing`]: a snapshot of the messages to summarize.

use std::fmt;

use super::format::{self, Format};
use crate::message::Message;

/// A snapshot of the messages to summarize.
///
/// Give its text to a summarizer, and pass the summary with this snapshot to
/// [`add_summary`](crate::MessagesManager::add_summary). [`for_model`](Self::for_model) writes the text for a model:
/// nothing that a caller says can change its structure. `to_string()` and [`format`](Self::format) write it for people,
/// and for prompts that need another format.
#[derive(Debug, Clone, PartialEq)]
pub struct Summarizing {
    previous: Option<Message>,
    /// A range of the list without gaps, including system messages and fakes.
    range: Vec<Message>,
}

impl Summarizing {
    pub(crate) fn new(previous: Option<Message>, range: Vec<Message>) -> Self {
        Self { previous, range }
    }

    /// Returns the summary that the new one replaces, if any.
    pub fn previous(&self) -> Option<&Message> {
        self.previous.as_ref()
    }

    /// Iterates over the user and assistant messages to summarize, in order and without fakes.
    ///
    /// A summary should describe their [`heard_contents`](Message::heard_contents).
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.range.iter().filter(|message| message.role().is_spoken() && !message.is_fake())
    }

    /// Returns the conversation as text in a custom format.
    pub fn format(&self, format: &Format) -> String {
        let mut text = String::with_capacity(self.text_bytes());
        // Writing to a String cannot fail.
        let _ = format.write(self, &mut text);
        text
    }

    /// Returns the conversation as text for a model: one JSON object per line, starting with the previous summary if
    /// there is one. Nothing that a caller says can look like another line.
    ///
    /// ```json
    /// {"summary":["The caller asked for the balance."]}
    /// {"user":["Hi, there","how are you"]}
    /// {"assistant":["One moment.",{"arguments":{},"id":"call_1","name":"balance","type":"toolCall"}]}
    /// {"user":[{"content":["12.50"],"name":"balance","toolCallId":"call_1","type":"toolResult"}]}
    /// ```
    ///
    /// The lists are contents as in a [`Record`](crate::Record), except that media and documents have their size, as in
    /// `"bytes": 1234`, instead of their data. Control, bidirectional and line-breaking characters are escaped.
    pub fn for_model(&self) -> String {
        format::json_lines(self)
    }

    /// Returns the approximate length of the text, in bytes.
    pub(super) fn text_bytes(&self) -> usize {
        const TAG: usize = 16;
        let texts = |message: &Message| message.contents().texts().map(|text| TAG + text.len()).sum::<usize>();
        self.previous.iter().chain(&self.range).map(texts).sum()
    }

    pub(super) fn range(&self) -> &[Message] {
        &self.range
    }
}

/// Writes the default [`Format`].
impl fmt::Display for Summarizing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Format::default().write(self, f)
    }
}
