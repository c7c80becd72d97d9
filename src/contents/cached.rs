//! [`Cached`]: a store with a cache of recent reads and puts.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::recent::Recent;
use super::{Blob, ContentFuture, ContentId, ContentStore};

/// The number of remembered puts: enough for the large contents of a few hundred live calls.
const KNOWN_PUTS: usize = 8_192;

/// A store with a cache of recently read contents and of recent successful puts.
///
/// Each revision of a message is logged again; the cache avoids putting its contents again. The content of an id never
/// changes, so a cached content is never stale. A release clears the owner's puts and all reads from the cache. A
/// release through another `Cached` or another process does not clear this cache: it may return deleted contents until
/// they are evicted, and does not put them again for that owner. Put for an owner and release that owner through the
/// same `Cached`.
///
/// `Debug` shows how many reads the cache served (`hits`), and how many went to the store (`misses`).
pub struct Cached<S> {
    store: S,
    cache: Mutex<Cache>,
}

impl<S> Cached<S> {
    /// Wraps a store. Keeps up to `max_bytes` bytes of contents in memory, and no content that is larger.
    pub fn new(store: S, max_bytes: usize) -> Self {
        let cache =
            Cache { read: Recent::new(max_bytes), put: Recent::new(KNOWN_PUTS), releases: 0, hits: 0, misses: 0 };
        Self { store, cache: Mutex::new(cache) }
    }

    #[cfg(test)]
    pub(super) fn misses(&self) -> u64 {
        self.cache().misses
    }

    // The guard is never held across an await.
    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: ContentStore> ContentStore for Cached<S> {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> ContentFuture<'a, ()> {
        self.put_within(blob, owner, Duration::MAX)
    }

    fn put_within<'a>(&'a self, blob: &'a Blob, owner: &'a str, time: Duration) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            let key = (owner.to_owned(), blob.id());
            let Some(releases) = self.cache().before_put(&key) else { return Ok(()) };
            self.store.put_within(blob, owner, time).await?;
            self.cache().unless_released(releases, |cache| cache.put.insert(key, (), 1));
            Ok(())
        })
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let releases = match self.cache().before_get(id) {
                Ok(known) => return Ok(Some(known)),
                Err(releases) => releases,
            };
            let found = self.store.get(id).await?;
            if let Some(blob) = &found {
                let size = blob.bytes().len();
                self.cache().unless_released(releases, |cache| cache.read.insert(id, blob.clone(), size));
            }
            Ok(found)
        })
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.cache().forget(owner);
            let _clear_again = Releasing { cache: &self.cache, owner };
            self.store.release(owner).await
        })
    }

    fn sweep<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.cache().forget(owner);
            let _clear_again = Releasing { cache: &self.cache, owner };
            self.store.sweep(owner).await
        })
    }
}

impl<S: fmt::Debug> fmt::Debug for Cached<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cache { read, hits, misses, .. } = &*self.cache();
        let mut debug = f.debug_struct("Cached");
        debug
            .field("store", &self.store)
            .field("hits", hits)
            .field("misses", misses)
            .field("bytes", &read.size())
            .finish()
    }
}

/// Clears the cache again when the release ends or is dropped, because contents read or put in between may be deleted.
struct Releasing<'a> {
    cache: &'a Mutex<Cache>,
    owner: &'a str,
}

impl Drop for Releasing<'_> {
    fn drop(&mut self) {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).forget(self.owner);
    }
}

struct Cache {
    read: Recent<ContentId, Blob>,
    put: Recent<(String, ContentId), ()>,
    /// The number of starts and ends of releases.
    releases: u64,
    hits: u64,
    misses: u64,
}

impl Cache {
    /// Returns the number of releases so far, or `None` if the put is not needed.
    fn before_put(&mut self, key: &(String, ContentId)) -> Option<u64> {
        if self.put.get(key).is_some() { None } else { Some(self.releases) }
    }

    /// Returns the cached content, or the number of releases so far.
    fn before_get(&mut self, id: ContentId) -> Result<Blob, u64> {
        if let Some(blob) = self.read.get(&id) {
            self.hits += 1;
            return Ok(blob.clone());
        }
        self.misses += 1;
        Err(self.releases)
    }

    /// Updates the cache, unless a release may have undone the store's result since.
    fn unless_released(&mut self, releases: u64, remember: impl FnOnce(&mut Self)) {
        if self.releases == releases {
            remember(self);
        }
    }

    fn forget(&mut self, owner: &str) {
        self.releases += 1;
        self.put.retain(|(by, _)| by != owner);
        // Only the store knows which contents have other owners.
        self.read.retain(|_| false);
    }
}
