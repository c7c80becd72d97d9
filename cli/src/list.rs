//! `verbale list`: the calls of a day or of a caller.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde::Serialize;
use verbale::clock::{Clock, SystemClock};
use verbale::log::{CallHeader, CallId, CallQuery, CallerId, Cursor, Day, Tenant};
use verbale::message::Map;

use crate::command::{json_line, note};
use crate::failure::{DIFFERENT, EXIT_STATUS, Failure, on_one_line};
use crate::log::LogArguments;
use crate::text::visible;
use crate::time::{lasting, utc};

/// The calls on a page of the log. A listing reads as many pages as it needs.
const PAGE: u16 = 100;

/// Lists the calls of a day or of a caller, newest first.
///
/// A line has the start in UTC, the length of the call, whether it is live, ended or held, why it ended, the number of its
/// messages and its id. The output contains no words of the call.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    #[command(flatten)]
    log: LogArguments,

    /// The day on which the calls started, in UTC, such as 2025-10-20; today by default.
    #[arg(long, value_name = "DAY", conflicts_with = "caller")]
    day: Option<Day>,

    /// The caller's number, written as the service writes it, such as +4930123456.
    #[arg(long, value_name = "NUMBER", requires = "salt")]
    caller: Option<String>,

    /// The salt with which the service hashes numbers.
    #[arg(long, env = "VERBALE_CALLER_SALT", value_name = "SALT", hide_env_values = true)]
    salt: Option<String>,

    /// The tenant of the calls. Without it, calls without a tenant are listed.
    #[arg(long, value_name = "TENANT")]
    tenant: Option<String>,

    /// Lists only calls in this state.
    #[arg(long, value_name = "STATE")]
    state: Option<State>,

    /// Lists only calls that ended for this reason.
    #[arg(long, value_name = "REASON")]
    outcome: Option<String>,

    /// Lists at most N calls.
    #[arg(long, value_name = "N", default_value = "100", value_parser = at_least_one)]
    limit: usize,

    /// Continues after an earlier list, which printed this cursor.
    #[arg(long, value_name = "CURSOR")]
    after: Option<Cursor>,

    /// Prints one JSON object for each call.
    #[arg(long)]
    json: bool,
}

fn at_least_one(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|limit| *limit > 0).ok_or("expected a number, at least 1")
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum State {
    /// The call was opened and has not ended.
    Live,
    /// The call has ended.
    Ended,
    /// The call is under a legal hold, ended or not.
    Held,
}

/// A call, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    call: &'a str,
    started_ms: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<&'a str>,
    attributes: &'a Map,
    epoch: u32,
    held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at_s: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<End<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct End<'a> {
    at_ms: i64,
    reason: &'a str,
    messages: u32,
    summaries: u32,
}

/// Lists the calls. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut query = arguments.query()?;
    let log = arguments.log.open().await?;
    let mut listed = 0;
    let mut status = 0;
    loop {
        let page = log.list_calls(&query).await?;
        for error in &page.unreadable {
            status = DIFFERENT;
            note(&format!("not listed: {}", on_one_line(error)));
        }
        for (index, header) in page.calls.iter().enumerate().filter(|(_, header)| arguments.matches(header)) {
            if arguments.json {
                json_line(out, &Listed::from(header))?;
            } else {
                if listed == 0 {
                    writeln!(
                        out,
                        "{:<19}  {:>10}  {:<5}  {:>8}  {:<12}  CALL",
                        "STARTED (UTC)", "LASTED", "STATE", "MESSAGES", "OUTCOME"
                    )?;
                }
                writeln!(out, "{}", line(header))?;
            }
            listed += 1;
            let read = u16::try_from(index + 1).unwrap_or(PAGE);
            if listed == arguments.limit && usize::from(read) < page.calls.len() {
                // A page that ends here has the cursor of the next one.
                query = query.with_limit(read);
                let next = log.list_calls(&query).await?.next;
                note(&next.map_or_else(|| "no more calls".to_owned(), more));
                return Ok(status);
            }
        }
        match page.next {
            Some(next) if listed == arguments.limit => {
                note(&more(next));
                return Ok(status);
            }
            Some(next) => query = query.with_after(next),
            None => break,
        }
    }
    if listed == 0 {
        note(&format!("no calls {}", arguments.of_what(&query)));
    }
    Ok(status)
}

impl Arguments {
    fn query(&self) -> Result<CallQuery, Failure> {
        let tenant = self.tenant.as_deref().map(Tenant::new).transpose()?;
        let query = match (&self.caller, &self.salt) {
            (Some(number), Some(salt)) => CallQuery::of_caller(tenant, CallerId::new(number, salt.as_bytes())?),
            _ => {
                let day = self.day.unwrap_or_else(|| Day::of_ms(SystemClock.now_ms()));
                CallQuery::of_day(day).with_tenant(tenant)
            }
        };
        // Without filters, a page ends where the list ends, and `--after` continues there.
        let of_a_page = u16::try_from(self.limit).unwrap_or(PAGE).clamp(1, PAGE);
        let limit = if self.state.is_none() && self.outcome.is_none() { of_a_page } else { PAGE };
        Ok(query.with_limit(limit).with_after(self.after.clone()))
    }

    fn matches(&self, header: &CallHeader) -> bool {
        let is_in_state = match self.state {
            None => true,
            Some(State::Live) => header.call_end().is_none(),
            Some(State::Ended) => header.call_end().is_some(),
            Some(State::Held) => header.is_held(),
        };
        let reason = || header.call_end().map(|end| end.reason.as_ref());
        is_in_state && self.outcome.as_deref().is_none_or(|outcome| reason() == Some(outcome))
    }

    fn of_what(&self, query: &CallQuery) -> String {
        let tenant = self.tenant.as_ref().map_or_else(String::new, |tenant| format!(" of tenant {}", visible(tenant)));
        match query.day() {
            Some(day) => format!("started on {day} (UTC){tenant}; choose another --day"),
            None => format!("of this caller{tenant}; check the number's form and the salt"),
        }
    }
}

fn more(next: Cursor) -> String {
    format!("there may be more: add --after {next}")
}

fn line(header: &CallHeader) -> String {
    let state = match (header.call_end(), header.is_held()) {
        (_, true) => "held",
        (Some(_), false) => "ended",
        (None, false) => "live",
    };
    let end = header.call_end();
    let lasted = end.map_or_else(|| "-".to_owned(), |end| lasting(end.at_ms.saturating_sub(header.started_ms())));
    let messages = end.map_or_else(|| "-".to_owned(), |end| end.messages.to_string());
    let outcome = end.map_or_else(|| "-".to_owned(), |end| visible(&end.reason));
    format!(
        "{}  {lasted:>10}  {state:<5}  {messages:>8}  {outcome:<12}  {}",
        utc(header.started_ms()),
        header.call_id()
    )
}

impl<'a> From<&'a CallHeader> for Listed<'a> {
    fn from(header: &'a CallHeader) -> Self {
        Self {
            call: CallId::as_str(header.call_id()),
            started_ms: header.started_ms(),
            tenant: header.tenant().map(Tenant::as_str),
            attributes: header.attributes(),
            epoch: header.epoch(),
            held: header.is_held(),
            expires_at_s: header.expires_at_s(),
            end: header.call_end().map(|end| End {
                at_ms: end.at_ms,
                reason: &end.reason,
                messages: end.messages,
                summaries: end.summaries,
            }),
        }
    }
}
