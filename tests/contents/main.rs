//! Contents outside the log: the contract of every store, and records that are offloaded and restored without loss.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod conformance;
mod directory;
mod dynamodb;
mod history;
mod interleaving;
mod records;
#[path = "../dynamodb/strategy.rs"]
mod strategy;
mod whole_calls;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use verbale::Record;
use verbale::contents::{ContentError, ContentFuture, ContentId, ContentStore, MemoryStore, Problem};
use verbale::log::{CallId, CallLog, LogError, MemoryLog, Offloading, WriterLease};

fn record(json: serde_json::Value) -> Record {
    serde_json::from_value(json).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Offloads a record for the owner `CA1`, and returns the record with references.
async fn try_offload(record: &Record, threshold: usize, store: impl ContentStore) -> Result<Record, LogError> {
    let small = Arc::new(MemoryLog::new());
    let log = Offloading::new(small.clone(), store).with_threshold(threshold);
    let lease = WriterLease::from(CallId::new("CA1").unwrap());
    log.put_record(&lease, record).await?;
    Ok(small.read_call(lease.call_id()).await.unwrap().records.remove(0))
}

fn offload(record: &Record, threshold: usize, store: impl ContentStore) -> Record {
    block_on(try_offload(record, threshold, store)).unwrap()
}

/// Restores the records of a call with the contents of a store.
async fn hydrate_call(records: &[Record], store: impl ContentStore) -> (Vec<Record>, Vec<Problem>) {
    let (log, lease) = (MemoryLog::new(), WriterLease::from(CallId::new("CA1").unwrap()));
    for record in records {
        log.put_record(&lease, record).await.unwrap();
    }
    let call = Offloading::new(log, store).read_call(lease.call_id()).await.unwrap();
    (call.records, call.problems)
}

fn hydrate(record: &Record, store: impl ContentStore) -> (Record, Vec<Problem>) {
    let (mut records, problems) = block_on(hydrate_call(std::slice::from_ref(record), store));
    (records.remove(0), problems)
}

/// Puts a content under the id of its bytes.
async fn put<S: ContentStore + ?Sized>(store: &S, bytes: &Arc<[u8]>, owner: &str) {
    store.put(ContentId::of(bytes), bytes, owner).await.unwrap();
}

/// Puts contents for the owner `CA1`.
fn put_all<'a>(store: &impl ContentStore, contents: impl IntoIterator<Item = &'a Arc<[u8]>>) {
    for bytes in contents {
        block_on(put(store, bytes, "CA1"));
    }
}

/// Returns whether a store has a content, whole and unchanged.
async fn has<S: ContentStore + ?Sized>(store: &S, bytes: &[u8]) -> bool {
    let found = store.get(ContentId::of(bytes)).await.unwrap();
    assert!(found.as_deref().is_none_or(|found| found == bytes), "the store has other bytes");
    found.is_some()
}

/// A store in memory that loses or damages some contents, does not verify them, and records its requests.
#[derive(Default)]
struct Watched {
    store: MemoryStore,
    corrupt: Mutex<Vec<ContentId>>,
    lost: Mutex<Vec<ContentId>>,
    refuses_puts: bool,
    asked: Mutex<Vec<ContentId>>,
    puts: AtomicUsize,
}

impl ContentStore for Watched {
    fn put<'a>(&'a self, id: ContentId, bytes: &'a Arc<[u8]>, owner: &'a str) -> ContentFuture<'a, ()> {
        self.puts.fetch_add(1, Ordering::Relaxed);
        if self.refuses_puts {
            let error = ContentError::store("put", true, std::io::Error::other("full"));
            return Box::pin(std::future::ready(Err(error)));
        }
        self.store.put(id, bytes, owner)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Arc<[u8]>>> {
        self.asked.lock().unwrap().push(id);
        if self.corrupt.lock().unwrap().contains(&id) {
            return Box::pin(std::future::ready(Ok(Some(b"other bytes"[..].into()))));
        }
        if self.lost.lock().unwrap().contains(&id) {
            return Box::pin(std::future::ready(Ok(None)));
        }
        self.store.get(id)
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        self.store.release(owner)
    }
}
