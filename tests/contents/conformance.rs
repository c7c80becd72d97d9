//! The contract of [`ContentStore`], checked for each store.

use std::sync::Arc;

use verbale::contents::{Blob, Cached, ContentId, ContentStore, DirectoryStore, MemoryStore};

use super::dynamodb;

fn blobs() -> Vec<Blob> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..1_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    [vec![], vec![0], b"Hi, there".to_vec(), every_byte, large].map(Blob::new).into()
}

/// Checks the contract. The store must be empty.
async fn conforms(store: Arc<dyn ContentStore>) {
    let blobs = blobs();
    let unknown = ContentId::of(b"never put");
    let [one, other] = ["CA1", "CA2"];

    store.release(one).await.unwrap();
    for blob in &blobs {
        assert_eq!(store.get(blob.id()).await.unwrap(), None);
        store.put(blob, one).await.unwrap();
        store.put(blob, one).await.unwrap();
    }
    for blob in &blobs {
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(blob));
        assert_eq!(store.get(blob.id()).await.unwrap().unwrap().bytes(), blob.bytes());
    }
    assert_eq!(store.get(unknown).await.unwrap(), None);

    // A future that is dropped before the first poll has no effect.
    drop(store.release(one));
    drop(store.put(&Blob::new(&b"never put"[..]), one));
    assert_eq!(store.get(blobs[1].id()).await.unwrap().as_ref(), Some(&blobs[1]));
    assert_eq!(store.get(unknown).await.unwrap(), None);

    // A content of another owner stays after repeated releases. All others are deleted.
    store.put(&blobs[2], other).await.unwrap();
    for _ in 0..2 {
        store.release(one).await.unwrap();
        store.release("nobody").await.unwrap();
        for (at, blob) in blobs.iter().enumerate() {
            assert_eq!(store.get(blob.id()).await.unwrap(), (at == 2).then(|| blob.clone()));
        }
    }
    store.release(other).await.unwrap();
    assert_eq!(store.get(blobs[2].id()).await.unwrap(), None);

    // A released owner can put a deleted content again, and can be released again.
    store.put(&blobs[4], one).await.unwrap();
    assert_eq!(store.get(blobs[4].id()).await.unwrap().as_ref(), Some(&blobs[4]));
    store.release(one).await.unwrap();
    assert_eq!(store.get(blobs[4].id()).await.unwrap(), None);

    // Names that could be confused in a key, a path or a prefix.
    let names = ["CA", "CA#", "CA#1", "../CA", "CA/1", ".", "Anruf 7, ü", &"x".repeat(1_000)];
    for name in names {
        store.put(&blobs[2], name).await.unwrap();
    }
    for (at, name) in names.iter().enumerate() {
        assert_eq!(store.get(blobs[2].id()).await.unwrap().as_ref(), Some(&blobs[2]), "after {at} releases");
        store.release(name).await.unwrap();
    }
    assert_eq!(store.get(blobs[2].id()).await.unwrap(), None);

    at_once(store).await;
}

