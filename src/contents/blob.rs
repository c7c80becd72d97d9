//! [`Blob`]: the bytes of a content with their id.

use std::fmt;
use std::sync::Arc;

use super::{ContentError, ContentId, ContentProblem};

/// The bytes of a content and their id, which always match.
///
/// Clones share the bytes. `Debug` shows the id and the length.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob {
    id: ContentId,
    bytes: Arc<[u8]>,
}

impl Blob {
    /// Creates a blob and computes its id.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self { id: ContentId::of(&bytes), bytes }
    }

    /// Creates a blob from the bytes that a store found under `id`.
    ///
    /// Returns [`ContentError`] if the bytes have another id.
    pub fn verified(id: ContentId, bytes: impl Into<Arc<[u8]>>) -> Result<Self, ContentError> {
        let blob = Self::new(bytes);
        if blob.id == id { Ok(blob) } else { Err(ContentProblem::Corrupt { id, size: blob.bytes.len() }.into()) }
    }

    /// Returns the id.
    pub fn id(&self) -> ContentId {
        self.id
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({}, {} bytes)", self.id, self.bytes.len())
    }
}
