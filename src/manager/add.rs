//! Adds messages: checks them, merges them into the last one, and inserts a fake opener where the window needs one.

use std::collections::HashSet;

use super::{Calls, Entry, ManagerError, MessagesManager, Refusal};
use crate::message::{
    Attribute, Confidence, Content, Contents, Decision, Draft, Message, MessageId, MessageWrapper, PLACEHOLDER,
    Position, Role,
};

/// The limits up to which messages are merged. A DynamoDB item holds 400 KB, and a larger message could not be logged.
pub(super) const MAX_MERGED_BYTES: usize = 256 * 1024;
const MAX_MERGED_CONTENTS: usize = 1_000;

impl<W: MessageWrapper> MessagesManager<W> {
    /// Adds words of the caller, or results of tools. Merges them into the last message if that is a user message and
    /// stays small enough to be logged.
    ///
    /// Returns the errors of [`add`](Self::add).
    pub fn add_user(&mut self, contents: impl Into<Contents>) -> Result<Entry<'_, W>, ManagerError> {
        self.add_message(Role::User, contents)
    }

    /// Adds an answer of the model, with its tool calls, or a text that was spoken on its behalf. Merges it into the
    /// last message if that is an assistant message without a heard prefix and stays small enough to be logged, unless
    /// words would follow tool calls. If the answer would open the window, a fake user message is inserted before it.
    ///
    /// Returns the errors of [`add`](Self::add).
    pub fn add_assistant(&mut self, contents: impl Into<Contents>) -> Result<Entry<'_, W>, ManagerError> {
        self.add_message(Role::Assistant, contents)
    }

    /// Adds system instructions. They are logged in order, but are never part of [`messages`](Self::messages).
    ///
    /// Returns the errors of [`add`](Self::add).
    pub fn add_system(&mut self, contents: impl Into<Contents>) -> Result<Entry<'_, W>, ManagerError> {
        self.add_message(Role::System, contents)
    }

    /// Adds a message of any role but summary. See [`add`](Self::add).
    pub(crate) fn add_message(
        &mut self,
        role: Role,
        contents: impl Into<Contents>,
    ) -> Result<Entry<'_, W>, ManagerError> {
        let mut contents = contents.into();
        check(&self.calls, role, &mut contents)?;
        self.check_room_for(1)?;
        let index = self.add_checked(role, &mut contents, Details::default());
        Ok(Entry::new(self, index))
    }

    /// Adds a draft that is not merged into the last message of the same role. The window merges both.
    ///
    /// Returns the errors of [`add`](Self::add).
    pub(crate) fn add_apart(&mut self, draft: Draft) -> Result<Entry<'_, W>, ManagerError> {
        let (role, mut contents, details) = self.checked(draft)?;
        let index = self.append(role, &mut contents, details);
        Ok(Entry::new(self, index))
    }

    /// Adds a draft of any role but summary, without its blank texts. Merges it into the last message as
    /// [`add_user`](Self::add_user) and [`add_assistant`](Self::add_assistant) do, unless their [`Decision`]s differ. A
    /// tool result whose decision has a name or a role hint but no step gets the step of its call.
    ///
    /// Returns an error, and leaves the conversation as it was,
    ///
    /// - if the draft has no contents but blank texts ([`is_blank`](ManagerError::is_blank)),
    /// - for [`Role::Summary`], for a tool call of any role but the assistant, and for a tool result of any role but the
    ///   user,
    /// - if the id of a tool call was used before, or if a result has no call, a second one, or is of another tool,
    /// - if a message or part has the draft's id, except those that were [pruned](Self::prune) before the first draft with
    ///   an id, and
    /// - after 100 million messages.
    pub fn add(&mut self, draft: Draft) -> Result<Entry<'_, W>, ManagerError> {
        let (role, mut contents, details) = self.checked(draft)?;
        let index = self.add_checked(role, &mut contents, details);
        Ok(Entry::new(self, index))
    }

    #[inline]
    fn checked(&mut self, draft: Draft) -> Result<(Role, Contents, Details), Refusal> {
        let Draft { role, mut contents, decision, id, confidence, is_background } = draft;
        check(&self.calls, role, &mut contents)?;
        self.check_room_for(1)?;
        id.map_or(Ok(()), |id| self.check_id(id))?;
        Ok((role, contents, Details { decision: known(decision), id, confidence, is_background }))
    }

    /// Adds all drafts, or none of them.
    ///
    /// Returns the index of the first refused draft with an error of [`add`](Self::add).
    pub fn add_all(&mut self, drafts: impl IntoIterator<Item = Draft>) -> Result<(), (usize, ManagerError)> {
        // Collect first: an iterator that panics must not leave half of its drafts.
        let drafts: Vec<Draft> = drafts.into_iter().collect();
        let mut checked: Vec<Draft> = Vec::with_capacity(drafts.len());
        let mut ids = HashSet::new();
        for (index, mut draft) in drafts.into_iter().enumerate() {
            let fits = check(&self.calls, draft.role, &mut draft.contents)
                .and_then(|()| self.check_room_for(index + 1))
                .and_then(|()| match draft.id {
                    Some(id) if !ids.insert(id) => Err(Refusal::RepeatedId { id }),
                    Some(id) => self.check_id(id),
                    None => Ok(()),
                });
            if let Err(error) = fits {
                checked.iter().for_each(|draft| self.calls.forget(&draft.contents));
                return Err((index, error.into()));
            }
            // A later draft may answer a call of this one. The position is set when the draft is added.
            self.calls.note(0, &draft.contents);
            checked.push(draft);
        }
        for Draft { role, mut contents, decision, id, confidence, is_background } in checked {
            self.add_checked(role, &mut contents, Details { decision: known(decision), id, confidence, is_background });
        }
        Ok(())
    }

    fn check_room_for(&self, messages: usize) -> Result<(), Refusal> {
        // A fake message may be inserted before each one.
        let needed = u32::try_from(messages).unwrap_or(u32::MAX).saturating_mul(2);
        if self.next_seq().saturating_add(needed) > Position::MAX_SEQ + 1 {
            return Err(Refusal::Full { max: Position::MAX_SEQ, what: "messages" });
        }
        Ok(())
    }

    /// Takes the contents out of their place. Moving them before the message is made shows in benchmarks.
    fn add_checked(&mut self, role: Role, contents: &mut Contents, mut details: Details) -> usize {
        if let Some(decision) = &mut details.decision {
            decision.step = decision.step.or_else(|| self.step_of_call(contents));
        }
        let decision = details.decision.as_deref();
        let has_same_decision = || self.last_message().and_then(|last| last.metadata().decision()) == decision;
        let merges = self.merges(role)
            && !details.is_background
            && has_same_decision()
            && self.has_room_for(contents)
            && !(role == Role::Assistant && self.says_after_calls(contents));
        if merges { self.merge(role, contents, details) } else { self.append(role, contents, details) }
    }

    /// Returns the step of the message with the call that these contents answer.
    fn step_of_call(&self, contents: &Contents) -> Option<u32> {
        let call = self.calls.get(contents.iter().find_map(Content::as_result)?.tool_call_id())?;
        self.list.get(self.index_of(call.made))?.metadata().decision()?.step
    }

    /// Returns `true` if a message of this role may be merged into the last one.
    pub(super) fn merges(&self, role: Role) -> bool {
        let Some(last) = self.last_message() else { return false };
        // A message is missing after the last one.
        if self.holes().is_between(last.position().seq(), self.next_seq()) {
            return false;
        }
        // Text merged into a partly heard message would count as unheard. The window merges both.
        let is_closed = last.heard().is_some() || last.is_fake() || last.is_background() || is_fork_point(last);
        role.is_spoken() && last.role() == role && !is_closed
    }

    /// Returns `true` if merging would put words after the tool calls of the last message, where providers refuse them.
    fn says_after_calls(&self, contents: &Contents) -> bool {
        let is_call = |content: &Content| content.as_tool_call().is_some();
        self.last_message().is_some_and(|last| last.contents().iter().any(is_call)) && !contents.iter().all(is_call)
    }

    fn last_message(&self) -> Option<&Message> {
        self.list.last().map(W::message)
    }

    /// Returns `true` if the merged message is small enough to be logged. The window merges in any case.
    fn has_room_for(&self, contents: &Contents) -> bool {
        self.last_message().is_some_and(|last| {
            last.contents().len() + contents.len() <= MAX_MERGED_CONTENTS
                && last.record_bytes() + contents.record_bytes() <= MAX_MERGED_BYTES
        })
    }

    fn merge(&mut self, role: Role, contents: &Contents, details: Details) -> usize {
        let index = self.list.end() - 1;
        self.calls.note(self.next_seq() - 1, contents);
        let now_ms = self.created_ms(role);
        let id = self.next_id(details.id, now_ms);
        self.change(index, |message| {
            message.merge(contents, id, now_ms);
            details.confidence.into_iter().for_each(|confidence| message.set_confidence(confidence));
        });
        index
    }

    fn append(&mut self, role: Role, contents: &mut Contents, details: Details) -> usize {
        let now_ms = self.created_ms(role);
        if role == Role::Assistant && !self.has_open_window() {
            self.add_fake(now_ms);
        }
        let id = self.next_id(details.id, now_ms);
        let index = self.push(id, role, contents, now_ms);
        if !details.are_usual()
            && let Some(message) = self.list.get_mut(index)
        {
            details.describe(message);
        }
        index
    }

    #[cold]
    fn add_fake(&mut self, now_ms: i64) {
        let id = self.next_id(None, now_ms);
        let index = self.push(id, Role::User, &mut PLACEHOLDER.into(), now_ms);
        if let Some(fake) = self.list.get_mut(index) {
            fake.metadata_mut().add_attribute(Attribute::Fake);
        }
    }

    pub(super) fn next_id(&mut self, given: Option<MessageId>, now_ms: i64) -> MessageId {
        let id = given.unwrap_or_else(|| self.sources.ids.next_id(now_ms).into());
        self.note_id(id);
        id
    }

    /// Creates a message in its place in the list. Moving one that was just made shows in benchmarks.
    #[inline]
    fn push(&mut self, id: MessageId, role: Role, contents: &mut Contents, now_ms: i64) -> usize {
        let seq = self.next_seq();
        self.calls.note(seq, contents);
        self.list.push(W::from(Message::new(id, Position::message(seq), role, contents.take(), now_ms)))
    }
}

