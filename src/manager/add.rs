//! Adding messages: what is refused, what is merged, where a fake opener goes in.

use super::{Calls, Entry, ManagerError, MessagesManager};
use crate::message::{
    Attribute, Content, Contents, Decision, Draft, Message, MessageWrapper, PLACEHOLDER, Position, Role,
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
    pub fn add_supervisor(&mut self, contents: impl Into<Contents>) -> Result<Entry<'_, W>, ManagerError> {
        self.add_message(Role::Supervisor, contents)
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
        let index = self.add_checked(role, contents, None);
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
        let index = self.append(role, contents, None);
        Ok(Entry::new(self, index))
    }

    /// Adds a message that was drafted before. One of another [`Decision`] than the last message is not merged into it.
    ///
    /// Errors: as [`add_message`](Self::add_message).
    pub fn add(&mut self, draft: Draft) -> Result<Entry<'_, W>, ManagerError> {
        let Draft { role, mut contents, decision } = draft;
        check(&self.calls, role, &mut contents)?;
        self.check_room_for(1)?;
        let index = self.add_checked(role, contents, known(decision));
        Ok(Entry::new(self, index))
    }

    /// Adds several messages, or, with an error, none of them.
    ///
    /// Errors: as [`add_message`](Self::add_message), with the index of the draft that is refused.
    pub fn add_all(&mut self, drafts: impl IntoIterator<Item = Draft>) -> Result<(), (usize, ManagerError)> {
        // Collected first, so that an iterator that panics leaves no trace.
        let drafts: Vec<Draft> = drafts.into_iter().collect();
        let mut checked: Vec<Draft> = Vec::with_capacity(drafts.len());
        for (index, mut draft) in drafts.into_iter().enumerate() {
            let fits =
                check(&self.calls, draft.role, &mut draft.contents).and_then(|()| self.check_room_for(index + 1));
            if let Err(error) = fits {
                checked.iter().for_each(|draft| self.calls.forget(&draft.contents));
                return Err((index, error));
            }
            // Results in a draft may answer calls in one before it. Where they stand is set when they are added.
            self.calls.note(0, &draft.contents);
            checked.push(draft);
        }
        for Draft { role, contents, decision } in checked {
            self.add_checked(role, contents, known(decision));
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

    fn add_checked(&mut self, role: Role, contents: Contents, decision: Option<Box<Decision>>) -> usize {
        let is_of_the_same = || self.last_message().and_then(|last| last.metadata().decision()) == decision.as_deref();
        let merges = self.merges(role) && is_of_the_same() && self.has_room_for(&contents);
        if merges { self.merge(contents) } else { self.append(role, contents, decision) }
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
        self.list.last().map(W::contents).is_some_and(|last| {
            last.len() + contents.len() <= MAX_MERGED_CONTENTS
                && last.record_bytes() + contents.record_bytes() <= MAX_MERGED_BYTES
        })
    }

    fn merge(&mut self, contents: Contents) -> usize {
        let index = self.list.end() - 1;
        self.calls.note(self.next_seq() - 1, &contents);
        self.change(index, |message| message.merge(contents));
        index
    }

    fn append(&mut self, role: Role, contents: Contents, decision: Option<Box<Decision>>) -> usize {
        let now_ms = self.clock.now_ms();
        if role == Role::Assistant && !self.window_is_open {
            let mut fake = self.make(Role::User, PLACEHOLDER.into(), now_ms);
            fake.metadata_mut().add_attribute(Attribute::Fake);
            self.push(fake);
        }
        let mut message = self.make(role, contents, now_ms);
        if let Some(decision) = decision {
            message.metadata_mut().set_decision(decision);
        }
        self.push(message)
    }

    fn make(&self, role: Role, contents: Contents, now_ms: i64) -> Message {
        let id = self.ids.next_id(now_ms).into();
        Message::new(id, Position::message(self.next_seq()), role, contents, now_ms)
    }

    fn push(&mut self, message: Message) -> usize {
        self.window_is_open |= message.role().is_spoken();
        self.calls.note(message.position().seq(), message.contents());
        self.list.push(W::wrap(message))
    }
}

/// A decision of which nothing is known is none.
fn known(decision: Decision) -> Option<Box<Decision>> {
    (!decision.is_unknown()).then(|| Box::new(decision))
}

/// Whether another conversation has this message too, with what it says.
#[inline]
fn is_forked_behind(message: &Message) -> bool {
    message.metadata().forked_from().is_some_and(|forked_from| forked_from.behind == Some(message.id()))
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
