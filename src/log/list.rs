//! Listing calls: [`CallQuery`], [`CallPage`], [`Cursor`].

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{CallHeader, CallId, CallerId, Day, LogError, Tenant};

/// A query for the opened calls of a day or of a caller, newest first.
///
/// ```
/// use verbale::log::{CallQuery, Day};
///
/// let mut query = CallQuery::of_day(Day::of_ms(1_744_815_823_058));
/// query.limit = 20;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallQuery {
    pub(crate) calls: CallsOf,
    /// The tenant of the calls; `None` lists the calls without a tenant, not those of all tenants.
    pub tenant: Option<Tenant>,
    /// The maximum number of calls on a page; 0 counts as 1.
    pub limit: u16,
    /// The [`next`](CallPage::next) cursor of the previous page; `None` for the first page.
    pub after: Option<Cursor>,
}

/// The calls that a query lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallsOf {
    /// Those that started on a day, in UTC.
    Day(Day),
    /// Those of a caller.
    Caller(CallerId),
}

impl CallQuery {
    /// Creates a query for the newest 100 calls without a tenant on a day.
    pub fn of_day(day: Day) -> Self {
        Self { calls: CallsOf::Day(day), tenant: None, limit: 100, after: None }
    }

    /// Creates a query for the newest 100 calls of a caller and a tenant, whatever their day.
    pub fn of_caller(tenant: Option<Tenant>, caller: CallerId) -> Self {
        Self { calls: CallsOf::Caller(caller), tenant, limit: 100, after: None }
    }

    /// The day on which the calls started, in UTC; `None` in a query by caller.
    pub fn day(&self) -> Option<Day> {
        match &self.calls {
            CallsOf::Day(day) => Some(*day),
            CallsOf::Caller(_) => None,
        }
    }

    /// The caller; `None` in a query by day.
    pub fn caller(&self) -> Option<&CallerId> {
        match &self.calls {
            CallsOf::Day(_) => None,
            CallsOf::Caller(caller) => Some(caller),
        }
    }

    /// Returns whether a header is one of those that the query lists.
    fn is_about(&self, header: &CallHeader) -> bool {
        let is_listed = match &self.calls {
            CallsOf::Day(day) => header.day() == *day,
            CallsOf::Caller(caller) => header.caller() == Some(caller),
        };
        is_listed && header.tenant() == self.tenant.as_ref()
    }

    /// The limit, at least 1.
    pub(crate) fn max_calls(&self) -> usize {
        usize::from(self.limit.max(1))
    }

    /// Returns the page of this query, for implementors of [`CallLog`](super::CallLog).
    ///
    /// `headers` are headers of opened calls in any order. They must include all headers that the query may return;
    /// headers of other days, callers and tenants, and those before the cursor, are left out.
    pub fn page_of(&self, headers: impl IntoIterator<Item = CallHeader>) -> CallPage {
        let mut calls: Vec<CallHeader> = headers
            .into_iter()
            .filter(|header| self.is_about(header))
            .filter(|header| self.after.as_ref().is_none_or(|after| Cursor::of(header) < *after))
            .collect();
        calls.sort_by_cached_key(|header| std::cmp::Reverse(Cursor::of(header)));
        let has_more = calls.len() > self.max_calls();
        calls.truncate(self.max_calls());
        let next = calls.last().filter(|_| has_more).map(Cursor::of);
        CallPage { calls, next, unreadable: Vec::new() }
    }
}

/// A page of calls, newest first.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct CallPage {
    /// The headers. Calls that started in the same millisecond are sorted by id, the greatest first.
    pub calls: Vec<CallHeader>,
    /// The cursor for the next page; `None` on the last page.
    pub next: Option<Cursor>,
    /// The errors of headers that cannot be read. Their calls may belong to the list, but are not in `calls`.
    pub unreadable: Vec<LogError>,
}

/// The position between two pages of a list. Its text form is opaque and consists of letters, digits, `-` and `_`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    started_ms: i64,
    call_id: CallId,
}

impl Cursor {
    /// Returns the cursor directly after a call.
    pub(crate) fn of(header: &CallHeader) -> Self {
        Self { started_ms: header.started_ms(), call_id: header.call_id().clone() }
    }

    /// Start and call id as text, which sorts in the reverse order of a page.
    pub(crate) fn sort_key(&self) -> String {
        format!("{:013}#{}", self.started_ms, self.call_id)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&URL_SAFE_NO_PAD.encode(self.sort_key()))
    }
}

impl FromStr for Cursor {
    type Err = LogError;

    fn from_str(text: &str) -> Result<Self, LogError> {
        let read = || {
            let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
            let (started, call_id) = std::str::from_utf8(&bytes).ok()?.split_once('#')?;
            let header = CallHeader::new(CallId::new(call_id).ok()?, started.parse().ok()?).ok()?;
            let cursor = Self::of(&header);
            (cursor.sort_key().as_bytes() == bytes).then_some(cursor)
        };
        read().ok_or_else(|| LogError::invalid("a cursor", "pass the cursor of a page of calls, unchanged"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursor_text_round_trips_and_other_text_is_refused() {
        let header = CallHeader::new(CallId::new("CA#1/ü").unwrap(), 1_744_815_823_058).unwrap();
        let cursor = Cursor::of(&header);
        let text = cursor.to_string();
        assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{text}");
        assert_eq!(text.parse::<Cursor>().unwrap(), cursor);
        for bad in ["", "CA1", &text[1..], &URL_SAFE_NO_PAD.encode("1#CA1"), &URL_SAFE_NO_PAD.encode("0000000000001#")]
        {
            assert!(bad.parse::<Cursor>().is_err(), "{bad}");
        }
    }
}
