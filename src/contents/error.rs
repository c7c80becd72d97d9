//! [`ContentError`]: the error of a content or its store.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use super::ContentId;

/// The error of a content or its store. The text names the content and never shows its bytes.
///
/// A content may be missing, damaged, or different from what its record states. A text may not be a content id. A store
/// may fail; its error is then the [source](Error::source).
#[derive(Clone, thiserror::Error)]
#[error(transparent)]
pub struct ContentError(pub(crate) Box<ContentProblem>);

impl ContentError {
    /// Creates the error of a store that failed to do `action`, such as `put content sha256:…`, for implementors of
    /// [`ContentStore`](super::ContentStore).
    ///
    /// `is_retryable` says whether repeating the action may succeed.
    pub fn store(
        action: impl Into<Box<str>>,
        is_retryable: bool,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        ContentProblem::Store { action: action.into(), retryable: is_retryable, source: Arc::from(source.into()) }
            .into()
    }

    /// Returns whether repeating the same action may succeed.
    pub fn is_retryable(&self) -> bool {
        matches!(*self.0, ContentProblem::Store { retryable: true, .. })
    }
}

impl From<ContentProblem> for ContentError {
    fn from(problem: ContentProblem) -> Self {
        Self(Box::new(problem))
    }
}

impl fmt::Debug for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum ContentProblem {
    /// A text is not a valid content id.
    #[error("not {expected}")]
    Invalid {
        /// The form that the text must have.
        expected: &'static str,
    },
    /// The store does not have the content.
    #[error("content {id} is not in the store; check whether it was erased, or is in another store")]
    Missing {
        /// The content.
        id: ContentId,
    },
    /// The store has other bytes under the id than those that were put.
    #[error("content {id} is corrupt: its {size} bytes have another hash; put the content again, or restore it")]
    Corrupt {
        /// The content.
        id: ContentId,
        /// The number of bytes that the store has.
        size: usize,
    },
    /// The content is intact but does not match the record that refers to it.
    #[error("content {id} is not {expected} as its record says; the record was not written by verbale")]
    NotAsReferred {
        /// The content.
        id: ContentId,
        /// The form that the record states.
        expected: &'static str,
    },
    /// The content was not read, because it exceeds the limits of one [`resolve`](super::resolve()).
    #[error("content {id} was not read because it exceeds the limits of `resolve`; pass fewer messages")]
    BeyondLimits {
        /// The content.
        id: ContentId,
    },
    /// The store failed. A release that failed may have released some contents of the owner.
    #[error("the content store could not {action}; see the source of this error")]
    Store {
        /// The failed action and its subject, such as `put content sha256:…`.
        action: Box<str>,
        /// Whether repeating the action may succeed.
        retryable: bool,
        /// The error of the store.
        source: Arc<dyn Error + Send + Sync>,
    },
}
