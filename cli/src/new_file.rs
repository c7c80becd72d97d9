//! [`NewFile`]: a file that has its name once it is whole.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// A file that a command writes. Until [`keep`](Self::keep), an older file of its name stays as it is.
pub struct NewFile {
    path: PathBuf,
    to: To,
}

enum To {
    /// A file beside it, which takes its name at the end.
    Beside(BufWriter<NamedTempFile>),
    /// A device or a pipe, which cannot be replaced.
    Itself(BufWriter<File>),
}

impl NewFile {
    /// Creates the file beside its name.
    pub fn create(path: &Path) -> Result<Self, Failure> {
        let failed = |source| Failure::File { path: path.to_owned(), source };
        // Through a symbolic link, the file that it names is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let to = match fs::metadata(&target) {
            Ok(known) if known.is_dir() => return Err(failed(io::ErrorKind::IsADirectory.into())),
            Ok(known) if !known.is_file() => {
                To::Itself(BufWriter::new(File::options().write(true).open(&target).map_err(failed)?))
            }
            known => {
                let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let mut builder = tempfile::Builder::new();
                if let Ok(known) = known {
                    builder.permissions(known.permissions());
                }
                To::Beside(BufWriter::new(builder.suffix(".partial").tempfile_in(folder).map_err(failed)?))
            }
        };
        Ok(Self { path: target, to })
    }

    /// Writes a whole file.
    pub fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        let mut file = Self::create(path)?;
        file.write_all(bytes)?;
        file.keep()
    }

    /// Gives the file its name.
    pub fn keep(self) -> Result<(), Failure> {
        let Self { path, to } = self;
        let failed = |source| Failure::File { path: path.clone(), source };
        match to {
            To::Itself(mut file) => file.flush().map_err(failed),
            To::Beside(file) => {
                let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
                file.as_file().sync_all().map_err(failed)?;
                file.persist(&path).map(drop).map_err(|error| failed(error.error))
            }
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::Beside(file) => file.write(bytes),
            To::Itself(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::Beside(file) => file.flush(),
            To::Itself(file) => file.flush(),
        }
    }
}
