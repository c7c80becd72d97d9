//! [`Spool`]: a file on the host that keeps changes until the log has stored them.
//!
//! This module owns one file, an embedded [redb](redb::Database), its tables, and the counter beside it. It knows no log,
//! stores nothing elsewhere and has no thread: the background writer calls it.

mod apply;
mod change;
mod counter;
mod error;
mod file;
mod home;
mod read;
mod row;
mod sealing;
mod settings;
mod tables;

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::Database;

use super::LogError;
pub use change::DeadLetter;
pub(crate) use change::{RecordKey, SpoolChange, SpooledCall};
use counter::Commit;
use error::FaultKind;
pub(crate) use error::{Fault, io_fault};
use file::FileHome;
pub(crate) use home::Home;
#[cfg(feature = "testing")]
pub(crate) use home::open_database;
use sealing::Sealing;
pub use settings::SpoolSettings;
use tables::Totals;

/// A file on the host that keeps changes until the log has stored them.
///
/// A change passes three levels of [durability](super::Durability): *accepted*, in the memory of the writer; *spooled*,
/// in this file; *stored*, in the log. A spooled change survives `kill -9`, and with
/// [`with_fsync`](SpoolSettings::with_fsync) also the loss of the host. Commits are atomic. The spool keeps
/// only the newest revision of each message.
///
/// Where the system supports it, only the owner can read the file and its counter file `….counter` (mode 0600), and a
/// directory that the spool creates (0700). One process can open it at a time: both files are locked.
///
/// The counter file has the number of the last commit. [`open`](Self::open) therefore
/// [refuses](super::LogErrorKind::Damaged) a spool that is damaged or missing, one that damage took back to an earlier
/// commit, and an old copy; it never reads a part of one. Without [`with_fsync`](SpoolSettings::with_fsync), the loss
/// of the host may cause such damage. The error says how to continue with the remaining records.
///
/// If the file is deleted while it is in use, the next commit or read writes it again with all its records. If another
/// file has its name, the spool accepts no records until that file is moved away; meanwhile the writer stores them
/// directly in the log. [`Status::trouble`](super::Status::trouble) reports both.
///
/// Stored records are freed, and later records overwrite them; until then their bytes may remain in the file. Opening a
/// file without pending records rewrites it. Erasing a call rewrites the file at once without any byte of the call. The
/// disk may still hold the old contents in freed blocks.
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
    open: Mutex<Option<Open>>,
    pending_bytes: AtomicU64,
    dead_letter_bytes: AtomicU64,
    is_empty: AtomicBool,
    /// A deleted or replaced file that was not yet reported.
    trouble: Mutex<Option<LogError>>,
}

/// An open database.
struct Open {
    database: Database,
    sealing: Sealing,
    /// The last commit.
    commit: Commit,
}

impl Spool {
    /// Opens or creates a file, and reads all of it to check its integrity.
    ///
    /// Returns [`Damaged`](super::LogErrorKind::Damaged) if the file is damaged, missing or older than its counter, is
    /// not a spool, or has a newer format. Returns [`NeedsOperator`](super::LogErrorKind::NeedsOperator) if the file is
    /// in use, cannot be created or written, or is encrypted with another key.
    pub fn open(path: impl AsRef<Path>, settings: SpoolSettings) -> Result<Self, LogError> {
        let path = path.as_ref();
        let home = FileHome::new(path.to_owned(), settings.fsync).map_err(|fault| fault.at(path))?;
        Self::in_home(Box::new(home), settings)
    }

    pub(crate) fn in_home(home: Box<dyn Home>, settings: SpoolSettings) -> Result<Self, LogError> {
        let (pending_bytes, dead_letter_bytes, is_empty) = Default::default();
        let (open, trouble) = Default::default();
        let spool = Self { home, settings, open, pending_bytes, dead_letter_bytes, is_empty, trouble };
        spool.with_open(|_| Ok(()))?;
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

    /// Returns true if the file holds nothing: no records, dead letters, headers or ends of calls. Never blocks.
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty.load(Ordering::Relaxed)
    }

    /// Returns true if `bytes` more bytes fit within [`max_bytes`](SpoolSettings::with_max_bytes), counting dead letters.
    /// A commit does not enforce the limit.
    pub(crate) fn has_room_for(&self, bytes: u64) -> bool {
        self.pending_bytes().saturating_add(self.dead_letter_bytes()).saturating_add(bytes) <= self.settings.max_bytes
    }

    /// Returns true if operations block on a disk, so that they must run on a thread for blocking work.
    pub(crate) fn is_on_disk(&self) -> bool {
        self.home.is_on_disk()
    }

