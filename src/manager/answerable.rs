//! Whether there is something to answer. The one home of this rule.

use super::MessagesManager;
use crate::message::{Attribute, Message, MessageWrapper, Role, Timing};

impl<W: MessageWrapper> MessagesManager<W> {
    /// Whether there is something that the model can answer, by the list alone.
    ///
    /// The messages that no summary covers are read from the last one back. The first that decides is:
    ///
    /// | message | something to answer |
    /// | --- | --- |
    /// | words of the caller, or results of tools, late ones too | yes |
    /// | an answer that was stopped ([`LlmInterrupted`](Attribute::LlmInterrupted)), or heard in part | yes, the rest of it |
    /// | an answer that was generated to its end and heard | no |
    /// | an answer of which nothing was heard; one with nothing but open tool calls | the message before decides |
    /// | a fixed sentence: [`Hardcoded`](Attribute::Hardcoded), without [`LlmEnd`](Timing::LlmEnd) | the message before decides |
    /// | system instructions, a fake | the message before decides |
    /// | nothing is left | no |
    ///
    /// So the caller who heard an apology still waits, and the one who was only greeted does not.
    pub fn is_answerable(&self) -> bool {
        self.last_that_counts().is_some_and(|message| message.role() == Role::User || is_cut(message))
    }

    /// Whether the caller waits for the beginning of an answer.
    pub(super) fn is_unanswered(&self) -> bool {
        self.last_that_counts().is_some_and(|message| message.role() == Role::User)
    }

    fn last_that_counts(&self) -> Option<&Message> {
        self.uncovered().rev().map(W::message).find(|message| match message.role() {
            Role::User => !message.is_fake(),
            Role::Assistant => self.is_visible(message) && !is_fixed(message),
            Role::Summary | Role::Supervisor => false,
        })
    }
}

/// Nothing of it was generated. (A generated text may have been merged into a fixed sentence.)
fn is_fixed(message: &Message) -> bool {
    message.metadata().has(Attribute::Hardcoded) && message.metadata().timing(Timing::LlmEnd).is_none()
}

/// The caller did not hear all of it, or it ends too early.
fn is_cut(message: &Message) -> bool {
    let length = || message.contents().texts().map(|text| text.len()).sum();
    message.metadata().has(Attribute::LlmInterrupted) || message.heard().is_some_and(|heard| heard.len() < length())
}
