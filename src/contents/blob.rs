//! [`Blob`]: bytes that are what their id says.

use std::fmt;
use std::sync::Arc;

use super::{ContentError, ContentId};

/// The bytes of a content, and their id. That both belong together was verified when it was made.
///
/// Clones share the bytes. `Debug` tells the id and the length.
#[derive(Clone, PartialEq, Eq)]
pub struct Blob {
    id: ContentId,
    bytes: Arc<[u8]>,
}

impl Blob {
    /// The bytes, with the id that they have.
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        let bytes = bytes.into();
        Self { id: ContentId::of(&bytes), bytes }
    }

    /// What a store found under `id`. Errors: other bytes than were put there.
    pub fn verified(id: ContentId, bytes: impl Into<Arc<[u8]>>) -> Result<Self, ContentError> {
        let blob = Self::new(bytes);
        if blob.id == id { Ok(blob) } else { Err(ContentError::Corrupt { id, size: blob.bytes.len() }) }
    }

    /// The id.
    pub fn id(&self) -> ContentId {
        self.id
    }

    /// The bytes.
    pub fn bytes(&self) -> &Arc<[u8]> {
        &self.bytes
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blob({}, {} bytes)", self.id, self.bytes.len())
    }
}
