//! A manager from its records.

use std::sync::Arc;

use super::{Ledger, MessagesManager, RestoreError};
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::message::{Attribute, Content, Message, MessageWrapper, Record, Role};

impl<W: MessageWrapper> MessagesManager<W> {
    /// A conversation as its records tell it, to go on with. Records may come in any order; of one message that
    /// comes twice, the newest revision counts. The log is taken to know them all.
    ///
    /// Errors: a message is missing between others, two claim one place, or they do not make a conversation.
    pub fn restore(records: impl IntoIterator<Item = Record>) -> Result<Self, RestoreError> {
        Self::restore_with_clock(records, Arc::new(SystemClock), Arc::new(SystemIds))
    }

    /// As [`restore`](Self::restore), with time and ids from elsewhere.
    pub fn restore_with_clock(
        records: impl IntoIterator<Item = Record>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn IdSource>,
    ) -> Result<Self, RestoreError> {
        let mut messages: Vec<Message> = records.into_iter().map(Message::from).collect();
        messages.sort_by_key(|message| (message.position(), std::cmp::Reverse(message.revision())));
        messages.dedup_by(|later, first| later.position() == first.position() && later.id() == first.id());

        let mut manager = Self::with_clock(clock, ids);
        manager.ledger = Ledger::of_restored(messages.iter().map(Message::revision));
        manager.submitted = manager.ledger.clone();
        for message in messages {
            manager.restore_next(message)?;
        }
        manager.window_is_open = manager.has_open_window();
        manager.check_opener()?;
        Ok(manager)
    }

    fn restore_next(&mut self, message: Message) -> Result<(), RestoreError> {
        let (position, id) = (message.position(), message.id());
        let misplaced = |reason| RestoreError::Misplaced { id, reason };
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
                self.calls
                    .check(message.role(), message.contents())
                    .map_err(|source| RestoreError::ToolCall { id, source })?;
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
        self.list.push(W::wrap(message));
        Ok(())
    }

    /// The window begins with a user message.
    fn check_opener(&self) -> Result<(), RestoreError> {
        let opener = self.uncovered().map(W::message).find(|message| message.role().is_spoken());
        let Some(opener) = opener.filter(|opener| opener.role() != Role::User) else { return Ok(()) };
        let reason = "an assistant message opens the conversation or follows a summary";
        Err(RestoreError::Misplaced { id: opener.id(), reason })
    }
}

fn check_role(message: &Message) -> Result<(), &'static str> {
    match message.role() {
        Role::Summary => Err("a summary says behind which message it stands"),
        Role::User | Role::System if message.heard().is_some() => Err("only assistant messages are heard in part"),
        Role::Assistant | Role::System if message.metadata().has(Attribute::Fake) => Err("only user messages are fake"),
        _ => Ok(()),
    }
}
