//! [`Home`]: where the database of a spool is kept. [`FileHome`]: in files.

use std::fmt::Debug;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{Builder, Database, StorageBackend};

use super::error::{Fault, FaultKind, io_fault};
use crate::log::files;

/// The size of redb's cache, in bytes.
const CACHE: usize = 16 << 20;

/// A place for a database that can be replaced atomically.
pub(crate) trait Home: Debug + Send + Sync {
    /// The path to show in errors.
    fn path(&self) -> &Path;

    /// Returns true if operations block on a disk.
    fn is_on_disk(&self) -> bool;

    /// Returns true if there is a database to open.
    fn exists(&self) -> io::Result<bool>;

    /// Opens the database, and repairs it after a crash.
    fn open(&self) -> Result<Database, Fault>;

    /// Creates an empty database beside the current one, and drops an earlier one that was not kept.
    fn fresh(&self) -> Result<Database, Fault>;

    /// Replaces the current database by the fresh one.
    fn keep_fresh(&self) -> io::Result<()>;
}

pub(crate) fn open_database(backend: impl StorageBackend) -> Result<Database, Fault> {
    let mut builder = Builder::new();
    // The check reads every page, so that a damaged file is refused now and not read in part later.
    builder.set_cache_size(CACHE).set_check_integrity_on_open(true);
    Ok(builder.create_with_backend(backend)?)
}

/// The file of a spool, a file that will replace it, and a lock file.
#[derive(Debug)]
pub(super) struct FileHome {
    path: PathBuf,
    fresh: PathBuf,
    fsync: bool,
    /// Locked while the spool is open. It is a separate file because the spool's file gets replaced.
    _lock: File,
}

impl FileHome {
    pub fn new(path: PathBuf, fsync: bool) -> Result<Self, Fault> {
        files::create_directory_of(&path).map_err(io_fault)?;
        let lock = files::options().create(true).truncate(false).open(beside(&path, ".lock")).map_err(io_fault)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Fault::of(FaultKind::InUse),
            TryLockError::Error(error) => io_fault(error),
        })?;
        let home = Self { fresh: beside(&path, ".new"), path, fsync, _lock: lock };
        home.remove_fresh().map_err(io_fault)?;
        Ok(home)
    }

    fn remove_fresh(&self) -> io::Result<()> {
        match fs::remove_file(&self.fresh) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn backend(&self, file: File) -> Result<FileStore, Fault> {
        Ok(FileStore { file: FileBackend::new(file)?, fsync: self.fsync })
    }
}

impl Home for FileHome {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_on_disk(&self) -> bool {
        true
    }

    fn exists(&self) -> io::Result<bool> {
        match fs::metadata(&self.path) {
            Ok(found) => Ok(!found.is_file() || found.len() > 0),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn open(&self) -> Result<Database, Fault> {
        open_database(self.backend(files::options().open(&self.path).map_err(io_fault)?)?)
    }

    fn fresh(&self) -> Result<Database, Fault> {
        self.remove_fresh().map_err(io_fault)?;
        open_database(self.backend(files::options().create_new(true).open(&self.fresh).map_err(io_fault)?)?)
    }

    fn keep_fresh(&self) -> io::Result<()> {
        fs::rename(&self.fresh, &self.path)?;
        if self.fsync { files::sync_directory_of(&self.path) } else { Ok(()) }
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A file that is synced only if changes have to survive the loss of the host.
///
/// Writes of a killed process stay in the system's cache, in order, so `kill -9` needs no sync: redb writes pages and
/// header of a commit before it reports success, never overwrites pages of the previous commit, and detects missing
/// pages by checksum. Locks are not forwarded, because [`FileHome`] has its own.
#[derive(Debug)]
struct FileStore {
    file: FileBackend,
    fsync: bool,
}

impl StorageBackend for FileStore {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.fsync { self.file.sync_data() } else { Ok(()) }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }
}
