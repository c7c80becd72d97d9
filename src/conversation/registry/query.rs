//! Queries over the conversations of a registry: in memory, and with the log for what has left it.

use std::collections::HashMap;

use super::Conversations;
use crate::conversation::Conversation;
use crate::conversation::query::{Calls, Found, HistoryQuery, LogAnswer, QueryError, Search, read_calls};
use crate::log::CallId;
use crate::message::{MessageWrapper, Position};

impl Conversations {
    /// Finds messages in memory. What has left it through a [limit](Conversations) is not found.
    ///
    /// One conversation is looked at after the other: each is locked while it is looked through, and waited for while
    /// somebody changes it. [`query_log`](crate::conversation::query_log) asks a log the same.
    ///
    /// Errors: a query that contradicts itself, or whose text cannot be searched for.
    pub fn query(&self, query: &HistoryQuery) -> Result<Vec<Found>, QueryError> {
        let mut search = Search::new(query)?;
        for conversation in self.asked_for(query) {
            conversation.search(&mut search);
        }
        Ok(search.into_found())
    }

    /// Finds messages in memory, and in the log those that have left it. Without a log, the same as
    /// [`query`](Self::query).
    ///
    /// Of each conversation of which something has left memory the call is read, if it may hold what is asked for, a few
    /// at a time; conversations that are not here are not looked for.
    ///
    /// Errors: as [`query_log`](crate::conversation::query_log).
    pub async fn query_with_log(&self, query: &HistoryQuery) -> Result<LogAnswer, QueryError> {
        let mut search = Search::new(query)?;
        let mut pruned: HashMap<CallId, Position> = HashMap::new();
        for conversation in self.asked_for(query) {
            // What leaves memory from here on was looked at, and is not asked of the log.
            let before = conversation.search(&mut search);
            pruned.extend(before.map(|before| (conversation.id().clone(), before)));
        }
        if let Some(log) = &self.log {
            let calls = Calls::of(pruned.keys().cloned());
            read_calls(log, calls, |call_id, call| search.look_at_call(call_id, call, pruned.get(call_id).copied()))
                .await?;
        }
        Ok(search.into_answer())
    }

    fn asked_for(&self, query: &HistoryQuery) -> Vec<Conversation> {
        match &query.conversation {
            Some(id) => self.get(id).into_iter().collect(),
            None => self.read().values().cloned().collect(),
        }
    }
}

impl Conversation {
    /// Looks through what is in memory. Gives the position in front of which the log may hold what is asked for.
    fn search(&self, search: &mut Search<'_>) -> Option<Position> {
        self.with_history(|history, manager| {
            let (roles, timeline) = history.overview(manager);
            if roles.is_some_and(|roles| !search.may_be_among(roles)) {
                return None;
            }
            search.look_at(self.id(), manager, timeline);
            let first = || manager.nth(0).map(|wrapper| wrapper.message().position());
            (manager.pruned() > 0).then(|| first().unwrap_or(Position::message(manager.message_count())))
        })
    }
}
