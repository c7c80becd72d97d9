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
    /// | a system message, a fake, or background: a user message with [`Hardcoded`](Attribute::Hardcoded) | the message before decides |
    /// | none | only background without any assistant message |
    ///
    /// A caller who heard only an apology is still waiting; a caller who was only greeted is not.
    pub fn is_answerable(&self) -> bool {
        match self.deciding().next() {
            Some(last) => self.is_unanswered() || is_cut(last),
            None => self.is_background(),
        }
    }

    /// Returns `true` if there is background, but nobody has said anything.
    fn is_background(&self) -> bool {
        let mut said = self.uncovered().filter(|message| message.role().is_spoken()).peekable();
        said.peek().is_some() && said.all(|message| message.message().is_background())
    }

    /// Returns `true` if no answer to the caller has begun.
    pub(super) fn is_unanswered(&self) -> bool {
        let mut newest_first = self.deciding();
        newest_first.next().is_some_and(|message| {
            message.role() == Role::User || newest_first.next().is_some_and(|before| has_missed(message, before))
        })
    }

    /// Records that the model is asked now. Returns the time for [`LlmStart`](Timing::LlmStart), which is never before
    /// the caller's words in the request.
    pub(crate) fn ask(&mut self) -> i64 {
        let now_ms = self.sources.clock.now_ms();
        let last = self.list.iter().map(W::message).rfind(|message| message.role() == Role::User);
        let added_ms = last.and_then(|last| last.parts().map(|part| part.created_ms()).max());
        let asked_ms = added_ms.filter(|added_ms| is_soon(*added_ms, now_ms)).unwrap_or(now_ms);
        self.asked_ms = asked_ms;
        asked_ms
    }

    /// Returns the creation time for a message that is added now. Words of the caller that follow a request get a later
    /// time than the request.
    pub(super) fn created_ms(&self, role: Role) -> i64 {
        let now_ms = self.sources.clock.now_ms();
        if role == Role::User && is_soon(self.asked_ms, now_ms) { self.asked_ms + 1 } else { now_ms }
    }

    /// Iterates over the messages that decide, newest first.
    fn deciding(&self) -> impl Iterator<Item = &Message> {
        self.uncovered().rev().map(W::message).filter(|message| match message.role() {
            Role::User => message.is_said(),
            Role::Assistant => self.is_visible(message) && !message.is_fixed(),
            Role::Summary | Role::System => false,
        })
    }
}

/// Returns `true` if a time is at most a second ahead of the clock. Such a time was moved forward to order two events
/// in one millisecond, or the clock was set back a little.
fn is_soon(at_ms: i64, now_ms: i64) -> bool {
    (now_ms..now_ms.saturating_add(1_000)).contains(&at_ms)
}

/// Returns `true` if a part of the message before the answer arrived after the model was asked.
fn has_missed(answer: &Message, before: &Message) -> bool {
    let asked_ms = answer.metadata().timing(Timing::LlmStart);
    before.role() == Role::User
        && asked_ms.is_some_and(|asked_ms| before.parts().any(|part| part.created_ms() > asked_ms))
}

/// Returns `true` if the caller did not hear all of the message, or if it was interrupted.
fn is_cut(message: &Message) -> bool {
    let length = || message.contents().texts().map(|text| text.len()).sum();
    message.metadata().has(Attribute::LlmInterrupted) || message.heard().is_some_and(|heard| heard.bytes() < length())
}
