//! [`MemoryStore`]: a store in memory.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Blob, ContentFuture, ContentId, ContentStore};

/// A store in memory without a limit, for tests and for programs that hold one call.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<ContentId, Used>>);

#[derive(Debug)]
struct Used {
    blob: Blob,
    by: HashSet<String>,
}

impl MemoryStore {
    /// Returns the number of contents.
    pub fn count(&self) -> usize {
        self.contents().len()
    }

    fn contents(&self) -> MutexGuard<'_, HashMap<ContentId, Used>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ContentStore for MemoryStore {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            let mut contents = self.contents();
            let used = contents.entry(blob.id()).or_insert_with(|| Used { blob: blob.clone(), by: HashSet::new() });
            used.by.insert(owner.to_owned());
            Ok(())
        })
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move { Ok(self.contents().get(&id).map(|used| used.blob.clone())) })
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.contents().retain(|_, used| !used.by.remove(owner) || !used.by.is_empty());
            Ok(())
        })
    }
}
