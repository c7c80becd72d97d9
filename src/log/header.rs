//! [`CallHeader`]: what is known of a call as a whole.

use std::fmt;
use std::sync::Arc;

use super::call_id::is_invisible;
use super::{CallId, Day, LogError};

/// What is known of a call as a whole: what a list of calls shows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallHeader {
    call_id: CallId,
    started_ms: i64,
    tenant: Option<Tenant>,
}

impl CallHeader {
    /// Starts are listed in the order of 13 digits: up to the year 2286.
    pub const MAX_STARTED_MS: i64 = 9_999_999_999_999;

    /// The header of a call that started at a moment, in milliseconds since the Unix epoch.
    ///
    /// Errors: a start before the epoch or behind [`MAX_STARTED_MS`](Self::MAX_STARTED_MS).
    pub fn new(call_id: CallId, started_ms: i64) -> Result<Self, LogError> {
        if (0..=Self::MAX_STARTED_MS).contains(&started_ms) {
            Ok(Self { call_id, started_ms, tenant: None })
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
        let tenant = tenant.into();
        if tenant.is_empty() || tenant.len() > Self::MAX_BYTES || tenant.chars().any(is_invisible) {
            let reason = "one has 1 to 1,000 bytes and no control or invisible characters";
            return Err(LogError::Invalid { what: "a tenant", reason });
        }
        Ok(Self(tenant))
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
