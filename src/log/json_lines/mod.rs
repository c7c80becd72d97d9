//! [`JsonLines`]: a file a call, a line a record.

mod call_file;
mod file_name;
mod lines;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogError, LogFuture, LoggedCall, Opening, Put,
    Remedy, WriterLease,
};
use crate::clock::{Clock, SystemClock};
use crate::message::Record;
use call_file::{CallFile, sync_directory};

/// How far what was put has come when the log says so.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FileDurability {
    /// To the operating system: it survives the process, whatever ends it, but not the loss of the host.
    #[default]
    System,
    /// To the disk: each put waits for `fdatasync`.
    Disk,
}

/// Calls in a directory: a file a call, a line a record, the newest revision of a message counts.
///
/// For development, for services that keep their log on the host, and to look at with a pager and `jq`. Each file holds
/// [records](Record) as they are in JSON, and a line `{"call": …}` when the call is opened, and each time it is changed:
/// the last one counts. Lines are only added. A line that a crash has torn counts as never written, and is cut off by the next write. Files are for their owner
/// alone (0600) where the system knows such a thing, and named after the call id so that any id is safe:
/// `call-+c+a1.jsonl` is that of `CA1`.
///
/// **It blocks**: its futures do their work when they are polled first, without an async runtime, and are ready then.
/// On a runtime, await them where blocking is allowed. A put reads the call's file first, so that it takes O(n) in a
/// call of n records: a millisecond for a thousand. A list looks into every file there is.
///
/// Several processes may use one directory, on a file system that knows locks: who meets another one's write in the
/// same call gets an error that [may pass](LogError::is_retryable), instead of waiting.
///
/// A call that has expired is not shown, and its file stays; one that was never opened does not expire.
///
/// Refuses all that is put to an erased call. Erasing empties the file, down to one line that says so, and waits for
/// the disk; what the disk itself keeps of freed blocks is its own matter.
#[derive(Debug)]
pub struct JsonLines {
    directory: PathBuf,
    durability: FileDurability,
    // The threads of this process wait for each other; a file's lock keeps other processes away.
    turn: Mutex<()>,
    clock: Arc<dyn Clock>,
}

