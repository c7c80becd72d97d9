//! The directory store after a crash, with damaged files, and with locks.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use verbale::contents::{ContentId, ContentStore, DirectoryStore};

use super::{block_on, has, put};

type Damage = fn(&mut Vec<u8>);

fn store() -> (tempfile::TempDir, DirectoryStore) {
    let directory = tempfile::tempdir().unwrap();
    let store = DirectoryStore::open(directory.path()).unwrap();
    (directory, store)
}

fn path_of(root: &Path, bytes: &[u8]) -> PathBuf {
    let id = hex(ContentId::of(bytes));
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
    let content: Arc<[u8]> = "What the caller said. ".repeat(100).into_bytes().into();
    let (path, id) = (path_of(directory.path(), &content), ContentId::of(&content));
    let damages: [(&str, Damage); 5] = [
        ("emptied", Vec::clear),
        ("cut short", |bytes| bytes.truncate(1_000)),
        ("without its last byte", |bytes| bytes.truncate(bytes.len() - 1)),
        ("with a byte flipped", |bytes| bytes[1_500] ^= 1),
        ("with a byte more", |bytes| bytes.push(0)),
    ];
    for (name, damage) in damages {
        put(&store, &content, "CA1").await;
        let mut bytes = fs::read(&path).unwrap();
        assert_eq!(bytes, *content, "the file has the bytes alone");
        damage(&mut bytes);
        fs::write(&path, &bytes).unwrap();
        match store.get(id).await {
            Err(error) if error.to_string().contains("is corrupt") => {
                assert!(!error.is_retryable());
                assert!(error.to_string().contains(&id.to_string()), "{error}");
                assert!(!format!("{error} {error:?}").contains("caller"), "{error:?}");
            }
            other => panic!("{name}: {other:?}"),
        }
        put(&store, &content, "CA1").await;
        assert!(has(&store, &content).await, "{name}");
    }
}

#[tokio::test]
async fn files_of_a_killed_writer_are_never_read() {
    let (directory, store) = store();
    let bytes: Arc<[u8]> = [7; 5_000].into();
    let unfinished = directory.path().join("unfinished");
    fs::write(unfinished.join(".tmpAbCdEf"), &bytes[..2_000]).unwrap();
    fs::write(unfinished.join(hex(ContentId::of(&bytes))), &bytes[..2_000]).unwrap();
    assert!(!has(&store, &bytes).await);
    put(&store, &bytes, "CA1").await;
    let again = DirectoryStore::open(directory.path()).unwrap();
    assert!(has(&again, &bytes).await);
}

#[tokio::test]
async fn content_is_one_file_and_use_is_two_empty_files() {
    let (directory, store) = store();
    let contents: Vec<Arc<[u8]>> = (0..20_u8).map(|at| [at; 100].into()).collect();
    for bytes in contents.iter().chain(&contents) {
        put(&store, bytes, "CA1").await;
    }
    let (root, by) = (directory.path(), hex(ContentId::of(b"CA1")));
    let files_of = |bytes: &Arc<[u8]>| {
        let id = hex(ContentId::of(bytes));
        [path_of(root, bytes), root.join("uses").join(&id).join(&by), root.join("owners").join(&by).join(&id)]
    };
    let mut expected: Vec<PathBuf> = contents.iter().flat_map(files_of).chain([root.join("lock")]).collect();
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
    let bytes: Arc<[u8]> = [7; 5_000].into();
    let (root, by, id) = (directory.path(), hex(ContentId::of(b"CA1")), hex(ContentId::of(&bytes)));
    // The steps of a release. Each round completes one more.
    let steps: [fn(&Path) -> std::io::Result<()>; 4] =
        [|path| fs::remove_file(path), |path| fs::remove_dir(path), |path| fs::remove_file(path), |_| Ok(())];
    let users = root.join("uses").join(&id);
    let paths = [users.join(&by), users.clone(), path_of(root, &bytes), root.to_owned()];
    for killed_after in 0..=steps.len() {
        put(&store, &bytes, "CA1").await;
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
    let (bytes, one): (Arc<[u8]>, _) = ([7; 5_000].into(), "CA1");
    put(&store, &bytes, one).await;
    let lock = fs::File::open(directory.path().join("lock")).unwrap();
    let in_a_thread = |action: fn(&DirectoryStore, &Arc<[u8]>)| {
        let (store, bytes) = (store.clone(), bytes.clone());
        std::thread::spawn(move || action(&store, &bytes))
    };
    // While another process puts, puts proceed and a release waits.
    lock.lock_shared().unwrap();
    in_a_thread(|store, bytes| block_on(put(store, bytes, "CA2"))).join().unwrap();
    let release = in_a_thread(|store, _| block_on(store.release("CA1")).unwrap());
    let use_of_one = directory.path().join("uses").join(hex(ContentId::of(&bytes))).join(hex(ContentId::of(b"CA1")));
    assert!(use_of_one.exists());
    lock.unlock().unwrap();
    release.join().unwrap();
    assert!(!use_of_one.exists());
    // While another process releases, a put waits.
    lock.lock().unwrap();
    let second = in_a_thread(|store, bytes| block_on(put(store, bytes, "CA1")));
    assert!(!use_of_one.exists());
    lock.unlock().unwrap();
    second.join().unwrap();
    assert!(use_of_one.exists());
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_user_of_the_process_may_read() {
    use std::os::unix::fs::PermissionsExt;

    let (directory, store) = store();
    let bytes: Arc<[u8]> = [1; 100].into();
    put(&store, &bytes, "CA1").await;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let path = path_of(directory.path(), &bytes);
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
    let bytes: Arc<[u8]> = [1; 100].into();
    let id = ContentId::of(&bytes);
    fs::create_dir_all(path_of(root.path(), &bytes)).unwrap();
    for error in [store.get(id).await.unwrap_err(), store.put(id, &bytes, "CA1").await.unwrap_err()] {
        assert!(
            error.to_string().starts_with("the content store could not ") && error.to_string().contains(&hex(id)),
            "{error}"
        );
    }
}
