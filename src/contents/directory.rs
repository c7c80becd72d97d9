//! [`DirectoryStore`]: each content a file, each use of it an empty one.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::{Blob, ContentError, ContentFuture, ContentId, ContentStore, Owner};

/// Where files are until they are whole. What a process that was killed left there may be deleted while none writes.
const UNFINISHED: &str = "unfinished";
/// By owner: what it uses, an empty file for each content.
const OWNERS: &str = "owners";
/// By content: who uses it, an empty file for each owner.
const USES: &str = "uses";
const LOCK: &str = "lock";

/// How often a lock is tried, and how long between: ten seconds in all.
const TRIES: u32 = 5_000;
const BETWEEN_TRIES: Duration = Duration::from_millis(2);

/// Contents in a directory: `<first 2 digits>/<next 2>/<64 digits>`, each file the bytes and nothing else.
///
/// A file is written elsewhere, synced, and moved into its place at once. Any number of processes may share the
/// directory: many put at a time, and one releases, under a lock of the file `lock` that a killed process loses. The
/// limit: the file system must have such locks, as local ones do, and keep them for all who share it.
///
/// Who uses a content is an empty file at `uses/<digits of the content>/<digits of the owner>`, the hash of its name,
/// and one the other way round in `owners`. A content without uses, as an older version put it, stays until someone
/// has put and released it. Where the system knows modes, files have 0600 and directories 0700.
///
/// Its futures do their reading, writing and waiting (for a lock, 10 seconds at most) on the thread that polls them:
/// never poll one in the turn of a call.
#[derive(Debug, Clone)]
pub struct DirectoryStore {
    root: PathBuf,
}

impl DirectoryStore {
    /// The store in this directory, which is made where it is not there.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self, ContentError> {
        let root = root.into();
        let made = [UNFINISHED, OWNERS, USES].iter().try_for_each(|name| make_directory(&root.join(name)));
        match made {
            Ok(()) => Ok(Self { root }),
            Err(error) => Err(ContentError::Directory { path: root, source: Arc::new(error) }),
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

    fn used(&self, owner: &Owner) -> PathBuf {
        self.root.join(OWNERS).join(file_name(owner))
    }

    fn put_now(&self, blob: &Blob, owner: &Owner) -> io::Result<()> {
        let _lock = self.lock(File::try_lock_shared)?;
        // What the owner uses first, for a release looks there: then a use that is there is always found.
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
        // All of it is read, so that what is damaged is replaced.
        if read(&path)?.is_none_or(|found| *found != **blob.bytes()) {
            make_directory(&self.folder(blob.id()))?;
            // Opened with 0600 where there are modes; deleted when this fails.
            let mut file = tempfile::NamedTempFile::new_in(self.root.join(UNFINISHED))?;
            file.write_all(blob.bytes())?;
            file.as_file().sync_all()?;
            file.persist(&path)?;
        }
        // Also where it was there: another process may have moved it a moment ago.
        sync_names(&self.folder(blob.id()), 3)
    }

    fn release_now(&self, owner: &Owner) -> io::Result<()> {
        let used = self.used(owner);
        for name in names(&used)? {
            let Ok(id) = format!("sha256:{name}").parse::<ContentId>() else { continue };
            // For each anew, so that puts need not wait for all of it.
            let _lock = self.lock(File::try_lock)?;
            let users = self.users(id);
            gone(fs::remove_file(users.join(file_name(owner))))?;
            if remove_if_empty(&users)? {
                gone(fs::remove_file(self.path(id)).and_then(|()| sync_names(&self.folder(id), 1)))?;
            }
            // Last, so that whoever releases again finds what is left.
            gone(fs::remove_file(used.join(name)))?;
        }
        let _lock = self.lock(File::try_lock)?;
        // It stays where something was put again since.
        remove_if_empty(&used).map(drop)
    }

    /// Held until the file is dropped.
    fn lock(&self, try_lock: fn(&File) -> Result<(), TryLockError>) -> io::Result<File> {
        let file = open_to_write(&self.root.join(LOCK))?;
        for _ in 0..TRIES {
            match try_lock(&file) {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => thread::sleep(BETWEEN_TRIES),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::new(ErrorKind::TimedOut, "another process holds the lock of the directory"))
    }
}

impl ContentStore for DirectoryStore {
    fn put<'a>(&'a self, blob: &'a Blob, owner: &'a Owner) -> ContentFuture<'a, ()> {
        Box::pin(async move { self.put_now(blob, owner).map_err(|error| store_error("put", blob.id(), error)) })
    }

    fn get(&self, id: ContentId) -> ContentFuture<'_, Option<Blob>> {
        Box::pin(async move {
            let found = read(&self.path(id)).map_err(|error| store_error("get", id, error))?;
            found.map(|bytes| Blob::verified(id, bytes)).transpose()
        })
    }

    fn release<'a>(&'a self, owner: &'a Owner) -> ContentFuture<'a, ()> {
        Box::pin(async move {
            self.release_now(owner).map_err(|error| {
                let (owner, retryable) = (owner.clone(), is_retryable(&error));
                ContentError::Release { owner, retryable, source: Arc::new(error) }
            })
        })
    }
}

/// The hash of the name, which may hold what a file name cannot.
fn file_name(owner: &Owner) -> String {
    ContentId::of(owner.as_str().as_bytes()).hex()
}

fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The names in a directory; none where there is no such directory.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Whether the directory is gone; it stays where something is in it.
fn remove_if_empty(folder: &Path) -> io::Result<bool> {
    match gone(fs::remove_dir(folder)) {
        Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(false),
        removed => removed.map(|()| true),
    }
}

fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

/// Makes the file where it is not there.
fn open_to_write(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).truncate(false).write(true).open(path)
}

/// Makes the names in a directory durable, and those in the ones above it: so many in all, where a directory can be
/// opened for that.
fn sync_names(folder: &Path, levels: usize) -> io::Result<()> {
    let mut folders = folder.ancestors().take(levels).filter(|_| cfg!(unix));
    folders.try_for_each(|folder| File::open(folder)?.sync_all())
}

fn is_retryable(error: &io::Error) -> bool {
    // Mended only by a person.
    let lasting = [
        ErrorKind::PermissionDenied,
        ErrorKind::ReadOnlyFilesystem,
        ErrorKind::NotADirectory,
        ErrorKind::IsADirectory,
        ErrorKind::Unsupported,
    ];
    !lasting.contains(&error.kind())
}

fn store_error(action: &'static str, id: ContentId, error: io::Error) -> ContentError {
    ContentError::Store { action, id, retryable: is_retryable(&error), source: Arc::new(error) }
}
