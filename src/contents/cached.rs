//! [`Cached`]: the contents that were read last, up to a bound in bytes.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Blob, ContentFuture, ContentId, ContentStore};

/// A store, and the contents that were read from it last.
///
/// Contents under an id never change, so none gets stale. One that is deleted through another `Cached`, or in another
/// process, may be given until it is pushed out.
pub struct Cached<S> {
    store: S,
    cache: Mutex<Cache>,
}

/// What the cache of a [`Cached`] did, and what it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct CacheCounts {
    /// Contents that were asked for and came from memory.
    pub hits: u64,
    /// Contents that the store was asked for.
    pub misses: u64,
    /// Bytes of the contents in memory.
    pub bytes: usize,
}

impl<S> Cached<S> {
    /// Keeps up to `max_bytes` bytes of contents in memory. A content larger than that is never kept.
    pub fn new(store: S, max_bytes: usize) -> Self {
        Self { store, cache: Mutex::new(Cache { max_bytes, ..Cache::default() }) }
    }

    /// The store behind it.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// What it did, and what it holds.
    pub fn counts(&self) -> CacheCounts {
        self.cache().counts
    }

    // Never held across an await.
    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: ContentStore> ContentStore for Cached<S> {
    fn put<'a>(&'a self, blob: &'a Blob) -> ContentFuture<'a, ()> {
        self.store.put(blob)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let known = self.cache().get(id);
            if known.is_some() {
                return Ok(known);
            }
            let found = self.store.get(id).await?;
            if let Some(blob) = &found {
                self.cache().insert(blob.clone());
            }
            Ok(found)
        })
    }

    fn delete(&self, id: ContentId) -> ContentFuture<'_, ()> {
        Box::pin(async move {
            self.store.delete(id).await?;
            // Behind the delete: a read in between would bring it back.
            self.cache().remove(id);
            Ok(())
        })
    }
}

impl<S: fmt::Debug> fmt::Debug for Cached<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached").field("store", &self.store).field("counts", &self.counts()).finish()
    }
}

/// Contents by id, and the ids by when they were last read.
#[derive(Default)]
struct Cache {
    contents: HashMap<ContentId, (u64, Blob)>,
    by_use: BTreeMap<u64, ContentId>,
    uses: u64,
    max_bytes: usize,
    counts: CacheCounts,
}

impl Cache {
    fn get(&mut self, id: ContentId) -> Option<Blob> {
        let Some((last_use, blob)) = self.contents.get_mut(&id) else {
            self.counts.misses += 1;
            return None;
        };
        self.counts.hits += 1;
        self.uses += 1;
        self.by_use.remove(last_use);
        self.by_use.insert(self.uses, id);
        *last_use = self.uses;
        Some(blob.clone())
    }

    fn insert(&mut self, blob: Blob) {
        let size = blob.bytes().len();
        if size > self.max_bytes {
            return;
        }
        self.remove(blob.id());
        while self.counts.bytes + size > self.max_bytes
            && let Some((_, oldest)) = self.by_use.pop_first()
        {
            self.remove(oldest);
        }
        self.uses += 1;
        self.counts.bytes += size;
        self.by_use.insert(self.uses, blob.id());
        self.contents.insert(blob.id(), (self.uses, blob));
    }

    fn remove(&mut self, id: ContentId) {
        if let Some((last_use, blob)) = self.contents.remove(&id) {
            self.by_use.remove(&last_use);
            self.counts.bytes -= blob.bytes().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_least_recently_goes_first() {
        let mut cache = Cache { max_bytes: 10, ..Cache::default() };
        let [a, b, c, large] = [b"aaaa".to_vec(), b"bbbb".to_vec(), b"cccc".to_vec(), vec![0; 11]].map(Blob::new);
        cache.insert(a.clone());
        cache.insert(b.clone());
        assert_eq!(cache.get(a.id()), Some(a.clone()));
        cache.insert(c.clone());
        cache.insert(c.clone());
        cache.insert(large.clone());
        assert_eq!([a.id(), b.id(), c.id(), large.id()].map(|id| cache.get(id)), [Some(a), None, Some(c), None]);
        assert_eq!(cache.counts, CacheCounts { hits: 3, misses: 2, bytes: 8 });
        assert_eq!((cache.contents.len(), cache.by_use.len()), (2, 2));
    }
}
