//! Contents beside the log: every store as the port's contract wants it, and records that lose nothing on the way.

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
use verbale::contents::{Blob, ContentError, ContentFuture, ContentId, ContentStore, MemoryStore, Owner};

fn record(json: serde_json::Value) -> Record {
    serde_json::from_value(json).unwrap()
}

fn owner(name: &str) -> Owner {
    Owner::new(name).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// A store in memory that refuses to be asked for some contents, and notes what it is asked for.
#[derive(Default)]
struct Watched {
    store: MemoryStore,
    corrupt: Vec<ContentId>,
    lost: Vec<ContentId>,
    refuses_puts: bool,
    asked: Mutex<Vec<ContentId>>,
    puts: AtomicUsize,
}

impl ContentStore for Watched {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a Owner) -> ContentFuture<'a, ()> {
        self.puts.fetch_add(1, Ordering::Relaxed);
        if self.refuses_puts {
            let source = std::sync::Arc::new(std::io::Error::other("full"));
            let error = ContentError::Store { action: "put", id: blob.id(), retryable: true, source };
            return Box::pin(std::future::ready(Err(error)));
        }
        self.store.put(blob, owner)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        self.asked.lock().unwrap().push(id);
        if self.corrupt.contains(&id) {
            return Box::pin(std::future::ready(Blob::verified(id, &b"other bytes"[..]).map(Some)));
        }
        if self.lost.contains(&id) {
            return Box::pin(std::future::ready(Ok(None)));
        }
        self.store.get(id)
    }

    fn release<'a>(&'a self, owner: &'a Owner) -> ContentFuture<'a, ()> {
        self.store.release(owner)
    }
}
