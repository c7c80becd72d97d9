//! [`CallFile`]: the file of a call during a write.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::lines;
use crate::log::CallId;
use crate::log::call::Call;

/// The locked file of a call, and its contents.
pub(super) struct CallFile {
    file: File,
    path: PathBuf,
    pub call: Call,
    /// The offset where the last whole line ends.
    end: u64,
}

impl CallFile {
    /// Opens, locks and reads the file, and creates it if it is missing.
    pub fn open(path: PathBuf, call_id: &CallId) -> io::Result<Self> {
        let mut file = Self::lock(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let (call, end) = lines::read(&text, call_id)?;
        Ok(Self { file, path, call, end: end as u64 })
    }

    pub fn lock(path: &Path) -> io::Result<File> {
        if let Some(folder) = path.parent() {
            let mut builder = DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(folder)?;
        }
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock()?;
        Ok(file)
    }

    /// Appends lines after the last whole line.
    pub fn append(&mut self, lines: &[u8], fsync: bool) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(lines)?;
        if fsync {
            self.file.sync_data()?;
            if self.end == 0 {
                sync_directory(&self.path)?;
            }
        }
        Ok(())
    }
}

/// Syncs the directory of a file, so that the disk knows the file's name.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
