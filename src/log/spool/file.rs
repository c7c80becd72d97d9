//! [`FileHome`]: a spool in files.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use redb::backends::FileBackend;
use redb::{Database, StorageBackend};

use super::counter::MAX_COUNTER;
use super::error::{Fault, FaultKind, io_fault};
use super::home::{Home, open_database};
use super::unpoisoned;
use crate::contents::Locked;
use crate::log::files;

/// The file of a spool, a file that will replace it, and the counter file.
///
/// All of them are locked while the spool is open. The lock of the counter file holds while the spool's file is replaced.
#[derive(Debug)]
pub(super) struct FileHome {
    path: PathBuf,
    fresh_path: PathBuf,
    counter_path: PathBuf,
    fsync: bool,
    counter: Mutex<Locked>,
    identities: Mutex<Identities>,
}

/// Which files are open.
#[derive(Debug, Default)]
struct Identities {
    current: Option<Identity>,
    fresh: Option<Identity>,
}

impl FileHome {
    pub fn new(path: PathBuf, fsync: bool) -> Result<Self, Fault> {
        files::create_directory_of(&path).map_err(io_fault)?;
        let [fresh_path, counter_path] = [".new", ".counter"].map(|suffix| beside(&path, suffix));
        let counter = Mutex::new(open_counter(&counter_path)?);
        let home = Self { path, fresh_path, counter_path, fsync, counter, identities: Mutex::default() };
        home.remove_fresh().and_then(|()| home.sync_directory()).map_err(io_fault)?;
        Ok(home)
    }

    fn remove_fresh(&self) -> io::Result<()> {
        match fs::remove_file(&self.fresh_path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Locks a file of a spool.
    fn store(&self, file: File) -> Result<(FileStore, Identity), Fault> {
        let lock = Locked::exclusive(file.try_clone().map_err(io_fault)?).map_err(lock_fault)?;
        let identity = Identity::of(&lock.metadata().map_err(io_fault)?);
        Ok((FileStore { file: FileBackend::new(file)?, fsync: self.fsync, _lock: lock }, identity))
    }

    fn sync_directory(&self) -> io::Result<()> {
        if self.fsync { files::sync_directory_of(&self.path) } else { Ok(()) }
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
        Ok(metadata(&self.path)?.is_some_and(|found| !found.is_file() || found.len() > 0))
    }

    fn open(&self) -> Result<Database, Fault> {
        let file = files::options().open(&self.path).map_err(io_fault)?;
        let (store, identity) = self.store(file)?;
        unpoisoned(&self.identities).current = Some(identity);
        open_database(store)
    }

    fn is_in_place(&self) -> Result<bool, Fault> {
        let found = metadata(&self.path).map_err(io_fault)?;
        match (found, &unpoisoned(&self.identities).current) {
            (None, _) => Ok(false),
            (Some(found), Some(current)) if Identity::of(&found) == *current => Ok(true),
            _ => Err(Fault::of(FaultKind::Replaced)),
        }
    }

    fn fresh(&self) -> Result<Database, Fault> {
        // The directory may have been deleted with the file.
        files::create_directory_of(&self.path).and_then(|()| self.remove_fresh()).map_err(io_fault)?;
        let file = files::options().create_new(true).open(&self.fresh_path).map_err(io_fault)?;
        let (store, identity) = self.store(file)?;
        unpoisoned(&self.identities).fresh = Some(identity);
        open_database(store)
    }

    fn keep_fresh(&self) -> io::Result<()> {
        fs::rename(&self.fresh_path, &self.path)?;
        let mut identities = unpoisoned(&self.identities);
        identities.current = identities.fresh.take();
        self.sync_directory()
    }

    fn counter(&self) -> io::Result<Vec<u8>> {
        let mut file = unpoisoned(&self.counter);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        // A longer file is not a counter file, and is refused as damaged.
        (&mut **file).take(MAX_COUNTER as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn write_counter(&self, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let mut file = unpoisoned(&self.counter);
        let found = metadata(&self.counter_path).map_err(io_fault)?;
        if found.is_none_or(|found| !file.metadata().is_ok_and(|open| Identity::of(&open) == Identity::of(&found))) {
            // The counter file was deleted.
            *file = open_counter(&self.counter_path)?;
            self.sync_directory().map_err(io_fault)?;
        }
        file.seek(SeekFrom::Start(offset)).and_then(|_| file.write_all(bytes)).map_err(io_fault)?;
        if self.fsync { file.sync_data().map_err(io_fault) } else { Ok(()) }
    }
}

fn open_counter(path: &Path) -> Result<Locked, Fault> {
    let file = files::options().create(true).truncate(false).open(path).map_err(io_fault)?;
    Locked::exclusive(file).map_err(lock_fault)
}

fn lock_fault(error: TryLockError) -> Fault {
    match error {
        TryLockError::WouldBlock => Fault::of(FaultKind::InUse),
        TryLockError::Error(error) => io_fault(error),
    }
}

/// Returns the metadata of a file; `None` if there is no file.
fn metadata(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The identity of a file, by which a file is distinguished from another one with the same name: device and inode. Only
/// Unix replaces files that are in use.
#[derive(Debug, PartialEq, Eq)]
struct Identity(#[cfg(unix)] (u64, u64));

impl Identity {
    #[cfg(unix)]
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;

        Self((metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> Self {
        Self()
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A file that is synced only if changes must survive the loss of the host.
///
/// Writes of a killed process stay in the system's cache, in order, so surviving `kill -9` needs no sync. redb writes
/// pages and header of a commit before it reports success, never overwrites pages of the previous commit, and detects
/// missing pages by checksum. redb's own locks are not forwarded, because the store has locked the file.
#[derive(Debug)]
struct FileStore {
    file: FileBackend,
    fsync: bool,
    _lock: Locked,
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
