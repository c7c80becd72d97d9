//! `verbale spool` and `verbale dead-letters`: what a service has not stored yet, and what the log refuses.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;
use verbale::log::{
    CallChange, CallHeader, CallId, CallLog, CallPage, CallQuery, DeadLetter, LogError, LogErrorKind, LogFuture,
    LogWriter, LoggedCall, Put, Spool, SpoolSettings, Unstored, WriterLease, WriterSettings,
};
use verbale::message::Record;

use crate::command::{confirm, json_line, note};
use crate::failure::{DIFFERENT, EXIT_STATUS, Failure, on_one_line};
use crate::log::{Log, LogArguments};
use crate::text::{count, place, visible};

/// How long a spool is read.
const READ: Duration = Duration::from_secs(2);

/// Shows or ships the records in a spool, the file in which a service keeps records that its log has not stored.
///
/// Stop the service first: one process can open a spool. A damaged spool is not opened; the error says how to continue.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct SpoolCommand {
    #[command(subcommand)]
    act: SpoolAct,
}

#[derive(Debug, Subcommand)]
enum SpoolAct {
    /// Shows what waits, by call, without a word of what was said. The exit status is 6 if something waits.
    Show {
        #[command(flatten)]
        spool: SpoolFile,

        /// Prints one JSON object for each call.
        #[arg(long)]
        json: bool,
    },
    /// Stores what waits in the log. The exit status is 6 if something is left.
    Ship {
        #[command(flatten)]
        spool: SpoolFile,

        /// The seconds after which it stops, with the rest in the spool.
        #[arg(long, value_name = "SECONDS", default_value_t = 60)]
        within: u64,

        #[command(flatten)]
        log: LogArguments,
    },
}

/// Lists, retries or drops dead letters: records of a spool that the log refuses for good.
///
/// Stop the service first: one process can open a spool.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct DeadLettersCommand {
    #[command(subcommand)]
    act: LetterAct,
}

#[derive(Debug, Subcommand)]
enum LetterAct {
    /// Lists the dead letters, with the reason of each, without a word of what was said.
    List {
        #[command(flatten)]
        letters: Letters,

        /// Prints one JSON object for each dead letter.
        #[arg(long)]
        json: bool,
    },
    /// Stores the dead letters after all, once the reason is gone. The exit status is 6 if one is refused again.
    Retry {
        #[command(flatten)]
        letters: Letters,

        #[command(flatten)]
        log: LogArguments,
    },
    /// Removes the dead letters for good.
    Drop {
        #[command(flatten)]
        letters: Letters,

        /// Does not ask.
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Debug, Args)]
struct SpoolFile {
    /// The file of the spool.
    #[arg(value_name = "SPOOL")]
    file: PathBuf,

    /// A file with the 32 bytes of the spool's key, if it is encrypted.
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Letters {
    #[command(flatten)]
    spool: SpoolFile,

    /// Only those of this call.
    #[arg(value_name = "CALL")]
    call: Option<String>,
}

/// The waiting part of a call, for programs.
#[derive(Default, Serialize)]
struct Waiting {
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<String>,
    parts: u64,
    #[serde(rename = "deadLetters")]
    dead_letters: u64,
}

/// A dead letter, for programs.
#[derive(Serialize)]
struct Letter<'a> {
    call: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u32>,
    reason: &'a str,
}

/// A writer that has opened a spool, and its task.
struct Opened {
    writer: LogWriter,
    task: tokio::task::JoinHandle<()>,
}

impl SpoolCommand {
    /// Runs the command. Returns the exit status.
    pub async fn run(self, out: &mut dyn Write) -> Result<u8, Failure> {
        match self.act {
            SpoolAct::Show { spool, json } => show(spool, json, out).await,
            SpoolAct::Ship { spool, within, log } => {
                ship(spool, Duration::from_secs(within), log.open().await?, out).await
            }
        }
    }
}

async fn show(spool: SpoolFile, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    let opened = spool.open(Arc::new(Closed))?;
    // Nothing is stored, so this takes all of the time, in which the whole spool is read.
    let unstored = opened.writer.flush(READ).await;
    opened.close().await;
    let calls = by_call(&unstored);
    for (call, waiting) in &calls {
        let waiting = Waiting { call: call.as_ref().map(ToString::to_string), ..*waiting };
        if json {
            json_line(out, &waiting)?;
        } else {
            let call = waiting.call.as_deref().unwrap_or("calls that were not read yet");
            writeln!(
                out,
                "{call}: {} to store, {}",
                count(waiting.parts, "part"),
                count(waiting.dead_letters, "dead letter")
            )?;
        }
    }
    if calls.is_empty() {
        note("nothing waits in the spool");
    }
    Ok(if calls.is_empty() { 0 } else { DIFFERENT })
}

fn by_call(unstored: &[Unstored]) -> BTreeMap<Option<CallId>, Waiting> {
    let mut calls: BTreeMap<Option<CallId>, Waiting> = BTreeMap::new();
    for part in unstored {
        let waiting = calls.entry(part.call_id.clone()).or_default();
        *(if part.is_dead_letter { &mut waiting.dead_letters } else { &mut waiting.parts }) += 1;
    }
    calls
}

async fn ship(spool: SpoolFile, within: Duration, log: Log, out: &mut dyn Write) -> Result<u8, Failure> {
    let opened = spool.open(log)?;
    let left = opened.writer.flush(within).await;
    let status = opened.writer.status();
    opened.finish().await;
    writeln!(out, "{} stored", count(status.stored, "record"))?;
    for part in &left {
        let why = if part.is_dead_letter { "a dead letter: " } else { "" };
        writeln!(out, "left in the spool: {why}{}", visible(&part.to_string()))?;
    }
    for error in &status.trouble {
        note(&on_one_line(error));
    }
    Ok(if left.is_empty() { 0 } else { DIFFERENT })
}