/// The properties of a draft besides its role and contents.
#[derive(Default)]
struct Details {
    decision: Option<Box<Decision>>,
    id: Option<MessageId>,
    confidence: Option<Confidence>,
    is_background: bool,
}

impl Details {
    /// Returns `true` if the message needs no more than its id.
    #[inline]
    fn are_usual(&self) -> bool {
        self.decision.is_none() && self.confidence.is_none() && !self.is_background
    }

    fn describe(self, message: &mut Message) {
        if let Some(decision) = self.decision {
            message.metadata_mut().set_decision(decision);
        }
        if let Some(confidence) = self.confidence {
            message.set_confidence(confidence);
        }
        if self.is_background {
            message.metadata_mut().add_attribute(Attribute::Hardcoded);
        }
    }
}

/// Returns `None` for a decision without any content.
fn known(decision: Decision) -> Option<Box<Decision>> {
    (decision != Decision::default()).then(|| Box::new(decision))
}

/// Returns `true` if the conversation was forked at this message, so that its source has the same message.
#[inline]
fn is_fork_point(message: &Message) -> bool {
    message.metadata().forked_from().is_some_and(|forked_from| forked_from.after == Some(message.id()))
}

/// Checks a message and removes its blank texts. Works in place, because moving contents shows in benchmarks.
#[inline]
fn check(calls: &Calls, role: Role, contents: &mut Contents) -> Result<(), Refusal> {
    if role == Role::Summary {
        return Err(Refusal::WrongRole { role, content: "contents of your own; add a summary with `add_summary`" });
    }
    if contents.iter().any(Content::is_blank) {
        *contents = contents.take().into_iter().filter(|content| !content.is_blank()).collect();
    }
    if contents.is_empty() {
        return Err(Refusal::Blank);
    }
    calls.check(role, contents)
}
