//! Restores a manager from its records.

use super::{MessagesManager, RestoreError, Revisions};
use crate::message::{Attribute, Content, Message, MessageWrapper, Record, Role};

impl<W: MessageWrapper> MessagesManager<W> {
    /// Restores a conversation from its records, in any order. If a message occurs twice, its newest revision counts. All
    /// records count as logged. The clock and the ids are those of [`new`](Self::new).
    ///
    /// Returns [`RestoreError`] if a message is missing before another one, if two have the same position, or if a record
    /// does not fit the others.
    pub fn restore(records: impl IntoIterator<Item = Record>) -> Result<Self, RestoreError> {
        let mut messages: Vec<Message> = records.into_iter().map(Message::from).collect();
        messages.sort_by_key(|message| (message.position(), std::cmp::Reverse(message.revision())));
        messages.dedup_by(|later, first| later.position() == first.position() && later.id() == first.id());

        let mut manager = Self::new();
        manager.logged = Revisions::restored(messages.iter().map(Message::revision));
        manager.submitted = manager.logged.clone();
        for message in messages {
            manager.restore_next(message)?;
        }
        manager.window_is_open = manager.has_open_window();
        manager.check_opener()?;
        Ok(manager)
    }

    fn restore_next(&mut self, message: Message) -> Result<(), RestoreError> {
        let (position, id) = (message.position(), message.id());
        let misplaced = |reason: &str| RestoreError::Misplaced { id, reason: reason.into() };
        if let Some(last) = self.list.last().map(W::message)
            && last.position() == position
        {
            return Err(RestoreError::Conflict { first: last.id(), second: id, position });
        }
        if message.contents().is_empty() || message.contents().iter().any(Content::is_blank) {
            return Err(misplaced("it has no contents, or a blank text"));
        }
        match position.summary_number() {
            None => {
                if position.seq() != self.next_seq() {
                    return Err(RestoreError::Missing { seq: self.next_seq() });
                }
                check_role(&message).map_err(misplaced)?;
                self.calls.check(message.role(), message.contents()).map_err(|error| misplaced(&error.to_string()))?;
                self.calls.note(position.seq(), message.contents());
            }
            Some(_) => {
                if position.seq() >= self.next_seq() {
                    return Err(RestoreError::Missing { seq: self.next_seq() });
                }
                if self.summaries.last() == Some(&position.seq()) {
                    return Err(misplaced("another summary covers the same messages"));
                }
                self.summaries.push(position.seq());
                self.window_start = self.list.end() + 1;
            }
        }
        self.list.push(W::from(message));
        Ok(())
    }

    /// Checks that the window begins with a user message.
    fn check_opener(&self) -> Result<(), RestoreError> {
        let opener = self.uncovered().map(W::message).find(|message| message.role().is_spoken());
        let Some(opener) = opener.filter(|opener| opener.role() != Role::User) else { return Ok(()) };
        let reason = "an assistant message opens the conversation or follows a summary";
        Err(RestoreError::Misplaced { id: opener.id(), reason: reason.into() })
    }
}

fn check_role(message: &Message) -> Result<(), &'static str> {
    match message.role() {
        Role::Summary => Err("a summary needs the number of the last message that it covers"),
        Role::User | Role::System if message.heard().is_some() => {
            Err("only an assistant message can have a heard part")
        }
        Role::Assistant | Role::System if message.metadata().has(Attribute::Fake) => {
            Err("only a user message can be a fake")
        }
        _ => Ok(()),
    }
}