/// Many owners put, read and release at the same time. A user of a content finds it; others find it complete or not at all.
async fn at_once(store: Arc<dyn ContentStore>) {
    let contents: Vec<Blob> = (0..4).map(|at| Blob::new(vec![at; 50_000])).collect();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (store, contents) = (store.clone(), contents.clone());
            tokio::spawn(async move {
                let own = format!("CA{task}");
                for round in 0..8 {
                    let blob = &contents[(task + round) % contents.len()];
                    let found = store.get(blob.id()).await.unwrap();
                    assert!(found.is_none() || found.as_ref() == Some(blob));
                    done(|| store.put(blob, &own)).await;
                    assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(blob));
                    if round % 3 == task % 3 {
                        done(|| store.release(&own)).await;
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for task in 0..8 {
        store.release(&format!("CA{task}")).await.unwrap();
    }
    for blob in &contents {
        assert_eq!(store.get(blob.id()).await.unwrap(), None);
    }
}

/// Repeats an action until it succeeds. Under contention a store may return a retryable error.
async fn done<'a>(action: impl Fn() -> verbale::contents::ContentFuture<'a, ()>) {
    while let Err(error) = action().await {
        assert!(error.is_retryable(), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_store_keeps_the_contract() {
    conforms(Arc::new(MemoryStore::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn directory_store_keeps_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    conforms(Arc::new(DirectoryStore::open(directory.path().join("not/there/yet")).unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn dynamodb_store_keeps_the_contract() {
    let table = dynamodb::table().await;
    conforms(Arc::new(table.store())).await;
    assert_eq!(table.used_items().await, [], "no owner is left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn cached_stores_keep_the_contract() {
    let directory = tempfile::tempdir().unwrap();
    for max_bytes in [0, 100, 10_000_000] {
        conforms(Arc::new(Cached::new(MemoryStore::default(), max_bytes))).await;
        let store = DirectoryStore::open(directory.path().join(max_bytes.to_string())).unwrap();
        conforms(Arc::new(Cached::new(store, max_bytes))).await;
    }
    conforms(Arc::new(Cached::new(dynamodb::table().await.store(), 10_000_000))).await;
}

#[tokio::test]
async fn cached_content_is_read_once_and_put_once_per_owner() {
    let watched = Arc::new(super::Watched::default());
    let store = Cached::new(watched.clone(), 100);
    let blob = Blob::new(&b"Hi, there"[..]);
    let puts = || watched.puts.load(std::sync::atomic::Ordering::Relaxed);
    let [one, other] = ["CA1", "CA2"];
    for _ in 0..3 {
        store.put(&blob, one).await.unwrap();
        store.put(&blob, other).await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
    }
    assert!(format!("{:?}", Cached::new((), 100)).contains("bytes: 0"));
    assert_eq!((puts(), watched.asked.lock().unwrap().as_slice()), (2, &[blob.id()][..]));

    // A release clears the puts of its owner and all reads, but not the puts of the other owner.
    store.release(one).await.unwrap();
    store.put(&blob, other).await.unwrap();
    assert_eq!(puts(), 2);
    assert!(store.get(blob.id()).await.unwrap().is_some());
    assert_eq!(watched.asked.lock().unwrap().len(), 2);
    store.put(&blob, one).await.unwrap();
    assert_eq!(puts(), 3);
    store.release(one).await.unwrap();
    store.release(other).await.unwrap();
    assert_eq!(store.get(blob.id()).await.unwrap(), None);
}

#[tokio::test]
async fn put_or_read_during_a_release_is_not_cached() {
    let blob = Blob::new(&b"Hi, there"[..]);
    let (one, slow) = ("CA1", Arc::new(Slow::default()));
    let store = Cached::new(slow.clone(), 100);
    store.put(&blob, one).await.unwrap();
    // The release starts before the owner's requests, and ends or is dropped after them.
    for is_dropped in [false, true] {
        let mut release = store.release(one);
        assert!(poll_once(&mut release).is_none());
        store.put(&blob, one).await.unwrap();
        assert!(store.get(blob.id()).await.unwrap().is_some());
        if is_dropped {
            drop(release);
            slow.store.release(one).await.unwrap();
        } else {
            release.await.unwrap();
        }
        assert_eq!(store.get(blob.id()).await.unwrap(), None);
        store.put(&blob, one).await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
    }
}

/// A store whose release yields once before it has an effect.
#[derive(Default)]
struct Slow {
    store: MemoryStore,
}

impl ContentStore for Slow {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> verbale::contents::ContentFuture<'a, ()> {
        self.store.put(blob, owner)
    }

    fn get(&self, id: ContentId) -> verbale::contents::ContentFuture<'_, Option<Blob>> {
        self.store.get(id)
    }

    fn release<'a>(&'a self, owner: &'a str) -> verbale::contents::ContentFuture<'a, ()> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.store.release(owner).await
        })
    }
}

fn poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    match std::pin::Pin::new(future).poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
        std::task::Poll::Ready(value) => Some(value),
        std::task::Poll::Pending => None,
    }
}
