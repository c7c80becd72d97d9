//! [`History`]: what a conversation knows of its own past, whatever of it is still in memory.

use std::collections::BTreeSet;

use super::ConversationMetadata;
#[cfg(feature = "query")]
use crate::conversation::query::Timeline;
use crate::log::CallId;
use crate::manager::{MessagesManager, Prune};
use crate::message::{Message, MessageId, MessageWrapper, Part, PlainMessage, Position, Role};

/// What a conversation knows of its own past, whatever of it is still in memory: noted before and behind each change.
#[derive(Default)]
pub(in crate::conversation) struct History {
    limit: Option<HistoryLimit>,
    is_logged: bool,
    noted: Noted,
    /// Of the list as it is, once somebody has asked for it.
    #[cfg(feature = "query")]
    timeline: Option<Timeline>,
}

/// How much of a conversation stays in memory.
#[derive(Debug, Clone, Copy)]
pub(in crate::conversation) struct HistoryLimit {
    /// How many messages.
    pub messages: usize,
    /// Which of the others leave.
    pub which: Prune,
}

/// What of a conversation has to stay in memory, whatever its limit says.
#[derive(Debug, Clone, Copy)]
pub(in crate::conversation) enum Needed {
    /// Nothing more.
    ByNobody,
    /// A live call: the window, what is not stored, and what is from this message on, which is still being played.
    ByCall(Option<MessageId>),
}

type Manager = MessagesManager<PlainMessage>;

impl History {
    /// Something will be changed.
    pub fn changing(&mut self, manager: &Manager) {
        #[cfg(feature = "query")]
        {
            self.timeline = None;
        }
        self.noted.note(manager);
    }

    /// Something was changed: lets go of what is over the limit.
    pub fn changed(&mut self, manager: &mut Manager, needed: Needed) {
        self.noted.note(manager);
        self.prune(manager, needed);
    }

    /// Sets how much stays in memory, from now on.
    pub fn limit(&mut self, limit: HistoryLimit, manager: &mut Manager, needed: Needed) {
        self.changing(manager);
        self.is_logged |= limit.which == Prune::Logged;
        self.limit = Some(limit);
        self.changed(manager, needed);
    }

    /// The conversation has a log: from now on only what that has leaves memory.
    pub fn keep_unlogged(&mut self) {
        self.is_logged = true;
    }

    /// What is known of the conversation, which has this id.
    pub fn metadata(&mut self, id: &CallId, manager: &Manager) -> ConversationMetadata {
        self.noted.note(manager);
        self.noted.note_times(manager);
        let noted = &self.noted;
        ConversationMetadata {
            conversation: id.clone(),
            created_ms: noted.created_ms,
            last_message_ms: noted.last_message_ms,
            last_updated_ms: manager
                .last_summary()
                .map(|summary| summary.metadata().created_ms())
                .max(noted.last_message_ms),
            messages: (manager.message_count() + manager.summary_count()).saturating_sub(noted.fakes) as usize,
            update_count: noted.parts,
            roles: noted.roles.clone(),
        }
    }

    /// The roles that messages have ever had, where all are known, and those in memory in the order of time.
    #[cfg(feature = "query")]
    pub fn overview(&mut self, manager: &Manager) -> (Option<&BTreeSet<Role>>, &Timeline) {
        let noted = &mut self.noted;
        let timeline = self.timeline.get_or_insert_with(|| {
            noted.note(manager);
            Timeline::of(manager)
        });
        (Some(&noted.roles).filter(|_| !noted.has_missed), timeline)
    }

