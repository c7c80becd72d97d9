//! `verbale why`: what went wrong in a call, and what helps.

use std::collections::HashMap;
use std::io::Write;

use clap::Args;
use serde::Serialize;
use verbale::conversation::{Conversation, ToolOutcome};
use verbale::log::CallHeader;
use verbale::message::{Attribute, Timing};
use verbale::{Content, Message, MessageWrapper, MessagesManager, PlainMessage};

use crate::check::untold;
use crate::command::json_line;
use crate::failure::{EXIT_STATUS, Failure};
use crate::log::LogArguments;
use crate::lost::{Lost, lost_values};
use crate::show::started_ms;
use crate::text::{count, place, visible};
use crate::time::{lasting, since};
use crate::turn::Turn;
use crate::turns::{Numbered, Turns};

/// Answers that take longer sound like a dead line.
const SLOW_MS: i64 = 2_000;

/// Says what went wrong in a call, and what helps: slow answers, failures, words that were not heard, tools.
///
/// What was said is not shown.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    /// The id of the call, as `verbale list` prints it.
    #[arg(value_name = "CALL")]
    call: String,

    #[command(flatten)]
    log: LogArguments,

    /// Prints one JSON object for each cause.
    #[arg(long)]
    json: bool,
}

/// Something that went wrong. It contains nothing that was said.
#[derive(Debug, PartialEq, Serialize)]
pub struct Cause {
    pub at_ms: i64,
    pub what: String,
    /// The index of the message that it is about, if it is about one.
    #[serde(skip)]
    pub message: Option<usize>,
    /// The remedy, if there is one.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub fix: &'static str,
}

/// Explains the call. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (call_id, call) = arguments.log.read(arguments.call).await?;
    let (header, started_ms) = (call.header.clone(), started_ms(&call));
    let conversation = Conversation::from_manager(call_id, call.restore());
    let (turns, causes) = explain(&conversation, header.as_ref(), started_ms);
    for cause in &causes {
        if arguments.json {
            json_line(out, cause)?;
            continue;
        }
        writeln!(out, "{}  {}", since(started_ms, cause.at_ms), cause.what)?;
        if !cause.fix.is_empty() {
            writeln!(out, "         {}", cause.fix)?;
        }
    }
    if causes.is_empty() && !arguments.json {
        writeln!(out, "nothing went wrong that the log knows of")?;
    }
    if let Some(slowest) = slowest(&turns).filter(|(gap_ms, _)| !arguments.json && *gap_ms <= SLOW_MS) {
        writeln!(out, "the slowest answer, that of turn {}, began after {}", slowest.1.number, lasting(slowest.0))?;
    }
    Ok(0)
}

/// Returns the turn with the longest gap, and the gap in milliseconds.
pub fn slowest(turns: &Turns) -> Option<(i64, &Numbered)> {
    turns.by_gap().pop()
}

/// Returns the turns of a call, and what went wrong, in the order of time.
pub fn explain(conversation: &Conversation, header: Option<&CallHeader>, started_ms: i64) -> (Turns, Vec<Cause>) {
    let turns = conversation.read(Turns::of);
    let mut causes = conversation.read(|manager| causes_of(manager, &turns, started_ms));
    if let Some(end) = header.and_then(CallHeader::call_end) {
        for tool in untold(conversation) {
            let what =
                format!("the call ended, and no answer about the tool {tool}, which acted, was heard to its end");
            causes.add(end.at_ms, what, "tell the caller the outcome: they may not know it");
        }
    }
    for Lost { message, at_ms, turn } in lost_values(conversation, &turns) {
        causes.1 = Some(message);
        let what = format!("the caller said a value again, which the prompt had no more since turn {turn}");
        causes.add(
            at_ms,
            what,
            "give the memory more tokens: `Policy::with_memory`; `verbale report` shows the memory",
        );
    }
    causes.0.sort_by_key(|cause| cause.at_ms);
    (turns, causes.0)
}

fn causes_of(conversation: &MessagesManager<PlainMessage>, turns: &Turns, started_ms: i64) -> Causes {
    let mut causes = Causes::default();
    let mut asked_ms = HashMap::new();
    let slowest = slowest(turns).map(|(_, turn)| turn.number);
    for turn in &turns.0 {
        causes.1 = Some(turn.message);
        if let Some(gap) = turn.gap.filter(|gap| gap.length_ms() > SLOW_MS) {
            let (why, fix) = turn.slowness(gap);
            let rank = if slowest == Some(turn.number) && turns.0.len() > 1 { ", the slowest one," } else { "" };
            let (number, took) = (turn.number, lasting(gap.length_ms()));
            causes.add(gap.from_ms, format!("the answer of turn {number}{rank} began after {took}: {why}"), fix);
        }
        causes.turn(&turn.turn);
    }
    for (index, message) in conversation.meta_messages().iter().map(MessageWrapper::message).enumerate() {
        causes.1 = Some(index);
        causes.message(message);
        causes.slow_tools(message, &mut asked_ms);
    }
    causes.1 = None;
    for left_out in conversation.left_out() {
        let what = format!("{} is left out: {}", place(left_out.position), visible(&left_out.reason));
        causes.add(started_ms, what, "");
    }
    causes
}

