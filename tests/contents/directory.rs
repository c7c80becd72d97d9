//! The directory store after a crash, with damaged files, and with locks.

use std::fs;
use std::path::{Path, PathBuf};

use verbale::contents::{Blob, ContentId, ContentStore, DirectoryStore};

type Damage = fn(&mut Vec<u8>);

fn store() -> (tempfile::TempDir, DirectoryStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = DirectoryStore::open(directory.path()).unwrap();
    (directory, store)
}

fn path_of(root: &Path, blob: &Blob) -> PathBuf {
    let id = hex(blob.id());
    root.join(&id[..2]).join(&id[2..4]).join(id)
}

/// The digits of an id, without `sha256:`.
fn hex(id: ContentId) -> String {
    id.to_string().split_off(7)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[tokio::test]
async fn damage_is_reported_and_repaired_by_the_next_put() {
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
    for (name, damage) in damages {
        store.put(&blob, "CA1").await.unwrap();
        let mut bytes = fs::read(&path).unwrap();
        assert_eq!(bytes, **blob.bytes(), "the file has the bytes alone");
        damage(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        match store.get(blob.id()).await {
            Err(error) if error.to_string().contains("is corrupt") => {
                assert!(!error.is_retryable());
                assert!(error.to_string().contains(&blob.id().to_string()), "{error}");
                assert!(!format!("{error} {error:?}").contains("caller"), "{error:?}");
            }
            other => panic!("{name}: {other:?}"),
        }
        store.put(&blob, "CA1").await.unwrap();
        assert_eq!(store.get(blob.id()).await.unwrap().as_ref(), Some(&blob), "{name}");
    }
}

#[tokio::test]
async fn files_of_a_killed_writer_are_never_read() {
    let (directory, store) = store();
    let blob = Blob::new(vec![7; 5_000]);
    let unfinished = directory.path().join("unfinished");
    fs::write(unfinished.join(".tmpAbCdEf"), &blob.bytes()[..2_000]).unwrap();
    fs::write(unfinished.join(hex(blob.id())), &blob.bytes()[..2_000]).unwrap();
    assert_eq!(store.get(blob.id()).await.unwrap(), None);
    store.put(&blob, "CA1").await.unwrap();
    let again = DirectoryStore::open(directory.path()).unwrap();
    assert_eq!(again.get(blob.id()).await.unwrap().as_ref(), Some(&blob));
}

#[tokio::test]
async fn content_is_one_file_and_use_is_two_empty_files() {
    let (directory, store) = store();
    let blobs: Vec<Blob> = (0..20_u8).map(|at| Blob::new(vec![at; 100])).collect();
    for blob in blobs.iter().chain(&blobs) {
        store.put(blob, "CA1").await.unwrap();
    }
    let (root, by) = (directory.path(), hex(ContentId::of(b"CA1")));
    let files_of = |blob: &Blob| {
        let id = hex(blob.id());
        [path_of(root, blob), root.join("uses").join(&id).join(&by), root.join("owners").join(&by).join(&id)]
    };
    let mut expected: Vec<PathBuf> = blobs.iter().flat_map(files_of).chain([root.join("lock")]).collect();
    expected.sort();
    let mut found = files(root);
    found.sort();
    assert_eq!(found, expected);
    let empty = found.iter().filter(|path| fs::metadata(path).unwrap().len() == 0).count();
    assert_eq!(empty, 41);

    store.release("CA1").await.unwrap();
    assert_eq!(files(root), [root.join("lock")]);
    let left = |name: &str| fs::read_dir(root.join(name)).unwrap().count();
    assert_eq!(["uses", "owners", "unfinished"].map(left), [0, 0, 0]);
}

#[tokio::test]
async fn killed_release_is_completed_by_the_next() {
    let (directory, store) = store();
    let blob = Blob::new(vec![7; 5_000]);
    let (root, by, id) = (directory.path(), hex(ContentId::of(b"CA1")), hex(blob.id()));
    // The steps of a release. Each round completes one more.
    let steps: [fn(&Path) -> std::io::Result<()>; 4] =
        [|path| fs::remove_file(path), |path| fs::remove_dir(path), |path| fs::remove_file(path), |_| Ok(())];
    let users = root.join("uses").join(&id);
    let paths = [users.join(&by), users.clone(), path_of(root, &blob), root.to_owned()];
    for killed_after in 0..=steps.len() {
        store.put(&blob, "CA1").await.unwrap();
        for (remove, path) in steps.iter().zip(&paths).take(killed_after) {
            remove(path).unwrap();
        }
        store.release("CA1").await.unwrap();
        assert_eq!(files(root), [root.join("lock")]);
    }
}

#[tokio::test]
async fn put_and_release_wait_for_each_other() {
    let (directory, store) = store();
    let (blob, one) = (Blob::new(vec![7; 5_000]), "CA1");
    store.put(&blob, one).await.unwrap();
    let lock = fs::File::open(directory.path().join("lock")).unwrap();
    let in_a_thread = |action: fn(&DirectoryStore, &Blob)| {
        let (store, blob) = (store.clone(), blob.clone());
        std::thread::spawn(move || action(&store, &blob))
    };
    // While another process puts, puts proceed and a release waits.
    lock.lock_shared().unwrap();
    in_a_thread(|store, blob| super::block_on(store.put(blob, "CA2")).unwrap()).join().unwrap();
    let release = in_a_thread(|store, _| super::block_on(store.release("CA1")).unwrap());
    let use_of_one = directory.path().join("uses").join(hex(blob.id())).join(hex(ContentId::of(b"CA1")));
    assert!(use_of_one.exists());
    lock.unlock().unwrap();
    release.join().unwrap();
    assert!(!use_of_one.exists());
    // While another process releases, a put waits.
    lock.lock().unwrap();
    let put = in_a_thread(|store, blob| super::block_on(store.put(blob, "CA1")).unwrap());
    assert!(!use_of_one.exists());
    lock.unlock().unwrap();
    put.join().unwrap();
    assert!(use_of_one.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_of_the_process_may_read() {
    use std::os::unix::fs::PermissionsExt;

    let (directory, store) = store();
    let blob = Blob::new(vec![1; 100]);
    store.put(&blob, "CA1").await.unwrap();
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
async fn unusable_directory_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("a file");
    fs::write(&file, "").unwrap();
    let error = DirectoryStore::open(&file).unwrap_err();
    assert!(error.to_string().contains("a file"), "{error}");

    // A directory in place of the file is an error that names the content.
    let (root, store) = store();
    let blob = Blob::new(vec![1; 100]);
    fs::create_dir_all(path_of(root.path(), &blob)).unwrap();
    for error in [store.get(blob.id()).await.unwrap_err(), store.put(&blob, "CA1").await.unwrap_err()] {
        assert!(
            error.to_string().starts_with("the content store could not ")
                && error.to_string().contains(&hex(blob.id())),
            "{error}"
        );
    }
}
