//! Restores a manager from all of its records, or from the available ones.

use std::collections::BTreeMap;

use super::{LeftOut, ManagerError, MessagesManager, Refusal, Revisions};
use crate::message::{Attribute, Content, Message, MessageWrapper, Position, Record, Role};

/// The maximum number of missing messages before a record. A record further away does not belong to the conversation.
const MAX_MISSING: u32 = 10_000;

/// Whether every record must exist and fit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Require {
    All,
    /// A tool result that answers no open call is kept, and the window omits it: its call may be missing, or the call
    /// got another result while this one was missing.
    Available,
}

/// The data that a log has of a call besides its records.
#[derive(Debug, Default)]
pub(crate) struct Expected {
    /// Records that exist, or existed, but cannot be read.
    pub left_out: Vec<LeftOut>,
    /// The minimum number of messages and of summaries in the conversation.
    pub messages: u32,
    pub summaries: u32,
}

impl<W: MessageWrapper> MessagesManager<W> {
    /// Restores a conversation from its records, in any order. If a message occurs twice, its newest revision counts. All
    /// records count as logged. The clock and the ids are those of [`new`](Self::new).
    ///
    /// Returns [`ManagerError`] if a message is missing before another one, if two have the same position, or if a record
    /// does not fit the others.
    pub fn restore(records: impl IntoIterator<Item = Record>) -> Result<Self, ManagerError> {
        let mut manager = Self::new();
        for message in in_order(records) {
            manager.check_next(&message, Require::All)?;
            manager.push_next(message);
        }
        manager.settle();
        manager.check_opener()?;
        Ok(manager)
    }

    /// Restores a conversation from the available records, like [`restore`](Self::restore). The missing messages are
    /// [left out](Self::left_out) and keep their numbers.
    pub(crate) fn restore_available(records: impl IntoIterator<Item = Record>, expected: Expected) -> Self {
        let mut manager = Self::new();
        let mut known: BTreeMap<Position, LeftOut> = BTreeMap::new();
        for left_out in expected.left_out {
            known.entry(left_out.position).or_insert(left_out);
        }
        for message in in_order(records) {
            let (position, role) = (message.position(), message.role());
            let first_missing = position.seq() + u32::from(position.summary_number().is_some());
            if first_missing.saturating_sub(manager.next_seq()) <= MAX_MISSING {
                manager.leave_out_before(first_missing, &mut known, "the log has no record of it");
            }
            match manager.check_next(&message, Require::Available) {
                Ok(()) => manager.push_next(message),
                Err(error) => {
                    if position == Position::message(manager.next_seq()) {
                        manager.rare.holes.push(position.seq());
                    }
                    manager.rare.holes.left_out.push(LeftOut::new(position, Some(role), error.to_string()));
                }
            }
        }
        let counted = expected.messages.min(manager.next_seq().saturating_add(MAX_MISSING));
        manager.leave_out_before(counted, &mut known, "the end of the call counts it, and the log has no record of it");
        let last = known.keys().rfind(|position| position.summary_number().is_none()).copied();
        if let Some(last) = last.filter(|last| last.seq() - manager.next_seq().min(last.seq()) <= MAX_MISSING) {
            manager.leave_out_before(last.seq() + 1, &mut known, "the log has no record of it");
        }
        manager.leave_out_summaries(&mut known, expected.summaries);
        if !known.is_empty() {
            manager.rare.holes.left_out.extend(known.into_values());
        }
        if !manager.left_out().is_empty() {
            manager.rare.holes.left_out.sort_by_key(|left_out| left_out.position);
        }
        manager.settle();
        manager
    }

    /// Returns the conversation with another form of each message, without those for which `change` returns `None`.
    pub(crate) fn rewritten(&self, change: impl Fn(&Message) -> Option<Message>) -> Self {
        let messages = self.list.iter().filter_map(|wrapper| change(wrapper.message()));
        Self::restore_available(messages.map(Record::from), Expected::default())
    }

    /// Leaves out the messages from the next one up to, but not including, message `seq`.
    fn leave_out_before(&mut self, seq: u32, known: &mut BTreeMap<Position, LeftOut>, reason: &str) {
        for missing in self.next_seq()..seq {
            let position = Position::message(missing);
            let left_out = known.remove(&position).unwrap_or_else(|| LeftOut::new(position, None, reason));
            self.rare.holes.left_out.push(left_out);
            self.rare.holes.push(missing);
        }
    }

