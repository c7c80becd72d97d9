//! `verbale export`: calls for other programs.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::Serialize;
use verbale::bedrock::BedrockMessage;
use verbale::exchange::{self, Export};
use verbale::log::{CallId, Day, LoggedCall};
use verbale::message::{Attribute, Text, Timing};
use verbale::{Content, Message, MessageWrapper, MessagesManager};

use crate::calls::{Calls, Found};
use crate::command::{json_line, note};
use crate::failure::{DIFFERENT, EXIT_STATUS, Failure, on_one_line};
use crate::log::LogArguments;
use crate::new_file::NewFile;
use crate::partial::Partial;
use crate::progress::Progress;
use crate::redact::Mask;
use crate::text::count;

/// Writes calls for other programs.
///
/// `rows` and `csv` have one row for each message, for DuckDB or Athena. The other formats write one call in a format of
/// other systems, and report everything that the format cannot hold.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    /// The id of the call, as `verbale list` prints it.
    #[arg(value_name = "CALL", required_unless_present = "day", conflicts_with = "day")]
    call: Option<String>,

    /// Writes the calls that started on this day, in UTC, as rows or CSV.
    #[arg(long, value_name = "DAY")]
    day: Option<Day>,

    /// The tenant of the day's calls.
    #[arg(long, value_name = "TENANT", requires = "day")]
    tenant: Option<String>,

    #[arg(long, value_name = "FORMAT", default_value = "rows")]
    format: Format,

    /// The file to write; the standard output by default.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Continues the file of a day where an interrupted export stopped. Repeat all other arguments.
    #[arg(long, requires = "day", requires = "output")]
    resume: bool,

    #[command(flatten)]
    mask: Mask,

    #[command(flatten)]
    log: LogArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// JSON Lines with a row for each message
    Rows,
    /// the same as CSV, with a header line
    Csv,
    /// the stored records as JSON Lines, as in `jsonl:DIR` logs
    Records,
    /// JSON Lines with a line for each part of a message, without loss for most calls
    JsonLines,
    /// text as a chat
    Chat,
    /// messages of Amazon Bedrock's Converse
    Converse,
    /// messages of OpenAI's chat completions
    Openai,
    /// versioned JSON
    Versioned,
}

/// A message in a table.
#[derive(Debug, Serialize)]
struct Row {
    call: String,
    seq: u32,
    id: String,
    /// `user`, `assistant`, `system` or `summary`.
    role: String,
    /// When it was created, in milliseconds since the Unix epoch.
    at_ms: Option<i64>,
    /// When its speech began and ended.
    start_ms: Option<i64>,
    end_ms: Option<i64>,
    text: String,
    /// The part of the text that the caller heard.
    heard: String,
    is_interrupted: bool,
    /// The names of tools that were called, separated by spaces.
    tools: String,
}

impl Row {
    /// The names of the columns in CSV.
    const COLUMNS: [&str; 11] =
        ["call", "seq", "id", "role", "at_ms", "start_ms", "end_ms", "text", "heard", "is_interrupted", "tools"];
}

/// Where the calls go.
enum Target<'o> {
    Output(&'o mut dyn Write),
    File(NewFile),
    Partial(Partial),
}

/// Writes the calls. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut target = arguments.target(out)?;
    let mut written = Written { format: arguments.format, calls: 0, unreadable: 0 };
    if let Some(call) = arguments.call {
        written.header(target.writer())?;
        let (call_id, call) = arguments.log.read(call).await?;
        written.call(target.writer(), &call_id, arguments.mask.apply(call)?)?;
    } else {
        let log = arguments.log.open().await?;
        let calls = Calls::of_day(&log, arguments.day, arguments.tenant)?;
        written.day(&mut target, calls, arguments.mask).await?;
    }
    target.keep()?;
    if let Some(path) = &arguments.output {
        note(&format!("{} written to {}", count(written.calls, "call"), path.display()));
    }
    if written.unreadable == 0 {
        return Ok(0);
    }
    note(&format!("{} left out, which `verbale check` explains", count(written.unreadable, "call")));
    Ok(DIFFERENT)
}

impl Arguments {
    fn target<'o>(&self, out: &'o mut dyn Write) -> Result<Target<'o>, Failure> {
        let is_of_day = self.call.is_none();
        if is_of_day && !matches!(self.format, Format::Rows | Format::Csv | Format::Records) {
            let text = "the calls of a day are written as rows, csv or records; name one call";
            return Err(Failure::Usage(text.to_owned()));
        }
        let Some(path) = &self.output else { return Ok(Target::Output(out)) };
        let is_special = fs::metadata(path).is_ok_and(|known| !known.is_file());
        if !is_of_day || is_special {
            return NewFile::create(path).map(Target::File);
        }
        // Through a symbolic link, the file that it names is replaced.
        let path = if path.is_symlink() { fs::canonicalize(path)? } else { path.clone() };
        let of = format!("{:?} of {:?}, {:?}, {:?}, {:?}", self.format, self.day, self.tenant, self.mask, self.log.log);
        Partial::open(&path, of, self.resume).map(Target::Partial)
    }
}

