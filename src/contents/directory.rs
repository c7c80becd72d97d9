//! [`DirectoryStore`]: a store with a file for each content and an empty file for each use.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use super::locked::Locked;
use super::{Blob, ContentError, ContentFuture, ContentId, ContentStore};
use crate::clock::{IdSource, SystemIds};

/// The folder of incomplete files. Files that a killed process left there may be deleted while no process writes.
const UNFINISHED: &str = "unfinished";
/// A folder for each owner, with an empty file for each content that it uses.
const OWNERS: &str = "owners";
/// A folder for each content, with an empty file for each owner.
const USES: &str = "uses";
const LOCK: &str = "lock";

/// The maximum number of attempts at a lock, which take about ten seconds.
const MAX_TRIES: u32 = 5_000;
const TRY_INTERVAL: Duration = Duration::from_millis(2);

/// A store in a directory: each content is a file `<first 2 digits>/<next 2>/<64 digits>` with its bytes alone.
///
/// A file is written to another folder, synced, and moved into place atomically. Any number of processes may share the
/// directory. A lock on the file `lock` allows many puts or one release at a time. The lock is freed when its process
/// is killed. The file system must support such locks for all processes that share it, as local file systems do.
///
/// A use of a content is an empty file at `uses/<digits of the content>/<digits of the owner's hash>`, and another at
/// `owners/<digits of the owner's hash>/<digits of the content>`. A content without uses, written by an older version,
/// stays until an owner puts and releases it. On systems with file modes, files have 0600 and directories 0700.
///
/// The futures read, write and wait for the lock (up to 10 seconds) on the thread that polls them. Never await one
/// during a turn of a call, because the caller would wait.
#[derive(Debug, Clone)]
pub struct DirectoryStore {
    root: PathBuf,
}

impl DirectoryStore {
    /// Opens the store in a directory, and creates the directory if it does not exist.
    ///
    /// Returns [`ContentError`] if the directory cannot be created.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, ContentError> {
        let root = root.into();
        let made = [UNFINISHED, OWNERS, USES].iter().try_for_each(|name| make_directory(&root.join(name)));
        match made {
            Ok(()) => Ok(Self { root }),
            Err(error) => Err(ContentError::store(format!("create the directory {}", root.display()), false, error)),
        }
    }

    fn folder(&self, id: ContentId) -> PathBuf {
        let hex = id.hex();
        [hex.get(..2), hex.get(2..4)].into_iter().flatten().fold(self.root.clone(), |path, part| path.join(part))
    }

    fn path(&self, id: ContentId) -> PathBuf {
        self.folder(id).join(id.hex())
    }

    fn users(&self, id: ContentId) -> PathBuf {
        self.root.join(USES).join(id.hex())
    }

    fn used(&self, owner: &str) -> PathBuf {
        self.root.join(OWNERS).join(file_name(owner))
    }

    fn put_now(&self, blob: &Blob, owner: &str) -> io::Result<()> {
        let _lock = self.lock(Locked::shared)?;
        // The owner's folder first: a release reads it, so it finds every use.
        self.write_use(&self.used(owner), &blob.id().hex())?;
        self.write_use(&self.users(blob.id()), &file_name(owner))?;
        self.write(blob)
    }

    fn write_use(&self, folder: &Path, name: &str) -> io::Result<()> {
        make_directory(folder)?;
        open_to_write(&folder.join(name))?;
        sync_names(folder, 2)
    }

    fn write(&self, blob: &Blob) -> io::Result<()> {
        let path = self.path(blob.id());
        // The whole file is compared, so that damaged bytes are replaced.
        if if_exists(fs::read(&path))?.is_none_or(|found| *found != **blob.bytes()) {
            make_directory(&self.folder(blob.id()))?;
            self.write_whole(blob.bytes(), &path)?;
        }
        // Also if the file existed: another process may have moved it a moment ago.
        sync_names(&self.folder(blob.id()), 3)
    }

    /// Writes a file that has its name only once it is whole.
    fn write_whole(&self, bytes: &[u8], path: &Path) -> io::Result<()> {
        let unfinished = self.root.join(UNFINISHED).join(format!("{:032x}", SystemIds.next_id(0)));
        let written = open_to_write(&unfinished).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&unfinished, path)
        });
        if written.is_err() {
            // Nobody reads what is left there.
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    fn release_now(&self, owner: &str) -> io::Result<()> {
        let used = self.used(owner);
        for name in names(&used)? {
            let Ok(id) = format!("sha256:{name}").parse::<ContentId>() else { continue };
            // One lock per content, so that puts do not wait for the whole release.
            let _lock = self.lock(Locked::exclusive)?;
            let users = self.users(id);
            if_exists(fs::remove_file(users.join(file_name(owner))))?;
            if remove_if_empty(&users)? {
                if_exists(fs::remove_file(self.path(id)).and_then(|()| sync_names(&self.folder(id), 1)))?;
            }
            // Last, so that a repeated release finds the remaining uses.
            if_exists(fs::remove_file(used.join(name)))?;
        }
        let _lock = self.lock(Locked::exclusive)?;
        // The folder stays if the owner has put a content again since.
        remove_if_empty(&used).map(drop)
    }

    fn lock(&self, try_lock: fn(File) -> Result<Locked, TryLockError>) -> io::Result<Locked> {
        let file = open_to_write(&self.root.join(LOCK))?;
        for _ in 0..MAX_TRIES {
            match try_lock(file.try_clone()?) {
                Ok(locked) => return Ok(locked),
                Err(TryLockError::WouldBlock) => thread::sleep(TRY_INTERVAL),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::TimedOut, "another process holds the lock of the directory"))
    }
}

