//! [`DynamoContents`]: contents in a table.
//!
//! Owns how a content, its chunks and its uses are written and deleted so that nothing that is used is ever lost. Never
//! retries what failed.

mod items;
mod requests;

use std::fmt;
use std::sync::Arc;

use aws_sdk_dynamodb::Client;

use self::items::{Key, Used};
use self::requests::{IsDone, Wanted};
use super::cost::Meter;
use super::{Cost, DynamoError, names};
use crate::clock::{Clock, IdSource, SystemClock, SystemIds};
use crate::contents::{Blob, ContentError, ContentFuture, ContentId, ContentStore, Owner};

/// How many bytes of a content one item holds. Its keys and the rest have room up to the 400 KB of an item.
pub const CHUNK_BYTES: usize = 350 * 1024;

/// How often a put or a release starts over because others put and released the same content while it did.
const ROUNDS: u32 = 8;

/// Contents in a table, the log's or another one of its [form](super::Table).
///
/// A content is a head and its chunks, in one partition with its uses. The chunks are written first, under a
/// *generation* of their own, and the head that names them last; a head is deleted before its chunks. So a content is
/// there as a whole or not at all.
///
/// A put first says who uses the content, then looks for it, and counts itself in the head, or writes a new head. A
/// release first takes the use away, then looks at the head, then for other uses, and deletes the head only where it
/// was not put since. So of a put and a release at the same moment, either the release sees the use, or the put that it
/// has to write the content again. A use has the id of its put: a release that lands late does not take away a newer
/// one.
///
/// What may be left over: when the future of a put is dropped while its *own* owner is released, a head or chunks that
/// nobody uses, until anyone who put the same content is released. Release an owner when nothing puts for it any more.
/// The time to live of a call does not reach its contents: release the call when its time is over.
///
/// The first put of 2 KB takes 5 requests and 8 write units, one for another owner 3 and 5, however large the content;
/// a release 4 and 2 where others use it, and 8 and 6 where it goes.
///
/// Clones share the client; take one with time-outs, see [`log_client`](super::log_client). Nothing is retried here:
/// each method can be called again after any error and after any cancellation. The credentials need
/// `dynamodb:GetItem`, `PutItem`, `UpdateItem`, `DeleteItem` and `Query` on the table.
#[derive(Clone)]
pub struct DynamoContents {
    client: Client,
    table: Arc<str>,
    spent: Meter,
}

impl DynamoContents {
    /// Contents in table `verbale`.
    pub fn new(client: Client) -> Self {
        Self { client, table: names::DEFAULT_TABLE.into(), spent: Meter::default() }
    }

    /// The same in another table.
    #[must_use]
    pub fn with_table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.table = name.into();
        self
    }

    /// The name of the table.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Returns what the requests of this store and of its clones have cost so far.
    pub fn cost(&self) -> Cost {
        self.spent.cost()
    }

    async fn try_put(&self, blob: &Blob, owner: &Owner) -> Result<IsDone, DynamoError> {
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
        // Released meanwhile, the chunks may be gone.
        self.is_use_of(id, owner, &put_id).await
    }

    async fn release_one(&self, used: &Used, owner: &Owner) -> Result<IsDone, DynamoError> {
        if !self.delete_use(Key::of_use(used.id, owner), used).await? {
            // Put again since: the owner uses it.
            return Ok(true);
        }
        for _ in 0..ROUNDS {
            if self.delete_unused(used.id).await? {
                // Last, so that whoever releases again finds what is left.
                self.delete_use(Key::of_used(used.id, owner), used).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Deletes a content unless it is used. Not done: it was put meanwhile, and may be used or not.
    async fn delete_unused(&self, id: ContentId) -> Result<IsDone, DynamoError> {
        // Without it, what many use would be read each time.
        if self.has_uses(id).await? {
            return Ok(true);
        }
        let found = self.find(id, Wanted::Keys).await?;
        // Again: who wrote these chunks said before that he uses them, and who counted himself in this head too.
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
    /// The bytes are sent where they are not there, or damaged.
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a Owner) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            for _ in 0..ROUNDS {
                if self.try_put(blob, owner).await.map_err(|error| store_error("put", blob.id(), error))? {
                    return Ok(());
                }
            }
            Err(ContentError::Store { action: "put", id: blob.id(), retryable: true, source: Arc::new(Busy) })
        })
    }

    /// 1 MB a request. A content of which chunks are missing is [corrupt](ContentError::Corrupt).
    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let mut seen = None;
            for _ in 0..ROUNDS {
                let found = self.find(id, Wanted::Everything).await;
                let found = found.map_err(|error| store_error("get", id, error))?;
                let Some(head) = &found.head else { return Ok(None) };
                match found.blob(id, head) {
                    Ok(blob) => return Ok(Some(blob)),
                    // Twice the same: not deleted and put again between its pages.
                    Err(corrupt) if seen.as_ref() == Some(&head.generation) => return Err(corrupt),
                    Err(_) => seen = Some(head.generation.clone()),
                }
            }
            Err(ContentError::Store { action: "get", id, retryable: true, source: Arc::new(Busy) })
        })
    }

    fn release<'a>(&'a self, owner: &'a Owner) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            let release_error = |retryable, source| ContentError::Release { owner: owner.clone(), retryable, source };
            let failed = |error: DynamoError| release_error(error.is_retryable(), Arc::new(error));
            for used in self.used_by(owner).await.map_err(failed)? {
                if !self.release_one(&used, owner).await.map_err(failed)? {
                    return Err(release_error(true, Arc::new(Busy)));
                }
            }
            Ok(())
        })
    }
}

impl fmt::Debug for DynamoContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynamoContents").field("table", &self.table).finish()
    }
}

/// Others got in between each time.
#[derive(Debug, thiserror::Error)]
#[error("others put and release the same content at this moment; do it again")]
struct Busy;

/// For generations and puts, which no other may have.
fn new_id() -> String {
    ulid::Ulid(SystemIds.next_id(SystemClock.now_ms())).to_string()
}

fn store_error(action: &'static str, id: ContentId, error: DynamoError) -> ContentError {
    ContentError::Store { action, id, retryable: error.is_retryable(), source: Arc::new(error) }
}
