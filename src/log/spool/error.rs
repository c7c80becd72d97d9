//! [`Fault`]: why a spool failed, and the [`LogError`] that reports it.

use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

use crate::log::{LogError, LogErrorKind};

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a spool failed, before its path is known.
#[derive(Debug)]
pub(crate) struct Fault(FaultKind, Option<Source>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultKind {
    InUse,
    Damaged,
    /// Acknowledged commits are missing.
    RolledBack,
    Missing,
    Counter,
    Deleted,
    Replaced,
    KeyMissing,
    WrongKey,
    NotEncrypted,
    NewerFormat {
        version: u64,
    },
    DiskFull,
    Unusable,
    Io,
}

impl FaultKind {
    fn of_io(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Self::DiskFull,
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::InvalidFilename => Self::Unusable,
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Self::Damaged,
            _ => Self::Io,
        }
    }

    fn text(self, path: impl fmt::Display) -> String {
        match self {
            Self::InUse => {
                format!("the spool {path} is in use; stop the other process, or choose another path")
            }
            Self::Damaged => format!(
                "{path} is not a spool or is damaged; to continue without its records, move it and {path}.counter away"
            ),
            Self::RolledBack => format!(
                "the spool {path} lacks its last commits: it is damaged or an old copy; put the newest file back, or \
                 delete {path}.counter to continue with the records that the file has"
            ),
            Self::Missing => format!(
                "the spool {path} is missing, and it had records that are not stored; put it back, or delete \
                 {path}.counter to continue without them"
            ),
            Self::Counter => {
                format!("{path}.counter is damaged; delete it to continue with the records that the spool has")
            }
            Self::Deleted => format!(
                "the spool {path} was deleted while it was in use; all its records were written to a new file; find out \
                 what deletes the file"
            ),
            Self::Replaced => format!(
                "the spool {path} was replaced while it was in use; move the new file away, and the spool writes its own \
                 records to a new one"
            ),
            Self::KeyMissing => format!("the spool {path} is encrypted; open it with its key"),
            Self::WrongKey => format!("the spool {path} is encrypted with another key; open it with that key"),
            Self::NotEncrypted => format!(
                "the spool {path} has records that are not encrypted; open it without a key until they are stored"
            ),
            Self::NewerFormat { version } => format!(
                "the spool {path} has format {version}, which this version of verbale does not know; let the newer \
                 version store its records first"
            ),
            Self::DiskFull => format!("the disk of the spool {path} is full; free some space, then retry"),
            Self::Unusable => format!(
                "the spool {path} cannot be used; check that it is a file in a directory that this process may write"
            ),
            Self::Io => {
                format!("reading or writing the spool {path} failed; retry, and check the disk if it keeps failing")
            }
        }
    }
}

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        use redb::Error;
        let error = error.into();
        let kind = match &error {
            Error::Io(error) => FaultKind::of_io(error.kind()),
            Error::Corrupted(_)
            | Error::UpgradeRequired(_)
            | Error::RepairAborted
            | Error::TableTypeMismatch { .. }
            | Error::TableIsMultimap(_)
            | Error::TypeDefinitionChanged { .. }
            | Error::TableDoesNotExist(_) => FaultKind::Damaged,
            _ => FaultKind::Io,
        };
        Self(kind, Some(error.into()))
    }
}

impl Fault {
    pub fn of(kind: FaultKind) -> Self {
        Self(kind, None)
    }

    /// Returns a fault for stored bytes that cannot be decoded.
    pub fn unreadable(what: &'static str) -> Self {
        Self(FaultKind::Damaged, Some(what.into()))
    }

    /// Returns true if redb or a file failed, so that the database has to be opened again.
    pub fn is_of_store(&self) -> bool {
        self.1.as_ref().is_some_and(|source| source.is::<redb::Error>())
    }

    pub fn at(self, path: &Path) -> LogError {
        let Self(kind, source) = self;
        let error_kind = match kind {
            FaultKind::Damaged
            | FaultKind::RolledBack
            | FaultKind::Missing
            | FaultKind::Counter
            | FaultKind::NewerFormat { .. } => LogErrorKind::Damaged,
            FaultKind::Io => LogErrorKind::Unavailable,
            _ => LogErrorKind::NeedsOperator,
        };
        let error = LogError::new(error_kind, kind.text(path.display()));
        source.into_iter().fold(error, LogError::with_source)
    }
}

/// Returns the fault of a file operation outside redb.
pub(crate) fn io_fault(error: io::Error) -> Fault {
    redb::Error::Io(error).into()
}
