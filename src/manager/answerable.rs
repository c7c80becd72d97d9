//! Decides whether the model has something to answer.

use super::MessagesManager;
use crate::message::{Attribute, Message, MessageWrapper, Role, Timing};

impl<W: MessageWrapper> MessagesManager<W> {
    /// Returns `true` if the model has something to answer.
    ///
    /// Reads the messages that no summary covers from the last one back. The first message that decides is:
    ///
    /// | message | answerable |
    /// | --- | --- |
    /// | words of the caller, or tool results, late ones too | yes |
    /// | an interrupted answer ([`LlmInterrupted`](Attribute::LlmInterrupted)), or a partly heard one | yes: the rest of it |
    /// | an answer requested ([`LlmStart`](Timing::LlmStart)) before the user message that precedes it arrived | yes: that message |
    /// | any other answer that was completed and heard | no |
    /// | an unheard answer, or one that holds only open tool calls | the message before decides |
    /// | a fixed sentence: [`Hardcoded`](Attribute::Hardcoded) without [`LlmEnd`](Timing::LlmEnd) | the message before decides |
    /// | a system message or a fake | the message before decides |
    /// | none | no |
    ///
    /// A caller who heard only an apology is still waiting; a caller who was only greeted is not.
    pub fn is_answerable(&self) -> bool {
        self.is_unanswered() || self.deciding().next().is_some_and(is_cut)
    }

    /// Returns `true` if no answer to the caller has begun.
    pub(super) fn is_unanswered(&self) -> bool {
        let mut newest_first = self.deciding();
        newest_first.next().is_some_and(|message| {
            message.role() == Role::User || newest_first.next().is_some_and(|before| has_missed(message, before))
        })
    }

    /// Iterates over the messages that decide, newest first.
    fn deciding(&self) -> impl Iterator<Item = &Message> {
        self.uncovered().rev().map(W::message).filter(|message| match message.role() {
            Role::User => !message.is_fake(),
            Role::Assistant => self.is_visible(message) && !message.is_fixed(),
            Role::Summary | Role::System => false,
        })
    }
}

/// Returns `true` if some of the message before the answer arrived after the model was asked.
fn has_missed(answer: &Message, before: &Message) -> bool {
    let asked_ms = answer.metadata().timing(Timing::LlmStart);
    before.role() == Role::User
        && asked_ms.is_some_and(|asked_ms| before.parts().any(|part| part.created_ms() > asked_ms))
}

/// Returns `true` if the caller did not hear all of the message, or if it was interrupted.
fn is_cut(message: &Message) -> bool {
    let length = || message.contents().texts().map(|text| text.len()).sum();
    message.metadata().has(Attribute::LlmInterrupted) || message.heard().is_some_and(|heard| heard.len() < length())
}
