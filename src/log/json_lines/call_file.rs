//! [`CallFile`]: the file of a call during a write.

use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::lines::{self, Lines};
use crate::contents::Locked;
use crate::log::CallId;
use crate::log::call::Call;
use crate::log::files;

/// The locked file of a call, and its contents.
pub(super) struct CallFile {
    file: Locked,
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
        let Lines { call, end, .. } = lines::read(&text, call_id)?;
        Ok(Self { file, path, call, end: end as u64 })
    }

    pub fn lock(path: &Path) -> io::Result<Locked> {
        files::create_directory_of(path)?;
        let file = files::options().create(true).truncate(false).open(path)?;
        Ok(Locked::exclusive(file)?)
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
                files::sync_directory_of(&self.path)?;
            }
        }
        Ok(())
    }
}
