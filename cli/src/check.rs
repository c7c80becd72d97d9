//! `verbale check`: what is wrong with a call, or with the calls of a day.

use std::collections::BTreeMap;
use std::io::Write;

use clap::Args;
use serde::Serialize;
use verbale::bedrock::{converse_input, validate};
use verbale::conversation::{Conversation, ToolOutcome};
use verbale::log::{CallId, Day, LogError, LoggedCall};
use verbale::model::ModelRequest;
use verbale::{MessageWrapper, MessagesManager, PlainMessage};

use crate::calls::{Calls, Found};
use crate::command::json_line;
use crate::failure::{DIFFERENT, EXIT_STATUS, Failure, on_one_line};
use crate::log::LogArguments;
use crate::progress::Progress;
use crate::text::{count, place, visible};

/// Checks a call, or all calls of a day.
///
/// A call is checked for messages and contents that are missing or cannot be read, for tool calls whose outcome is unknown or
/// was not told to the caller, and for a conversation that Bedrock would refuse. The output contains no words of the call.
/// The exit status is 6 if something is wrong.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    /// The id of the call, as `verbale list` prints it.
    #[arg(value_name = "CALL", required_unless_present = "day", conflicts_with = "day")]
    call: Option<String>,

    /// Checks the calls that started on this day, in UTC, such as 2025-10-20.
    #[arg(long, value_name = "DAY")]
    day: Option<Day>,

    /// The tenant of the day's calls. Without it, calls without a tenant are checked.
    #[arg(long, value_name = "TENANT", requires = "day")]
    tenant: Option<String>,

    #[command(flatten)]
    log: LogArguments,

    /// Prints one JSON object for each problem.
    #[arg(long)]
    json: bool,
}

/// A problem of a call. It contains no words of the call.
#[derive(Debug, PartialEq, Serialize)]
struct Problem {
    kind: &'static str,
    text: String,
}

/// A problem of a call, for programs.
#[derive(Debug, Serialize)]
struct Reported<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
    #[serde(flatten)]
    problem: &'a Problem,
}

/// Checks the calls. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut checked = Checked { json: arguments.json, calls: 0, wrong: 0, problems: 0 };
    if let Some(call) = arguments.call {
        let (call_id, call) = arguments.log.read(call).await?;
        checked.call(out, &call_id, call)?;
    } else {
        let log = arguments.log.open().await?;
        let mut calls = Calls::of_day(&log, arguments.day, arguments.tenant)?;
        let mut progress = Progress::new();
        while let Some(found) = calls.next().await? {
            match found {
                Found::Call(header, call) => {
                    progress.add(header.started_ms());
                    checked.call(out, header.call_id(), call)?;
                }
                Found::PageEnd(_) => {}
                Found::Unreadable(error) => checked.unreadable(out, &error)?,
            }
        }
    }
    if !arguments.json {
        let found = match checked.problems {
            0 => "nothing is wrong".to_owned(),
            problems => format!("{} in {}", count(problems, "problem"), count(checked.wrong, "call")),
        };
        writeln!(out, "{} checked: {found}", count(checked.calls, "call"))?;
    }
    Ok(if checked.problems == 0 { 0 } else { DIFFERENT })
}

/// The counts of what was checked so far.
struct Checked {
    json: bool,
    calls: u64,
    wrong: u64,
    problems: u64,
}

impl Checked {
    fn call(&mut self, out: &mut dyn Write, call_id: &CallId, call: LoggedCall) -> Result<(), Failure> {
        let problems = problems_of(call_id, call);
        self.calls += 1;
        self.wrong += u64::from(!problems.is_empty());
        self.problems += problems.len() as u64;
        for problem in &problems {
            if self.json {
                json_line(out, &Reported { call: Some(call_id.as_str()), problem })?;
            } else {
                writeln!(out, "{call_id}: {}", visible(&problem.text))?;
            }
        }
        Ok(())
    }

    /// Reports a call that cannot be read. The error names it.
    fn unreadable(&mut self, out: &mut dyn Write, error: &LogError) -> Result<(), Failure> {
        (self.calls, self.wrong, self.problems) = (self.calls + 1, self.wrong + 1, self.problems + 1);
        let problem = Problem { kind: "unreadable", text: on_one_line(error) };
        if self.json {
            json_line(out, &Reported { call: None, problem: &problem })
        } else {
            Ok(writeln!(out, "{}", problem.text)?)
        }
    }
}

fn problems_of(call_id: &CallId, call: LoggedCall) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut found = |kind, text| problems.push(Problem { kind, text });
    if call.header.is_none() {
        found("notOpened", "the call has no header: it is in no list, and nobody can resume it".to_owned());
    }
    for problem in &call.problems {
        found(
            "content",
            format!("message {}: content {} is not there: {}", problem.message_id, problem.content_id, problem.error),
        );
    }
    let has_ended = call.ended.is_some();
    let conversation = Conversation::from_manager(call_id.clone(), call.restore());
    if has_ended {
        for tool in untold(&conversation) {
            found(
                "untold",
                format!("the caller may not know the outcome of the tool {tool}: no answer to it was heard to its end"),
            );
        }
    }
    conversation.read(|manager| {
        for left_out in manager.left_out() {
            found("leftOut", format!("{} is left out: {}", place(left_out.position), left_out.reason));
        }
    });
    for (tool, outcome) in conversation.read(outcomes) {
        match outcome {
            None if has_ended => {
                found("noOutcome", format!("a call of the tool {tool} has no result, and the call has ended"))
            }
            Some(ToolOutcome::Unknown) => {
                found("unknownOutcome", format!("nobody knows whether the tool {tool} has acted; look it up there"));
            }
            _ => {}
        }
    }
    match conversation.read(refusals) {
        Ok(rules) => {
            rules.into_iter().for_each(|text| found("refused", format!("Bedrock would refuse the window: {text}")))
        }
        Err(text) => found("refused", text),
    }
    problems
}

/// Returns the tools that acted, and of whose outcome the caller was not told.
pub fn untold(conversation: &Conversation) -> Vec<String> {
    conversation.untold_acts().iter().map(|call| visible(call.name().as_str())).collect()
}

/// Returns the tool of each tool call and its outcome, in order.
fn outcomes(conversation: &MessagesManager<PlainMessage>) -> Vec<(String, Option<ToolOutcome>)> {
    let mut outcomes: Vec<(String, Option<ToolOutcome>)> = Vec::new();
    let mut open: BTreeMap<String, usize> = BTreeMap::new();
    for message in conversation.meta_messages() {
        for content in message.message().contents().iter() {
            if let Some(call) = content.as_tool_call() {
                open.insert(call.id().as_str().to_owned(), outcomes.len());
                outcomes.push((visible(call.name().as_str()), None));
            } else if let Some(result) = content.as_result() {
                let index = open.get(result.tool_call_id().as_str());
                if let Some((_, outcome)) = index.and_then(|index| outcomes.get_mut(*index)) {
                    *outcome = Some(ToolOutcome::from(result));
                }
            }
        }
    }
    outcomes
}

/// Returns the rules that the window breaks, as Bedrock words them.
fn refusals(conversation: &MessagesManager<PlainMessage>) -> Result<Vec<String>, String> {
    let window: Vec<_> = conversation.messages().map(|message| message.message().clone()).collect();
    if window.is_empty() {
        return Ok(Vec::new());
    }
    let input = converse_input("model", &ModelRequest::new(window))
        .map_err(|error| format!("the window cannot be converted for Bedrock: {error}"))?;
    Ok(validate(&input).iter().map(ToString::to_string).collect())
}
