//! [`SpoolError`]: why a spool cannot be opened, or did not take a change.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::log::Remedy;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a spool cannot be opened, or did not take a change: which file, what to do. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SpoolError {
    /// Another process, or another part of this one, has it open.
    #[error("the spool {} is in use; a spool has one user: end the other process, or take another file", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file holds something else, or it was damaged.
    #[error(
        "{} is not a spool, or was damaged; to go on without what it held, move the file away", path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: Source,
    },
    /// A newer verbale has written the file.
    #[error(
        "the spool {} has format {version}, which this version of verbale does not know; have the newer one ship it",
        path.display()
    )]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        version: u64,
    },
    /// There is no room on the disk.
    #[error("no room for the spool {}; make room on its disk, then do it again", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: Source,
    },
    /// The file cannot be made or used.
    #[error(
        "the spool {} cannot be used; see that it is a file in a directory that this process may write", path.display()
    )]
    Refused {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: Source,
    },
    /// The file system failed.
    #[error("reading or writing the spool {} failed; do it again, and look at the disk if it stays so", path.display())]
    Storage {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: Source,
    },
}

impl SpoolError {
    /// What to do about it. Doing again what failed is always safe: the second time it changes nothing.
    pub fn remedy(&self) -> Remedy {
        match self {
            Self::Storage { .. } => Remedy::Retry,
            Self::InUse { .. }
            | Self::Damaged { .. }
            | Self::NewerFormat { .. }
            | Self::DiskFull { .. }
            | Self::Refused { .. } => Remedy::Operator,
        }
    }

    fn of_io(path: PathBuf, kind: ErrorKind, source: Source) -> Self {
        match kind {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                Self::DiskFull { path, source }
            }
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::InvalidFilename => Self::Refused { path, source },
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Self::Damaged { path, source },
            _ => Self::Storage { path, source },
        }
    }
}

/// What went wrong inside, before it is known of which file.
#[derive(Debug)]
pub(super) enum Fault {
    InUse,
    /// From the store, or from a file beside it.
    Store(redb::Error),
    /// What the store gave does not read as what was put there.
    Unreadable(&'static str),
    Version(u64),
}

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

impl Fault {
    pub fn at(self, path: &Path) -> SpoolError {
        let path = path.to_owned();
        match self {
            Self::InUse => SpoolError::InUse { path },
            Self::Version(version) => SpoolError::NewerFormat { path, version },
            Self::Unreadable(what) => SpoolError::Damaged { path, source: what.into() },
            Self::Store(redb::Error::Io(error)) => SpoolError::of_io(path, error.kind(), Box::new(error)),
            Self::Store(error) => match error {
                redb::Error::Corrupted(_)
                | redb::Error::UpgradeRequired(_)
                | redb::Error::RepairAborted
                | redb::Error::TableTypeMismatch { .. }
                | redb::Error::TableIsMultimap(_)
                | redb::Error::TypeDefinitionChanged { .. }
                | redb::Error::TableDoesNotExist(_) => SpoolError::Damaged { path, source: Box::new(error) },
                error => SpoolError::Storage { path, source: Box::new(error) },
            },
        }
    }
}

/// A file beside the store failed.
pub(super) fn io_fault(error: io::Error) -> Fault {
    Fault::Store(redb::Error::Io(error))
}
