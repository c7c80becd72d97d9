//! What every [`ContentStore`] owes, held against each of them.

use std::sync::Arc;

use verbale::contents::{Blob, Cached, ContentId, ContentStore, DirectoryStore, MemoryStore};

use super::{dynamodb, owner};

fn blobs() -> Vec<Blob> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..1_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    [vec![], vec![0], b"Hi, there".to_vec(), every_byte, large].map(Blob::new).into()
}

/// Runs against an empty store.
async fn conforms(store: Arc<dyn ContentStore>) {
    let blobs = blobs();
    let unknown = ContentId::of(b"never put");
    let [one, other] = ["CA1", "CA2"].map(owner);

    store.release(&one).await.unwrap();
    for blob in &blobs {
        assert_eq!(store.get(blob.id()).await.unwrap(), None);
        store.put(blob, &one).await.unwrap();
        store.put(blob, &one).await.unwrap();
    }
    for blob in &blobs {
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(blob));
        assert_eq!(store.get(blob.id()).await.unwrap().unwrap().bytes(), blob.bytes());
    }
    assert_eq!(store.get(unknown).await.unwrap(), None);

    // A future that was never polled did nothing.
    drop(store.release(&one));
    drop(store.put(&Blob::new(&b"never put"[..]), &one));
    assert_eq!(store.get(blobs[1].id()).await.unwrap().as_ref(), Some(&blobs[1]));
    assert_eq!(store.get(unknown).await.unwrap(), None);

    // What another one uses stays, however often the first is released, and the rest goes.
    store.put(&blobs[2], &other).await.unwrap();
    for _ in 0..2 {
        store.release(&one).await.unwrap();
        store.release(&owner("nobody")).await.unwrap();
        for (at, blob) in blobs.iter().enumerate() {
            assert_eq!(store.get(blob.id()).await.unwrap(), (at == 2).then(|| blob.clone()));
        }
    }
    store.release(&other).await.unwrap();
    assert_eq!(store.get(blobs[2].id()).await.unwrap(), None);

    // What was gone can be put again, by who was released too; and released again.
    store.put(&blobs[4], &one).await.unwrap();
    assert_eq!(store.get(blobs[4].id()).await.unwrap().as_ref(), Some(&blobs[4]));
    store.release(&one).await.unwrap();
    assert_eq!(store.get(blobs[4].id()).await.unwrap(), None);

    // Names that a key, a path or a prefix could take for others.
    let names = ["CA", "CA#", "CA#1", "../CA", "CA/1", ".", "Anruf 7, ü", &"x".repeat(1_000)];
    for name in names {
        store.put(&blobs[2], &owner(name)).await.unwrap();
    }
    for (at, name) in names.iter().enumerate() {
        assert_eq!(store.get(blobs[2].id()).await.unwrap().as_ref(), Some(&blobs[2]), "{at} are released");
        store.release(&owner(name)).await.unwrap();
    }
    assert_eq!(store.get(blobs[2].id()).await.unwrap(), None);

    at_once(store).await;
}

/// Many put, read and release; who uses a content finds it, and who does not finds all of it or nothing.
async fn at_once(store: Arc<dyn ContentStore>) {
    let contents: Vec<Blob> = (0..4).map(|at| Blob::new(vec![at; 50_000])).collect();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (store, contents) = (store.clone(), contents.clone());
            tokio::spawn(async move {
                let own = owner(&format!("CA{task}"));
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
        store.release(&owner(&format!("CA{task}"))).await.unwrap();
    }
    for blob in &contents {
        assert_eq!(store.get(blob.id()).await.unwrap(), None);
    }
}

/// Until it is: under contention a store may give up, and says that another try may help.
async fn done<'a>(action: impl Fn() -> verbale::contents::ContentFuture<'a, ()>) {
    while let Err(error) = action().await {
        assert!(error.is_retryable(), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_store_in_memory() {
    conforms(Arc::new(MemoryStore::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_store_in_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    conforms(Arc::new(DirectoryStore::open(directory.path().join("not/there/yet")).unwrap())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_store_in_dynamodb() {
    let table = dynamodb::table().await;
    conforms(Arc::new(table.store())).await;
    assert_eq!(table.items().await, [], "nobody uses anything");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_cache_before_each() {
    let directory = tempfile::tempdir().unwrap();
    for max_bytes in [0, 100, 10_000_000] {
        conforms(Arc::new(Cached::new(MemoryStore::default(), max_bytes))).await;
        let store = DirectoryStore::open(directory.path().join(max_bytes.to_string())).unwrap();
        conforms(Arc::new(Cached::new(store, max_bytes))).await;
    }
    conforms(Arc::new(Cached::new(dynamodb::table().await.store(), 10_000_000))).await;
}

#[tokio::test]
async fn a_cached_content_is_read_once_and_put_once_for_each_owner() {
    let store = Cached::new(super::Watched::default(), 100);
    let blob = Blob::new(&b"Hi, there"[..]);
    let puts = || store.store().puts.load(std::sync::atomic::Ordering::Relaxed);
    let [one, other] = ["CA1", "CA2"].map(owner);
    for _ in 0..3 {
        store.put(&blob, &one).await.unwrap();
        store.put(&blob, &other).await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
    }
    let counts = store.counts();
    assert_eq!((counts.hits, counts.misses, counts.known_puts, counts.bytes), (2, 1, 4, 9));
    assert_eq!((puts(), store.store().asked.lock().unwrap().as_slice()), (2, &[blob.id()][..]));

    // A release forgets what that owner put, and what was read; the other's puts it knows.
    store.release(&one).await.unwrap();
    store.put(&blob, &other).await.unwrap();
    assert_eq!((puts(), store.counts().bytes), (2, 0));
    store.put(&blob, &one).await.unwrap();
    assert_eq!(puts(), 3);
    store.release(&one).await.unwrap();
    store.release(&other).await.unwrap();
    assert_eq!(store.get(blob.id()).await.unwrap(), None);
}

#[tokio::test]
async fn what_is_put_or_read_during_a_release_is_not_remembered() {
    let blob = Blob::new(&b"Hi, there"[..]);
    let (one, slow) = (owner("CA1"), Slow::default());
    let store = Cached::new(slow, 100);
    store.put(&blob, &one).await.unwrap();
    // It begins before, and ends after what the owner does meanwhile, or is dropped then.
    for is_dropped in [false, true] {
        let mut release = store.release(&one);
        assert!(poll_once(&mut release).is_none());
        store.put(&blob, &one).await.unwrap();
        assert!(store.get(blob.id()).await.unwrap().is_some());
        if is_dropped {
            drop(release);
            store.store().store.release(&one).await.unwrap();
        } else {
            release.await.unwrap();
        }
        assert_eq!(store.get(blob.id()).await.unwrap(), None);
        store.put(&blob, &one).await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
    }
}

/// A store whose release takes a turn before it does anything.
#[derive(Default)]
struct Slow {
    store: MemoryStore,
}

impl ContentStore for Slow {
    fn put<'a>(
        &'a self,
        blob: &'a Blob,
        owner: &'a verbale::contents::Owner,
    ) -> verbale::contents::ContentFuture<'a, ()> {
        self.store.put(blob, owner)
    }

    fn get(&self, id: ContentId) -> verbale::contents::ContentFuture<'_, Option<Blob>> {
        self.store.get(id)
    }

    fn release<'a>(&'a self, owner: &'a verbale::contents::Owner) -> verbale::contents::ContentFuture<'a, ()> {
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
