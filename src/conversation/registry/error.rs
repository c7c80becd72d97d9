//! [`RegistryError`]: why a registry refuses.

use crate::log::CallId;

/// Why [`Conversations`](super::Conversations) refuses. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// An id is of one conversation.
    #[error("there is a conversation {id} already: get it, or give the new one an id of its own")]
    Exists {
        /// The id.
        id: CallId,
    },
    /// No conversation has this id.
    #[error("there is no conversation {id} here: create it first, or insert the restored one")]
    Unknown {
        /// The id.
        id: CallId,
    },
}
