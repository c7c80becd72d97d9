//! [`Search`]: runs one query over conversations and calls.

use std::collections::BTreeSet;

use super::HistoryQuery;
use super::answer::{Found, LogAnswer};
use super::best::Best;
use super::matcher::Matcher;
use super::timeline::Timeline;
use crate::contents::Problem;
use crate::conversation::ConversationError;
use crate::log::{CallId, LoggedCall};
use crate::manager::{LeftOut, MessagesManager};
use crate::message::{Message, MessageId, PlainMessage, Position, Role};

/// A query and its matches so far. Conversations and calls may come in any order.
pub(in crate::conversation) struct Search<'q> {
    query: &'q HistoryQuery,
    matcher: Matcher<'q>,
    best: Best,
    problems: Vec<(CallId, Problem)>,
    left_out: Vec<(CallId, LeftOut)>,
}

impl<'q> Search<'q> {
    /// Returns [`Refused`] if the query is invalid.
    ///
    /// [`Refused`]: crate::conversation::ConversationErrorKind::Refused
    pub fn new(query: &'q HistoryQuery) -> Result<Self, ConversationError> {
        let matcher = Matcher::new(query)?;
        Ok(Self { query, matcher, best: Best::new(query), problems: Vec::new(), left_out: Vec::new() })
    }

    /// Returns whether a conversation with these roles may have a match.
    pub fn may_match_roles(&self, roles: &BTreeSet<Role>) -> bool {
        self.query.roles.is_empty() || !self.query.roles.is_disjoint(roles)
    }

    /// Searches the messages that a conversation has in memory.
    pub fn add_conversation(
        &mut self,
        conversation: &CallId,
        manager: &MessagesManager<PlainMessage>,
        timeline: &Timeline,
    ) {
        timeline.search(manager, conversation, &self.matcher, &mut self.best);
    }

    /// Searches a call from a log, up to `before`. Later messages are searched in memory.
    pub fn add_call(&mut self, call_id: &CallId, call: LoggedCall, before: Option<Position>) {
        let is_in_range = |message: &Message| before.is_none_or(|before| message.position() < before);
        self.left_out.extend(call.left_out.into_iter().map(|left_out| (call_id.clone(), left_out)));
        let mut damaged: BTreeSet<MessageId> = call.problems.iter().map(|problem| problem.message_id).collect();
        for record in call.records {
            let message = Message::from(record);
            match self.matcher.sort_ms(&message).filter(|_| is_in_range(&message)) {
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

    /// Returns the matches, for a search in memory only.
    pub fn into_found(self) -> Vec<Found> {
        self.best.into_found()
    }

    /// Returns the matches and the contents that could not be loaded.
    pub fn into_answer(self) -> LogAnswer {
        let mut problems = self.problems;
        problems.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut left_out = self.left_out;
        left_out.sort_by(|(one, _), (other, _)| one.cmp(other));
        LogAnswer { found: self.best.into_found(), problems, left_out }
    }
}
