//! [`CallHeader`]: the facts about a call as a whole.

use super::{CallChange, CallEnd, CallId, CallerId, Day, LogError, Nonce, Tenant, Tenure};
use crate::message::{Map, check_ms};

/// The facts about a call as a whole, as a list of calls shows them.
///
/// Id, start, tenant, caller, attributes and expiry never change. [`CallChange`](super::CallChange)s change epoch, end and hold.
#[derive(Debug, Clone, Eq)]
pub struct CallHeader {
    call_id: CallId,
    started_ms: i64,
    tenant: Option<Tenant>,
    caller: Option<CallerId>,
    attributes: Map,
    expires_at_s: Option<i64>,
    tenure: Tenure,
    call_end: Option<CallEnd>,
    is_held: bool,
    /// The nonce that opening the call writes, so that a writer recognizes its own header if the response was lost.
    opening: Nonce,
}

impl CallHeader {
    /// Starts sort as text of 13 digits, which suffices until the year 2286.
    const MAX_STARTED_MS: i64 = 9_999_999_999_999;

    /// Creates the header of a call that started at `started_ms`, in milliseconds since the Unix epoch.
    ///
    /// Returns [`Invalid`](super::LogErrorKind::Invalid) if the start is before the epoch, has more than 13 digits, or is
    /// probably in seconds: from 100 million to below 100 billion.
    pub fn new(call_id: CallId, started_ms: i64) -> Result<Self, LogError> {
        check_ms(started_ms).map_err(|error| LogError::invalid("the start of a call", &error.to_string()))?;
        if (0..=Self::MAX_STARTED_MS).contains(&started_ms) {
            let (tenant, caller, attributes) = (None, None, Map::default());
            let (expires_at_s, tenure, call_end, is_held) = (None, Tenure::default(), None, false);
            let opening = Nonce::default();
            Ok(Self {
                call_id,
                started_ms,
                tenant,
                caller,
                attributes,
                expires_at_s,
                tenure,
                call_end,
                is_held,
                opening,
            })
        } else {
            let rule = "it is in milliseconds since the Unix epoch, from 0, of 13 digits at most";
            Err(LogError::invalid("the start of a call", rule))
        }
    }

    /// Sets the tenant.
    #[must_use]
    pub fn with_tenant(mut self, tenant: Tenant) -> Self {
        self.tenant = Some(tenant);
        self
    }

    /// Sets the caller, so that the call is found by [`CallQuery::of_caller`](super::CallQuery::of_caller).
    #[must_use]
    pub fn with_caller(mut self, caller: CallerId) -> Self {
        self.caller = Some(caller);
        self
    }

    /// Sets attributes of the service, such as the dialled number, the language or the ids of other systems.
    ///
    /// Keep them small: every change of the header writes them again, once for each index. A redactor of the log's
    /// [writer](super::WriterSettings::with_redactor) gets their texts; a log without a writer stores them as they are.
    #[must_use]
    pub fn with_attributes(mut self, attributes: Map) -> Self {
        self.attributes = attributes;
        self
    }

    /// Sets when the whole call expires, in seconds since the Unix epoch. From then on the log neither reads nor lists
    /// the call, and deletes the call if the log supports that.
    #[must_use]
    pub fn with_expires_at(mut self, at_s: i64) -> Self {
        self.expires_at_s = Some(at_s);
        self
    }

    /// The id of the call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// When the call started, in milliseconds since the Unix epoch.
    pub fn started_ms(&self) -> i64 {
        self.started_ms
    }

    /// The tenant whose call it is; `None` in a service without tenants.
    pub fn tenant(&self) -> Option<&Tenant> {
        self.tenant.as_ref()
    }

    /// The caller; `None` if the service did not set one.
    pub fn caller(&self) -> Option<&CallerId> {
        self.caller.as_ref()
    }

    /// The attributes of the service.
    pub fn attributes(&self) -> &Map {
        &self.attributes
    }

