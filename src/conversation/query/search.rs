//! [`Search`]: one query on its way through conversations and calls.

use std::collections::BTreeSet;

use super::answer::{Found, LogAnswer};
use super::best::Best;
use super::matcher::Matcher;
use super::timeline::Timeline;
use super::{HistoryQuery, QueryError};
use crate::contents::Problem;
use crate::log::{CallId, LoggedCall};
use crate::manager::MessagesManager;
use crate::message::{Message, MessageId, PlainMessage, Position, Role};

/// A query on its way: what it has found so far. It does not matter in which order it comes by.
pub(in crate::conversation) struct Search<'q> {
    query: &'q HistoryQuery,
    matcher: Matcher<'q>,
    best: Best,
    problems: Vec<(CallId, Problem)>,
}

impl<'q> Search<'q> {
    /// Errors: a query that contradicts itself, or whose text cannot be searched for.
    pub fn new(query: &'q HistoryQuery) -> Result<Self, QueryError> {
        let matcher = Matcher::new(query)?;
        Ok(Self { query, matcher, best: Best::new(query), problems: Vec::new() })
    }

    /// Whether a conversation may have what is asked for that has no messages but of these roles.
    pub fn may_be_among(&self, roles: &BTreeSet<Role>) -> bool {
        self.query.roles.is_empty() || !self.query.roles.is_disjoint(roles)
    }

    /// Looks through the messages that a conversation has in memory.
    pub fn look_at(&mut self, conversation: &CallId, manager: &MessagesManager<PlainMessage>, timeline: &Timeline) {
        timeline.search(manager, conversation, &self.matcher, &mut self.best);
    }

    /// Looks through what a log has of a call; only in front of a position, where the rest was looked at in memory.
    pub fn look_at_call(&mut self, call_id: &CallId, call: LoggedCall, before: Option<Position>) {
        let is_asked_for = |message: &Message| before.is_none_or(|before| message.position() < before);
        let mut damaged: BTreeSet<MessageId> = call.problems.iter().map(|problem| problem.message_id).collect();
        for record in call.records {
            let message = Message::from(record);
            match self.matcher.nearest_ms(&message).filter(|_| is_asked_for(&message)) {
                None => drop(damaged.remove(&message.id())),
                Some(at_ms) if self.best.wants(call_id, at_ms, message.id()) => {
                    self.matcher.find(call_id, &message).into_iter().for_each(|found| self.best.keep(found));
                }
                Some(_) => {}
            }
        }
        let problems = call.problems.into_iter().filter(|problem| damaged.contains(&problem.message_id));
        self.problems.extend(problems.map(|problem| (call_id.clone(), problem)));
    }

    /// What was found in memory.
    pub fn into_found(self) -> Vec<Found> {
        self.best.into_found()
    }

    /// What was found, and what could not be loaded.
    pub fn into_answer(self) -> LogAnswer {
        let mut problems = self.problems;
        problems.sort_by(|(one, _), (other, _)| one.cmp(other));
        LogAnswer { found: self.best.into_found(), problems }
    }
}
