//! [`SpoolMemory`]: the bytes of a spool without a disk, which can crash and be full.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{Database, StorageBackend};

use super::error::{Fault, io_fault};
use super::home::{self, Home};

/// Where a spool of tests and simulations is kept: memory in place of a file.
///
/// It outlives the [`Spool`](super::Spool); clones are the same memory. [`copy`](Self::copy) is what a crash at this
/// moment leaves, and [`fail_after`](Self::fail_after) makes one happen between any two writes, or fills the disk.
#[derive(Clone, Default)]
pub struct SpoolMemory(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    kept: Option<MemoryFile>,
    fresh: Option<MemoryFile>,
    /// How many more writes succeed; `None`: all.
    writes_left: Option<u64>,
    /// Whether a write has failed since.
    has_failed: bool,
}

type MemoryFile = Arc<Mutex<Vec<u8>>>;

impl SpoolMemory {
    /// Memory without a spool.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is in it now, as other memory; no write fails there.
    #[must_use]
    pub fn copy(&self) -> Self {
        let kept = self.disk().kept.as_ref().map(|file| Arc::new(Mutex::new(lock(file).clone())));
        Self(Arc::new(Mutex::new(Disk { kept, ..Disk::default() })))
    }

    /// After so many writes, the next one is done by half, and from then on each fails as on a full disk, until this
    /// is called again; `None` for no more failures.
    pub fn fail_after(&self, writes: Option<u64>) {
        let mut disk = self.disk();
        (disk.writes_left, disk.has_failed) = (writes, false);
    }

    /// Whether these bytes are somewhere in it.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        let disk = self.disk();
        let has = |file: &MemoryFile| lock(file).windows(bytes.len().max(1)).any(|window| window == bytes);
        disk.kept.iter().chain(&disk.fresh).any(has)
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        lock(&self.0)
    }

    fn store(&self, file: &MemoryFile) -> Result<Database, Fault> {
        home::open(MemoryStore { file: Arc::clone(file), disk: Arc::clone(&self.0) })
    }
}

impl Home for SpoolMemory {
    fn path(&self) -> &Path {
        Path::new("(in memory)")
    }

    fn is_on_disk(&self) -> bool {
        false
    }

    fn is_there(&self) -> io::Result<bool> {
        Ok(self.disk().kept.is_some())
    }

    fn open(&self) -> Result<Database, Fault> {
        let file = self.disk().kept.clone();
        self.store(&file.ok_or_else(|| io_fault(ErrorKind::NotFound.into()))?)
    }

    fn fresh(&self) -> Result<Database, Fault> {
        let file = MemoryFile::default();
        self.disk().fresh = Some(Arc::clone(&file));
        self.store(&file)
    }

    fn keep_fresh(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.write()?;
        disk.kept = disk.fresh.take();
        Ok(())
    }
}

/// How much there is, not what.
impl fmt::Debug for SpoolMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.disk().kept.as_ref().map_or(0, |file| lock(file).len());
        f.debug_struct("SpoolMemory").field("bytes", &bytes).finish_non_exhaustive()
    }
}

impl Disk {
    /// How much of a write of so many bytes is done.
    fn allow(&mut self, bytes: usize) -> usize {
        match &mut self.writes_left {
            None => bytes,
            Some(0) if self.has_failed => 0,
            Some(0) => {
                self.has_failed = true;
                bytes / 2
            }
            Some(left) => {
                *left -= 1;
                bytes
            }
        }
    }

    /// One write that cannot be done by half.
    fn write(&mut self) -> io::Result<()> {
        if self.allow(1) == 1 { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    }
}

/// A file in memory under a store.
struct MemoryStore {
    file: MemoryFile,
    disk: Arc<Mutex<Disk>>,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("bytes", &lock(&self.file).len()).finish_non_exhaustive()
    }
}

impl StorageBackend for MemoryStore {
    fn len(&self) -> io::Result<u64> {
        Ok(lock(&self.file).len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let file = lock(&self.file);
        let found = usize::try_from(offset).ok().and_then(|offset| file.get(offset..)?.get(..out.len()));
        out.copy_from_slice(found.ok_or(ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        lock(&self.disk).write()?;
        lock(&self.file).resize(usize::try_from(len).map_err(|_| ErrorKind::FileTooLarge)?, 0);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let allowed = lock(&self.disk).allow(data.len());
        let (done, torn) = data.split_at(allowed);
        let mut file = lock(&self.file);
        let start = usize::try_from(offset).map_err(|_| ErrorKind::FileTooLarge)?;
        let place = file.get_mut(start..).and_then(|rest| rest.get_mut(..done.len()));
        place.ok_or(ErrorKind::UnexpectedEof)?.copy_from_slice(done);
        if torn.is_empty() { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
