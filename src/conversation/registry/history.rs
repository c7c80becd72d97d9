//! [`History`]: facts about a conversation that are kept when its messages leave memory, and the limit on memory.

use std::collections::BTreeSet;

use super::ConversationMetadata;
#[cfg(feature = "query")]
use crate::conversation::query::Timeline;
use crate::log::CallId;
use crate::manager::{MessagesManager, Prune};
use crate::message::{Message, MessageId, MessageWrapper, Part, PlainMessage, Position, Role};

/// The history of a conversation. It is updated when it is read and before messages leave memory, so that it also covers
/// these.
#[derive(Default)]
pub(in crate::conversation) struct History {
    limit: Option<HistoryLimit>,
    is_logged: bool,
    facts: Facts,
    /// The facts about the messages that have left memory, which a fork begins with.
    left: Facts,
    /// The timeline of the current list; built for the first query.
    #[cfg(feature = "query")]
    timeline: Option<Box<Timeline>>,
}

/// The limit on the messages of a conversation in memory.
#[derive(Debug, Clone, Copy)]
pub(in crate::conversation) struct HistoryLimit {
    /// The maximum number of messages.
    pub messages: usize,
    /// The messages over the limit that may leave.
    pub which: Prune,
}

/// The messages that stay in memory despite the limit.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::conversation) struct Needed {
    /// Whether a live call uses the conversation, so that the window and messages that are not logged stay.
    pub by_call: bool,
    /// The number of newest messages that stay. The oldest of them is still being played, or its tool still runs.
    pub newest: usize,
}

type Manager = MessagesManager<PlainMessage>;

impl History {
    /// Returns the history of a fork, which counts its messages when it is read.
    pub fn fork(&self) -> Self {
        Self { facts: self.left.clone(), left: self.left.clone(), ..Self::default() }
    }

    /// Drops everything that depends on the current list.
    pub fn before_change(&mut self) {
        #[cfg(feature = "query")]
        {
            self.timeline = None;
        }
    }

    /// Counts the messages, because a change may remove some.
    pub fn update(&mut self, manager: &Manager) {
        self.facts.update(manager);
    }

    /// Returns the number of messages to keep and which of the others may leave now, if any may.
    pub fn prunable(&self, manager: &Manager, needed: Needed, releases: bool) -> Option<HistoryLimit> {
        let limited = self.limited(manager, needed);
        let released = releases.then_some(HistoryLimit { messages: needed.newest, which: Prune::Covered });
        let prunable = |limit: &HistoryLimit| manager.prunable(limit.messages, limit.which).is_some();
        released.filter(prunable).or(limited.filter(prunable))
    }

    /// Prunes messages.
    pub fn prune(&mut self, manager: &mut Manager, limit: HistoryLimit) {
        self.facts.update(manager);
        self.facts.update_times(manager);
        let first = manager.pruned();
        if let Some(cut) = manager.prunable(limit.messages, limit.which) {
            self.left.add(manager.all().take(cut - first));
        }
        manager.prune_only(limit.messages, limit.which);
    }

    /// Sets the limit. The end of the change prunes messages over it.
    pub fn limit(&mut self, limit: HistoryLimit) {
        self.is_logged |= limit.which == Prune::Logged;
        self.limit = Some(limit);
    }

    /// Returns whether messages may be pruned.
    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Keeps messages in memory until they are logged.
    pub fn keep_unlogged(&mut self) {
        self.is_logged = true;
    }

    /// Returns the metadata of the conversation with this id.
    pub fn metadata(&mut self, id: &CallId, manager: &Manager) -> ConversationMetadata {
        self.facts.update(manager);
        self.facts.update_times(manager);
        let facts = &self.facts;
        ConversationMetadata {
            conversation: id.clone(),
            created_ms: facts.created_ms,
            last_message_ms: facts.last_message_ms,
            last_updated_ms: manager
                .last_summary()
                .map(|summary| summary.metadata().created_ms())
                .max(facts.last_message_ms),
            messages: (manager.message_count() + manager.summary_count()).saturating_sub(facts.fakes) as usize,
            update_count: facts.parts,
            roles: facts.roles.clone(),
        }
    }

    /// Returns the roles of all messages so far, if they are known, and the timeline.
    #[cfg(feature = "query")]
    pub fn overview(&mut self, manager: &Manager) -> (Option<&BTreeSet<Role>>, &Timeline) {
        let facts = &mut self.facts;
        let timeline = self.timeline.get_or_insert_with(|| {
            facts.update(manager);
            Box::new(Timeline::of(manager))
        });
        (Some(&facts.roles).filter(|_| !facts.has_missed), &**timeline)
    }

    /// Returns the limit if the list is over it.
    fn limited(&self, manager: &Manager, needed: Needed) -> Option<HistoryLimit> {
        let mut limit = self.limit?;
        limit.messages = limit.messages.max(needed.newest);
        if needed.by_call {
            limit.which = Prune::Covered;
        } else if self.is_logged {
            limit.which = Prune::Logged;
        }
        (manager.all().len() > limit.messages).then_some(limit)
    }
}

/// Facts about all messages, including those that have left memory.
#[derive(Clone, Default)]
struct Facts {
    /// The last known message, ignoring summaries.
    last: Option<(Position, MessageId)>,
    /// Whether messages left memory before they were counted.
    has_missed: bool,
    fakes: u32,
    /// The number of parts of all messages, and of the last one.
    parts: usize,
    parts_of_last: usize,
    roles: BTreeSet<Role>,
    created_ms: Option<i64>,
    last_message_ms: Option<i64>,
}

impl Facts {
    /// Adds new messages. They are at the end of the list, so only the end is read.
    fn update(&mut self, manager: &Manager) {
        if self.is_replaced(manager) {
            *self = Self::default();
        }
        self.has_missed |= first_seq(manager) > self.last.map_or(0, |(known, _)| known.seq() + 1);
        self.add(manager.all());
        if manager.summary_count() > 0 {
            self.roles.insert(Role::Summary);
        }
    }

    /// Updates the times of the first and the last message, which may have been corrected.
    fn update_times(&mut self, manager: &Manager) {
        let mut said = manager.all().map(PlainMessage::message).filter(|message| !is_summary(message));
        if let Some(first) = said.clone().next().filter(|_| manager.pruned() == 0) {
            self.created_ms = Some(first.metadata().created_ms());
        }
        self.last_message_ms = said.next_back().and_then(last_ms).or(self.last_message_ms);
    }

    fn add<'a>(&mut self, messages: impl DoubleEndedIterator<Item = &'a PlainMessage>) {
        let known = self.last.map(|(position, _)| position);
        let messages = messages.map(PlainMessage::message).filter(|message| !is_summary(message)).rev();
        // The last known message may have new parts from a merge.
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

    /// Returns whether another conversation replaced the known one.
    fn is_replaced(&self, manager: &Manager) -> bool {
        self.last.is_some_and(|(known, id)| match manager.at(known) {
            Some(found) => found.id() != id,
            // The message was pruned, or the list is a shorter one.
            None => manager.message_count() <= known.seq(),
        })
    }
}

/// Returns the number of the first message in memory, or of the next one if there is none.
fn first_seq(manager: &Manager) -> u32 {
    match manager.nth(0).map(PlainMessage::message) {
        None => manager.message_count(),
        Some(first) => first.position().seq() + u32::from(is_summary(first)),
    }
}

/// Returns the creation time of the last part of a message.
fn last_ms(message: &Message) -> Option<i64> {
    message.parts().next_back().map(Part::created_ms)
}

fn is_summary(message: &Message) -> bool {
    message.role() == Role::Summary
}
