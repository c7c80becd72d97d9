//! The directory after a crash, a bad disk, a careless hand.

use std::fs;
use std::path::{Path, PathBuf};

use verbale::contents::{Blob, ContentError, ContentId, ContentStore, DirectoryStore};

use super::owner;

type Damage = fn(&mut Vec<u8>);

fn store() -> (tempfile::TempDir, DirectoryStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = DirectoryStore::open(directory.path()).unwrap();
    (directory, store)
}

fn path_of(root: &Path, blob: &Blob) -> PathBuf {
    let hex = blob.id().hex();
    root.join(&hex[..2]).join(&hex[2..4]).join(hex)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn what_is_damaged_is_told_and_mended_by_the_next_put() {
    let (directory, store) = store();
    let blob = Blob::new("What the caller said. ".repeat(100).into_bytes());
    let path = path_of(directory.path(), &blob);
    let damages: [(&str, Damage); 5] = [
        ("emptied", Vec::clear),
        ("cut short", |bytes| bytes.truncate(1_000)),
        ("without its last byte", |bytes| bytes.truncate(bytes.len() - 1)),
        ("with a byte flipped", |bytes| bytes[1_500] ^= 1),
        ("with a byte more", |bytes| bytes.push(0)),
    ];
    for (what, damage) in damages {
        store.put(&blob, &owner("CA1")).await.unwrap();
        let mut bytes = fs::read(&path).unwrap();
        assert_eq!(bytes, **blob.bytes(), "the file is the bytes and nothing else");
        damage(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        match store.get(blob.id()).await {
            Err(error @ ContentError::Corrupt { .. }) => {
                assert_eq!((error.content_id(), error.is_retryable()), (Some(blob.id()), false));
                assert!(error.to_string().contains(&blob.id().to_string()), "{error}");
                assert!(!format!("{error} {error:?}").contains("caller"), "{error:?}");
            }
            other => panic!("{what}: {other:?}"),
        }
        store.put(&blob, &owner("CA1")).await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob), "{what}");
    }
}

