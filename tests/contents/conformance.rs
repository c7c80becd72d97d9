//! The contract of [`ContentStore`], checked for each store.

use std::sync::Arc;

use verbale::contents::{Cached, ContentFuture, ContentId, ContentStore, DirectoryStore, MemoryStore};

use super::{dynamodb, has, put};

fn contents() -> Vec<Arc<[u8]>> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..1_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    [vec![], vec![0], b"Hi, there".to_vec(), every_byte, large].map(Arc::from).into()
}

/// Checks the contract. The store must be empty.
async fn conforms(store: Arc<dyn ContentStore>) {
    let contents = contents();
    let never_put = b"never put";
    let [one, other] = ["CA1", "CA2"];

    store.release(one).await.unwrap();
    for bytes in &contents {
        assert!(!has(&store, bytes).await);
        put(&store, bytes, one).await;
        put(&store, bytes, one).await;
    }
    for bytes in &contents {
        assert!(has(&store, bytes).await);
        assert!(has(&store, bytes).await);
    }
    assert!(!has(&store, never_put).await);

    // A future that is dropped before the first poll has no effect.
    drop(store.release(one));
    drop(store.put(ContentId::of(never_put), &never_put[..].into(), one));
    assert!(has(&store, &contents[1]).await);
    assert!(!has(&store, never_put).await);

    // A content of another owner stays after repeated releases. All others are deleted.
    put(&store, &contents[2], other).await;
    for _ in 0..2 {
        store.release(one).await.unwrap();
        store.release("nobody").await.unwrap();
        for (at, bytes) in contents.iter().enumerate() {
            assert_eq!(has(&store, bytes).await, at == 2);
        }
    }
    store.release(other).await.unwrap();
    assert!(!has(&store, &contents[2]).await);

    // A released owner can put a deleted content again, and can be released again.
    put(&store, &contents[4], one).await;
    assert!(has(&store, &contents[4]).await);
    store.release(one).await.unwrap();
    assert!(!has(&store, &contents[4]).await);

    // Names that could be confused in a key, a path or a prefix.
    let names = ["CA", "CA#", "CA#1", "../CA", "CA/1", ".", "Anruf 7, ü", &"x".repeat(1_000)];
    for name in names {
        put(&store, &contents[2], name).await;
    }
    for (at, name) in names.iter().enumerate() {
        assert!(has(&store, &contents[2]).await, "after {at} releases");
        store.release(name).await.unwrap();
    }
    assert!(!has(&store, &contents[2]).await);

    at_once(store).await;
}

/// Many owners put, read and release at the same time. A user of a content finds it; others find it complete or not at all.
async fn at_once(store: Arc<dyn ContentStore>) {
    let contents: Vec<Arc<[u8]>> = (0..4).map(|at| vec![at; 50_000].into()).collect();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (store, contents) = (store.clone(), contents.clone());
            tokio::spawn(async move {
                let own = format!("CA{task}");
                for round in 0..8 {
                    let bytes = &contents[(task + round) % contents.len()];
                    has(&store, bytes).await;
                    done(|| store.put(ContentId::of(bytes), bytes, &own)).await;
                    assert!(has(&store, bytes).await);
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
    for bytes in &contents {
        assert!(!has(&store, bytes).await);
    }
}

/// Repeats an action until it succeeds. Under contention a store may return a retryable error.
async fn done<'a>(action: impl Fn() -> ContentFuture<'a, ()>) {
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
    let bytes: Arc<[u8]> = b"Hi, there"[..].into();
    let puts = || watched.puts.load(std::sync::atomic::Ordering::Relaxed);
    let [one, other] = ["CA1", "CA2"];
    for _ in 0..3 {
        put(&store, &bytes, one).await;
        put(&store, &bytes, other).await;
        assert!(has(&store, &bytes).await);
    }
    assert!(format!("{:?}", Cached::new((), 100)).contains("bytes: 0"));
    assert_eq!((puts(), watched.asked.lock().unwrap().as_slice()), (2, &[ContentId::of(&bytes)][..]));

    // A release clears the puts of its owner and all reads, but not the puts of the other owner.
    store.release(one).await.unwrap();
    put(&store, &bytes, other).await;
    assert_eq!(puts(), 2);
    assert!(has(&store, &bytes).await);
    assert_eq!(watched.asked.lock().unwrap().len(), 2);
    put(&store, &bytes, one).await;
    assert_eq!(puts(), 3);
    store.release(one).await.unwrap();
    store.release(other).await.unwrap();
    assert!(!has(&store, &bytes).await);
}

#[tokio::test]
async fn debug_of_a_store_shows_no_bytes() {
    let (one, bytes): (_, Arc<[u8]>) = (Cached::new(MemoryStore::default(), 100), b"0815"[..].into());
    put(&one, &bytes, "CA1").await;
    assert!(has(&one, &bytes).await);
    let debug = format!("{one:?}");
    assert!(debug.contains("bytes: 4"), "{debug}");
    for form in ["0815", "48, 56, 49, 53"] {
        assert!(!debug.contains(form), "{debug}");
    }
}

#[tokio::test]
async fn put_or_read_during_a_release_is_not_cached() {
    let bytes: Arc<[u8]> = b"Hi, there"[..].into();
    let (one, slow) = ("CA1", Arc::new(Slow::default()));
    let store = Cached::new(slow.clone(), 100);
    put(&store, &bytes, one).await;
    // The release starts before the owner's requests, and ends or is dropped after them.
    for is_dropped in [false, true] {
        let mut release = store.release(one);
        assert!(poll_once(&mut release).is_none());
        put(&store, &bytes, one).await;
        assert!(has(&store, &bytes).await);
        if is_dropped {
            drop(release);
            slow.store.release(one).await.unwrap();
        } else {
            release.await.unwrap();
        }
        assert!(!has(&store, &bytes).await);
        put(&store, &bytes, one).await;
        assert!(has(&store, &bytes).await);
    }
}

/// A store whose release yields once before it has an effect.
#[derive(Default)]
struct Slow {
    store: MemoryStore,
}

impl ContentStore for Slow {
    fn put<'a>(&'a self, id: ContentId, bytes: &'a Arc<[u8]>, owner: &'a str) -> ContentFuture<'a, ()> {
        self.store.put(id, bytes, owner)
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Arc<[u8]>>> {
        self.store.get(id)
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
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