    fn prune(&mut self, manager: &mut Manager, needed: Needed) {
        let Some(mut limit) = self.limit else { return };
        if let Needed::ByCall(oldest) = needed {
            // Without a summary all is in the window.
            if manager.last_summary().is_none() {
                return;
            }
            let place = oldest.and_then(|id| manager.all().rposition(|message| message.id() == id));
            let played = place.map_or(0, |place| manager.all().len() - place);
            limit = HistoryLimit { messages: limit.messages.max(played), which: Prune::Logged };
        }
        let added = (manager.message_count() + manager.summary_count()) as usize;
        if added - manager.pruned() <= limit.messages {
            return;
        }
        self.noted.note_times(manager);
        manager.prune(limit.messages, if self.is_logged { Prune::Logged } else { limit.which });
    }
}

/// What was seen of messages that may have left memory since.
#[derive(Default)]
struct Noted {
    /// The last message, summaries aside, when the list was looked at.
    last: Option<(Position, MessageId)>,
    /// Whether some had left memory before they were looked at.
    has_missed: bool,
    fakes: u32,
    /// How many parts messages have, and of these the last message.
    parts: usize,
    parts_of_last: usize,
    roles: BTreeSet<Role>,
    created_ms: Option<i64>,
    last_message_ms: Option<i64>,
}

impl Noted {
    /// Takes note of what is new. It stands at the end of the list, and no more of that is looked at.
    fn note(&mut self, manager: &Manager) {
        if self.is_of_another(manager) {
            *self = Self::default();
        }
        self.has_missed |= first_seq(manager) > self.last.map_or(0, |(known, _)| known.seq() + 1);
        self.add(manager.all());
        if manager.summary_count() > 0 {
            self.roles.insert(Role::Summary);
        }
    }

    /// The times of the first and the last message, which may have been corrected.
    fn note_times(&mut self, manager: &Manager) {
        let mut said = manager.all().map(PlainMessage::message).filter(|message| !is_summary(message));
        if let Some(first) = said.clone().next().filter(|_| manager.pruned() == 0) {
            self.created_ms = Some(first.metadata().created_ms());
        }
        self.last_message_ms = said.next_back().and_then(last_ms).or(self.last_message_ms);
    }

    fn add<'a>(&mut self, messages: impl DoubleEndedIterator<Item = &'a PlainMessage>) {
        let known = self.last.map(|(position, _)| position);
        let messages = messages.map(PlainMessage::message).filter(|message| !is_summary(message)).rev();
        // The last one that is known may have been merged into.
        let mut new = messages.take_while(|message| known.is_none_or(|known| message.position() >= known)).peekable();
        let Some(last) = new.peek().copied() else { return };
        let mut oldest_ms = None;
        for message in new {
            let parts = if message.is_fake() { 0 } else { message.parts().len() };
            if Some(message.position()) == known {
                self.parts = self.parts + parts - self.parts_of_last;
                continue;
            }
            oldest_ms = Some(message.metadata().created_ms());
            self.parts += parts;
            if message.is_fake() {
                self.fakes += 1;
            } else {
                self.roles.insert(message.role());
            }
        }
        self.last = Some((last.position(), last.id()));
        self.last_message_ms = last_ms(last);
        self.parts_of_last = if last.is_fake() { 0 } else { last.parts().len() };
        if !self.has_missed {
            self.created_ms = self.created_ms.or(oldest_ms);
        }
    }

    /// Whether another conversation was put in the place of the one that was looked at.
    fn is_of_another(&self, manager: &Manager) -> bool {
        self.last.is_some_and(|(known, id)| match manager.at(known) {
            Some(found) => found.id() != id,
            // It was pruned, or never added.
            None => manager.message_count() <= known.seq(),
        })
    }
}

/// The number of the first message that is in memory, or is still to come.
fn first_seq(manager: &Manager) -> u32 {
    match manager.nth(0).map(PlainMessage::message) {
        None => manager.message_count(),
        Some(first) => first.position().seq() + u32::from(is_summary(first)),
    }
}

/// When the last part of a message was created.
fn last_ms(message: &Message) -> Option<i64> {
    message.parts().next_back().map(Part::created_ms)
}

fn is_summary(message: &Message) -> bool {
    message.role() == Role::Summary
}
