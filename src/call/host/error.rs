//! [`HostError`]: why a host did not open or close a call.

use crate::call::error::SessionError;
use crate::log::{CallId, LogError};

/// The reason why a [`CallHost`](super::CallHost) did not open or close a call.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The host is draining, because its process stops.
    #[error("call {call_id} did not open: the host is draining; open the call in another process")]
    Draining {
        /// The call.
        call_id: CallId,
    },
    /// Another task is opening or closing the call.
    #[error("call {call_id} is busy: another task is opening or closing it; retry")]
    Busy {
        /// The call.
        call_id: CallId,
    },
    /// The log did not find, restore or open the call, or its header cannot hold the reason of the end.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The session did not open.
    #[error(transparent)]
    Session(#[from] SessionError),
}
