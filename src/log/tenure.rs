//! [`Tenure`]: which process writes a call, by its header. [`TenureChange`]: the steps that change it.
//!
//! These are pure functions of the header. A log in a database makes each step one conditional write; the explorer in
//! `dynamodb/resume/explorer` runs the same functions.

use super::{CallId, LogError, LogErrorKind, WriterLease};
use crate::clock::{Randomness, SystemRandomness};

/// A number that no other write of the header has. 0 is the nonce of a header that was written without one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Nonce(pub u128);

impl Nonce {
    /// Returns a random nonce. Nonces are only compared, so tests need not set them.
    pub fn random() -> Self {
        let (high, low) = (u128::from(SystemRandomness.next_u64()), u128::from(SystemRandomness.next_u64()));
        Self((high << 64 | low).max(1))
    }

    /// Returns the nonce after a write in a log where no write can arrive late.
    pub fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }

    pub fn to_text(self) -> String {
        format!("{:032x}", self.0)
    }

    pub fn read(text: &str) -> Option<Self> {
        u128::from_str_radix(text, 16).ok().map(Self)
    }
}

/// The part of a header that determines which process writes the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Tenure {
    /// The highest epoch that a process has taken.
    pub epoch: u32,
    /// The epoch at which the call's writer began to serve. Reads return no record of an older epoch.
    pub served: u32,
    /// Changed by every write of the header.
    pub nonce: Nonce,
    /// True if a candidate has committed to take the call over, and has neither served nor given up.
    pub is_contended: bool,
}

impl Default for Tenure {
    /// The tenure of a call that was just opened.
    fn default() -> Self {
        Self { epoch: 1, served: 1, nonce: Nonce::default(), is_contended: false }
    }
}

/// One step of a takeover, as a change of the header. Only a log's writer makes one; see
/// [`CallChange::Takeover`](super::CallChange::Takeover).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TenureChange {
    pub(crate) step: TenureStep,
    /// The epoch that the header must have.
    pub(crate) epoch: u32,
    /// The nonce that the header must have; `None` for any.
    pub(crate) seen: Option<Nonce>,
    /// The nonce that the header gets.
    pub(crate) nonce: Nonce,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TenureStep {
    /// A candidate decides to take the call over.
    Commit,
    /// The candidate fences the older writers. The header does not change. A log that checks the header in every put
    /// has nothing to do.
    Fence,
    /// The candidate has fenced all older writers and becomes the writer.
    Serve,
    /// The candidate gives up.
    GiveUp,
    /// A candidate or the writer shows that it is alive.
    Renew,
    /// The writer that serves since this epoch takes its call back from a candidate.
    Reclaim { served: u32 },
}

/// Why a step is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The header has changed since it was read.
    Changed,
    /// Another process has taken a higher epoch, or serves.
    Superseded,
}

impl Tenure {
    /// Returns the tenure after a step. If the header already has the nonce of the step, the step was made and its
    /// response was lost.
    pub fn after(self, change: &TenureChange) -> Result<Self, Refused> {
        if change.step != TenureStep::Fence && self.nonce == change.nonce {
            return Ok(self);
        }
        if self.epoch != change.epoch || change.seen.is_some_and(|seen| seen != self.nonce) {
            let is_observer = matches!(change.step, TenureStep::Commit | TenureStep::Reclaim { .. });
            let is_changed = is_observer || self.epoch == change.epoch;
            return Err(if is_changed { Refused::Changed } else { Refused::Superseded });
        }
        let renewed = Self { nonce: change.nonce, ..self };
        match change.step {
            TenureStep::Fence => Ok(self),
            TenureStep::Renew => Ok(renewed),
            TenureStep::Commit => Ok(Self { epoch: self.epoch + 1, is_contended: true, ..renewed }),
            TenureStep::Serve => Ok(Self { served: self.epoch, is_contended: false, ..renewed }),
            TenureStep::GiveUp => Ok(Self { is_contended: false, ..renewed }),
            TenureStep::Reclaim { served } if served != self.served => Err(Refused::Superseded),
            TenureStep::Reclaim { .. } => Ok(Self { epoch: self.epoch + 1, is_contended: false, ..renewed }),
        }
    }

    /// A step of the process that has read this tenure.
    pub fn change(self, step: TenureStep, nonce: Nonce) -> TenureChange {
        TenureChange { step, epoch: self.epoch, seen: Some(self.nonce), nonce }
    }

    /// Returns an error unless the lease is that of the call's writer, or of a newer one.
    pub fn check(self, lease: &WriterLease) -> Result<(), LogError> {
        let (call_id, epoch) = (lease.call_id(), lease.epoch());
        if epoch >= self.epoch {
            Ok(())
        } else if self.served == lease.served() {
            Err(LogError::superseded(call_id, epoch, self.epoch))
        } else {
            Err(LogError::fenced(call_id, epoch, self.served))
        }
    }

    /// Returns how a refused writer continues.
    pub fn standing(self, lease: &WriterLease) -> Standing {
        if self.served != lease.served() {
            Standing::Lost
        } else if self.epoch == lease.epoch() {
            Standing::Writer
        } else if self.is_contended {
            Standing::Contended
        } else {
            Standing::Free
        }
    }
}

/// The state of a call, as a writer whose write was refused finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// No other process wants the call.
    Writer,
    /// A candidate is taking the call over. Once it is silent, the writer may take the call back.
    Contended,
    /// A candidate has given up, or this writer took the call back with an earlier lease. The writer may take the call
    /// back.
    Free,
    /// Another process has begun to serve, or the call is gone.
    Lost,
}

impl TenureChange {
    /// The step [`Fence`](TenureStep::Fence) of the candidate with this lease.
    pub(crate) fn fence(lease: &WriterLease) -> Self {
        Self { step: TenureStep::Fence, epoch: lease.epoch(), seen: None, nonce: Nonce::default() }
    }

    pub(crate) fn refused(&self, call_id: &CallId, refused: Refused, found: &Tenure) -> LogError {
        match refused {
            Refused::Superseded => LogError::superseded(call_id, self.epoch, found.epoch),
            Refused::Changed => {
                let text =
                    format!("the header of call {call_id} has changed since it was read; nothing was written: retry");
                LogError::new(LogErrorKind::Unavailable, text)
            }
        }
    }
}