impl Target<'_> {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Output(out) => out,
            Self::File(file) => file,
            Self::Partial(file) => file,
        }
    }

    fn keep(self) -> Result<(), Failure> {
        match self {
            Self::Output(out) => Ok(out.flush()?),
            Self::File(file) => file.keep(),
            Self::Partial(file) => file.keep(),
        }
    }
}

/// The counts of what was written so far.
struct Written {
    format: Format,
    calls: u64,
    unreadable: u64,
}

impl Written {
    async fn day(&mut self, target: &mut Target<'_>, mut calls: Calls<'_>, mask: Mask) -> Result<(), Failure> {
        let resumed = if let Target::Partial(file) = target { file.resumed()? } else { None };
        match resumed {
            None => self.header(target.writer())?,
            Some((after, written)) => {
                calls.resume_at(after);
                self.calls = written;
            }
        }
        let mut progress = Progress::new();
        while let Some(found) = calls.next().await? {
            match found {
                Found::Call(header, call) => {
                    progress.add(header.started_ms());
                    self.call(target.writer(), header.call_id(), mask.apply(call)?)?;
                }
                Found::Unreadable(error) => {
                    self.unreadable += 1;
                    note(&format!("left out: {}", on_one_line(&error)));
                }
                Found::PageEnd(next) => {
                    if let Target::Partial(file) = target {
                        file.turn_page(&next, self.calls)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn header(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if self.format == Format::Csv { row_of_csv(out, Row::COLUMNS) } else { Ok(()) }
    }

    fn call(&mut self, out: &mut dyn Write, call_id: &CallId, call: LoggedCall) -> Result<(), Failure> {
        self.calls += 1;
        if self.format == Format::Records {
            return call.records.iter().try_for_each(|record| json_line(out, record));
        }
        let conversation: MessagesManager<BedrockMessage> = call.restore();
        let export = match self.format {
            Format::Rows => {
                return rows(call_id, &conversation).try_for_each(|row| json_line(out, &row));
            }
            Format::Csv => {
                return rows(call_id, &conversation).try_for_each(|row| row_of_csv(out, &row));
            }
            Format::Records => return Ok(()),
            Format::JsonLines => exchange::export_json_lines(&conversation),
            Format::Chat => exchange::export_chat([(call_id.as_str(), &conversation)]),
            Format::Converse => exchange::export_converse(&conversation),
            Format::Openai => exchange::export_openai(&conversation),
            Format::Versioned => exchange::export_versioned(&conversation),
        };
        write(out, &export)
    }
}

fn write(out: &mut dyn Write, export: &Export) -> Result<(), Failure> {
    out.write_all(export.text.as_bytes())?;
    if !export.text.ends_with('\n') {
        writeln!(out)?;
    }
    if !export.losses.is_empty() {
        note(&format!("{} of the call are not in this format", count(export.losses.len() as u64, "value")));
    }
    Ok(())
}

/// Writes a line of CSV, with the names of the columns or with their values.
fn row_of_csv(out: &mut dyn Write, row: impl Serialize) -> Result<(), Failure> {
    let mut csv = csv::WriterBuilder::new().has_headers(false).from_writer(out);
    csv.serialize(row).map_err(|error| match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    })?;
    Ok(csv.flush()?)
}

fn rows(call_id: &CallId, conversation: &MessagesManager<BedrockMessage>) -> impl Iterator<Item = Row> {
    let messages = conversation.meta_messages().iter().map(MessageWrapper::message);
    messages.filter(|message| !message.is_fake()).map(move |message| row(call_id, message))
}

fn joined<'a>(texts: impl Iterator<Item = &'a Text>) -> String {
    texts.map(Text::as_str).collect::<Vec<_>>().join(" ")
}

fn row(call_id: &CallId, message: &Message) -> Row {
    let timing = |timing| message.metadata().timing(timing);
    let heard = joined(message.heard_contents().texts());
    let tools: Vec<&str> =
        message.contents().iter().filter_map(Content::as_tool_call).map(|call| call.name().as_str()).collect();
    Row {
        call: call_id.to_string(),
        seq: message.position().seq(),
        id: message.id().to_string(),
        role: message.role().to_string(),
        at_ms: timing(Timing::Creation),
        start_ms: timing(Timing::ListenStart).or_else(|| timing(Timing::PlayStart)),
        end_ms: timing(Timing::ListenEnd).or_else(|| timing(Timing::PlayEnd)),
        text: joined(message.contents().texts()),
        heard,
        is_interrupted: message.metadata().has(Attribute::SpeechInterrupted),
        tools: tools.join(" "),
    }
}
