//! [`JsonLines`]: a log of one file per call and one line per record.

mod call_file;
mod file_name;
mod lines;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call::Call;
use super::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, Day, LogError, LogErrorKind, LogFuture, LoggedCall,
    Put, WriterLease, files,
};
use crate::clock::{Clock, SystemClock};
use crate::message::Record;
use call_file::CallFile;
use lines::Lines;

/// A log in a directory: one file per call, one line per record.
///
/// This log suits development, services that keep their log on the host, and inspection with a pager and `jq`. Each
/// file contains [records](Record) in their JSON form, and a line `{"call": …}` for each version of the header. The
/// last header and the newest revision of each message count. Files are append-only. A last line that a crash has torn
/// is ignored, and the next write cuts it off. A damaged line before it is [left out](LoggedCall::left_out), unless it
/// is the last header or nothing else can be read. Files are readable by their owner only (0600) where the system
/// supports it. Every call id has a safe file name: `CA1` is in `call-+c+a1.jsonl`.
///
/// **This log blocks.** The futures do their work in the first poll and need no async runtime. On a runtime, await them
/// where blocking is allowed. A put reads the file of the call first, which takes about 1 ms for 1,000 records. A list
/// reads every file.
///
/// Several processes may use one directory, on a file system with locks. If another process is writing to the same
/// call, a write does not wait; it returns a [retryable](LogError::is_retryable) error.
///
/// An expired call is neither read nor listed, but its file stays. A call that was never opened does not expire.
///
/// Erasing a call truncates its file to one line that records the erasure, and waits for the disk. The disk may still
/// hold the old contents in freed blocks.
#[derive(Debug)]
pub struct JsonLines {
    directory: PathBuf,
    fsync: bool,
    // Serializes the threads of this process; file locks exclude other processes.
    turn: Mutex<()>,
    clock: Arc<dyn Clock>,
}

impl JsonLines {
    /// Creates a log in a directory. The first write creates the directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into(), fsync: false, turn: Mutex::default(), clock: Arc::new(SystemClock) }
    }

    /// Sets whether each write waits for `fdatasync`; off by default. Without it, a write survives the end of the
    /// process; with it, also the loss of the host.
    #[must_use]
    pub fn with_fsync(mut self, fsync: bool) -> Self {
        self.fsync = fsync;
        self
    }

    /// Sets the clock that decides which calls have expired.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    fn now_s(&self) -> i64 {
        self.clock.now_ms().div_euclid(1_000)
    }

    fn path(&self, call_id: &CallId) -> PathBuf {
        self.directory.join(file_name::of(call_id))
    }

    /// Changes a call by a line, if `change` returns one.
    fn write<T>(
        &self,
        operation: &str,
        call_id: &CallId,
        change: impl FnOnce(&mut Call) -> Result<(T, Option<io::Result<Vec<u8>>>), LogError>,
    ) -> Result<T, LogError> {
        let failed = |error| failed(operation, call_id, error);
        let _turn = self.turn();
        let mut file = CallFile::open(self.path(call_id), call_id).map_err(failed)?;
        let (changed, line) = change(&mut file.call)?;
        if let Some(line) = line {
            line.and_then(|line| file.append(&line, self.fsync)).map_err(failed)?;
        }
        Ok(changed)
    }

    fn read_files(&self, read: &mut dyn FnMut(&Path, &[u8])) -> Result<(), LogError> {
        read_files(&self.directory, read).map_err(|error| {
            let operation = format!("reading the calls in {}", self.directory.display());
            LogError::backend(operation, kind_of(&error), error)
        })
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallLog for JsonLines {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Put> {
        Box::pin(async move {
            self.write("opening", header.call_id(), |call| {
                let put = call.check_open(header)?;
                Ok((put, (put == Put::Written).then(|| lines::of_header(header))))
            })
        })
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move {
            self.write("logging", lease.call_id(), |call| {
                let put = call.put(lease, record)?;
                Ok((put, (put == Put::Written).then(|| lines::of_record(record))))
            })
        })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(async move {
            self.write("changing", call_id, |call| {
                let header = call.changed(call_id, change, self.now_s())?;
                let is_written = |known: &CallHeader| *known == header && known.tenure() == header.tenure();
                let line = (!call.header().is_some_and(is_written)).then(|| lines::of_header(&header));
                Ok((header, line))
            })
        })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move {
            let failed = |error| failed("reading", call_id, error);
            let _turn = self.turn();
            let text = match fs::read(self.path(call_id)) {
                Ok(text) => text,
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LoggedCall::default()),
                Err(error) => return Err(failed(error)),
            };
            let Lines { call, left_out, .. } = lines::read(&text, call_id).map_err(failed)?;
            let logged = call.read(call_id, self.now_s())?;
            // An expired call is empty.
            let is_there = logged.header.is_some() || !logged.records.is_empty();
            Ok(if is_there { LoggedCall { left_out, ..logged } } else { logged })
        })
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(async move {
            let _turn = self.turn();
            let (mut headers, mut unreadable) = (Vec::new(), Vec::new());
            self.read_files(&mut |path, text| match lines::find_header(text) {
                Ok(header) => headers.extend(header),
                Err(error) => {
                    unreadable.push(LogError::backend(format!("reading {}", path.display()), kind_of(&error), error));
                }
            })?;
            let now_s = self.now_s();
            let page = query.page_of(headers.into_iter().filter(|header| !header.has_expired(now_s)));
            // Every page reads the unreadable headers; only the first page reports them.
            Ok(if query.after.is_none() { CallPage { unreadable, ..page } } else { page })
        })
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(async move {
            let failed = |error| failed("erasing", call_id, error);
            let _turn = self.turn();
            let path = self.path(call_id);
            let mut file = CallFile::lock(&path).map_err(failed)?;
            let mut text = Vec::new();
            file.read_to_end(&mut text).map_err(failed)?;
            // A file that cannot be read as a call is erased as well.
            if let Ok(Some(header)) = lines::find_header(&text)
                && header.is_held()
            {
                return Err(LogError::held(call_id));
            }
            file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
            let line = lines::of_erased(call_id, Day::of_ms(self.clock.now_ms()));
            line.and_then(|line| file.write_all(&line)).map_err(failed)?;
            file.sync_all().and_then(|()| files::sync_directory_of(&path)).map_err(failed)
        })
    }

    fn sweep(&self, erased_on: Day) -> LogFuture<'_, Vec<CallId>> {
        Box::pin(async move {
            let _turn = self.turn();
            let mut erased = Vec::new();
            self.read_files(&mut |_, text| erased.extend(lines::erased_on(text, erased_on)))?;
            Ok(erased)
        })
    }
}

/// Reads all files of calls in a folder.
fn read_files(folder: &Path, read: &mut dyn FnMut(&Path, &[u8])) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            read_files(&path, read)?;
        } else if path.extension() == Some(OsStr::new(file_name::EXTENSION)) {
            read(&path, &fs::read(&path)?);
        }
    }
    Ok(())
}

fn failed(operation: &str, call_id: &CallId, error: io::Error) -> LogError {
    LogError::backend(format!("{operation} call {call_id} in its file"), kind_of(&error), error)
}

fn kind_of(error: &io::Error) -> LogErrorKind {
    use io::ErrorKind::{
        InvalidData, InvalidFilename, NotADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        Unsupported,
    };
    match error.kind() {
        InvalidFilename | Unsupported => LogErrorKind::Refused,
        InvalidData | NotADirectory | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull => {
            LogErrorKind::NeedsOperator
        }
        _ => LogErrorKind::Unavailable,
    }
}

#[cfg(test)]
mod tests;