impl ContentStore for DirectoryStore {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.put_now(blob, owner).map_err(|error| store_error(format!("put content {}", blob.id()), error))
        })
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let found =
                if_exists(fs::read(self.path(id))).map_err(|error| store_error(format!("get content {id}"), error))?;
            found.map(|bytes| Blob::verified(id, bytes)).transpose()
        })
    }

    fn release<'a>(&'a self, owner: &'a str) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.release_now(owner)
                .map_err(|error| store_error(format!("release all contents of {}", owner.escape_debug()), error))
        })
    }
}

/// Returns the hash of the owner's name, because a name may not be valid as a file name.
fn file_name(owner: &str) -> String {
    ContentId::of(owner.as_bytes()).hex()
}

/// Returns `None` if the file or directory of an operation does not exist.
fn if_exists<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the names in a directory, or none if the directory does not exist.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = if_exists(fs::read_dir(folder))?.into_iter().flatten();
    entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
}

/// Returns whether the directory no longer exists. A directory with entries stays.
fn remove_if_empty(folder: &Path) -> io::Result<bool> {
    match if_exists(fs::remove_dir(folder)) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
        removed => removed.map(|_| true),
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Creates the file if it does not exist.
fn open_to_write(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).truncate(false).write(true).open(path)
}

/// Syncs a directory and its parents, `levels` in all, so that the names in them are durable. Does nothing on systems
/// that cannot open a directory.
fn sync_names(folder: &Path, levels: usize) -> io::Result<()> {
    let mut folders = folder.ancestors().take(levels).filter(|_| cfg!(unix));
    folders.try_for_each(|folder| File::open(folder)?.sync_all())
}

fn is_retryable(error: &io::Error) -> bool {
    // Only an operator can fix these.
    let lasting = [
        ErrorKind::PermissionDenied,
        ErrorKind::ReadOnlyFilesystem,
        ErrorKind::NotADirectory,
        ErrorKind::IsADirectory,
        ErrorKind::Unsupported,
    ];
    !lasting.contains(&error.kind())
}

fn store_error(action: String, error: io::Error) -> ContentError {
    let is_retryable = is_retryable(&error);
    ContentError::store(action, is_retryable, error)
}
