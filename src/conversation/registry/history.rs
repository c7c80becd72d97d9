//! [`History`]: what a conversation knows of its own past, whatever of it is still in memory.

use std::collections::BTreeSet;

use super::ConversationMetadata;
use crate::conversation::query::{Timeline, created_ms};
use crate::log::CallId;
use crate::manager::MessagesManager;
use crate::message::{Message, MessageId, MessageWrapper, PlainMessage, Position, Role};

/// What a conversation knows of its own past, whatever of it is still in memory: noted before and behind each change.
#[derive(Default)]
pub(in crate::conversation) struct History {
    limit: Option<HistoryLimit>,
    noted: Noted,
    /// Of the list as it is, once somebody has asked for it.
    timeline: Option<Timeline>,
}

/// How much of a conversation stays in memory.
#[derive(Debug, Clone, Copy)]
pub(in crate::conversation) struct HistoryLimit {
    /// How many messages, at least 1.
    pub messages: usize,
    /// Whether only those may leave that the log has.
    pub only_logged: bool,
}

#[derive(Default)]
struct Noted {
    created_ms: Option<i64>,
    last_ms: Option<i64>,
    /// Up to where the list was looked at.
    last: Option<(Position, MessageId)>,
    fakes: u32,
    summaries: u32,
    roles: BTreeSet<Role>,
}

type Manager = MessagesManager<PlainMessage>;

impl History {
    /// Makes a change, and what follows from it.
    pub fn change<T>(&mut self, manager: &mut Manager, change: impl FnOnce(&mut Manager) -> T) -> T {
        self.noted.note(manager);
        self.timeline = None;
        let changed = change(manager);
        self.prune(manager);
        changed
    }

    /// Sets how much stays in memory, from now on.
    pub fn limit(&mut self, limit: HistoryLimit, manager: &mut Manager) {
        self.limit = Some(limit);
        self.prune(manager);
    }

    /// What is known of the conversation, which has this id.
    pub fn metadata(&mut self, id: &CallId, manager: &Manager) -> ConversationMetadata {
        self.noted.note(manager);
        let noted = &self.noted;
        let added = noted.last.map_or(0, |(last, _)| last.seq() + 1);
        ConversationMetadata {
            conversation: id.clone(),
            created_ms: noted.created_ms,
            last_message_ms: noted.last_ms,
            messages: (added - noted.fakes + noted.summaries) as usize,
            roles: noted.roles.clone(),
        }
    }

    /// The roles that messages have ever had.
    pub fn roles(&mut self, manager: &Manager) -> &BTreeSet<Role> {
        self.noted.note(manager);
        &self.noted.roles
    }

    /// The messages in memory, in the order of time.
    pub fn timeline(&mut self, manager: &Manager) -> &Timeline {
        self.timeline.get_or_insert_with(|| Timeline::of(manager.meta_messages()))
    }

    /// The position in front of which nothing is in memory any more; `None` where nothing is missing.
    pub fn pruned_before(&mut self, manager: &Manager) -> Option<Position> {
        self.noted.note(manager);
        let last = self.noted.last?.0;
        let first = manager.meta_messages().first().map_or(last, |wrapper| wrapper.message().position());
        (first > Position::message(0)).then_some(first)
    }

    /// Lets go of what is over the limit.
    fn prune(&mut self, manager: &mut Manager) {
        self.noted.note(manager);
        // PRUNE: `manager.prune(limit.messages, …)`, once it is there.
    }
}

impl Noted {
    /// Takes note of what is new in the list, which is at its end, but for summaries.
    fn note(&mut self, manager: &Manager) {
        let messages = || manager.meta_messages().iter().map(PlainMessage::message);
        let (Some(first), Some(last)) = (messages().next(), messages().next_back()) else { return };
        if !self.goes_on_in(messages().rev()) {
            // Another conversation was put in the place of this one.
            *self = Self::default();
        }
        let known = self.last.map(|(position, _)| position);
        for message in messages().rev().take_while(|message| is_behind(known, message)) {
            if message.is_fake() {
                self.fakes += 1;
            } else {
                self.roles.insert(message.role());
            }
        }
        if let Some(number) = manager.last_summary().and_then(|summary| summary.message().position().summary_number()) {
            self.summaries = self.summaries.max(number.get());
            self.roles.insert(Role::Summary);
        }
        if self.created_ms.is_none() || first.position() == Position::message(0) {
            self.created_ms = Some(created_ms(first));
        }
        self.last_ms = Some(created_ms(last));
        self.last = Some((last.position(), last.id()));
    }

    /// Whether the list, from its end, comes to where it was looked at last; or to its beginning, where that has left.
    fn goes_on_in<'a>(&self, mut backwards: impl Iterator<Item = &'a Message>) -> bool {
        let known = self.last.map(|(position, _)| position);
        let found = backwards.find(|message| !is_behind(known, message));
        found.is_none_or(|found| self.last == Some((found.position(), found.id())))
    }
}

fn is_behind(known: Option<Position>, message: &Message) -> bool {
    known.is_none_or(|known| message.position() > known)
}
