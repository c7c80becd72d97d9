//! [`Spool`]: changes on the disk of the host until the log has them.
//!
//! Owns one file (an embedded [redb](redb::Database)), what stands in it and how it is opened, changed, erased from.
//! Knows no log, never ships anything by itself, has no thread: whoever writes a log in the background calls it.

mod apply;
mod change;
mod error;
mod home;
mod memory;
mod read;
mod row;
mod settings;
mod tables;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use redb::Database;

use super::CallId;
use crate::message::Record;
pub use change::DeadLetter;
pub(crate) use change::{RecordKey, SpoolChange, SpooledCall};
use error::{Fault, io_fault};
pub use error::{SpoolError, SpoolErrorKind};
use home::{FileHome, Home};
pub use memory::SpoolMemory;
pub use settings::SpoolSettings;
use tables::Totals;

/// Changes on the disk of the host until the log has them.
///
/// A change passes three levels of durability: *accepted*, in the memory of the writer; *spooled*, in this file;
/// *stored*, in the log. What is spooled survives kill -9, and the loss of the host with
/// [`FileDurability::Disk`](super::FileDurability::Disk); it is there when the file is opened again, and nothing is ever there by half.
/// Of each message the newest revision is kept, and no other.
///
/// The file and the one beside it that says it is in use (`….lock`) are for their owner alone (0600), a directory that
/// is made for them as well (0700). One process has it open at a time. With [`FileDurability::System`](super::FileDurability::System)
/// the loss of the host may damage the file: it is then [refused](SpoolErrorKind::Damaged), never half read.
///
/// What has been shipped is freed, and overwritten by what comes next; until then its bytes may be in the file. A file
/// with nothing to ship is made anew when it is opened. When a call is erased, the file is made anew at once, without
/// any byte of it; what the disk itself keeps of freed blocks is its own matter.
///
/// ```
/// use verbale::log::{Spool, SpoolSettings};
///
/// let directory = tempfile::tempdir()?;
/// let spool = Spool::open(directory.path().join("spool"), SpoolSettings::default())?;
/// assert_eq!(spool.pending_bytes(), 0);
/// assert!(Spool::open(directory.path().join("spool"), SpoolSettings::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Spool {
    home: Box<dyn Home>,
    settings: SpoolSettings,
    /// `None` after an error: opened again by who comes next.
    database: Mutex<Option<Database>>,
    pending_bytes: AtomicU64,
    dead_letter_bytes: AtomicU64,
}

impl Spool {
    /// Opens a file, or makes it. Reads all of it, to see that it is whole.
    ///
    /// Errors: it is in use, damaged, of a newer format, or cannot be made or written; see [`SpoolError`].
    pub fn open(path: impl AsRef<Path>, settings: SpoolSettings) -> Result<Self, SpoolError> {
        let path = path.as_ref();
        let home = FileHome::new(path.to_owned(), settings.reach).map_err(|fault| fault.at(path))?;
        Self::in_home(Box::new(home), settings)
    }

    /// Opens what is in memory: for tests and simulations. One spool at a time uses it.
    ///
    /// Errors: as [`open`](Self::open).
    pub fn in_memory(memory: &SpoolMemory, settings: SpoolSettings) -> Result<Self, SpoolError> {
        Self::in_home(Box::new(memory.clone()), settings)
    }

    fn in_home(home: Box<dyn Home>, settings: SpoolSettings) -> Result<Self, SpoolError> {
        let (pending_bytes, dead_letter_bytes) = Default::default();
        let spool = Self { home, settings, database: Mutex::default(), pending_bytes, dead_letter_bytes };
        spool.with_database(|_| Ok(()))?;
        Ok(spool)
    }

    /// How many bytes of records are still to be stored, as JSON. Never waits.
    pub fn pending_bytes(&self) -> u64 {
        self.pending_bytes.load(Ordering::Relaxed)
    }

    /// How many bytes of records were set aside, as JSON. Never waits.
    pub fn dead_letter_bytes(&self) -> u64 {
        self.dead_letter_bytes.load(Ordering::Relaxed)
    }

