//! [`Summarizing`]: what is to be summarised, taken from a manager at one moment.

use crate::message::{Message, Role};

/// What is to be summarised, taken from a manager at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Summarizing {
    previous: Option<Message>,
    /// Without gaps, in the order of the list: supervisor and fake messages too.
    messages: Vec<Message>,
}

impl Summarizing {
    pub(crate) fn new(previous: Option<Message>, messages: Vec<Message>) -> Self {
        Self { previous, messages }
    }

    /// The summary before this one, if any, which the new one replaces.
    pub fn previous(&self) -> Option<&Message> {
        self.previous.as_ref()
    }

    /// What was said since, in order: user and assistant messages, without fakes.
    /// Their [`heard_contents`](Message::heard_contents) are what a summary tells.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.messages.iter().filter(|message| message.role().is_spoken() && !message.is_fake())
    }
}
