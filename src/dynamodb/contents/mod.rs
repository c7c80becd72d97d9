//! [`DynamoContents`]: contents in a table.
//!
//! This module owns the order of the writes and deletes of a content, its chunks and its uses, so that no used content is
//! ever lost. It never retries a failed request.

mod items;
mod requests;
mod stored;
mod upload;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use self::items::Chunks;
use self::requests::{IsDone, Wanted};
use self::stored::Stored;
use self::upload::Uploads;
use super::Cost;
use super::table_client::TableClient;
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::contents::{Blob, ContentError, ContentFuture, ContentId, ContentStore};
use crate::log::LogError;

/// The maximum number of rounds of a put or release. Another round follows only if another put or release of the same
/// content interfered.
const MAX_ROUNDS: u32 = 8;

/// A [`ContentStore`] in a table: that of the log, or another one of the same [definition](super::table_definition).
///
/// A content is a head and its chunks, in one partition with its uses. The head names its chunks by an id of their own (the
/// *generation*). It is deleted before them, so a content is either complete or absent.
///
/// A content of one chunk, up to 350 KiB, gets its head last. A larger one gets its head first, marked as uploading,
/// and the mark is removed last. Until then the content cannot be read, and any put of it, by any owner and process,
/// sends only the missing chunks. A put that failed or was cut off can therefore be continued.
///
/// A put first writes its use of the content, then looks for the content, and then adds one to the put count of the
/// existing head or writes a new head. A release first deletes the use, then looks at the head, then at other uses, and
/// deletes the head only if its put count has not changed in between. If a put and a release meet, either the release
/// sees the use, or the put sees that it must write the content again. A use holds the id of its put, so a late release
/// does not delete a newer use.
///
/// A release leaves the use in the partition of the owner, with an expiry 30 days later. So a [sweep](ContentStore::sweep)
/// of the owner finds each content that it used, and deletes a head or chunk whose request arrived after the release, or
/// that a put wrote whose future was dropped. If another owner uses the content, its release deletes them. Release an
/// owner after its last put, and sweep it some minutes later. The expiry of a call does not reach its contents: release
/// the call after it expires.
///
/// For a content of 2 KB, the first put takes 5 requests and 8 write units, and a put for another owner 3 requests and 5
/// units. A release takes 4 requests and 2 units, or 8 and 6 if it deletes the content, and a sweep 4 and 2, or 6 and 2. A content of n chunks
/// takes n + 5 requests, and 6 units more than its chunks. The size of a content only matters for its first put.
///
/// Clones share the client; see [`log_client`](super::log_client) for its timeouts. Methods never retry, and each can be
/// repeated after any error and any cancellation. The credentials need `dynamodb:GetItem`, `PutItem`, `UpdateItem`,
/// `DeleteItem` and `Query` on the table.
#[derive(Clone)]
pub struct DynamoContents {
    db: TableClient,
    is_compressing: bool,
    /// The bytes of chunks that may be sent in addition to those in flight.
    in_flight: Arc<Semaphore>,
    uploads: Uploads,
}

/// How many bytes of contents a store and its clones send at a time. Further chunks wait.
const UPLOAD_LIMIT: usize = 8 << 20;

impl DynamoContents {
    /// Creates a store in the table `verbale`.
    pub fn new(client: Client) -> Self {
        let (in_flight, uploads) = (Arc::new(Semaphore::new(UPLOAD_LIMIT)), Uploads::default());
        Self { db: TableClient::new(client), is_compressing: false, in_flight, uploads }
    }