    /// Whether so many bytes of records more stay within [`max_bytes`](SpoolSettings::max_bytes), with what was set
    /// aside. Nothing is refused where they do not.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.pending_bytes().saturating_add(self.dead_letter_bytes()).saturating_add(bytes) <= self.settings.max_bytes
    }

    /// Records that the log does not take, at most so many, by call and position: look at them, keep them elsewhere,
    /// then [discard](Self::discard) them.
    pub fn dead_letters(&self, most: usize) -> Result<Vec<DeadLetter>, SpoolError> {
        self.with_database(|database| read::dead_letters(database, most))
    }

    /// Removes records that were set aside. One that is not there, or at another revision, is left alone.
    pub fn discard(&self, dead_letters: &[DeadLetter]) -> Result<(), SpoolError> {
        let discard = |one: &DeadLetter| SpoolChange::Discard(one.call_id.clone(), RecordKey::of(&one.record));
        self.commit(&dead_letters.iter().map(discard).collect::<Vec<_>>())
    }

    /// Whether what it does waits for a disk, and belongs on a thread where that is allowed.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.home.is_on_disk()
    }

    /// Makes all of the changes, in their order, or none of them; when this returns, they are durable.
    ///
    /// After an error it is not known which of the two it was: make them again. Once there is room on the disk, they
    /// succeed, without anything being opened anew by the caller. Where a call is forgotten, a copy of all that is
    /// still to be stored is written.
    pub(crate) fn commit(&self, changes: &[SpoolChange]) -> Result<(), SpoolError> {
        let erases = changes.iter().any(|change| matches!(change, SpoolChange::Forget(_)));
        self.with_database(|database| {
            self.set_totals(apply::apply(database, changes)?);
            if erases {
                *database = self.renewed(Some(database))?;
            }
            Ok(())
        })
    }

    /// The first records of a call, by position: at most so many and of so many bytes as JSON, but one if there is any.
    pub(crate) fn batch(&self, call_id: &CallId, records: usize, bytes: usize) -> Result<Vec<Record>, SpoolError> {
        self.with_database(|database| read::batch(database, call_id, records, bytes))
    }

    /// The calls of which something is still to be done, or was set aside, by id.
    pub(crate) fn calls(&self) -> Result<Vec<SpooledCall>, SpoolError> {
        self.with_database(|database| read::calls(database))
    }

    /// After an error of the store, the next one opens it again: redb refuses to go on.
    fn with_database<T>(&self, act: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, SpoolError> {
        let mut slot = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        let acted = match slot.take().map_or_else(|| self.opened(), Ok) {
            Err(fault) => Err(fault),
            Ok(mut database) => {
                let acted = act(&mut database);
                if !acted.as_ref().is_err_and(Fault::is_of_store) {
                    *slot = Some(database);
                }
                acted
            }
        };
        acted.map_err(|fault| fault.at(self.home.path()))
    }

    fn opened(&self) -> Result<Database, Fault> {
        let is_there = self.home.is_there().map_err(io_fault)?;
        let database = if is_there { self.home.open()? } else { self.renewed(None)? };
        let found = tables::look(&database)?;
        self.set_totals(found.totals);
        if is_there && found.is_scrub_due { self.renewed(Some(&database)) } else { Ok(database) }
    }

    /// A new file in place of the old one, with what is in use of it and nothing that was freed.
    fn renewed(&self, database: Option<&Database>) -> Result<Database, Fault> {
        let fresh = self.home.fresh()?;
        tables::fill(&fresh, database)?;
        self.home.keep_fresh().map_err(io_fault)?;
        Ok(fresh)
    }

    fn set_totals(&self, totals: Totals) {
        self.pending_bytes.store(totals.pending_bytes, Ordering::Relaxed);
        self.dead_letter_bytes.store(totals.dead_letter_bytes, Ordering::Relaxed);
    }
}

impl fmt::Debug for Spool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spool")
            .field("path", &self.home.path())
            .field("settings", &self.settings)
            .field("pending_bytes", &self.pending_bytes())
            .field("dead_letter_bytes", &self.dead_letter_bytes())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