/// The causes so far, and the message that the next ones are about.
#[derive(Default)]
struct Causes(Vec<Cause>, Option<usize>);

impl Causes {
    fn add(&mut self, at_ms: i64, what: String, fix: &'static str) {
        self.0.push(Cause { at_ms, what, message: self.1, fix });
    }

    fn turn(&mut self, turn: &Turn) {
        let failures: Vec<&str> = turn.requests.iter().filter_map(|request| request.failure.as_deref()).collect();
        if !failures.is_empty() {
            let what = format!("{} to the model failed: {}", count(failures.len() as u64, "request"), names(&failures));
            self.add(turn.start_ms, what, fix_of(&failures));
        }
        if let Some(reason) = turn.reason.as_deref() {
            let fix = match reason {
                "maxTokens" => "raise the limit of tokens of an answer",
                "filtered" => "look at the guardrail, or at the instructions",
                "contextFull" => "give the policy a smaller budget",
                "blank" => "the model answered with nothing; look at the instructions",
                "tooManyToolRounds" => "raise the limit of tool rounds, or offer tools that do more at once",
                _ => fix_of(&[reason]),
            };
            self.add(turn.start_ms, format!("the turn was {}: {}", visible(&turn.end), visible(reason)), fix);
        }
        for request in &turn.requests {
            for switch in &request.switches {
                self.add(turn.sent_ms(request), format!("another model answered: {}", visible(switch)), "");
            }
            for repair in &request.repairs {
                self.add(turn.sent_ms(request), format!("the request was repaired: {}", visible(repair)), "");
            }
        }
        if turn.fillers > 0 {
            let what = format!("the caller waited through {}", count(turn.fillers.into(), "filler"));
            self.add(turn.start_ms, what, "a tool or the model was slow; `verbale show` has their times");
        }
    }

    /// A tool runs from its call, of which `asked_ms` has the time, to its result.
    fn slow_tools<'a>(&mut self, message: &'a Message, asked_ms: &mut HashMap<&'a str, i64>) {
        let created_ms = message.metadata().timing(Timing::Creation).unwrap_or_default();
        for call in message.contents().iter().filter_map(Content::as_tool_call) {
            asked_ms.insert(call.id().as_str(), created_ms);
        }
        for part in message.parts() {
            for result in part.contents().iter().filter_map(Content::as_result) {
                let Some(asked_ms) = asked_ms.remove(result.tool_call_id().as_str()) else { continue };
                let took_ms = part.created_ms().saturating_sub(asked_ms);
                if took_ms > SLOW_MS {
                    let tool = visible(result.name().as_str());
                    let fix = "make the tool faster, or fill the silence: `CallSettings::with_fillers`";
                    self.add(asked_ms, format!("the tool {tool} took {}", lasting(took_ms)), fix);
                }
            }
        }
    }

    fn message(&mut self, message: &Message) {
        let metadata = message.metadata();
        let at_ms = metadata.timing(Timing::PlayEnd).or_else(|| metadata.timing(Timing::Creation)).unwrap_or_default();
        if let Some(heard) = message.heard() {
            let length: usize = message.contents().texts().map(|text| text.len()).sum();
            let percent = 100 * heard.bytes() / length.max(1);
            if percent < 100 {
                let what = match metadata.has(Attribute::SpeechInterrupted) {
                    true => format!("the caller interrupted after {percent}% of the words"),
                    false => format!("only {percent}% of the words were played"),
                };
                self.add(at_ms, what, "");
            }
        }
        for result in message.contents().iter().filter_map(Content::as_result) {
            let tool = visible(result.name().as_str());
            match ToolOutcome::from(result) {
                ToolOutcome::Unknown => {
                    let fix = "look it up there; a tool with a `resume` handler is looked up by itself";
                    self.add(at_ms, format!("nobody knows whether the tool {tool} has acted"), fix);
                }
                ToolOutcome::Failed => {
                    self.add(at_ms, format!("the tool {tool} failed"), "`verbale show` has its error")
                }
                ToolOutcome::NotRun => {
                    self.add(at_ms, format!("the tool {tool} was not run"), "`verbale show` has the reason")
                }
                _ => {}
            }
        }
    }
}

fn fix_of(failures: &[&str]) -> &'static str {
    match failures.first().copied().unwrap_or_default() {
        "throttled" => "raise the quota of the model, or add another one with `or_else`",
        "timeout" => "the model was too slow; add another one with `or_else`, or allow more time",
        "unavailable" | "unreachable" => "look at the network and the region, or add another model with `or_else`",
        "denied" => "check the credentials, and that the account may use the model",
        "refused" | "invalid" => "the provider refused the prompt; `verbale check` shows what is wrong with it",
        _ => "",
    }
}

fn names(failures: &[&str]) -> String {
    visible(&failures.join(", "))
}
