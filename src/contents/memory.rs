//! [`MemoryStore`]: a store in memory.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{ContentFuture, ContentId, ContentStore};

/// A store in memory without a limit, for tests and for programs that hold one call.
#[derive(Debug, Default)]
pub struct MemoryStore(Mutex<HashMap<ContentId, Used>>);

struct Used {
    bytes: Arc<[u8]>,
    by: HashSet<String>,
}

/// Shows the number of bytes, because they may be private.
impl fmt::Debug for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Used").field("bytes", &self.bytes.len()).field("by", &self.by).finish()
    }
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
    fn put<'a>(&'a self, id: ContentId, bytes: &'a Arc<[u8]>, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            let mut contents = self.contents();
            let used = contents.entry(id).or_insert_with(|| Used { bytes: bytes.clone(), by: HashSet::new() });
            used.by.insert(owner.to_owned());
            Ok(())
        })
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Arc<[u8]>>> {
        Box::pin(async move { Ok(self.contents().get(&id).map(|used| used.bytes.clone())) })
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.contents().retain(|_, used| !used.by.remove(owner) || !used.by.is_empty());
            Ok(())
        })
    }
}
