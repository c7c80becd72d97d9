//! [`WriterLease`]: the right to write a call.

use super::{CallHeader, CallId, Tenure};

/// The right to write a call: its id and the epoch of the writer.
///
/// A call has one writer at a time. The first writer has epoch 1. A writer that takes the call over with
/// [`LogWriter::resume`](super::LogWriter::resume) gets a higher epoch, and writers with an older epoch are then
/// [fenced](super::LogErrorKind::Fenced).
///
/// ```
/// use verbale::log::{CallHeader, CallId, WriterLease};
///
/// let header = CallHeader::new(CallId::new("CA1")?, 1_744_815_823_058)?.with_expires_at(1_752_591_823);
/// let lease = WriterLease::from(&header);
/// assert_eq!((lease.epoch(), lease.expires_at_s()), (1, Some(1_752_591_823)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WriterLease {
    call_id: CallId,
    epoch: u32,
    served: u32,
    expires_at_s: Option<i64>,
}

impl WriterLease {
    /// `served` is the epoch at which the writer began to serve.
    pub(crate) fn restored(call_id: CallId, epoch: u32, served: u32, expires_at_s: Option<i64>) -> Self {
        Self { call_id, epoch, served, expires_at_s }
    }

    /// The id of the call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The epoch of the writer, from 1.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// The epoch at which the writer began to serve. It is lower than [`epoch`](Self::epoch) in the lease of a
    /// candidate, and in the lease of a writer that has taken its call back from a candidate.
    pub(crate) fn served(&self) -> u32 {
        self.served
    }

    /// When the records may be deleted, in seconds since the Unix epoch; `None` if they do not expire.
    pub fn expires_at_s(&self) -> Option<i64> {
        self.expires_at_s
    }
}

/// The lease of the first writer of a call whose records do not expire.
impl From<CallId> for WriterLease {
    fn from(call_id: CallId) -> Self {
        Self { call_id, epoch: 1, served: 1, expires_at_s: None }
    }
}

/// The lease of the writer that opened or resumed the call with this header.
impl From<&CallHeader> for WriterLease {
    fn from(header: &CallHeader) -> Self {
        let expires_at_s = header.expires_at_s().filter(|_| !header.is_held());
        let Tenure { epoch, served, .. } = header.tenure();
        Self { call_id: header.call_id().clone(), epoch, served, expires_at_s }
    }
}
