//! Uploads of contents of several chunks. A repeated put continues where the last one stopped, in any process.
//!
//! The head is written first, with the mark [`UPLOADING`](crate::dynamodb::names::UPLOADING), and names the generation of
//! the chunks. Later puts join that generation, and the last request removes the mark. A release deletes the head before
//! the chunks, so a put whose chunks are being deleted cannot remove the mark and starts again.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use super::items::{self, Chunks, Head};
use super::requests::{IsDone, Wanted};
use super::stored::Stored;
use super::{DynamoContents, new_id};
use crate::contents::{Blob, ContentId};
use crate::log::{LogError, LogErrorKind};

/// The number of unfinished uploads that a process remembers. For others, it reads the keys of their chunks again.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1_024).unwrap();

/// An upload that has begun, as its process remembers it.
#[derive(Clone)]
pub(super) struct Upload {
    put_id: String,
    generation: String,
    /// The sort keys of the chunks that are stored.
    stored: BTreeSet<String>,
    /// The sort keys of chunks that no head names.
    others: BTreeSet<String>,
}

/// The unfinished uploads of a process.
#[derive(Clone)]
pub(super) struct Uploads(Arc<Mutex<LruCache<(String, ContentId), Upload>>>);

impl Default for Uploads {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(LruCache::new(REMEMBERED))))
    }
}

impl Uploads {
    pub fn forget_owner(&self, owner: &str) {
        let mut uploads = self.lock();
        let keys: Vec<_> = uploads.iter().map(|(key, _)| key).filter(|(of, _)| of == owner).cloned().collect();
        for key in keys {
            uploads.pop(&key);
        }
    }

    fn get(&self, key: &(String, ContentId)) -> Option<Upload> {
        self.lock().get(key).cloned()
    }

    // The guard is never held across an await.
    fn lock(&self) -> MutexGuard<'_, LruCache<(String, ContentId), Upload>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The outcome of beginning an upload.
enum Begun {
    Upload(Upload),
    /// The content is complete.
    Complete,
    /// Another put or release was faster; begin again.
    Lost,
}

impl DynamoContents {
    /// Stores a content of several chunks. Sends only the chunks that are missing.
    ///
    /// Returns a retryable error if chunks are left when the time is up. Chunks that were sent are kept.
    pub(super) async fn upload(
        &self,
        blob: &Blob,
        stored: &Stored,
        owner: &str,
        has_time: impl Fn() -> bool,
    ) -> Result<IsDone, LogError> {
        let id = blob.id();
        let key = (owner.to_owned(), id);
        let mut upload = match self.uploads.get(&key) {
            Some(upload) => upload,
            None => match self.begin(blob, stored, owner).await? {
                Begun::Upload(upload) => upload,
                Begun::Complete => return Ok(true),
                Begun::Lost => return Ok(false),
            },
        };
        self.uploads.lock().put(key.clone(), upload.clone());
        for (at, bytes) in stored.chunks().enumerate() {
            let sort_key = items::sort_key_of_chunk(&upload.generation, at);
            if upload.stored.contains(&sort_key) {
                continue;
            }
            if !has_time() {
                return Err(unfinished(id, upload.stored.len(), stored.chunks().len()));
            }
            self.put_chunk(id, &sort_key, bytes).await?;
            if let Some(upload) = self.uploads.lock().get_mut(&key) {
                upload.stored.insert(sort_key.clone());
            }
            upload.stored.insert(sort_key);
        }
        let is_done = if self.complete_head(id, &upload.generation).await? {
            self.delete_chunks(id, &upload.others).await?;
            // If the owner was released in the meantime, the chunks may be deleted.
            self.is_use_of(id, owner, &upload.put_id).await?
        } else {
            // The owner was released. Chunks that were sent later are still there.
            self.delete_chunks(id, &upload.stored).await?;
            false
        };
        self.uploads.lock().pop(&key);
        Ok(is_done)
    }

    /// Writes the use, then joins the upload of the content or begins one.
    async fn begin(&self, blob: &Blob, stored: &Stored, owner: &str) -> Result<Begun, LogError> {
        let (id, put_id) = (blob.id(), new_id());
        self.put_uses(id, owner, &put_id).await?;
        let (replaced, others) = match self.head(id).await? {
            None => (None, BTreeSet::new()),
            Some(head) if head.is_uploading && head.digest == stored.digest() => {
                return self.join(id, head, put_id).await;
            }
            Some(_) => {
                let found = self.find(id, Wanted::Everything).await?;
                if let Some(head) = found.complete(id) {
                    let is_counted = self.count_put(id, head).await?;
                    return Ok(if is_counted { Begun::Complete } else { Begun::Lost });
                }
                let others = found.sort_keys().map(str::to_owned).collect();
                (found.head, others)
            }
        };
        let generation = new_id();
        let head = items::head(blob, stored, &generation, Chunks::Uploading);
        if !self.put_head(id, head, &generation, replaced.as_ref()).await? {
            return Ok(Begun::Lost);
        }
        Ok(Begun::Upload(Upload { put_id, generation, stored: BTreeSet::new(), others }))
    }

    async fn join(&self, id: ContentId, head: Head, put_id: String) -> Result<Begun, LogError> {
        // From here on, a release that has not seen the use deletes neither the head nor a chunk that is found now.
        if !self.count_put(id, &head).await? {
            return Ok(Begun::Lost);
        }
        let (stored, others) = self.find(id, Wanted::Keys).await?.split(&head.generation);
        Ok(Begun::Upload(Upload { put_id, generation: head.generation, stored, others }))
    }
}

fn unfinished(id: ContentId, stored: usize, chunks: usize) -> LogError {
    let text = format!("{stored} of {chunks} chunks of content {id} are stored so far; put it again to continue");
    LogError::new(LogErrorKind::Unavailable, text)
}
