//! [`LedgerError`]: what the ledger refuses.

use crate::message::InvocationId;

/// Why nothing was noted. The ledger is as it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The call was noted before.
    #[error("tool call {id} was made before; give every call an id of its own")]
    Repeated {
        /// The call.
        id: InvocationId,
    },
    /// There is no such call.
    #[error("there was no tool call {id}; note it with `called` first")]
    NotCalled {
        /// The id.
        id: InvocationId,
    },
    /// What came of the call is known already.
    #[error("what came of tool call {id} is known already; drop the later report")]
    Settled {
        /// The call.
        id: InvocationId,
    },
    /// The result names another tool than the call.
    #[error("the result of tool call {id} is of another tool; make it with the call's `success` or `failure`")]
    OtherTool {
        /// The call.
        id: InvocationId,
    },
    /// There is no outcome that the caller could have been told.
    #[error("tool call {id} has no outcome to tell; note it with `finished` first")]
    NotFinished {
        /// The call.
        id: InvocationId,
    },
}
