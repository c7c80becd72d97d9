//! `verbale tail`: a live call, as it happens.

use std::collections::HashMap;
use std::io::Write;
use std::time::Duration;

use anstyle::Style;
use clap::Args;
use serde::Serialize;
use verbale::bedrock::BedrockMessage;
use verbale::clock::{Clock, SystemClock};
use verbale::log::{CallHeader, CallId, CallQuery, Day, LoggedCall, Tenant};
use verbale::message::{Position, Record};
use verbale::{MessageWrapper, MessagesManager};

use crate::command::{json_line, note};
use crate::failure::{EXIT_STATUS, Failure, on_one_line};
use crate::log::{Log, LogArguments};
use crate::output;
use crate::show;
use crate::text::visible;

/// Follows a call until it ends, or all live calls that started today.
///
/// A message is printed once it is stored, which with spans is at the end of its turn. A message that changes later, as by a
/// report of its playback, is printed again. Each look reads the followed calls as a whole, which a table of DynamoDB charges.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    /// The id of the call, as `verbale list` prints it. Without it, all live calls that started today, in UTC.
    #[arg(value_name = "CALL")]
    call: Option<String>,

    /// The tenant of the live calls. Without it, calls without a tenant are followed.
    #[arg(long, value_name = "TENANT", conflicts_with = "call")]
    tenant: Option<String>,

    /// The seconds between two looks at the log.
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = seconds)]
    every: Duration,

    #[command(flatten)]
    log: LogArguments,

    /// Prints one JSON object for each record: its call and the record.
    #[arg(long)]
    pub json: bool,
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let every = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    every.filter(|every| *every >= Duration::from_millis(50)).ok_or("expected seconds, at least 0.05")
}

/// The messages of the calls that were printed.
#[derive(Default)]
struct Printed {
    /// A call and a place in it, with what was printed of it.
    lines: HashMap<(CallId, Position), String>,
    last: Option<CallId>,
}

#[derive(Serialize)]
struct Line<'a> {
    call: &'a str,
    record: &'a Record,
}

/// Follows the calls. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let call_id = arguments.call.clone().map(CallId::new).transpose()?;
    let tenant = arguments.tenant.clone().map(Tenant::new).transpose()?;
    let log = arguments.log.open().await?;
    let mut printed = Printed::default();
    let mut is_first = true;
    loop {
        let looked = match &call_id {
            Some(call_id) => arguments.look(&log, call_id, &mut printed, out).await,
            None => arguments.look_at_all(&log, tenant.as_ref(), &mut printed, out).await.map(|()| false),
        };
        match looked {
            Ok(true) => return Ok(0),
            Ok(false) => {}
            // After the first look, what passes is waited for.
            Err(Failure::Log(error)) if !is_first && error.is_retryable() => {
                note(&format!("waiting: {}", on_one_line(&error)))
            }
            Err(failure) => return Err(failure),
        }
        out.flush()?;
        // Nothing is written to a reader that has gone, which would end the command, until something is said.
        if output::is_closed() {
            return Ok(0);
        }
        is_first = false;
        tokio::time::sleep(arguments.every).await;
    }
}

impl Arguments {
    /// Prints what is new in a call. Returns whether it has ended.
    async fn look(
        &self,
        log: &Log,
        call_id: &CallId,
        printed: &mut Printed,
        out: &mut dyn Write,
    ) -> Result<bool, Failure> {
        let call = log.read_call(call_id).await?;
        if call.is_empty() {
            return Err(Failure::no_call(call_id));
        }
        let end = call.header.as_ref().and_then(CallHeader::call_end).cloned();
        if self.json {
            printed.records(call_id, &call, out)?;
        } else {
            printed.messages(call_id, call, out)?;
        }
        if let Some(end) = &end {
            note(&format!("call {call_id} has ended: {}", visible(&end.reason)));
        }
        Ok(end.is_some())
    }

    async fn look_at_all(
        &self,
        log: &Log,
        tenant: Option<&Tenant>,
        printed: &mut Printed,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let mut query = CallQuery::of_day(Day::of_ms(SystemClock.now_ms())).with_tenant(tenant.cloned());
        loop {
            let page = log.list_calls(&query).await?;
            for header in page.calls {
                let is_followed = printed.lines.keys().any(|(call_id, _)| call_id == header.call_id());
                if header.call_end().is_none() || is_followed {
                    let has_ended = self.look(log, header.call_id(), printed, out).await?;
                    printed.lines.retain(|(call_id, _), _| !has_ended || call_id != header.call_id());
                }
            }
            let Some(next) = page.next else { return Ok(()) };
            query = query.with_after(next);
        }
    }
}

impl Printed {
    /// Returns whether a place has something new, and remembers it.
    fn is_new(&mut self, call_id: &CallId, position: Position, text: &str) -> bool {
        let known = self.lines.entry((call_id.clone(), position)).or_default();
        if known == text {
            return false;
        }
        text.clone_into(known);
        true
    }

    fn messages(&mut self, call_id: &CallId, call: LoggedCall, out: &mut dyn Write) -> Result<(), Failure> {
        let started_ms = show::started_ms(&call);
        let conversation: MessagesManager<BedrockMessage> = call.restore();
        let mut turns = 0;
        for message in conversation.meta_messages().iter().map(MessageWrapper::message) {
            let lines = show::lines(message, started_ms, &mut turns)?;
            if !self.is_new(call_id, message.position(), &lines) {
                continue;
            }
            if self.last.as_ref() != Some(call_id) {
                let strong = Style::new().bold();
                writeln!(out, "{strong}call {call_id}{strong:#}")?;
                self.last = Some(call_id.clone());
            }
            out.write_all(lines.as_bytes())?;
        }
        Ok(())
    }

    fn records(&mut self, call_id: &CallId, call: &LoggedCall, out: &mut dyn Write) -> Result<(), Failure> {
        for record in &call.records {
            if self.is_new(call_id, record.position(), &record.revision().to_string()) {
                json_line(out, &Line { call: call_id.as_str(), record })?;
            }
        }
        Ok(())
    }
}
