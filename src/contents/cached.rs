//! [`Cached`]: the contents that were read last, up to a bound in bytes, and what was put last.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::recent::Recent;
use super::{Blob, ContentFuture, ContentId, ContentStore, Owner};

/// How many puts are remembered: a few hundred calls that go on, with all that they say at length.
const KNOWN_PUTS: usize = 8_192;

/// A store, what was read from it last, and what was put to it last: a message is logged again at each of its
/// revisions, and its contents are not.
///
/// Contents under an id never change, so none gets stale. A release forgets what the owner put, and all that was read.
/// One through another `Cached`, or in another process, goes unnoticed: what it deleted may be given until it is pushed
/// out, and is not put again for that owner. So let an owner put and be released in one place at a time.
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
    /// Puts that the store was not asked for: the owner had put the content before.
    pub known_puts: u64,
    /// Bytes of the contents in memory.
    pub bytes: usize,
}

impl<S> Cached<S> {
    /// Keeps up to `max_bytes` bytes of contents in memory. A content larger than that is never kept.
    pub fn new(store: S, max_bytes: usize) -> Self {
        let cache = Cache {
            read: Recent::new(max_bytes),
            put: Recent::new(KNOWN_PUTS),
            releases: 0,
            counts: CacheCounts::default(),
        };
        Self { store, cache: Mutex::new(cache) }
    }

    /// The store behind it.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// What it did, and what it holds.
    pub fn counts(&self) -> CacheCounts {
        let cache = self.cache();
        CacheCounts { bytes: cache.read.size(), ..cache.counts }
    }

    // Never held across an await.
    fn cache(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: ContentStore> ContentStore for Cached<S> {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a Owner) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            let key = (owner.clone(), blob.id());
            let Some(releases) = self.cache().before_put(&key) else { return Ok(()) };
            self.store.put(blob, owner).await?;
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

    fn release<'a>(&'a self, owner: &'a Owner) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.cache().forget(owner);
            let _forget_again = Releasing { cache: &self.cache, owner };
            self.store.release(owner).await
        })
    }
}

impl<S: fmt::Debug> fmt::Debug for Cached<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cached").field("store", &self.store).field("counts", &self.counts()).finish()
    }
}

/// Forgets once more when the release has ended, dropped too: what was read or put meanwhile may be gone by now.
struct Releasing<'a> {
    cache: &'a Mutex<Cache>,
    owner: &'a Owner,
}

impl Drop for Releasing<'_> {
    fn drop(&mut self) {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner).forget(self.owner);
    }
}

struct Cache {
    read: Recent<ContentId, Blob>,
    put: Recent<(Owner, ContentId), ()>,
    /// How often a release began or ended.
    releases: u64,
    counts: CacheCounts,
}

impl Cache {
    /// How many releases there were; `None` where the put is not needed.
    fn before_put(&mut self, key: &(Owner, ContentId)) -> Option<u64> {
        if self.put.get(key).is_some() {
            self.counts.known_puts += 1;
            return None;
        }
        Some(self.releases)
    }

    /// The content, or how many releases there were.
    fn before_get(&mut self, id: ContentId) -> Result<Blob, u64> {
        if let Some(blob) = self.read.get(&id) {
            self.counts.hits += 1;
            return Ok(blob.clone());
        }
        self.counts.misses += 1;
        Err(self.releases)
    }

    /// Does it, unless what the store said may have been undone since.
    fn unless_released(&mut self, releases: u64, remember: impl FnOnce(&mut Self)) {
        if self.releases == releases {
            remember(self);
        }
    }

    fn forget(&mut self, owner: &Owner) {
        self.releases += 1;
        self.put.retain(|(by, _)| by != owner);
        // Which of them nobody else uses, only the store knows.
        self.read.retain(|_| false);
    }
}