impl DeadLettersCommand {
    /// Runs the command. Returns the exit status.
    pub async fn run(self, out: &mut dyn Write) -> Result<u8, Failure> {
        match self.act {
            LetterAct::List { letters, json } => {
                let (opened, found) = letters.open(Arc::new(Closed)).await?;
                opened.close().await;
                for letter in &found {
                    if json {
                        json_line(out, &Letter::of(letter))?;
                    } else {
                        writeln!(out, "{}: {}", named(letter), visible(&letter.reason))?;
                    }
                }
                Ok(0)
            }
            LetterAct::Retry { letters, log } => {
                let log = log.open().await?;
                let (opened, found) = letters.open(log.clone()).await?;
                let retried = retry(&opened.writer, &log, found, out).await;
                opened.finish().await;
                retried
            }
            LetterAct::Drop { letters, yes } => {
                let (opened, found) = letters.open(Arc::new(Closed)).await?;
                let what = count(found.len() as u64, "dead letter");
                if found.is_empty() {
                    note("there are no dead letters");
                } else {
                    confirm(&format!("This drops {what}, for good."), yes)?;
                    opened.writer.discard_dead_letters(&found);
                    writeln!(out, "dropped {what}")?;
                }
                opened.finish().await;
                Ok(0)
            }
        }
    }
}

async fn retry(writer: &LogWriter, log: &Log, found: Vec<DeadLetter>, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut status = 0;
    for letter in found {
        let name = named(&letter);
        let stored = match log.read_header(&letter.call_id).await {
            Ok(Some(header)) => {
                // A retry writes for the writer that the log knows.
                let _call = writer.call(WriterLease::from(&header));
                writer.retry_dead_letter(letter).await
            }
            Ok(None) => Err(LogError::backend(format!("storing {name}"), LogErrorKind::NotOpened, "no such call")),
            Err(error) => Err(error),
        };
        match stored {
            Ok(()) => writeln!(out, "stored {name}")?,
            Err(error) if error.is_retryable() => return Err(error.into()),
            Err(error) => {
                status = DIFFERENT;
                writeln!(out, "refused {name}: {}", on_one_line(&error))?;
            }
        }
    }
    Ok(status)
}

fn named(letter: &DeadLetter) -> String {
    match &letter.record {
        Some(record) => {
            format!("call {}, {}, revision {}", letter.call_id, place(record.position()), record.revision())
        }
        None if letter.call_end.is_some() => format!("call {}, its end", letter.call_id),
        None => format!("call {}, its header", letter.call_id),
    }
}

impl<'a> Letter<'a> {
    fn of(letter: &'a DeadLetter) -> Self {
        let record = letter.record.as_ref();
        Self {
            call: letter.call_id.as_str(),
            place: record.map(|record| place(record.position())),
            revision: record.map(|record| record.revision()),
            reason: &letter.reason,
        }
    }
}

impl Letters {
    async fn open(self, log: Log) -> Result<(Opened, Vec<DeadLetter>), Failure> {
        let call_id = self.call.map(CallId::new).transpose()?;
        let opened = self.spool.open(log)?;
        let found = opened.writer.dead_letters(call_id.as_ref()).await?;
        Ok((opened, found))
    }
}

impl SpoolFile {
    fn open(&self, log: Log) -> Result<Opened, Failure> {
        let file = &self.file;
        if !file.is_file() {
            return Err(Failure::NotFound(format!("there is no spool {}; check the path", file.display())));
        }
        let mut settings = SpoolSettings::default().with_fsync(true);
        if let Some(path) = &self.key {
            let bytes = std::fs::read(path)
                .map_err(|error| Failure::Usage(format!("the key {} cannot be read: {error}", path.display())))?;
            let key = bytes.as_slice().try_into();
            settings =
                settings.with_key(key.map_err(|_| Failure::Usage(format!("{} has not 32 bytes", path.display())))?);
        }
        let spool = Arc::new(Spool::open(file, settings)?);
        let (writer, task) = LogWriter::new(log, WriterSettings::default().with_spool(spool));
        Ok(Opened { writer, task: tokio::spawn(task) })
    }
}

impl Opened {
    /// Ends the task at once. The spool stays as it is.
    async fn close(self) {
        self.writer.stop(Duration::ZERO).await;
        let _ = self.task.await;
    }

    /// Ends the task once the spool has its changes. With parts that are not stored, this takes 10 s.
    async fn finish(self) {
        drop(self.writer);
        let _ = self.task.await;
    }
}

/// A log that is never reached, so that a spool stays as it is.
struct Closed;

fn closed<'a, T: Send + 'a>() -> LogFuture<'a, T> {
    Box::pin(async { Err(LogError::backend("storing it", LogErrorKind::Unavailable, "no log was named")) })
}

impl CallLog for Closed {
    fn open_call<'a>(&'a self, _: &'a CallHeader) -> LogFuture<'a, Put> {
        closed()
    }

    fn put_record<'a>(&'a self, _: &'a WriterLease, _: &'a Record) -> LogFuture<'a, Put> {
        closed()
    }

    fn change_call<'a>(&'a self, _: &'a CallId, _: &'a CallChange) -> LogFuture<'a, CallHeader> {
        closed()
    }

    fn read_call<'a>(&'a self, _: &'a CallId) -> LogFuture<'a, LoggedCall> {
        closed()
    }

    fn list_calls<'a>(&'a self, _: &'a CallQuery) -> LogFuture<'a, CallPage> {
        closed()
    }

    fn erase_call<'a>(&'a self, _: &'a CallId) -> LogFuture<'a, ()> {
        closed()
    }
}
