//! [`CallHeader`]: what is known of a call as a whole.

use std::fmt;
use std::sync::Arc;

use super::call_id::printable;
use super::{CallChange, CallEnd, CallId, Day, LogError, WriterLease};

/// What is known of a call as a whole: what a list of calls shows.
///
/// What it was opened with (start, tenant, expiry) never changes; the rest is what [`CallChange`](super::CallChange)s
/// made of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallHeader {
    call_id: CallId,
    started_ms: i64,
    tenant: Option<Tenant>,
    expires_at_s: Option<i64>,
    epoch: u32,
    call_end: Option<CallEnd>,
    is_held: bool,
}

impl CallHeader {
    /// Starts are listed in the order of 13 digits: up to the year 2286.
    pub const MAX_STARTED_MS: i64 = 9_999_999_999_999;

    /// The header of a call that started at a moment, in milliseconds since the Unix epoch.
    ///
    /// Errors: a start before the epoch or behind [`MAX_STARTED_MS`](Self::MAX_STARTED_MS).
    pub fn new(call_id: CallId, started_ms: i64) -> Result<Self, LogError> {
        if (0..=Self::MAX_STARTED_MS).contains(&started_ms) {
            Ok(Self { call_id, started_ms, tenant: None, expires_at_s: None, epoch: 1, call_end: None, is_held: false })
        } else {
            let reason = "it is in milliseconds since the Unix epoch, from 0, of 13 digits at most";
            Err(LogError::Invalid { what: "the start of a call", reason })
        }
    }

    /// The same, as a call of a tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = Some(tenant);
        self
    }

    /// The same, of a call that is not shown any more from a moment on, in seconds since the Unix epoch, and is deleted
    /// behind it where the log does such a thing. All of a call expires at once.
    #[must_use]
    pub fn with_expires_at(mut self, at_s: i64) -> Self {
        self.expires_at_s = Some(at_s);
        self
    }

    /// The call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// When it started, in milliseconds since the Unix epoch.
    pub fn started_ms(&self) -> i64 {
        self.started_ms
    }

    /// Whose call it is, where the service has tenants.
    pub fn tenant(&self) -> Option<&Tenant> {
        self.tenant.as_ref()
    }

    /// When the call expires, unless it is held, in seconds since the Unix epoch.
    pub fn expires_at_s(&self) -> Option<i64> {
        self.expires_at_s
    }

    /// The how-manieth writer it has, from 1.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// How it ended; `None` while it goes on, and where its last writer did not get to say so.
    pub fn call_end(&self) -> Option<&CallEnd> {
        self.call_end.as_ref()
    }

    /// Whether it is under a legal hold.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Whether it is not to be shown any more, at `now_s` in seconds since the Unix epoch.
    pub fn has_expired(&self, now_s: i64) -> bool {
        !self.is_held && self.expires_at_s.is_some_and(|at_s| at_s <= now_s)
    }

    /// Whether both were opened with the same start, tenant and expiry.
    pub fn is_opened_as(&self, other: &Self) -> bool {
        let opened =
            |header: &Self| (header.call_id.clone(), header.started_ms, header.tenant.clone(), header.expires_at_s);
        opened(self) == opened(other)
    }

    /// The header after a change. Errors: [fenced](LogError::Fenced).
    pub fn changed(mut self, change: &CallChange) -> Result<Self, LogError> {
        match change {
            CallChange::Resume => {
                self.epoch += 1;
                self.call_end = None;
            }
            CallChange::Close { lease, .. } if lease.epoch() < self.epoch => return Err(self.fences(lease)),
            CallChange::Close { call_end, .. } => {
                self.call_end.get_or_insert_with(|| call_end.clone());
            }
            CallChange::Hold => self.is_held = true,
            CallChange::Release => self.is_held = false,
        }
        Ok(self)
    }

    /// What it answers to a writer with an older epoch.
    pub(crate) fn fences(&self, lease: &WriterLease) -> LogError {
        LogError::Fenced { call_id: self.call_id.clone(), epoch: lease.epoch(), current: self.epoch }
    }

    /// The same as of another state: for a log that reads it back.
    #[must_use]
    pub(crate) fn with_state(mut self, epoch: u32, call_end: Option<CallEnd>, is_held: bool) -> Self {
        (self.epoch, self.call_end, self.is_held) = (epoch, call_end, is_held);
        self
    }

    /// The day, in UTC, on which it is listed.
    pub fn day(&self) -> Day {
        Day::of_ms(self.started_ms)
    }
}

/// Whose call it is, of 1 to [`MAX_BYTES`](Self::MAX_BYTES) bytes, without control or invisible characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tenant(Arc<str>);

impl Tenant {
    /// What a partition key has room for beside the day, with plenty to spare.
    pub const MAX_BYTES: usize = 1_000;

    /// Errors: empty, longer than [`MAX_BYTES`](Self::MAX_BYTES), with control or invisible characters.
    pub fn new(tenant: impl Into<Arc<str>>) -> Result<Self, LogError> {
        let reason = "one has 1 to 1,000 bytes and no control or invisible characters";
        printable(tenant.into(), Self::MAX_BYTES, LogError::Invalid { what: "a tenant", reason }).map(Self)
    }

    /// The tenant as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tenant({})", self.0)
    }
}

/// What became of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// It is there now.
    Opened,
    /// It was there.
    AlreadyOpen,
}
