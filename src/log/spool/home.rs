//! [`Home`]: where the database of a spool is kept.

use std::fmt::Debug;
use std::io;
use std::path::Path;

use redb::{Builder, Database, StorageBackend};

use super::error::Fault;

/// The size of redb's cache, in bytes.
const CACHE: usize = 16 << 20;

/// A place for a database that can be replaced atomically, and for its counter.
pub(crate) trait Home: Debug + Send + Sync {
    /// The path to show in errors.
    fn path(&self) -> &Path;

    /// Returns true if operations block on a disk.
    fn is_on_disk(&self) -> bool;

    /// Returns true if there is a database to open.
    fn exists(&self) -> io::Result<bool>;

    /// Opens the database, and repairs it after a crash.
    fn open(&self) -> Result<Database, Fault>;

    /// Returns true if the current database still has its name, and false if it was deleted. Fails if another file has
    /// the name.
    fn is_in_place(&self) -> Result<bool, Fault>;

    /// Creates an empty database beside the current one. Removes an earlier one that was never put in its place.
    fn fresh(&self) -> Result<Database, Fault>;

    /// Replaces the current database by the fresh one.
    fn keep_fresh(&self) -> io::Result<()>;

    /// Returns the bytes of the counter file.
    fn counter(&self) -> io::Result<Vec<u8>>;

    /// Writes bytes into the counter file. They are as durable as a commit when this returns.
    fn write_counter(&self, offset: u64, bytes: &[u8]) -> Result<(), Fault>;
}

pub(crate) fn open_database(backend: impl StorageBackend) -> Result<Database, Fault> {
    let mut builder = Builder::new();
    // The check reads every page, so that a damaged file is refused when it is opened.
    builder.set_cache_size(CACHE).set_check_integrity_on_open(true);
    Ok(builder.create_with_backend(backend)?)
}