    /// Makes all changes in order, or none of them. They are durable when this returns.
    ///
    /// After an error their state is unknown: commit the same changes again; the next commit opens the spool again if
    /// necessary. Forgetting a call rewrites the whole file.
    pub(crate) fn commit(&self, changes: &[SpoolChange]) -> Result<(), LogError> {
        let erases = changes.iter().any(|change| matches!(change, SpoolChange::Forget(_)));
        self.with_open(|open| {
            self.keep_in_place(open)?;
            let totals = apply::apply(open, changes)?;
            self.note(totals, open.commit);
            if erases {
                self.rewrite(open)?;
            }
            self.count(open.commit)?;
            self.keep_in_place(open)
        })
    }

    /// Removes and returns the error of a file that was deleted or replaced. Never blocks for long.
    pub(crate) fn take_trouble(&self) -> Option<LogError> {
        unpoisoned(&self.trouble).take()
    }

    /// Reads, and first writes a deleted file again if possible. The open file can be read even if it has lost its
    /// name.
    fn read<T>(&self, read: impl FnOnce(&Open) -> Result<T, Fault>) -> Result<T, LogError> {
        self.with_open(|open| {
            self.keep_in_place(open).unwrap_or_else(|fault| self.report(fault));
            read(open)
        })
    }

    /// Drops the database after an error of the store, because redb then refuses further work. The next operation opens
    /// it again.
    fn with_open<T>(&self, act: impl FnOnce(&mut Open) -> Result<T, Fault>) -> Result<T, LogError> {
        let mut slot = unpoisoned(&self.open);
        let acted = match slot.take().map_or_else(|| self.opened(), Ok) {
            Err(fault) => Err(fault),
            Ok(mut open) => {
                let acted = act(&mut open);
                if !acted.as_ref().is_err_and(Fault::is_of_store) {
                    *slot = Some(open);
                }
                acted
            }
        };
        acted.map_err(|fault| fault.at(self.home.path()))
    }

    fn opened(&self) -> Result<Open, Fault> {
        let counted = Commit::read(&self.home.counter().map_err(io_fault)?)?;
        let open = if self.home.exists().map_err(io_fault)? {
            let database = self.home.open()?;
            let found = tables::check(&database, self.settings.key.clone())?;
            if counted.is_some_and(|counted| !found.commit.includes(counted)) {
                return Err(Fault::of(FaultKind::RolledBack));
            }
            self.note(found.totals, found.commit);
            let mut open = Open { database, sealing: found.sealing, commit: found.commit };
            if found.is_rewrite_due {
                self.rewrite(&mut open)?;
            }
            open
        } else if counted.is_none_or(|counted| counted.is_empty) {
            let first = || Commit { spool: tables::new_spool(), number: 0, is_empty: true };
            let commit = counted.unwrap_or_else(first);
            self.note(Totals::default(), commit);
            let sealing = Sealing::new(self.settings.key.clone(), commit.spool);
            Open { database: self.copied(None, &sealing, commit)?, sealing, commit }
        } else {
            return Err(Fault::of(FaultKind::Missing));
        };
        if counted != Some(open.commit) {
            self.count(open.commit)?;
        }
        Ok(open)
    }

    /// Replaces the file by a new one with the same records and without freed bytes.
    fn rewrite(&self, open: &mut Open) -> Result<(), Fault> {
        open.database = self.copied(Some(&open.database), &open.sealing, open.commit)?;
        Ok(())
    }

    fn copied(&self, from: Option<&Database>, sealing: &Sealing, commit: Commit) -> Result<Database, Fault> {
        let fresh = self.home.fresh()?;
        tables::fill(&fresh, from, sealing, commit)?;
        self.home.keep_fresh().map_err(io_fault)?;
        Ok(fresh)
    }

    /// Writes the file again if it was deleted. Fails if another file has its name.
    fn keep_in_place(&self, open: &mut Open) -> Result<(), Fault> {
        if !self.home.is_in_place()? {
            self.rewrite(open)?;
            self.count(open.commit)?;
            self.report(Fault::of(FaultKind::Deleted));
        }
        Ok(())
    }

    fn report(&self, fault: Fault) {
        *unpoisoned(&self.trouble) = Some(fault.at(self.home.path()));
    }

    /// Writes the number of a commit to the counter file.
    fn count(&self, commit: Commit) -> Result<(), Fault> {
        let (offset, slot) = commit.to_slot();
        self.home.write_counter(offset, &slot)
    }

    fn note(&self, totals: Totals, commit: Commit) {
        self.is_empty.store(commit.is_empty, Ordering::Relaxed);
        self.pending_bytes.store(totals.pending_bytes, Ordering::Relaxed);
        self.dead_letter_bytes.store(totals.dead_letter_bytes, Ordering::Relaxed);
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