    /// When the call expires, unless it is held, in seconds since the Unix epoch.
    pub fn expires_at_s(&self) -> Option<i64> {
        self.expires_at_s
    }

    /// The highest epoch of the call, from 1. It belongs to the call's writer, or to a process that is taking the call
    /// over.
    pub fn epoch(&self) -> u32 {
        self.tenure.epoch
    }

    /// Who writes the call.
    pub(crate) fn tenure(&self) -> Tenure {
        self.tenure
    }

    /// How the call ended; `None` while it is live, or if its last writer died before it wrote the end.
    pub fn call_end(&self) -> Option<&CallEnd> {
        self.call_end.as_ref()
    }

    /// Returns true if the call is under a legal hold.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Returns true if the call has expired at `now_s`, in seconds since the Unix epoch. A held call does not expire.
    pub(crate) fn has_expired(&self, now_s: i64) -> bool {
        !self.is_held && self.expires_at_s.is_some_and(|at_s| at_s <= now_s)
    }

    /// Returns true if both headers have the same id, start, tenant, caller, attributes and expiry.
    pub fn is_opened_as(&self, other: &Self) -> bool {
        let opened = |header: &Self| (header.started_ms, header.expires_at_s);
        let owned = |header: &Self| (header.call_id.clone(), header.tenant.clone(), header.caller.clone());
        owned(self) == owned(other) && self.attributes == other.attributes && opened(self) == opened(other)
    }

    /// Returns the header after a change, for implementors of [`CallLog`](super::CallLog).
    ///
    /// Returns [`Fenced`](super::LogErrorKind::Fenced) if an older writer closes the call, and the errors of a
    /// [step of a takeover](CallChange::Takeover).
    pub fn changed(mut self, change: &CallChange) -> Result<Self, LogError> {
        let before = self.clone();
        match change {
            CallChange::Takeover(step) => {
                let changed = self.tenure.after(step);
                self.tenure = changed.map_err(|refused| step.refused(&self.call_id, refused, &self.tenure))?;
                if self.tenure.served != before.tenure.served {
                    self.call_end = None;
                }
                return Ok(self);
            }
            CallChange::Close { lease, call_end } => {
                self.tenure.check(lease)?;
                if self.call_end.as_ref().is_none_or(|known| call_end.counts_more_than(known)) {
                    self.call_end = Some(call_end.clone());
                }
            }
            CallChange::Hold => self.is_held = true,
            CallChange::Release => self.is_held = false,
        }
        if self != before {
            self.tenure.nonce = self.tenure.nonce.next();
        }
        Ok(self)
    }

    /// Sets the changeable part when a log reads a header back.
    #[must_use]
    pub(crate) fn with_state(mut self, tenure: Tenure, call_end: Option<CallEnd>, is_held: bool) -> Self {
        (self.tenure, self.call_end, self.is_held) = (tenure, call_end, is_held);
        self
    }

    /// Gives the header a nonce for all attempts of one process to open the call.
    #[must_use]
    pub(crate) fn with_opening_nonce(mut self) -> Self {
        self.opening = Nonce::random();
        self
    }

    /// The nonce that opening the call writes.
    #[cfg(feature = "dynamodb")]
    pub(crate) fn opening_nonce(&self) -> Nonce {
        if self.opening == Nonce::default() { Nonce::random() } else { self.opening }
    }

    /// The day, in UTC, on which the call is listed.
    pub(crate) fn day(&self) -> Day {
        Day::of_ms(self.started_ms)
    }
}

/// Headers with equal facts are equal. The nonce, which every write of the header changes, is not compared.
impl PartialEq for CallHeader {
    fn eq(&self, other: &Self) -> bool {
        let state = |header: &Self| {
            let Tenure { epoch, served, is_contended, .. } = header.tenure;
            (epoch, served, is_contended, header.call_end.clone(), header.is_held)
        };
        self.is_opened_as(other) && state(self) == state(other)
    }
}