#[tokio::test]
async fn what_a_killed_writer_left_is_never_read() {
    let (directory, store) = store();
    let blob = Blob::new(vec![7; 5_000]);
    let unfinished = directory.path().join("unfinished");
    fs::write(unfinished.join(".tmpAbCdEf"), &blob.bytes()[..2_000]).unwrap();
    fs::write(unfinished.join(blob.id().hex()), &blob.bytes()[..2_000]).unwrap();
    assert_eq!(store.get(blob.id()).await.unwrap(), None);
    store.put(&blob, &owner("CA1")).await.unwrap();
    let again = DirectoryStore::open(directory.path()).unwrap();
    assert_eq!(again.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
}

#[tokio::test]
async fn a_content_is_one_file_and_a_use_two_empty_ones() {
    let (directory, store) = store();
    let blobs: Vec<Blob> = (0..20_u8).map(|at| Blob::new(vec![at; 100])).collect();
    for blob in blobs.iter().chain(&blobs) {
        store.put(blob, &owner("CA1")).await.unwrap();
    }
    let (root, by) = (directory.path(), ContentId::of(b"CA1").hex());
    let files_of = |blob: &Blob| {
        let hex = blob.id().hex();
        [path_of(root, blob), root.join("uses").join(&hex).join(&by), root.join("owners").join(&by).join(&hex)]
    };
    let mut expected: Vec<PathBuf> = blobs.iter().flat_map(files_of).chain([root.join("lock")]).collect();
    expected.sort();
    let mut found = files(root);
    found.sort();
    assert_eq!(found, expected);
    let empty = found.iter().filter(|path| fs::metadata(path).unwrap().len() == 0).count();
    assert_eq!(empty, 41);

    store.release(&owner("CA1")).await.unwrap();
    assert_eq!(files(root), [root.join("lock")]);
    let left = |name: &str| fs::read_dir(root.join(name)).unwrap().count();
    assert_eq!(["uses", "owners", "unfinished"].map(left), [0, 0, 0]);
}

#[tokio::test]
async fn a_release_that_was_killed_is_finished_by_the_next_one() {
    let (directory, store) = store();
    let blob = Blob::new(vec![7; 5_000]);
    let (root, by, hex) = (directory.path(), ContentId::of(b"CA1").hex(), blob.id().hex());
    // What it has done by then, one more each time.
    let done: [fn(&Path) -> std::io::Result<()>; 4] =
        [|path| fs::remove_file(path), |path| fs::remove_dir(path), |path| fs::remove_file(path), |_| Ok(())];
    let users = root.join("uses").join(&hex);
    let paths = [users.join(&by), users.clone(), path_of(root, &blob), root.to_owned()];
    for killed_after in 0..=done.len() {
        store.put(&blob, &owner("CA1")).await.unwrap();
        for (remove, path) in done.iter().zip(&paths).take(killed_after) {
            remove(path).unwrap();
        }
        store.release(&owner("CA1")).await.unwrap();
        assert_eq!(files(root), [root.join("lock")]);
    }
}

#[tokio::test]
async fn who_puts_and_who_releases_wait_for_each_other() {
    let (directory, store) = store();
    let (blob, one) = (Blob::new(vec![7; 5_000]), owner("CA1"));
    store.put(&blob, &one).await.unwrap();
    let lock = fs::File::open(directory.path().join("lock")).unwrap();
    let in_a_thread = |action: fn(&DirectoryStore, &Blob)| {
        let (store, blob) = (store.clone(), blob.clone());
        std::thread::spawn(move || action(&store, &blob))
    };
    // Another process puts: puts go on, a release waits.
    lock.lock_shared().unwrap();
    in_a_thread(|store, blob| super::block_on(store.put(blob, &owner("CA2"))).unwrap()).join().unwrap();
    let release = in_a_thread(|store, _| super::block_on(store.release(&owner("CA1"))).unwrap());
    let use_of_one = directory.path().join("uses").join(blob.id().hex()).join(ContentId::of(b"CA1").hex());
    assert!(use_of_one.exists());
    lock.unlock().unwrap();
    release.join().unwrap();
    assert!(!use_of_one.exists());
    // Another process releases: a put waits.
    lock.lock().unwrap();
    let put = in_a_thread(|store, blob| super::block_on(store.put(blob, &owner("CA1"))).unwrap());
    assert!(!use_of_one.exists());
    lock.unlock().unwrap();
    put.join().unwrap();
    assert!(use_of_one.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read() {
    use std::os::unix::fs::PermissionsExt;

    let (directory, store) = store();
    let blob = Blob::new(vec![1; 100]);
    store.put(&blob, &owner("CA1")).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = path_of(directory.path(), &blob);
    let folder = path.parent().unwrap();
    assert_eq!([mode(&path), mode(folder), mode(folder.parent().unwrap())], [0o600, 0o700, 0o700]);
    for path in files(directory.path()) {
        let folder = path.parent().unwrap();
        assert_eq!(mode(&path), 0o600, "{path:?}");
        assert!(folder == directory.path() || mode(folder) == 0o700, "{folder:?}");
    }
}

#[tokio::test]
async fn a_place_that_holds_no_contents_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a file");
    fs::write(&file, "").unwrap();
    let error = DirectoryStore::open(&file).unwrap_err();
    assert!(matches!(&error, ContentError::Directory { path, .. } if *path == file), "{error:?}");

    // A directory where the file should be: an error that names the content, not a panic and not `None`.
    let (root, store) = store();
    let blob = Blob::new(vec![1; 100]);
    fs::create_dir_all(path_of(root.path(), &blob)).unwrap();
    for error in [store.get(blob.id()).await.unwrap_err(), store.put(&blob, &owner("CA1")).await.unwrap_err()] {
        assert!(matches!(error, ContentError::Store { id, .. } if id == blob.id()), "{error:?}");
    }
}
