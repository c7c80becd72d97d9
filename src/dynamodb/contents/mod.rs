//! [`DynamoContents`]: contents in a table.
//!
//! This module owns the order of the writes and deletes of a content, its chunks and its uses, so that no used content is
//! ever lost. It never retries a failed request.

mod items;
mod requests;

use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use self::items::Used;
use self::requests::{IsDone, Wanted};
use super::Cost;
use super::table_client::TableClient;
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::contents::{Blob, ContentError, ContentFuture, ContentId, ContentStore, Owner};
use crate::log::LogError;

/// The most rounds of a put or release. Each round but the last met another put or release of the same content.
const MAX_ROUNDS: u32 = 8;

/// A [`ContentStore`] in a table: that of the log, or another one of the same [definition](super::Table).
///
/// A content is a head and its chunks, in one partition with its uses. The chunks are written first, under an id of their
/// own (the *generation*), and the head that names the generation last. A head is deleted before its chunks. A content is
/// therefore either complete or absent.
///
/// A put first writes its use of the content, then looks for the content, and then adds one to the put count of the
/// existing head or writes a new head. A release first deletes the use, then looks at the head, then at other uses, and
/// deletes the head only if its put count has not changed in between. If a put and a release meet, either the release
/// sees the use, or the put sees that it must write the content again. A use holds the id of its put, so a late release
/// does not delete a newer use.
///
/// If the future of a put is dropped while the put's own owner is released, an unused head or chunks may stay until another
/// owner of the same content is released. Release an owner only after its last put. The expiry of a call does not reach its
/// contents: release the call after it expires.
///
/// For a content of 2 KB, the first put takes 5 requests and 8 write units, and a put for another owner 3 requests and 5
/// units. A release takes 4 requests and 2 units, or 8 and 6 if it deletes the content. The size of a content only matters
/// for its first put.
///
/// Clones share the client; see [`log_client`](super::log_client) for its timeouts. Methods never retry, and each can be
/// repeated after any error and any cancellation. The credentials need `dynamodb:GetItem`, `PutItem`, `UpdateItem`,
/// `DeleteItem` and `Query` on the table.
#[derive(Clone)]
pub struct DynamoContents(TableClient);

impl DynamoContents {
    /// Creates a store in the table `verbale`.
    pub fn new(client: Client) -> Self {
        Self(TableClient::new(client))
    }

    /// Sets the name of the table; `verbale` by default.
    #[must_use]
    pub fn with_table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.0.table = name.into();
        self
    }

    /// Returns the cost of all requests of this store and its clones so far.
    pub fn cost(&self) -> Cost {
        self.0.meter.cost()
    }

    async fn try_put(&self, blob: &Blob, owner: &Owner) -> Result<IsDone, LogError> {
        let (id, put_id) = (blob.id(), new_id());
        self.put_uses(id, owner, &put_id).await?;
        let found = self.find(id, Wanted::Everything).await?;
        if let Some(head) = &found.head
            && found.blob(id, head).is_ok()
        {
            return self.count_put(id, head).await;
        }
        let generation = new_id();
        for (_, chunk) in items::chunks(blob, &generation) {
            self.put_chunk(id, chunk).await?;
        }
        if !self.put_head(blob, &generation, found.head.as_ref()).await? {
            for (sort_key, _) in items::chunks(blob, &generation) {
                self.delete_chunk(id, &sort_key).await?;
            }
            return Ok(false);
        }
        for replaced in found.head.iter().flat_map(|head| found.sort_keys_of(&head.generation)) {
            self.delete_chunk(id, replaced).await?;
        }
        // If the owner was released in the meantime, the chunks may be deleted.
        self.is_use_of(id, owner, &put_id).await
    }

    async fn release_one(&self, used: &Used, owner: &Owner) -> Result<IsDone, LogError> {
        if !self.delete_use(items::keys_of_use(used.id, owner), used).await? {
            // The owner has put the content again and keeps using it.
            return Ok(true);
        }
        for _ in 0..MAX_ROUNDS {
            if self.delete_unused(used.id).await? {
                // Last, so that a repeated release finds the remaining uses.
                self.delete_use(items::keys_of_used(used.id, owner), used).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Deletes a content unless it is used. Returns false if a put arrived in between, so that the result is unknown.
    async fn delete_unused(&self, id: ContentId) -> Result<IsDone, LogError> {
        // Saves the read of the content if it has other users.
        if self.has_uses(id).await? {
            return Ok(true);
        }
        let found = self.find(id, Wanted::Keys).await?;
        // The second check sees every put that wrote the found chunks or counted itself in the found head, because a put
        // writes its use first.
        if self.has_uses(id).await? {
            return Ok(true);
        }
        if let Some(head) = &found.head
            && !self.delete_head(id, head).await?
        {
            return Ok(false);
        }
        for sort_key in found.sort_keys() {
            self.delete_chunk(id, sort_key).await?;
        }
        Ok(true)
    }
}

impl ContentStore for DynamoContents {
    /// Sends the bytes only if the content is absent or damaged.
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a Owner) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            let action = || format!("put content {}", blob.id());
            for _ in 0..MAX_ROUNDS {
                if self.try_put(blob, owner).await.map_err(|error| store_error(action(), error))? {
                    return Ok(());
                }
            }
            Err(busy(action()))
        })
    }

    /// Takes one request per MB. Returns [`ContentError::Corrupt`] if chunks are missing.
    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let action = || format!("get content {id}");
            let mut last_generation = None;
            for _ in 0..MAX_ROUNDS {
                let found = self.find(id, Wanted::Everything).await;
                let found = found.map_err(|error| store_error(action(), error))?;
                let Some(head) = &found.head else { return Ok(None) };
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

    fn release<'a>(&'a self, owner: &'a Owner) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            let action = || format!("release all contents of {owner}");
            let failed = |error| store_error(action(), error);
            for used in self.used_by(owner).await.map_err(failed)? {
                if !self.release_one(&used, owner).await.map_err(failed)? {
                    return Err(busy(action()));
                }
            }
            Ok(())
        })
    }
}

impl fmt::Debug for DynamoContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoContents").field("table", &self.0.table).finish()
    }
}

/// Returns an id for a generation or a put, which no other has.
fn new_id() -> String {
    ulid::Ulid(SystemIds.next_id(SystemClock.now_ms())).to_string()
}

fn store_error(action: String, error: LogError) -> ContentError {
    ContentError::Store { action: action.into(), retryable: error.is_retryable(), source: Arc::new(error) }
}

fn busy(action: String) -> ContentError {
    #[derive(Debug, thiserror::Error)]
    #[error("other processes put and release the same content at this moment; repeat the request")]
    struct Busy;
    ContentError::Store { action: action.into(), retryable: true, source: Arc::new(Busy) }
}