    /// Leaves out the summaries whose numbers are missing, up to this number or the last known one.
    fn leave_out_summaries(&mut self, known: &mut BTreeMap<Position, LeftOut>, summaries: u32) {
        let number = |position: Position| position.summary_number().map(u32::from);
        let present: BTreeMap<u32, u32> = self
            .list
            .iter()
            .map(|wrapper| wrapper.message().position())
            .filter_map(|position| Some((number(position)?, position.seq())))
            .collect();
        let misfits = self.rare.holes.left_out.iter().map(|left_out| left_out.position);
        let listed: Vec<u32> = known.keys().copied().chain(misfits).filter_map(number).collect();
        let last = present.keys().chain(&listed).copied().max().max(Some(summaries)).unwrap_or_default();
        for missing in (1..=last.min(Position::MAX_SUMMARIES)).filter(|number| !present.contains_key(number)) {
            self.rare.holes.summaries += 1;
            let after = present.range(..missing).next_back().map_or(0, |(_, after)| *after);
            let Some(number) = std::num::NonZeroU32::new(missing).filter(|_| !listed.contains(&missing)) else {
                continue;
            };
            let position = Position::summary(after, number);
            let reason = "the log has no record of it; later summaries replace it";
            known.entry(position).or_insert(LeftOut::new(position, Some(Role::Summary), reason));
        }
    }

    /// Checks that a message can follow those restored so far.
    fn check_next(&self, message: &Message, require: Require) -> Result<(), Refusal> {
        let (position, id) = (message.position(), message.id());
        let misplaced = |reason: &str| Refusal::Misplaced { id, reason: reason.into() };
        if let Some(last) = self.list.last().map(W::message)
            && last.position() == position
        {
            return Err(Refusal::Conflict { first: last.id(), second: id, position });
        }
        if message.contents().is_empty() || message.contents().iter().any(Content::is_blank) {
            return Err(misplaced("it has no contents, or a blank text"));
        }
        match position.summary_number() {
            None => {
                if position.seq() != self.next_seq() {
                    return Err(Refusal::Missing { seq: self.next_seq() });
                }
                check_role(message).map_err(misplaced)?;
                let checked = match require {
                    Require::All => self.calls.check(message.role(), message.contents()),
                    Require::Available => self.calls.check_available(message.role(), message.contents()),
                };
                checked.map_err(|error| misplaced(&error.to_string()))
            }
            Some(_) => {
                if position.seq() >= self.next_seq() {
                    return Err(Refusal::Missing { seq: self.next_seq() });
                }
                if self.last_summary().is_some_and(|last| last.message().position().seq() == position.seq()) {
                    return Err(misplaced("another summary covers the same messages"));
                }
                Ok(())
            }
        }
    }

    /// Adds a message that was checked.
    fn push_next(&mut self, message: Message) {
        let seq = message.position().seq();
        if message.position().summary_number().is_some() {
            self.summaries += 1;
            self.set_window_start(self.list.end() + 1);
        } else {
            self.calls.note_available(seq, message.contents());
        }
        self.list.push(W::from(message));
    }

    /// Notes that the log has all messages, and whether the window is open.
    fn settle(&mut self) {
        self.logged = Revisions::starting_at(self.list.end());
        self.submitted = self.logged.clone();
    }

    /// Checks that the window begins with a user message.
    fn check_opener(&self) -> Result<(), Refusal> {
        let opener = self.uncovered().map(W::message).find(|message| message.role().is_spoken());
        let Some(opener) = opener.filter(|opener| opener.role() != Role::User) else { return Ok(()) };
        let reason = "an assistant message opens the conversation or follows a summary";
        Err(Refusal::Misplaced { id: opener.id(), reason: reason.into() })
    }
}

/// Returns the newest revision of each message, in the order of the list.
fn in_order(records: impl IntoIterator<Item = Record>) -> Vec<Message> {
    let mut messages: Vec<Message> = records.into_iter().map(Message::from).collect();
    messages.sort_by_key(|message| (message.position(), std::cmp::Reverse(message.revision())));
    messages.dedup_by(|later, first| later.position() == first.position() && later.id() == first.id());
    messages
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
