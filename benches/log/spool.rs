//! Opening a large spool after `kill -9`, and storing its records: time and peak memory, each in a process of its own,
//! beside reading the file once. Linux only.
//!
//! `-- spool` takes 1,000 MB of records; `-- spool 100` takes 100 MB.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, LogError, LogErrorKind, LogFuture, LogWriter,
    LoggedCall, Put, Spool, SpoolSettings, WriterLease, WriterSettings,
};
use verbale::{LastMessage, MessagesManager, PlainMessage, Record};

/// The messages of a call, of about 1 KB each.
const MESSAGES: usize = 100;
const CALLS_PER_MB: usize = 10;
const PATH: &str = "VERBALE_BENCH_SPOOL";

/// Runs the part of a child process.
pub fn run(part: &str, megabytes: usize) {
    let path = std::env::var(PATH).unwrap();
    match part {
        "spool-fill" => fill(Path::new(&path), megabytes),
        "spool-open" => println!("open {:.2?}, {}", open(Path::new(&path)).1, peak()),
        _ => drain(Path::new(&path)),
    }
}

pub fn print(megabytes: usize) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("spool");
    let child = |part: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args([part, &megabytes.to_string()]).env(PATH, &path).output().unwrap()
    };
    let start = Instant::now();
    assert!(!child("spool-fill").status.success(), "it is killed");
    println!("spool, {megabytes} MB of records, filled in {:.1?} and killed", start.elapsed());
    for _ in 0..2 {
        let start = Instant::now();
        let bytes = io::copy(&mut File::open(&path).unwrap(), &mut io::sink()).unwrap();
        let start_again = Instant::now();
        let bytes = bytes.max(fs::read(&path).unwrap().len() as u64);
        println!("read {bytes} bytes once: {:.2?}, into memory {:.2?}", start_again - start, start_again.elapsed());
    }
    for part in ["spool-open", "spool-open", "spool-drain"] {
        let output = child(part);
        print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    }
}

fn open(path: &Path) -> (Arc<Spool>, Duration) {
    let start = Instant::now();
    let spool = Spool::open(path, SpoolSettings::default().with_max_bytes(u64::MAX)).unwrap();
    (Arc::new(spool), start.elapsed())
}

/// Spools the records of many calls, and kills the process.
fn fill(path: &Path, megabytes: usize) {
    let settings = WriterSettings::default().with_spool(open(path).0).with_limits(usize::MAX, usize::MAX);
    let runtime = crate::runtime();
    let (writer, task) = LogWriter::new(Arc::new(Null { is_away: true }), settings);
    runtime.spawn(task);
    let calls = megabytes * CALLS_PER_MB;
    let text = "is there an appointment on friday? ".repeat(24);
    for call in 0..calls {
        let handle = writer.call(WriterLease::from(CallId::new(format!("call-{call:06}")).unwrap()));
        let mut manager = MessagesManager::<PlainMessage>::new();
        for _ in 0..MESSAGES / 2 {
            manager.add_user(text.as_str()).unwrap();
            manager.add_assistant(text.as_str()).unwrap();
        }
        handle.submit(&mut manager, LastMessage::Include).unwrap();
        while writer.status().queued > 20_000 || call + 1 == calls && writer.status().queued > 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    std::process::abort();
}

/// Reads the spooled records while the log is away, then stores all of them.
fn drain(path: &Path) {
    let (spool, opening) = open(path);
    let after_open = peak();
    let runtime = crate::runtime();
    for is_away in [true, false] {
        let settings = WriterSettings::default().with_spool(spool.clone());
        let (writer, task) = LogWriter::new(Arc::new(Null { is_away }), settings);
        let task = runtime.spawn(task);
        let start = Instant::now();
        let unstored = runtime.block_on(writer.flush(Duration::from_secs(if is_away { 10 } else { 3_600 })));
        println!(
            "opened in {opening:.2?}, {after_open}; log away {is_away}: {} records known, {} stored, {} unstored after \
             {:.1?}, {}",
            writer.status().recovered,
            writer.status().stored,
            unstored.len(),
            start.elapsed(),
            peak()
        );
        task.abort();
        let _ = runtime.block_on(task);
    }
}

/// The peak of the resident memory of this process.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    format!("peak memory {}", line.trim())
}

/// A log that keeps nothing, or refuses everything.
struct Null {
    is_away: bool,
}

impl Null {
    fn answer<'a, T: Send + 'a>(&self, done: T) -> LogFuture<'a, T> {
        let away = LogError::backend("logging", LogErrorKind::Unavailable, "away");
        Box::pin(std::future::ready(if self.is_away { Err(away) } else { Ok(done) }))
    }
}

impl CallLog for Null {
    fn open_call<'a>(&'a self, _: &'a CallHeader) -> LogFuture<'a, Put> {
        self.answer(Put::Written)
    }

    fn put_record<'a>(&'a self, _: &'a WriterLease, _: &'a Record) -> LogFuture<'a, Put> {
        self.answer(Put::Written)
    }

    fn change_call<'a>(&'a self, _: &'a CallId, _: &'a CallChange) -> LogFuture<'a, CallHeader> {
        Box::pin(std::future::pending())
    }

    fn read_call<'a>(&'a self, _: &'a CallId) -> LogFuture<'a, LoggedCall> {
        self.answer(LoggedCall::default())
    }

    fn list_calls<'a>(&'a self, _: &'a CallQuery) -> LogFuture<'a, CallPage> {
        Box::pin(std::future::pending())
    }

    fn erase_call<'a>(&'a self, _: &'a CallId) -> LogFuture<'a, ()> {
        self.answer(())
    }
}
