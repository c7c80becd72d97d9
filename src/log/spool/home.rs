//! Where a spool is kept: [`Home`], and the one in files.

use std::fmt::Debug;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use redb::backends::FileBackend;
use redb::{Builder, Database, StorageBackend};

use super::error::{Fault, SpoolErrorKind, io_fault};
use crate::log::FileDurability;

/// How much of a spool is kept in memory, in bytes.
const CACHE: usize = 16 << 20;

/// Where a store is kept, and another takes its place at once, or not at all.
pub(super) trait Home: Debug + Send + Sync {
    /// What errors call it.
    fn path(&self) -> &Path;

    /// Whether its work waits for a disk.
    fn is_on_disk(&self) -> bool;

    /// Whether a store is there.
    fn is_there(&self) -> io::Result<bool>;

    /// Opens what is there, and repairs it after a crash.
    fn open(&self) -> Result<Database, Fault>;

    /// An empty store, in place of any earlier one that was not kept.
    fn fresh(&self) -> Result<Database, Fault>;

    /// The fresh store takes the place of what is there.
    fn keep_fresh(&self) -> io::Result<()>;
}

pub(super) fn open(backend: impl StorageBackend) -> Result<Database, Fault> {
    let mut builder = Builder::new();
    // Every page is looked at, so that a damaged file is told from a good one now, and never trusted.
    builder.set_cache_size(CACHE).set_check_integrity_on_open(true);
    Ok(builder.create_with_backend(backend)?)
}

/// A file, one beside it that is to take its place, and one that only says that the first is in use.
#[derive(Debug)]
pub(super) struct FileHome {
    path: PathBuf,
    fresh: PathBuf,
    reach: FileDurability,
    /// A file of its own, since the spool's own file is replaced; locked as long as this is open.
    _lock: File,
}

impl FileHome {
    pub fn new(path: PathBuf, reach: FileDurability) -> Result<Self, Fault> {
        if let Some(folder) = path.parent() {
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(folder).map_err(io_fault)?;
        }
        let lock = options().create(true).truncate(false).open(beside(&path, ".lock")).map_err(io_fault)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => Fault::of(SpoolErrorKind::InUse),
            TryLockError::Error(error) => io_fault(error),
        })?;
        let home = Self { fresh: beside(&path, ".new"), path, reach, _lock: lock };
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
        Ok(FileStore { file: FileBackend::new(file)?, reach: self.reach })
    }
}

impl Home for FileHome {
    fn path(&self) -> &Path {
        &self.path
    }

    fn is_on_disk(&self) -> bool {
        true
    }

    fn is_there(&self) -> io::Result<bool> {
        match fs::metadata(&self.path) {
            Ok(found) => Ok(!found.is_file() || found.len() > 0),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn open(&self) -> Result<Database, Fault> {
        open(self.backend(options().open(&self.path).map_err(io_fault)?)?)
    }

    fn fresh(&self) -> Result<Database, Fault> {
        self.remove_fresh().map_err(io_fault)?;
        open(self.backend(options().create_new(true).open(&self.fresh).map_err(io_fault)?)?)
    }

    fn keep_fresh(&self) -> io::Result<()> {
        fs::rename(&self.fresh, &self.path)?;
        match self.path.parent() {
            Some(folder) if cfg!(unix) && self.reach == FileDurability::Disk => {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                File::open(folder)?.sync_all()
            }
            _ => Ok(()),
        }
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.read(true).write(true);
    options
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A file that is synced only where changes are to survive the host.
///
/// What a killed process has written is in the system's cache, in the order of writing, and so is safe without: redb
/// writes the pages and the head of a commit before it says so, over pages that the commit before does not use, and
/// tells by checksums whether all of them are there. Locks are not passed on: [`FileHome`] has its own.
#[derive(Debug)]
struct FileStore {
    file: FileBackend,
    reach: FileDurability,
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
        match self.reach {
            FileDurability::System => Ok(()),
            FileDurability::Disk => self.file.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }
}
