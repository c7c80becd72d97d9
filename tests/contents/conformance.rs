//! What every [`ContentStore`] owes, held against each of them.

use std::sync::Arc;

use verbale::contents::{Blob, Cached, ContentId, ContentStore, DirectoryStore, MemoryStore};

fn blobs() -> Vec<Blob> {
    let every_byte: Vec<u8> = (0..=255).collect();
    let large: Vec<u8> = (0..1_000_000_u32).map(|at| (at * 7 % 251) as u8).collect();
    [vec![], vec![0], b"Hi, there".to_vec(), every_byte, large].map(Blob::new).into()
}

/// Runs against an empty store.
async fn conforms(store: Arc<dyn ContentStore>) {
    let blobs = blobs();
    let unknown = ContentId::of(b"never put");

    for blob in &blobs {
        assert_eq!(store.get(blob.id()).await.unwrap(), None);
        store.delete(blob.id()).await.unwrap();
        store.put(blob).await.unwrap();
        store.put(blob).await.unwrap();
    }
    for blob in &blobs {
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(blob));
        assert_eq!(store.get(blob.id()).await.unwrap().unwrap().bytes(), blob.bytes());
    }
    assert_eq!(store.get(unknown).await.unwrap(), None);

    // A delete takes one and no other; what was deleted can be put again.
    store.delete(blobs[2].id()).await.unwrap();
    store.delete(blobs[2].id()).await.unwrap();
    for (at, blob) in blobs.iter().enumerate() {
        assert_eq!(store.get(blob.id()).await.unwrap(), (at != 2).then(|| blob.clone()));
    }
    store.put(&blobs[2]).await.unwrap();
    assert_eq!(store.get(blobs[2].id()).await.unwrap().as_ref(), Some(&blobs[2]));

    // A future that was never polled did nothing.
    drop(store.delete(blobs[1].id()));
    drop(store.put(&Blob::new(&b"never put"[..])));
    assert_eq!(store.get(blobs[1].id()).await.unwrap().as_ref(), Some(&blobs[1]));
    assert_eq!(store.get(unknown).await.unwrap(), None);

    at_once(store).await;
}

/// Many put, read and delete; whoever reads finds all of a content or nothing.
async fn at_once(store: Arc<dyn ContentStore>) {
    let contents: Vec<Blob> = (0..4).map(|at| Blob::new(vec![at; 50_000])).collect();
    let tasks: Vec<_> = (0..8)
        .map(|task| {
            let (store, contents) = (store.clone(), contents.clone());
            tokio::spawn(async move {
                for round in 0..8 {
                    let blob = &contents[(task + round) % contents.len()];
                    store.put(blob).await.unwrap();
                    let found = store.get(blob.id()).await.unwrap();
                    assert!(found.is_none() || found.as_ref() == Some(blob));
                    if task == 0 {
                        store.delete(blob.id()).await.unwrap();
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    for blob in &contents {
        store.put(blob).await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(blob));
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
async fn a_cache_before_either() {
    let directory = tempfile::tempdir().unwrap();
    for max_bytes in [0, 100, 10_000_000] {
        conforms(Arc::new(Cached::new(MemoryStore::default(), max_bytes))).await;
        let store = DirectoryStore::open(directory.path().join(max_bytes.to_string())).unwrap();
        conforms(Arc::new(Cached::new(store, max_bytes))).await;
    }
}

#[tokio::test]
async fn a_cached_content_is_read_once() {
    let store = Cached::new(super::Watched::default(), 100);
    let blob = Blob::new(&b"Hi, there"[..]);
    store.put(&blob).await.unwrap();
    for _ in 0..3 {
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
    }
    let counts = store.counts();
    assert_eq!((counts.hits, counts.misses, counts.bytes), (2, 1, 9));
    assert_eq!(*store.store().asked.lock().unwrap(), [blob.id()]);
    store.delete(blob.id()).await.unwrap();
    assert_eq!(store.get(blob.id()).await.unwrap(), None);
}
