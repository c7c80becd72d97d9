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

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use verbale::Record;
use verbale::contents::{Blob, ContentError, ContentFuture, ContentId, ContentStore, MemoryStore, Problem};
use verbale::log::{CallId, CallLog, LogError, MemoryLog, Offloading, WriterLease};

fn record(json: serde_json::Value) -> Record {
    serde_json::from_value(json).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Offloads a record for the owner `CA1`, and returns the record with references.
async fn try_offload(record: &Record, threshold: usize, store: impl ContentStore) -> Result<Record, LogError> {
    let small = std::sync::Arc::new(MemoryLog::default());
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
    let (log, lease) = (MemoryLog::default(), WriterLease::from(CallId::new("CA1").unwrap()));
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

/// Puts contents for the owner `CA1`.
fn put_all<'a>(store: &impl ContentStore, blobs: impl IntoIterator<Item = &'a Blob>) {
    for blob in blobs {
        block_on(store.put(blob, "CA1")).unwrap();
    }
}

/// A store in memory that loses or damages some contents, and records its requests.
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
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> ContentFuture<'a, ()> {
        self.puts.fetch_add(1, Ordering::Relaxed);
        if self.refuses_puts {
            let error = ContentError::store("put", true, std::io::Error::other("full"));
            return Box::pin(std::future::ready(Err(error)));
        }
        self.store.put(blob, owner)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        self.asked.lock().unwrap().push(id);
        if self.corrupt.lock().unwrap().contains(&id) {
            return Box::pin(std::future::ready(Blob::verified(id, &b"other bytes"[..]).map(Some)));
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