impl JsonLines {
    /// The log in a directory, which is made with the first write.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            durability: FileDurability::default(),
            turn: Mutex::default(),
            clock: Arc::new(SystemClock),
        }
    }

    /// The same with another reach.
    #[must_use]
    pub fn with_durability(mut self, durability: FileDurability) -> Self {
        self.durability = durability;
        self
    }

    /// The same with another clock, which says what has expired.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    fn now_s(&self) -> i64 {
        self.clock.now_ms().div_euclid(1_000)
    }

    /// The file of a call, whether it is there or not.
    pub fn path(&self, call_id: &CallId) -> PathBuf {
        self.directory.join(file_name::of(call_id))
    }

    fn open(&self, header: &CallHeader) -> Result<Opening, LogError> {
        let failed = |error| failed("opening", header.call_id(), error);
        let _turn = self.turn();
        let mut file = CallFile::open(self.path(header.call_id()), header.call_id()).map_err(failed)?;
        let opening = file.call.opening(header)?;
        if opening == Opening::Opened {
            lines::of_header(header).and_then(|line| file.append(&line, self.durability)).map_err(failed)?;
        }
        Ok(opening)
    }

    fn put(&self, lease: &WriterLease, record: &Record) -> Result<Put, LogError> {
        let call_id = lease.call_id();
        let failed = |error| failed("logging", call_id, error);
        let _turn = self.turn();
        let mut file = CallFile::open(self.path(call_id), call_id).map_err(failed)?;
        let put = file.call.put(lease, record)?;
        if put == Put::Written {
            lines::of_record(record).and_then(|line| file.append(&line, self.durability)).map_err(failed)?;
        }
        Ok(put)
    }

    fn change(&self, call_id: &CallId, change: &CallChange) -> Result<CallHeader, LogError> {
        let failed = |error| failed("changing", call_id, error);
        let _turn = self.turn();
        let mut file = CallFile::open(self.path(call_id), call_id).map_err(failed)?;
        let header = file.call.changed(call_id, change, self.now_s())?;
        if file.call.header() != Some(&header) {
            lines::of_header(&header).and_then(|line| file.append(&line, self.durability)).map_err(failed)?;
        }
        Ok(header)
    }

    fn read(&self, call_id: &CallId) -> Result<LoggedCall, LogError> {
        let failed = |error| failed("reading", call_id, error);
        let _turn = self.turn();
        let text = match fs::read(self.path(call_id)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LoggedCall::default()),
            Err(error) => return Err(failed(error)),
        };
        let (call, _) = lines::read(&text, call_id).map_err(failed)?;
        Ok(call.read(self.now_s()))
    }

    fn list(&self, query: &CallQuery) -> Result<CallPage, LogError> {
        let _turn = self.turn();
        let mut headers = Vec::new();
        find_headers(&self.directory, &mut headers).map_err(|error| {
            let operation = format!("listing the calls in {}", self.directory.display());
            LogError::backend(operation, remedy(&error), error)
        })?;
        let now_s = self.now_s();
        Ok(query.page_of(headers.into_iter().filter(|header| !header.has_expired(now_s))))
    }

    fn erase(&self, call_id: &CallId) -> Result<(), LogError> {
        let failed = |error| failed("erasing", call_id, error);
        let _turn = self.turn();
        let path = self.path(call_id);
        let mut file = CallFile::lock(&path).map_err(failed)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(failed)?;
        // A file that does not read as a call is erased as well.
        if let Ok(Some(header)) = lines::find_header(&text)
            && header.is_held()
        {
            return Err(LogError::Held { call_id: call_id.clone() });
        }
        file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
        file.write_all(lines::ERASED.as_bytes()).map_err(failed)?;
        file.sync_all().and_then(|()| sync_directory(&path)).map_err(failed)
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallLog for JsonLines {
    fn open_call<'a>(&'a self, header: &'a CallHeader) -> LogFuture<'a, Opening> {
        Box::pin(async move { self.open(header) })
    }

    fn put_record<'a>(&'a self, lease: &'a WriterLease, record: &'a Record) -> LogFuture<'a, Put> {
        Box::pin(async move { self.put(lease, record) })
    }

    fn change_call<'a>(&'a self, call_id: &'a CallId, change: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(async move { self.change(call_id, change) })
    }

    fn read_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, LoggedCall> {
        Box::pin(async move { self.read(call_id) })
    }

    fn list_calls<'a>(&'a self, query: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(async move { self.list(query) })
    }

    fn erase_call<'a>(&'a self, call_id: &'a CallId) -> LogFuture<'a, ()> {
        Box::pin(async move { self.erase(call_id) })
    }
}

fn find_headers(folder: &Path, headers: &mut Vec<CallHeader>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            find_headers(&path, headers)?;
        } else if path.extension() == Some(OsStr::new(file_name::EXTENSION)) {
            headers.extend(lines::find_header(&fs::read(&path)?)?);
        }
    }
    Ok(())
}

fn failed(what: &str, call_id: &CallId, error: io::Error) -> LogError {
    LogError::backend(format!("{what} call {call_id} in its file"), remedy(&error), error)
}

fn remedy(error: &io::Error) -> Remedy {
    use io::ErrorKind::{
        InvalidData, InvalidFilename, NotADirectory, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull,
        Unsupported,
    };
    match error.kind() {
        InvalidFilename | Unsupported => Remedy::None,
        InvalidData | NotADirectory | PermissionDenied | QuotaExceeded | ReadOnlyFilesystem | StorageFull => {
            Remedy::Operator
        }
        _ => Remedy::Retry,
    }
}

#[cfg(test)]
mod tests;
