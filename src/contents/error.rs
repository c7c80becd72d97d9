//! [`ContentError`]: why a content is not there, or not what it should be.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use super::{ContentId, Owner};

/// Why a content is not there, or not what it should be. Names the content, never shows what is in it.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// The text is not the id of a content.
    #[error("a content id is `sha256:` and 64 digits of lower-case hex")]
    InvalidId,
    /// The name is not that of an owner.
    #[error("an owner of contents has a name of 1 to {} bytes", Owner::MAX_BYTES)]
    InvalidOwner,
    /// The store does not have it.
    #[error("content {id} is not in the store; was it erased, or is this another store?")]
    Missing {
        /// The content.
        id: ContentId,
    },
    /// What the store has under the id is not what was put there.
    #[error("content {id} is corrupt: the {size} bytes in its place have another hash; put it again, or restore it")]
    Corrupt {
        /// The content.
        id: ContentId,
        /// How many bytes are in its place.
        size: usize,
    },
    /// It is what was put there, but not what the record says.
    #[error("content {id} is not {expected}, which its record says; the record was not written by verbale")]
    NotAsReferred {
        /// The content.
        id: ContentId,
        /// What the record says it is.
        expected: &'static str,
    },
    /// More was asked for than may be read at a time.
    #[error(
        "content {id} was not read: more than the limits of `resolve` allow is asked for; raise them, or ask for less"
    )]
    BeyondLimits {
        /// The content.
        id: ContentId,
    },
    /// The store failed.
    #[error("the content store could not {action} {id}")]
    Store {
        /// What was tried: `put` or `get`.
        action: &'static str,
        /// The content.
        id: ContentId,
        /// Whether another try may help.
        retryable: bool,
        /// What the store says.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The store failed, and may have released some contents of the owner and not others.
    #[error("the content store could not release all that {owner} uses; release it again, which goes on")]
    Release {
        /// The owner.
        owner: Owner,
        /// Whether another try may help.
        retryable: bool,
        /// What the store says.
        source: Arc<dyn Error + Send + Sync>,
    },
    /// The directory of a store cannot be made or used.
    #[error("{} cannot hold contents; see that it is a directory that this process may write", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: Arc<std::io::Error>,
    },
}

impl ContentError {
    /// The content that it is about.
    pub fn content_id(&self) -> Option<ContentId> {
        match self {
            Self::Missing { id }
            | Self::Corrupt { id, .. }
            | Self::NotAsReferred { id, .. }
            | Self::BeyondLimits { id }
            | Self::Store { id, .. } => Some(*id),
            Self::InvalidId | Self::InvalidOwner | Self::Release { .. } | Self::Directory { .. } => None,
        }
    }

    /// Whether another try may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Store { retryable: true, .. } | Self::Release { retryable: true, .. })
    }
}
