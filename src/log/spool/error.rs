//! [`SpoolError`]: why a spool cannot be opened, or did not take a change.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::log::Remedy;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a spool cannot be opened, or did not take a change: which file, what to do. Never holds what was said.
#[derive(Debug, thiserror::Error)]
#[error("{}", kind.text(path))]
pub struct SpoolError {
    path: PathBuf,
    kind: SpoolErrorKind,
    source: Option<Source>,
}

/// What is wrong with a spool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpoolErrorKind {
    /// Another process, or another part of this one, has it open.
    InUse,
    /// The file holds something else, or it was damaged.
    Damaged,
    /// A newer verbale has written the file.
    NewerFormat {
        /// Its format.
        version: u64,
    },
    /// The disk is full.
    DiskFull,
    /// The file cannot be made or used.
    Refused,
    /// The file system failed.
    Storage,
}

impl SpoolErrorKind {
    fn text(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Self::InUse => {
                format!("the spool {path} is in use; a spool has one user: end the other process, or take another file")
            }
            Self::Damaged => {
                format!("{path} is not a spool, or was damaged; to go on without what it held, move the file away")
            }
            Self::NewerFormat { version } => format!(
                "the spool {path} has format {version}, which this version of verbale does not know; have the newer \
                 one ship it"
            ),
            Self::DiskFull => format!("no room for the spool {path}; make room on its disk, then do it again"),
            Self::Refused => format!(
                "the spool {path} cannot be used; see that it is a file in a directory that this process may write"
            ),
            Self::Storage => {
                format!("reading or writing the spool {path} failed; do it again, and look at the disk if it stays so")
            }
        }
    }

    fn of_io(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => Self::DiskFull,
            ErrorKind::PermissionDenied
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::InvalidFilename => Self::Refused,
            ErrorKind::InvalidData | ErrorKind::UnexpectedEof => Self::Damaged,
            _ => Self::Storage,
        }
    }
}

impl SpoolError {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is wrong with it.
    pub fn kind(&self) -> SpoolErrorKind {
        self.kind
    }

    /// What to do about it. Doing again what failed is always safe: the second time it changes nothing.
    pub fn remedy(&self) -> Remedy {
        if self.kind == SpoolErrorKind::Storage { Remedy::Retry } else { Remedy::Operator }
    }
}

/// What went wrong inside, before it is known of which file.
#[derive(Debug)]
pub(super) struct Fault(SpoolErrorKind, Option<Source>);

impl<E: Into<redb::Error>> From<E> for Fault {
    fn from(error: E) -> Self {
        use redb::Error;
        let error = error.into();
        let kind = match &error {
            Error::Io(error) => SpoolErrorKind::of_io(error.kind()),
            Error::Corrupted(_)
            | Error::UpgradeRequired(_)
            | Error::RepairAborted
            | Error::TableTypeMismatch { .. }
            | Error::TableIsMultimap(_)
            | Error::TypeDefinitionChanged { .. }
            | Error::TableDoesNotExist(_) => SpoolErrorKind::Damaged,
            _ => SpoolErrorKind::Storage,
        };
        Self(kind, Some(error.into()))
    }
}

impl Fault {
    pub fn of(kind: SpoolErrorKind) -> Self {
        Self(kind, None)
    }

    /// What the store gave does not read as what was put there.
    pub fn unreadable(what: &'static str) -> Self {
        Self(SpoolErrorKind::Damaged, Some(what.into()))
    }

    /// Whether redb, or a file, failed.
    pub fn is_of_store(&self) -> bool {
        self.1.as_ref().is_some_and(|source| source.is::<redb::Error>())
    }

    pub fn at(self, path: &Path) -> SpoolError {
        SpoolError { path: path.to_owned(), kind: self.0, source: self.1 }
    }
}

/// A file beside the store failed.
pub(super) fn io_fault(error: io::Error) -> Fault {
    redb::Error::Io(error).into()
}
