//! Which calls of a log are looked at: [`LogScope`], and [`Calls`], their ids one after the other.

use std::collections::BTreeSet;

use super::QueryError;
use crate::log::{CallHeader, CallId, CallLog, CallQuery, Day, Tenant};

/// Which calls of a log a query looks at.
///
/// A query that names a conversation reads that call alone, and finds nothing where it is none of these.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogScope {
    /// The calls with these ids.
    Calls(BTreeSet<CallId>),
    /// The opened calls that started on these days, in UTC.
    Days {
        /// The days.
        days: BTreeSet<Day>,
        /// Those of this tenant; with `None` those that have no tenant, not those of all.
        tenant: Option<Tenant>,
    },
}

impl LogScope {
    /// The calls with these ids.
    pub fn of_calls(ids: impl IntoIterator<Item = CallId>) -> Self {
        Self::Calls(ids.into_iter().collect())
    }

    /// The opened calls of these days that have no tenant.
    pub fn of_days(days: impl IntoIterator<Item = Day>) -> Self {
        Self::Days { days: days.into_iter().collect(), tenant: None }
    }

    /// The opened calls of a tenant that started on these days.
    pub fn of_tenant(tenant: Tenant, days: impl IntoIterator<Item = Day>) -> Self {
        Self::Days { days: days.into_iter().collect(), tenant: Some(tenant) }
    }

    /// Whether a call with this header is one of them.
    pub(super) fn holds(&self, call_id: &CallId, header: Option<&CallHeader>) -> bool {
        match self {
            Self::Calls(ids) => ids.contains(call_id),
            Self::Days { days, tenant } => {
                header.is_some_and(|header| days.contains(&header.day()) && header.tenant() == tenant.as_ref())
            }
        }
    }
}

/// The ids of calls, one after the other; of a day, a page of them in memory at a time.
pub(in crate::conversation) struct Calls {
    ids: Vec<CallId>,
    pages: Vec<CallQuery>,
}

impl Calls {
    /// These calls.
    pub fn of(ids: impl IntoIterator<Item = CallId>) -> Self {
        Self { ids: ids.into_iter().collect(), pages: Vec::new() }
    }

    /// The calls of a scope, or the one that is asked for.
    pub(super) fn in_scope(scope: &LogScope, asked: Option<&CallId>) -> Self {
        match (asked, scope) {
            (Some(asked), _) => Self::of([asked.clone()]),
            (None, LogScope::Calls(ids)) => Self::of(ids.iter().cloned()),
            (None, LogScope::Days { days, tenant }) => {
                let first_page = |day: &Day| CallQuery { tenant: tenant.clone(), ..CallQuery::of_day(*day) };
                Self { ids: Vec::new(), pages: days.iter().map(first_page).collect() }
            }
        }
    }

    /// The next one.
    pub async fn next(&mut self, log: &dyn CallLog) -> Result<Option<CallId>, QueryError> {
        while self.ids.is_empty() {
            let Some(query) = self.pages.pop() else { return Ok(None) };
            let page = log.list_calls(&query).await;
            let page = page.map_err(|source| QueryError::List { day: query.day, source })?;
            self.ids.extend(page.calls.iter().map(|header| header.call_id().clone()));
            self.pages.extend(page.next.map(|after| CallQuery { after: Some(after), ..query }));
        }
        Ok(self.ids.pop())
    }
}
