//! `verbale erase`, `hold`, `release` and `sweep`: the commands that change a log.

use std::io::Write;

use clap::Args;
use verbale::log::{CallChange, CallHeader, CallId, Day, LogErrorKind};

use crate::command::{confirm, note};
use crate::failure::{EXIT_STATUS, Failure, is_damage};
use crate::log::{Log, LogArguments};
use crate::text::count;
use crate::time::utc;

/// Erases a call for good: its messages, its summaries, and the contents that no other call uses.
///
/// After that, no part of the call can be read or written. A call under a legal hold is not erased. Run `verbale sweep` for
/// the day afterwards: it removes leftovers of late requests.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Erase {
    #[command(flatten)]
    call: OneCall,
}

/// Puts a call under a legal hold: it neither expires nor can be erased until it is released.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Hold {
    #[command(flatten)]
    call: OneCall,
}

/// Ends the legal hold of a call. It expires at its original time, and can be erased.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Release {
    #[command(flatten)]
    call: OneCall,
}

/// Removes leftovers of late requests from the calls that were erased on a day. Run it for each day, some minutes after its
/// end, in UTC.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Sweep {
    /// The day on which the calls were erased, in UTC, such as 2025-10-20.
    #[arg(value_name = "DAY")]
    day: Day,

    #[command(flatten)]
    log: LogArguments,
}

#[derive(Debug, Args)]
struct OneCall {
    /// The id of the call, as `verbale list` prints it.
    #[arg(value_name = "CALL")]
    call: String,

    #[command(flatten)]
    log: LogArguments,

    /// Does not ask.
    #[arg(long)]
    yes: bool,
}

impl Erase {
    /// Erases the call. Returns the exit status.
    pub async fn run(self, out: &mut dyn Write) -> Result<u8, Failure> {
        let (log, call_id) = self.call.open().await?;
        let what = match log.read_call(&call_id).await {
            Ok(call) if call.is_empty() => return Err(Failure::no_call(&call_id)),
            Ok(call) => match &call.header {
                Some(header) => described(header),
                None => format!("call {call_id}, which has no header"),
            },
            // An interrupted erasure has hidden the call, and may have left items.
            Err(error) if error.kind() == LogErrorKind::Erased => {
                format!("what an earlier erasure has left of call {call_id}")
            }
            Err(error) if is_damage(&error) => format!("call {call_id}, which cannot be read"),
            Err(error) => return Err(error.into()),
        };
        confirm(&format!("This erases {what}, for good."), self.call.yes)?;
        tokio::select! {
            erased = log.erase_call(&call_id) => erased?,
            _ = tokio::signal::ctrl_c() => return Err(Failure::Unfinished(format!(
                "interrupted: nothing of call {call_id} can be read any more, but parts of it may still be stored; \
                 erase it again"
            ))),
        }
        writeln!(out, "erased {what}")?;
        Ok(0)
    }
}

impl Hold {
    /// Holds the call. Returns the exit status.
    pub async fn run(self, out: &mut dyn Write) -> Result<u8, Failure> {
        self.call.change(out, &CallChange::Hold, "holds", "held").await
    }
}

impl Release {
    /// Releases the call. Returns the exit status.
    pub async fn run(self, out: &mut dyn Write) -> Result<u8, Failure> {
        self.call.change(out, &CallChange::Release, "ends the hold of", "released").await
    }
}

impl Sweep {
    /// Sweeps the day. Returns the exit status.
    pub async fn run(self, out: &mut dyn Write) -> Result<u8, Failure> {
        let swept = self.log.open().await?.sweep(self.day).await?;
        for call_id in &swept {
            writeln!(out, "{call_id}")?;
        }
        note(&format!("{} swept", count(swept.len() as u64, "erased call")));
        Ok(0)
    }
}

impl OneCall {
    async fn open(&self) -> Result<(Log, CallId), Failure> {
        let call_id = CallId::new(self.call.as_str())?;
        Ok((self.log.open().await?, call_id))
    }

    async fn change(&self, out: &mut dyn Write, change: &CallChange, does: &str, done: &str) -> Result<u8, Failure> {
        let (log, call_id) = self.open().await?;
        let header = log.read_header(&call_id).await?;
        let header = header.ok_or_else(|| Failure::no_call(&call_id))?;
        confirm(&format!("This {does} {}.", described(&header)), self.yes)?;
        let header = log.change_call(&call_id, change).await?;
        writeln!(out, "{done} {}", described(&header))?;
        Ok(0)
    }
}

fn described(header: &CallHeader) -> String {
    let started = utc(header.started_ms());
    match header.call_end() {
        Some(end) => {
            format!("call {} of {started} UTC with {}", header.call_id(), count(end.messages.into(), "message"))
        }
        None => format!("call {} of {started} UTC, which is live", header.call_id()),
    }
}