    /// Sets the name of the table; `verbale` by default.
    #[must_use]
    pub fn with_table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.db.table = name.into();
        self
    }

    /// Sets whether texts are compressed with zstd if that saves a write unit; off by default.
    ///
    /// The id of a content is always the hash of its plain bytes. A store reads both forms whatever the setting, but a
    /// version of this library before this setting reports a compressed content as corrupt.
    #[must_use]
    pub fn with_compression(mut self, is_compressing: bool) -> Self {
        self.is_compressing = is_compressing;
        self
    }

    /// Returns the cost of all requests of this store and its clones so far.
    pub fn cost(&self) -> Cost {
        self.db.meter.cost()
    }

    /// Stores a content of one chunk.
    async fn put_at_once(&self, blob: &Blob, stored: &Stored, owner: &str) -> Result<IsDone, LogError> {
        let (id, put_id) = (blob.id(), new_id());
        self.put_uses(id, owner, &put_id).await?;
        let found = self.find(id, Wanted::Everything).await?;
        if let Some(head) = found.complete(id) {
            return self.count_put(id, head).await;
        }
        let generation = new_id();
        let sort_key = items::sort_key_of_chunk(&generation, 0);
        for bytes in stored.chunks() {
            self.put_chunk(id, &sort_key, bytes).await?;
        }
        let head = items::head(blob, stored, &generation, Chunks::Stored);
        if !self.put_head(id, head, &generation, found.head.as_ref()).await? {
            self.delete_chunks(id, [sort_key]).await?;
            return Ok(false);
        }
        // Includes the chunks of puts that ended before their head. A running put finds this head and starts again.
        self.delete_chunks(id, found.sort_keys()).await?;
        // If the owner was released in the meantime, the chunks may be deleted.
        self.is_use_of(id, owner, &put_id).await
    }

    async fn end(&self, action: String, owner: &str, is_sweep: bool) -> Result<(), ContentError> {
        match self.end_uses(owner, is_sweep).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(busy(action)),
            Err(error) => Err(store_error(action, error)),
        }
    }

    /// Ends the uses of an owner. Those that are swept are deleted, the others marked.
    async fn end_uses(&self, owner: &str, is_sweep: bool) -> Result<IsDone, LogError> {
        self.uploads.forget_owner(owner);
        for used in self.used_by(owner).await? {
            if !self.delete_use(items::keys_of_use(used.id, owner), &used).await? {
                // The owner has put the content again and keeps using it.
                continue;
            }
            let mut rounds = 0..MAX_ROUNDS;
            while !self.delete_unused(used.id).await? {
                if rounds.next().is_none() {
                    return Ok(false);
                }
            }
            // Last, so that a repeated release finds the remaining uses.
            if is_sweep {
                self.delete_use(items::keys_of_used(used.id, owner), &used).await?;
            } else {
                self.mark_ended(&used, owner).await?;
            }
        }
        Ok(true)
    }

    /// Deletes a content unless it is used. Returns false if a put arrived in between, so that the result is unknown.
    async fn delete_unused(&self, id: ContentId) -> Result<IsDone, LogError> {
        // Saves the read of the content if it has other users.
        if self.has_uses(id).await? {
            return Ok(true);
        }
        let found = self.find(id, Wanted::Keys).await?;
        // The second check sees every put that wrote the found chunks or counted itself in the found head, because a
        // put writes its use first.
        if self.has_uses(id).await? {
            return Ok(true);
        }
        if let Some(head) = &found.head
            && !self.delete_head(id, head).await?
        {
            return Ok(false);
        }
        self.delete_chunks(id, found.sort_keys()).await?;
        Ok(true)
    }
}

impl ContentStore for DynamoContents {
    /// Sends the bytes only if the content is absent or damaged.
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> ContentFuture<'a, ()> {
        self.put_within(blob, owner, Duration::MAX)
    }

    fn put_within<'a>(&'a self, blob: &'a Blob, owner: &'a str, time: Duration) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            let started = Instant::now();
            let has_time = || started.elapsed() < time;
            let action = || format!("put content {}", blob.id());
            let stored = if self.is_compressing { Stored::compressed(blob) } else { Stored::plain(blob) };
            for _ in 0..MAX_ROUNDS {
                let put = if stored.is_one_chunk() {
                    self.put_at_once(blob, &stored, owner).await
                } else {
                    self.upload(blob, &stored, owner, has_time).await
                };
                if put.map_err(|error| store_error(action(), error))? {
                    return Ok(());
                }
            }
            Err(busy(action()))
        })
    }

    /// Takes one request per MB. Returns [`ContentError`] if chunks are missing.
    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let action = || format!("get content {id}");
            let mut last_generation = None;
            for _ in 0..MAX_ROUNDS {
                let found = self.find(id, Wanted::Everything).await;
                let found = found.map_err(|error| store_error(action(), error))?;
                let Some(head) = found.head.as_ref().filter(|head| !head.is_uploading) else { return Ok(None) };
                match found.blob(id, head) {
                    Ok(blob) => return Ok(Some(blob)),
                    // Two reads of the same generation: the content was not replaced between two pages.
                    Err(corrupt) if last_generation.as_ref() == Some(&head.generation) => return Err(corrupt),
                    Err(_) => last_generation = Some(head.generation.clone()),
                }
            }
            Err(busy(action()))
        })
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(self.end(format!("release all contents of {}", owner.escape_debug()), owner, false))
    }

    fn sweep<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(self.end(format!("sweep the contents of {}", owner.escape_debug()), owner, true))
    }
}

impl fmt::Debug for DynamoContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoContents").field("table", &self.db.table).finish()
    }
}

/// Returns a unique id for a generation or a put.
fn new_id() -> String {
    ulid::Ulid(SystemIds.next_id(SystemClock.now_ms())).to_string()
}

fn store_error(action: String, error: LogError) -> ContentError {
    let is_retryable = error.is_retryable();
    ContentError::store(action, is_retryable, error)
}

fn busy(action: String) -> ContentError {
    #[derive(Debug, thiserror::Error)]
    #[error("other processes put and release the same content at this moment; repeat the request")]
    struct Busy;
    ContentError::store(action, true, Busy)
}
