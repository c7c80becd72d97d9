//! [`Spool`]: a file on the host that keeps changes until the log has stored them.
//!
//! This module owns one file, an embedded [redb](redb::Database), and its tables. It knows no log, stores nothing
//! elsewhere and has no thread: the background writer calls it.

mod apply;
mod change;
mod error;
mod home;
mod read;
mod row;
mod settings;
mod tables;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use redb::Database;

use super::{CallId, LogError};
use crate::message::{Position, Record};
pub use change::DeadLetter;
pub(crate) use change::{RecordKey, SpoolChange, SpooledCall};
pub(crate) use error::{Fault, io_fault};
use home::FileHome;
pub(crate) use home::Home;
#[cfg(feature = "testing")]
pub(crate) use home::open_database;
pub use settings::SpoolSettings;
use tables::Totals;

/// A file on the host that keeps changes until the log has stored them.
///
/// A change passes three levels of [durability](super::Durability): *accepted*, in the memory of the writer; *spooled*,
/// in this file; *stored*, in the log. A spooled change survives `kill -9`, and with
/// [`with_fsync`](SpoolSettings::with_fsync) also the loss of the host. Commits are atomic. The spool keeps
/// only the newest revision of each message.
///
/// Where the system supports it, only the owner can read the file and its lock file `….lock` (mode 0600), and a
/// directory that the spool creates (0700). One process can open it at a time. Without
/// [`with_fsync`](SpoolSettings::with_fsync) the loss of the host may damage the file; a damaged file
/// is [refused](super::LogErrorKind::Damaged), never read in part.
///
/// Stored records are freed, and later records overwrite them; until then their bytes may remain in the file. A file
/// without pending records is rewritten when it is opened. When a call is erased, the file is rewritten at once without
/// any byte of the call. Freed blocks on the disk itself are out of reach.
///
/// ```
/// use verbale::log::{Spool, SpoolSettings};
///
/// let directory = tempfile::tempdir()?;
/// let spool = Spool::open(directory.path().join("spool"), SpoolSettings::default())?;
/// assert!(Spool::open(directory.path().join("spool"), SpoolSettings::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Spool {
    home: Box<dyn Home>,
    settings: SpoolSettings,
    /// `None` after an error; the next operation opens it again.
    database: Mutex<Option<Database>>,
    pending_bytes: AtomicU64,
    dead_letter_bytes: AtomicU64,
}

impl Spool {
    /// Opens or creates a file, and reads all of it to check its integrity.
    ///
    /// Returns [`Damaged`](super::LogErrorKind::Damaged) if the file is damaged, not a spool, or has a newer format, and
    /// [`NeedsOperator`](super::LogErrorKind::NeedsOperator) if it is in use or cannot be created or written.
    pub fn open(path: impl AsRef<Path>, settings: SpoolSettings) -> Result<Self, LogError> {
        let path = path.as_ref();
        let home = FileHome::new(path.to_owned(), settings.fsync).map_err(|fault| fault.at(path))?;
        Self::in_home(Box::new(home), settings)
    }

    pub(crate) fn in_home(home: Box<dyn Home>, settings: SpoolSettings) -> Result<Self, LogError> {
        let (pending_bytes, dead_letter_bytes) = Default::default();
        let spool = Self { home, settings, database: Mutex::default(), pending_bytes, dead_letter_bytes };
        spool.with_database(|_| Ok(()))?;
        Ok(spool)
    }

    /// The size of the records that are not yet stored, in bytes of JSON. Never blocks.
    pub(crate) fn pending_bytes(&self) -> u64 {
        self.pending_bytes.load(Ordering::Relaxed)
    }

    /// The size of the dead letters, in bytes of JSON. Never blocks.
    pub(crate) fn dead_letter_bytes(&self) -> u64 {
        self.dead_letter_bytes.load(Ordering::Relaxed)
    }

    /// Returns true if `bytes` more bytes fit within [`max_bytes`](SpoolSettings::with_max_bytes), counting dead letters.
    /// A commit does not enforce the limit.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.pending_bytes().saturating_add(self.dead_letter_bytes()).saturating_add(bytes) <= self.settings.max_bytes
    }

    /// Returns up to `limit` dead letters, sorted by call and position.
    pub(crate) fn dead_letters(&self, limit: usize) -> Result<Vec<DeadLetter>, LogError> {
        self.with_database(|database| read::dead_letters(database, None, limit))
    }

    /// Returns all dead letters of a call, sorted by position.
    pub(crate) fn dead_letters_of(&self, call_id: &CallId) -> Result<Vec<DeadLetter>, LogError> {
        self.with_database(|database| read::dead_letters(database, Some(call_id), usize::MAX))
    }

    /// Returns true if operations block on a disk and belong on a thread for blocking work.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.home.is_on_disk()
    }

    /// Makes all changes in order, or none of them. They are durable when this returns.
    ///
    /// After an error their state is unknown: commit the same changes again. The caller need not open the spool again.
    /// Forgetting a call rewrites the whole file.
    pub(crate) fn commit(&self, changes: &[SpoolChange]) -> Result<(), LogError> {
        let erases = changes.iter().any(|change| matches!(change, SpoolChange::Forget(_)));
        self.with_database(|database| {
            self.set_totals(apply::apply(database, changes)?);
            if erases {
                *database = self.rewrite(Some(database))?;
            }
            Ok(())
        })
    }

    /// Returns the first records of a call, by position, that are not at a position of `except`: up to `records` records
    /// and `bytes` bytes of JSON, at least one.
    pub(crate) fn batch(
        &self,
        call_id: &CallId,
        except: &BTreeSet<Position>,
        records: usize,
        bytes: usize,
    ) -> Result<Vec<Record>, LogError> {
        self.with_database(|database| read::batch(database, call_id, except, records, bytes))
    }

    /// Returns the calls with pending work or dead letters, sorted by id.
    pub(crate) fn calls(&self) -> Result<Vec<SpooledCall>, LogError> {
        self.with_database(|database| read::calls(database))
    }

    /// Drops the database after an error of the store, because redb refuses further work. The next operation opens it
    /// again.
    fn with_database<T>(&self, act: impl FnOnce(&mut Database) -> Result<T, Fault>) -> Result<T, LogError> {
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
        let exists = self.home.exists().map_err(io_fault)?;
        let database = if exists { self.home.open()? } else { self.rewrite(None)? };
        let found = tables::check(&database)?;
        self.set_totals(found.totals);
        if exists && found.is_scrub_due { self.rewrite(Some(&database)) } else { Ok(database) }
    }

    /// Replaces the file by a new one with the same records and no freed bytes.
    fn rewrite(&self, database: Option<&Database>) -> Result<Database, Fault> {
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
#[cfg(feature = "testing")]
mod tests;
