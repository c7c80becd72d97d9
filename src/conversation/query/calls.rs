//! [`LogScope`]: the calls of a log that a query reads, and [`Calls`], an iterator over their ids.

use std::collections::BTreeSet;

use super::error::QueryProblem;
use crate::conversation::ConversationError;
use crate::log::{CallHeader, CallId, CallLog, CallQuery, Day, Tenant};

/// The calls of a log that a query reads.
///
/// A query with a [conversation](super::HistoryQuery::with_conversation) reads only that call, and finds nothing if the
/// call is not in the scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogScope(Scope);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Scope {
    Calls(BTreeSet<CallId>),
    Days { days: BTreeSet<Day>, tenant: Option<Tenant> },
}

impl LogScope {
    /// Selects the calls with these ids.
    pub fn of_calls(ids: impl IntoIterator<Item = CallId>) -> Self {
        Self(Scope::Calls(ids.into_iter().collect()))
    }

    /// Selects the calls of a tenant that started on these days, in UTC. Without a tenant, selects the calls that have
    /// none.
    pub fn of_days(tenant: Option<Tenant>, days: impl IntoIterator<Item = Day>) -> Self {
        Self(Scope::Days { days: days.into_iter().collect(), tenant })
    }

    /// Returns whether the scope contains a call with this header.
    pub(super) fn contains(&self, call_id: &CallId, header: Option<&CallHeader>) -> bool {
        match &self.0 {
            Scope::Calls(ids) => ids.contains(call_id),
            Scope::Days { days, tenant } => {
                header.is_some_and(|header| days.contains(&header.day()) && header.tenant() == tenant.as_ref())
            }
        }
    }
}

/// The ids of calls, one by one. Holds at most a page of a day in memory.
pub(in crate::conversation) struct Calls {
    ids: Vec<CallId>,
    pages: Vec<CallQuery>,
}

impl Calls {
    /// Returns these ids.
    pub fn of(ids: impl IntoIterator<Item = CallId>) -> Self {
        Self { ids: ids.into_iter().collect(), pages: Vec::new() }
    }

    /// Returns the ids of a scope, or only `requested`.
    pub(super) fn in_scope(scope: &LogScope, requested: Option<&CallId>) -> Self {
        match (requested, &scope.0) {
            (Some(requested), _) => Self::of([requested.clone()]),
            (None, Scope::Calls(ids)) => Self::of(ids.iter().cloned()),
            (None, Scope::Days { days, tenant }) => {
                let first_page = |day: &Day| CallQuery { tenant: tenant.clone(), ..CallQuery::of_day(*day) };
                Self { ids: Vec::new(), pages: days.iter().map(first_page).collect() }
            }
        }
    }

    /// Returns the next id, and lists the next page if necessary.
    pub async fn next(&mut self, log: &dyn CallLog) -> Result<Option<CallId>, ConversationError> {
        while self.ids.is_empty() {
            let Some(query) = self.pages.pop() else { return Ok(None) };
            let page = log.list_calls(&query).await;
            let page = page.map_err(|source| QueryProblem::List { day: query.day(), source })?;
            self.ids.extend(page.calls.iter().map(|header| header.call_id().clone()));
            self.pages.extend(page.next.map(|after| CallQuery { after: Some(after), ..query }));
        }
        Ok(self.ids.pop())
    }
}
