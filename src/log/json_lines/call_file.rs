//! The file of a call while it is being written.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{FileDurability, lines};
use crate::log::CallId;
use crate::log::call::Call;

/// The file of a call, locked, and what is in it.
pub(super) struct CallFile {
    file: File,
    path: PathBuf,
    pub call: Call,
    /// Where the last whole line ends.
    end: u64,
}

impl CallFile {
    /// Made where it is not there.
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

    /// Adds lines behind the last whole one.
    pub fn append(&mut self, lines: &[u8], durability: FileDurability) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(lines)?;
        if durability == FileDurability::Disk {
            self.file.sync_data()?;
            if self.end == 0 {
                sync_directory(&self.path)?;
            }
        }
        Ok(())
    }
}

/// Has the disk know the name of a file, where a directory can be opened for that.
pub(super) fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
