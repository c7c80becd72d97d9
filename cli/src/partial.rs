//! [`Partial`]: a file of many calls, which continues where it stopped.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use verbale::log::Cursor;

use crate::command::note;
use crate::failure::Failure;
use crate::new_file::NewFile;
use crate::text::count;

/// A file beside its final name, which it gets once it is complete. After each page of calls, a mark says how much is complete.
pub struct Partial {
    path: PathBuf,
    file: BufWriter<File>,
    mark: Mark,
    is_kept: bool,
}

/// How much of a partial file is complete.
#[derive(Default, Serialize, Deserialize)]
struct Mark {
    /// The work that the file is for, so that no other work continues it.
    of: String,
    bytes: u64,
    calls: u64,
    /// The cursor of the next page.
    after: String,
}

impl Partial {
    /// Creates the file, or opens the one of an earlier command that wrote the same.
    pub fn open(path: &Path, of: String, is_resumed: bool) -> Result<Self, Failure> {
        let failed = |source| Failure::File { path: path.to_owned(), source };
        let mark = if is_resumed { Some(Mark::read(path, &of)?) } else { None };
        let mut options = File::options();
        // It is cut below, once it is locked.
        let options = options.write(true).create(mark.is_none()).truncate(false);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
        let mut file = options.open(beside(path, ".partial")).map_err(failed)?;
        file.try_lock().map_err(|error| failed(error.into()))?;
        let mark = mark.unwrap_or(Mark { of, ..Mark::default() });
        file.set_len(mark.bytes).and_then(|()| file.seek(SeekFrom::End(0))).map_err(failed)?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), mark, is_kept: false })
    }

    /// The cursor of the first page that is missing, and the calls before it.
    pub fn resumed(&self) -> Result<Option<(Cursor, u64)>, Failure> {
        let Mark { after, calls, .. } = &self.mark;
        Ok(if after.is_empty() { None } else { Some((after.parse()?, *calls)) })
    }

    /// Notes that the calls before `next` are written.
    pub fn turn_page(&mut self, next: &Cursor, calls: u64) -> Result<(), Failure> {
        self.file.flush()?;
        self.mark =
            Mark { bytes: self.file.stream_position()?, calls, after: next.to_string(), of: self.mark.of.clone() };
        let mark = serde_json::to_vec(&self.mark).map_err(io::Error::from)?;
        NewFile::write(&beside(&self.path, ".resume"), &mark)
    }

    /// Gives the file its name.
    pub fn keep(mut self) -> Result<(), Failure> {
        let failed = |source| Failure::File { path: self.path.clone(), source };
        self.file.flush().and_then(|()| self.file.get_ref().sync_all()).map_err(failed)?;
        fs::rename(beside(&self.path, ".partial"), &self.path).map_err(failed)?;
        self.is_kept = true;
        if !self.mark.after.is_empty() {
            fs::remove_file(beside(&self.path, ".resume")).map_err(failed)?;
        }
        Ok(())
    }
}

/// An interrupted command drops it.
impl Drop for Partial {
    fn drop(&mut self) {
        let partial = beside(&self.path, ".partial");
        if self.is_kept {
            return;
        }
        if self.mark.after.is_empty() {
            // Nothing of it can be used.
            let _ = fs::remove_file(partial);
        } else {
            let calls = count(self.mark.calls, "call");
            note(&format!("{calls} are in {}; add --resume to go on", partial.display()));
        }
    }
}

impl Write for Partial {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Mark {
    fn read(path: &Path, of: &str) -> Result<Self, Failure> {
        let mark = beside(path, ".resume");
        let text = fs::read(&mark)
            .map_err(|_| Failure::Usage(format!("there is no {} to go on from; leave out --resume", mark.display())))?;
        serde_json::from_slice(&text)
            .ok()
            .filter(|mark: &Self| mark.of == of)
            .ok_or_else(|| Failure::Usage(format!("{} is of another export; leave out --resume", mark.display())))
    }
}

/// Returns the name of a file beside another one.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    name.into()
}
