//! Which calls are listed: [`CallQuery`], [`CallPage`], [`Cursor`].

use std::fmt;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{CallHeader, CallId, Day, LogError, Tenant};

/// Which calls to list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallQuery {
    /// Calls that started on this day, in UTC.
    pub day: Day,
    /// Calls of this tenant; with `None` those that have no tenant, not those of all.
    pub tenant: Option<Tenant>,
    /// How many at most; 0 counts as 1.
    pub limit: u16,
    /// Only those behind the page that gave this.
    pub after: Option<Cursor>,
}

impl CallQuery {
    /// The newest 100 calls of a day that have no tenant.
    pub fn of_day(day: Day) -> Self {
        Self { day, tenant: None, limit: 100, after: None }
    }

    /// The same for the calls of a tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = Some(tenant);
        self
    }

    /// The same with another limit.
    #[must_use]
    pub fn with_limit(mut self, limit: u16) -> Self {
        self.limit = limit;
        self
    }

    /// The same for the page behind another one.
    #[must_use]
    pub fn with_after(mut self, after: Cursor) -> Self {
        self.after = Some(after);
        self
    }

    /// The limit as it counts.
    pub(crate) fn at_most(&self) -> usize {
        usize::from(self.limit.max(1))
    }

    /// The page of a backend that holds all headers, in any order.
    pub(super) fn page_of(&self, headers: impl IntoIterator<Item = CallHeader>) -> CallPage {
        let mut found: Vec<CallHeader> = headers
            .into_iter()
            .filter(|header| header.day() == self.day && header.tenant() == self.tenant.as_ref())
            .filter(|header| self.after.as_ref().is_none_or(|after| Cursor::of(header) < *after))
            .collect();
        found.sort_by_cached_key(|header| std::cmp::Reverse(Cursor::of(header)));
        CallPage::of_first(found, self)
    }
}

/// Calls, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallPage {
    /// Their headers; those that started in the same millisecond by id, the greatest first.
    pub calls: Vec<CallHeader>,
    /// What to ask with for those behind; `None` where there are no more.
    pub next: Option<Cursor>,
}

impl CallPage {
    /// The page that answers `query`, from what is behind its cursor, newest first: with one more than it asks for,
    /// where there is one.
    pub fn of_first(mut calls: Vec<CallHeader>, query: &CallQuery) -> Self {
        let has_more = calls.len() > query.at_most();
        calls.truncate(query.at_most());
        let next = calls.last().filter(|_| has_more).map(Cursor::of);
        Self { calls, next }
    }
}

/// Where a page ends. Opaque: its text, of letters, digits, `-` and `_`, is to be handed back, and no more.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cursor {
    started_ms: i64,
    call_id: CallId,
}

impl Cursor {
    /// The one behind a call.
    pub fn of(header: &CallHeader) -> Self {
        Self { started_ms: header.started_ms(), call_id: header.call_id().clone() }
    }

    /// Start and call id, which sort as calls do: what [`CallPage`] lists, backwards.
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
        read().ok_or(LogError::Invalid { what: "a cursor", reason: "it comes from a page of calls, and unchanged" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_comes_back_from_its_text_and_nothing_else_does() {
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
