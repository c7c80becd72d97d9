//! [`SpoolMemory`]: a simulated disk for spools, which can crash and be full.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::{Database, StorageBackend};

use crate::log::spool::{Fault, Home, io_fault, open_database};
use crate::log::{LogError, Spool, SpoolSettings};

/// A simulated disk for a [`Spool`], in memory.
///
/// The memory outlives the spool, and its clones share it. [`copy`](Self::copy) returns the state that a crash leaves,
/// and [`fail_after`](Self::fail_after) crashes between any two writes or fills the disk.
#[derive(Clone, Default)]
pub struct SpoolMemory(Arc<Mutex<Disk>>);

#[derive(Default)]
struct Disk {
    kept: Option<MemoryFile>,
    fresh: Option<MemoryFile>,
    counter: Vec<u8>,
    /// The number of writes that still succeed; `None` means all.
    writes_left: Option<u64>,
    /// Whether a write has failed since the limit was set.
    has_failed: bool,
}

type MemoryFile = Arc<Mutex<Vec<u8>>>;

impl SpoolMemory {
    /// Opens a spool on the disk. Only one spool may use it at a time.
    ///
    /// Errors are those of [`Spool::open`].
    pub fn open(&self, settings: SpoolSettings) -> Result<Spool, LogError> {
        Spool::in_home(Box::new(self.clone()), settings)
    }

    /// Returns an independent copy of the current state, in which no write fails.
    #[must_use]
    pub fn copy(&self) -> Self {
        let disk = self.disk();
        let kept = disk.kept.as_ref().map(|file| Arc::new(Mutex::new(lock(file).clone())));
        Self(Arc::new(Mutex::new(Disk { kept, counter: disk.counter.clone(), ..Disk::default() })))
    }

    /// Lets `writes` more writes succeed. The write after them fails when half of it is done, and every later one
    /// fails, as on a full disk. `None` ends the failures.
    pub fn fail_after(&self, writes: Option<u64>) {
        let mut disk = self.disk();
        (disk.writes_left, disk.has_failed) = (writes, false);
    }

    /// Returns true if the disk contains these bytes.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        let disk = self.disk();
        let has = |file: &MemoryFile| lock(file).windows(bytes.len().max(1)).any(|window| window == bytes);
        disk.kept.iter().chain(&disk.fresh).any(has)
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.disk().kept.as_ref().map(|file| lock(file).clone()).unwrap_or_default()
    }

    #[cfg(test)]
    pub(crate) fn set_bytes(&self, bytes: Vec<u8>) {
        self.disk().kept = Some(Arc::new(Mutex::new(bytes)));
    }

    #[cfg(test)]
    pub(crate) fn flip(&self, bit: usize) {
        flip(&mut lock(self.disk().kept.as_ref().unwrap()), bit);
    }

    #[cfg(test)]
    pub(crate) fn counter_bytes(&self) -> Vec<u8> {
        self.disk().counter.clone()
    }

    #[cfg(test)]
    pub(crate) fn set_counter(&self, bytes: Vec<u8>) {
        self.disk().counter = bytes;
    }

    #[cfg(test)]
    pub(crate) fn flip_counter(&self, bit: usize) {
        flip(&mut self.disk().counter, bit);
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        lock(&self.0)
    }

    fn store(&self, file: &MemoryFile) -> Result<Database, Fault> {
        open_database(MemoryStore { file: Arc::clone(file), disk: Arc::clone(&self.0) })
    }
}

impl Home for SpoolMemory {
    fn path(&self) -> &Path {
        Path::new("(in memory)")
    }

    fn is_on_disk(&self) -> bool {
        false
    }

    fn exists(&self) -> io::Result<bool> {
        Ok(self.disk().kept.is_some())
    }

    fn open(&self) -> Result<Database, Fault> {
        let file = self.disk().kept.clone();
        self.store(&file.ok_or_else(|| io_fault(ErrorKind::NotFound.into()))?)
    }

    fn is_in_place(&self) -> Result<bool, Fault> {
        Ok(true)
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

    fn counter(&self) -> io::Result<Vec<u8>> {
        Ok(self.disk().counter.clone())
    }

    fn write_counter(&self, offset: u64, bytes: &[u8]) -> Result<(), Fault> {
        let mut disk = self.disk();
        let allowed = disk.allow(bytes.len());
        let (done, torn) = bytes.split_at(allowed);
        let start = offset as usize;
        if disk.counter.len() < start + done.len() {
            disk.counter.resize(start + done.len(), 0);
        }
        if let Some(place) = disk.counter.get_mut(start..start + done.len()) {
            place.copy_from_slice(done);
        }
        if torn.is_empty() { Ok(()) } else { Err(io_fault(ErrorKind::StorageFull.into())) }
    }
}

/// Prints the size, not the bytes.
impl fmt::Debug for SpoolMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.disk().kept.as_ref().map_or(0, |file| lock(file).len());
        f.debug_struct("SpoolMemory").field("bytes", &bytes).finish_non_exhaustive()
    }
}

impl Disk {
    /// Returns how many bytes of a write succeed.
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

    /// Counts a write that cannot be done partially.
    fn write(&mut self) -> io::Result<()> {
        if self.allow(1) == 1 { Ok(()) } else { Err(ErrorKind::StorageFull.into()) }
    }
}

/// A file on the simulated disk, as redb sees it.
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

#[cfg(test)]
fn flip(bytes: &mut [u8], bit: usize) {
    bytes[bit / 8] ^= 1 << (bit % 8);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
