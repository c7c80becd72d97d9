//! The directory after a crash, a bad disk, a careless hand.

use std::fs;
use std::path::{Path, PathBuf};

use verbale::contents::{Blob, ContentError, ContentStore, DirectoryStore};

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
        store.put(&blob).await.unwrap();
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
        store.put(&blob).await.unwrap();
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
    store.put(&blob).await.unwrap();
    let again = DirectoryStore::open(directory.path()).unwrap();
    assert_eq!(again.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
}

#[tokio::test]
async fn a_content_is_one_file_and_nothing_is_left_beside_it() {
    let (directory, store) = store();
    let blobs: Vec<Blob> = (0..20_u8).map(|at| Blob::new(vec![at; 100])).collect();
    for blob in blobs.iter().chain(&blobs) {
        store.put(blob).await.unwrap();
    }
    let (mut found, mut expected) =
        (files(directory.path()), blobs.iter().map(|blob| path_of(directory.path(), blob)).collect::<Vec<_>>());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_may_read() {
    use std::os::unix::fs::PermissionsExt;

    let (directory, store) = store();
    let blob = Blob::new(vec![1; 100]);
    store.put(&blob).await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = path_of(directory.path(), &blob);
    let folder = path.parent().unwrap();
    assert_eq!([mode(&path), mode(folder), mode(folder.parent().unwrap())], [0o600, 0o700, 0o700]);
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
    for error in [store.get(blob.id()).await.unwrap_err(), store.put(&blob).await.unwrap_err()] {
        assert!(matches!(error, ContentError::Store { id, .. } if id == blob.id()), "{error:?}");
    }
}
