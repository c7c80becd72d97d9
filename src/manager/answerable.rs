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
    /// | an answer that was asked for ([`LlmStart`](Timing::LlmStart)) before the message in front of it had come | yes, that message |
    /// | another answer that was generated to its end and heard | no |
    /// | an answer of which nothing was heard; one with nothing but open tool calls | the message before decides |
    /// | a fixed sentence: [`Hardcoded`](Attribute::Hardcoded), without [`LlmEnd`](Timing::LlmEnd) | the message before decides |
    /// | system instructions, a fake | the message before decides |
    /// | nothing is left | no |
    ///
    /// So the caller who heard an apology still waits, and the one who was only greeted does not.
    pub fn is_answerable(&self) -> bool {
        self.is_unanswered() || self.that_count().next().is_some_and(is_cut)
    }

    /// Whether the caller waits for the beginning of an answer.
    pub(super) fn is_unanswered(&self) -> bool {
        let mut last = self.that_count();
        last.next().is_some_and(|message| {
            message.role() == Role::User || last.next().is_some_and(|before| has_missed(message, before))
        })
    }

    fn that_count(&self) -> impl Iterator<Item = &Message> {
        self.uncovered().rev().map(W::message).filter(|message| match message.role() {
            Role::User => !message.is_fake(),
            Role::Assistant => self.is_visible(message) && !is_fixed(message),
            Role::Summary | Role::System => false,
        })
    }
}

/// Nothing of it was generated. (A generated text may have been merged into a fixed sentence.)
fn is_fixed(message: &Message) -> bool {
    message.metadata().has(Attribute::Hardcoded) && message.metadata().timing(Timing::LlmEnd).is_none()
}

/// Some of the message before the answer came after the model was asked.
fn has_missed(answer: &Message, before: &Message) -> bool {
    let asked_ms = answer.metadata().timing(Timing::LlmStart);
    before.role() == Role::User
        && asked_ms.is_some_and(|asked_ms| before.parts().any(|part| part.created_ms() > asked_ms))
}

/// The caller did not hear all of it, or it ends too early.
fn is_cut(message: &Message) -> bool {
    let length = || message.contents().texts().map(|text| text.len()).sum();
    message.metadata().has(Attribute::LlmInterrupted) || message.heard().is_some_and(|heard| heard.len() < length())
}
