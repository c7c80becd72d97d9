//! [`WriterLease`]: the right to write a call.

use super::{CallHeader, CallId};

/// The right to write a call: which call, and the how-manieth of its writers.
///
/// A call has one writer at a time. The first one has epoch 1; each [`resume_call`](super::CallLog::resume_call) gives
/// the next, and from then on whoever has an older one is [fenced](super::LogError::Fenced).
///
/// ```
/// use verbale::log::{CallHeader, CallId, WriterLease};
///
/// let header = CallHeader::new(CallId::new("CA1")?, 1_744_815_823_058)?.with_expires_at(1_752_591_823);
/// let claim = WriterLease::of(&header);
/// assert_eq!((claim.epoch(), claim.expires_at_s()), (1, Some(1_752_591_823)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WriterLease {
    call_id: CallId,
    epoch: u32,
    expires_at_s: Option<i64>,
}

impl WriterLease {
    /// The claim of a call's first writer, whose records do not expire.
    pub fn first(call_id: CallId) -> Self {
        Self { call_id, epoch: 1, expires_at_s: None }
    }

    /// The claim that a header gives: of a call that was just opened or resumed.
    pub fn of(header: &CallHeader) -> Self {
        let expires_at_s = header.expires_at_s().filter(|_| !header.is_held());
        Self { call_id: header.call_id().clone(), epoch: header.epoch(), expires_at_s }
    }

    /// One that was kept somewhere.
    pub(crate) fn restored(call_id: CallId, epoch: u32, expires_at_s: Option<i64>) -> Self {
        Self { call_id, epoch, expires_at_s }
    }

    /// The call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The how-manieth writer, from 1.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// When the records may be deleted, in seconds since the Unix epoch.
    pub fn expires_at_s(&self) -> Option<i64> {
        self.expires_at_s
    }
}

impl From<CallId> for WriterLease {
    fn from(call_id: CallId) -> Self {
        Self::first(call_id)
    }
}
