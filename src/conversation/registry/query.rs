//! Queries over the conversations of a registry, in memory and with its log.

use std::collections::HashMap;

use super::Conversations;
use crate::conversation::query::{Calls, Found, HistoryQuery, LogAnswer, Search, read_calls};
use crate::conversation::{Conversation, ConversationError};
use crate::log::CallId;
use crate::message::{MessageWrapper, Position};

impl Conversations {
    /// Finds messages in memory. Messages that left memory because of a [limit](Conversations) are not found.
    ///
    /// The conversations are locked and searched one after the other. [`query_log`](crate::conversation::query_log)
    /// runs the same query over a log.
    ///
    /// Returns [`Refused`] if the query is invalid.
    ///
    /// [`Refused`]: crate::conversation::ConversationErrorKind::Refused
    pub fn query(&self, query: &HistoryQuery) -> Result<Vec<Found>, ConversationError> {
        let mut search = Search::new(query)?;
        for conversation in self.selected_by(query) {
            conversation.search(&mut search);
        }
        Ok(search.into_found())
    }

    /// Finds messages in memory, and in the log those that have left memory. Without a log, it searches only memory.
    ///
    /// It reads a call from the log only if messages of it have left memory and may match. It does not look for
    /// conversations that are not in the registry.
    ///
    /// Returns the errors of [`query_log`](crate::conversation::query_log).
    pub async fn query_with_log(&self, query: &HistoryQuery) -> Result<LogAnswer, ConversationError> {
        let mut search = Search::new(query)?;
        let mut pruned: HashMap<CallId, Position> = HashMap::new();
        for conversation in self.selected_by(query) {
            // Messages that leave memory after this search are not searched again in the log.
            let before = conversation.search(&mut search);
            pruned.extend(before.map(|before| (conversation.id().clone(), before)));
        }
        if let Some(log) = &self.log {
            let calls = Calls::of(pruned.keys().cloned());
            read_calls(log, calls, |call_id, call| search.add_call(call_id, call, pruned.get(call_id).copied()))
                .await?;
        }
        Ok(search.into_answer())
    }

    fn selected_by(&self, query: &HistoryQuery) -> Vec<Conversation> {
        match &query.conversation {
            Some(id) => self.get(id).into_iter().collect(),
            None => self.read().values().cloned().collect(),
        }
    }
}

impl Conversation {
    /// Searches the messages in memory. Returns the position before which only the log may have matches.
    fn search(&self, search: &mut Search<'_>) -> Option<Position> {
        self.with_history(|history, manager| {
            let (roles, timeline) = history.overview(manager);
            if roles.is_some_and(|roles| !search.may_match_roles(roles)) {
                return None;
            }
            search.add_conversation(self.id(), manager, timeline);
            let first = || manager.nth(0).map(|wrapper| wrapper.message().position());
            (manager.pruned() > 0).then(|| first().unwrap_or(Position::message(manager.message_count())))
        })
    }
}
