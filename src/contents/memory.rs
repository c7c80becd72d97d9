//! [`MemoryStore`]: contents in memory.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Blob, ContentFuture, ContentId, ContentStore};

/// Contents in memory, without a bound: for tests, and for tools that hold one call.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<ContentId, Blob>>);

impl MemoryStore {
    /// How many contents there are.
    pub fn len(&self) -> usize {
        self.contents().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.contents().is_empty()
    }

    fn contents(&self) -> MutexGuard<'_, HashMap<ContentId, Blob>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ContentStore for MemoryStore {
    fn put<'a>(&'a self, blob: &'a Blob) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.contents().entry(blob.id()).or_insert_with(|| blob.clone());
            Ok(())
        })
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move { Ok(self.contents().get(&id).cloned()) })
    }

    fn delete(&self, id: ContentId) -> ContentFuture<'_, ()> {
        Box::pin(async move {
            self.contents().remove(&id);
            Ok(())
        })
    }
}
