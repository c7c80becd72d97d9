//! `verbale import`: a call from a file of another system, or of another log.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use clap::{Args, ValueEnum};
use verbale::MessagesManager;
use verbale::bedrock::BedrockMessage;
use verbale::clock::{ManualClock, SequentialIds};
use verbale::exchange::{self, ExchangeError, ImportOptions};
use verbale::log::{CallChange, CallEnd, CallHeader, CallId, Tenant, WriterLease};
use verbale::message::{Record, Timing};

use crate::failure::{EXIT_STATUS, Failure};
use crate::log::LogArguments;
use crate::text::count;

type Conversation = MessagesManager<BedrockMessage>;

/// Writes a call from a file into a log: an export of `verbale`, or a conversation of another system.
///
/// The call is listed once all of it is stored. An interrupted import can be repeated, and continues.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    /// The file. `-` is the standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The id of the new call. An id of a call that is there, or was erased, is refused.
    #[arg(long, value_name = "CALL")]
    call: String,

    #[arg(long, value_name = "FORMAT", default_value = "records")]
    format: Format,

    /// The start in milliseconds since the Unix epoch, for messages without a time. Without it, the time of the file.
    #[arg(long, value_name = "MS")]
    started: Option<i64>,

    /// The tenant of the call.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,

    #[command(flatten)]
    log: LogArguments,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// stored records as JSON Lines, as `verbale export --format records` writes them
    Records,
    /// JSON Lines with a line for each part of a message
    JsonLines,
    /// a chat
    Chat,
    /// messages of Amazon Bedrock's Converse
    Converse,
    /// messages of OpenAI's chat completions
    Openai,
    /// messages of Anthropic
    Anthropic,
    /// versioned JSON
    Versioned,
}

/// Imports the call. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let call_id = CallId::new(arguments.call.as_str())?;
    let tenant = arguments.tenant.as_deref().map(Tenant::new).transpose()?;
    let (text, modified_ms) = arguments.read()?;
    let at_ms = arguments.started.unwrap_or(modified_ms);
    let conversation = arguments.conversation(&text, at_ms)?;
    let records = conversation.records();
    let time = |record: &Record| record.metadata().timing(Timing::Creation);
    let (Some(started_ms), Some(ended_ms)) =
        (records.iter().filter_map(time).min(), records.iter().filter_map(time).max())
    else {
        return Err(Failure::Usage(format!("{} has no message", arguments.file.display())));
    };
    let mut header = CallHeader::new(call_id.clone(), arguments.started.unwrap_or(started_ms))?;
    if let Some(tenant) = tenant {
        header = header.with_tenant(tenant);
    }

    let log = arguments.log.create().await?;
    match log.read_header(&call_id).await? {
        None => {}
        // The last step of an interrupted import is missing, if it is the same call.
        Some(known) if known.call_end().is_none() => drop(log.open_call(&header).await?),
        Some(_) => return Err(Failure::Usage(format!("the log has a call {call_id}; choose another id"))),
    }
    let lease = WriterLease::from(&header);
    for record in &records {
        tokio::task::yield_now().await;
        log.put_record(&lease, record).await?;
    }
    let call_end = CallEnd::of(&conversation, ended_ms, "imported")?;
    log.open_call(&header).await?;
    log.change_call(&call_id, &CallChange::Close { lease, call_end }).await?;
    writeln!(out, "imported call {call_id} with {}", count(records.len() as u64, "message"))?;
    Ok(0)
}

impl Arguments {
    /// Returns the bytes of the file, and when it was changed.
    fn read(&self) -> Result<(Vec<u8>, i64), Failure> {
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::NotFound(format!("there is no file {}", self.file.display())),
            _ => Failure::Usage(format!("the file {} cannot be read: {error}", self.file.display())),
        };
        if self.file.as_os_str() == "-" {
            let mut text = Vec::new();
            std::io::stdin().read_to_end(&mut text)?;
            return Ok((text, 0));
        }
        let modified = std::fs::metadata(&self.file).and_then(|file| file.modified()).map_err(failed)?;
        let at_ms = modified.duration_since(UNIX_EPOCH).map_or(0, |at| at.as_millis());
        Ok((std::fs::read(&self.file).map_err(failed)?, i64::try_from(at_ms).unwrap_or_default()))
    }

    fn conversation(&self, text: &[u8], at_ms: i64) -> Result<Conversation, Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::Usage(format!("{} is not in the format: {error}", self.file.display()))
        };
        let not_imported = |error: ExchangeError| failed(&error);
        // The same file gives the same ids and times, so that an import can be repeated.
        let options =
            ImportOptions::default().with_clock(Arc::new(ManualClock::new(at_ms)), Arc::new(SequentialIds::default()));
        match self.format {
            Format::Records => {
                let lines = (1..).zip(text.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.is_empty());
                let records: Vec<Record> = lines
                    .map(|(number, line)| {
                        serde_json::from_slice(line).map_err(|_| failed(&format_args!("line {number} is no record")))
                    })
                    .collect::<Result<_, _>>()?;
                MessagesManager::restore(records).map_err(|error| failed(&error))
            }
            Format::JsonLines => exchange::import_json_lines(text, &options).map_err(not_imported),
            Format::Converse => exchange::import_converse(text, &options).map_err(not_imported),
            Format::Openai => exchange::import_openai(text, &options).map_err(not_imported),
            Format::Anthropic => exchange::import_anthropic(text, &options).map_err(not_imported),
            Format::Versioned => exchange::import_versioned(text, &options).map_err(not_imported),
            Format::Chat => {
                let mut all = exchange::import_chat(text, &options).map_err(not_imported)?.into_iter();
                match (all.next(), all.next()) {
                    (Some((_, conversation)), None) => Ok(conversation),
                    _ => Err(failed(&"it has not exactly one conversation")),
                }
            }
        }
    }
}
