//! Adding messages: what is refused, what is merged, where a fake opener goes in.

use std::collections::HashSet;

use super::{Calls, Entry, ManagerError, MessagesManager};
use crate::message::{
    Attribute, Confidence, Content, Contents, Decision, Draft, Message, MessageId, MessageWrapper, PLACEHOLDER,
    Position, Role, Step,
};

/// How far merging makes a message grow: an item of DynamoDB has 400 KB, and what cannot be logged would be lost.
const MAX_MERGED_BYTES: usize = 256 * 1024;
const MAX_MERGED_CONTENTS: usize = 1_000;

impl<W: MessageWrapper> MessagesManager<W> {
    /// Adds what the caller said, or results of tools. Behind another user message it is merged into that one, as long
    /// as that stays small enough to be logged.
    ///
    /// Errors: as [`add_message`](Self::add_message).
    pub fn add_user(&mut self, contents: impl Into<Contents>) -> Result<Entry<'_, W>, ManagerError> {
        self.add_message(Role::User, contents)
    }

    /// Adds what the model generated, or what was spoken in its name. Behind another assistant message it is merged
    /// into that one. Where it would open the window, a fake user message goes in front.
    ///
    /// Errors: as [`add_message`](Self::add_message).
    pub fn add_assistant(&mut self, contents: impl Into<Contents>) -> Result<Entry<'_, W>, ManagerError> {
        self.add_message(Role::Assistant, contents)
    }

    /// Adds system instructions: logged in their place, never in [`messages`](Self::messages).
    ///
    /// Errors: as [`add_message`](Self::add_message).
    pub fn add_system(&mut self, contents: impl Into<Contents>) -> Result<Entry<'_, W>, ManagerError> {
        self.add_message(Role::System, contents)
    }

    /// Adds a message. Texts that are blank are left out.
    ///
    /// Errors, which leave no trace: nothing but blank texts; [`Role::Summary`]; a tool call that is not the
    /// assistant's, or its id used before; a result that is not the user's, or of an unknown call, or a second one, or
    /// of another tool; 100 million messages.
    pub fn add_message(&mut self, role: Role, contents: impl Into<Contents>) -> Result<Entry<'_, W>, ManagerError> {
        let mut contents = contents.into();
        check(&self.calls, role, &mut contents)?;
        self.check_room_for(1)?;
        let index = self.add_checked(role, contents, Beside::default());
        Ok(Entry::new(self, index))
    }

    /// Adds a message of its own, behind one of the same role too: in the window both are one.
    ///
    /// Errors: as [`add_message`](Self::add_message).
    pub(crate) fn add_apart(
        &mut self,
        role: Role,
        contents: impl Into<Contents>,
    ) -> Result<Entry<'_, W>, ManagerError> {
        let mut contents = contents.into();
        check(&self.calls, role, &mut contents)?;
        self.check_room_for(1)?;
        let index = self.append(role, contents, Beside::default());
        Ok(Entry::new(self, index))
    }

    /// Adds a message that was drafted before. One of another [`Decision`] than the last message is not merged into it.
    /// A result of a tool that names a policy and no step is of the step of its call.
    ///
    /// Errors: as [`add_message`](Self::add_message), and [`ManagerError::RepeatedId`] if the conversation has a message or
    /// part with the draft's id. The ids of messages that were [pruned](Self::prune) before the first draft with an id are
    /// not known.
    pub fn add(&mut self, draft: Draft) -> Result<Entry<'_, W>, ManagerError> {
        let Draft { role, mut contents, decision, id, confidence } = draft;
        check(&self.calls, role, &mut contents)?;
        self.check_room_for(1)?;
        id.map_or(Ok(()), |id| self.check_id(id))?;
        let index = self.add_checked(role, contents, Beside { decision: known(decision), id, confidence });
        Ok(Entry::new(self, index))
    }

    /// Adds several messages, or, with an error, none of them.
    ///
    /// Errors: as [`add_message`](Self::add_message), with the index of the draft that is refused.
    pub fn add_all(&mut self, drafts: impl IntoIterator<Item = Draft>) -> Result<(), (usize, ManagerError)> {
        // Collected first, so that an iterator that panics leaves no trace.
        let drafts: Vec<Draft> = drafts.into_iter().collect();
        let mut checked: Vec<Draft> = Vec::with_capacity(drafts.len());
        let mut ids = HashSet::new();
        for (index, mut draft) in drafts.into_iter().enumerate() {
            let fits = check(&self.calls, draft.role, &mut draft.contents)
                .and_then(|()| self.check_room_for(index + 1))
                .and_then(|()| match draft.id {
                    Some(id) if !ids.insert(id) => Err(ManagerError::RepeatedId { id }),
                    Some(id) => self.check_id(id),
                    None => Ok(()),
                });
            if let Err(error) = fits {
                checked.iter().for_each(|draft| self.calls.forget(&draft.contents));
                return Err((index, error));
            }
            // Results in a draft may answer calls in one before it. Where they stand is set when they are added.
            self.calls.note(0, &draft.contents);
            checked.push(draft);
        }
        for Draft { role, contents, decision, id, confidence } in checked {
            self.add_checked(role, contents, Beside { decision: known(decision), id, confidence });
        }
        Ok(())
    }

    fn check_room_for(&self, messages: usize) -> Result<(), ManagerError> {
        // Twice as many, for a fake message may go in front of each.
        let needed = u32::try_from(messages).unwrap_or(u32::MAX).saturating_mul(2);
        if self.next_seq().saturating_add(needed) > Position::MAX_SEQ + 1 {
            return Err(ManagerError::Full { max: Position::MAX_SEQ, what: "messages" });
        }
        Ok(())
    }

    fn add_checked(&mut self, role: Role, contents: Contents, mut beside: Beside) -> usize {
        if let Some(decision) = &mut beside.decision {
            decision.step = decision.step.or_else(|| self.step_of_call(&contents));
        }
        let decision = beside.decision.as_deref();
        let is_of_the_same = || self.last_message().and_then(|last| last.metadata().decision()) == decision;
        let merges = self.merges(role) && is_of_the_same() && self.has_room_for(&contents);
        if merges { self.merge(contents, beside) } else { self.append(role, contents, beside) }
    }

    /// The step of the message with the call that these contents answer.
    fn step_of_call(&self, contents: &Contents) -> Option<Step> {
        let call = self.calls.get(contents.iter().find_map(Content::as_result)?.tool_call_id())?;
        self.list.get(self.index_of(call.made))?.metadata().decision()?.step
    }

    /// Whether a message of this role may be merged into the last one.
    pub(super) fn merges(&self, role: Role) -> bool {
        let Some(last) = self.last_message() else { return false };
        // Behind a message that was not heard to its end, what is added would count as unheard. The window merges.
        role.is_spoken() && last.role() == role && last.heard().is_none() && !last.is_fake() && !is_forked_behind(last)
    }

    fn last_message(&self) -> Option<&Message> {
        self.list.last().map(W::message)
    }

    /// Whether the last message stays small enough to be logged. The window merges in any case.
    fn has_room_for(&self, contents: &Contents) -> bool {
        self.last_message().is_some_and(|last| {
            last.contents().len() + contents.len() <= MAX_MERGED_CONTENTS
                && last.contents().record_bytes() + last.metadata().record_bytes() + contents.record_bytes()
                    <= MAX_MERGED_BYTES
        })
    }

    fn merge(&mut self, contents: Contents, beside: Beside) -> usize {
        let index = self.list.end() - 1;
        self.calls.note(self.next_seq() - 1, &contents);
        let now_ms = self.clock.now_ms();
        let id = self.next_id(beside.id, now_ms);
        self.change(index, |message| {
            message.merge(contents, id, now_ms);
            beside.confidence.into_iter().for_each(|confidence| message.set_confidence(confidence));
        });
        index
    }

    fn append(&mut self, role: Role, contents: Contents, beside: Beside) -> usize {
        let now_ms = self.clock.now_ms();
        if role == Role::Assistant && !self.window_is_open {
            let mut fake = self.make(None, Role::User, PLACEHOLDER.into(), now_ms);
            fake.metadata_mut().add_attribute(Attribute::Fake);
            self.push(fake);
        }
        let mut message = self.make(beside.id, role, contents, now_ms);
        if let Some(decision) = beside.decision {
            message.metadata_mut().set_decision(decision);
        }
        if let Some(confidence) = beside.confidence {
            message.set_confidence(confidence);
        }
        self.push(message)
    }

    pub(super) fn next_id(&mut self, given: Option<MessageId>, now_ms: i64) -> MessageId {
        let id = given.unwrap_or_else(|| self.ids.next_id(now_ms).into());
        self.explicit_ids.note(id);
        id
    }

    fn make(&mut self, id: Option<MessageId>, role: Role, contents: Contents, now_ms: i64) -> Message {
        let id = self.next_id(id, now_ms);
        Message::new(id, Position::message(self.next_seq()), role, contents, now_ms)
    }

    fn push(&mut self, message: Message) -> usize {
        self.window_is_open |= message.role().is_spoken();
        self.calls.note(message.position().seq(), message.contents());
        self.list.push(W::wrap(message))
    }
}

/// What a draft has beside its role and contents.
#[derive(Default)]
struct Beside {
    decision: Option<Box<Decision>>,
    id: Option<MessageId>,
    confidence: Option<Confidence>,
}

/// A decision of which nothing is known is none.
fn known(decision: Decision) -> Option<Box<Decision>> {
    (decision != Decision::default()).then(|| Box::new(decision))
}

/// Whether another conversation has this message too, with what it says.
#[inline]
fn is_forked_behind(message: &Message) -> bool {
    message.metadata().forked_from().is_some_and(|forked_from| forked_from.after == Some(message.id()))
}

/// Whether a message can be added; what is blank in it is left out. In place, for the contents of a message are moved often
/// enough.
#[inline]
fn check(calls: &Calls, role: Role, contents: &mut Contents) -> Result<(), ManagerError> {
    if role == Role::Summary {
        return Err(ManagerError::SummaryRole);
    }
    if contents.iter().any(Content::is_blank) {
        *contents = std::mem::take(contents).into_iter().filter(|content| !content.is_blank()).collect();
    }
    if contents.is_empty() {
        return Err(ManagerError::Blank);
    }
    calls.check(role, contents)
}
