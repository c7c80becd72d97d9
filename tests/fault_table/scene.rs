//! One turn with a fault, and the turn after it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::types::StopReason;
use serde_json::json;
use verbale::bedrock::{BedrockModel, BedrockSettings, summary_client, turn_client};
use verbale::call::{CallBuilder, CallSession, CallSettings, ReplyEnd, ReplyEvent};
use verbale::memory::ModelSummarizer;
use verbale::message::ResultContent;
use verbale::model::{Failure, Tool, ToolContext, ToolError, ToolSpec};
use verbale::testing::{FakeBedrock, ScriptedReply};
use verbale::{Content, Policy, Value};

use super::{Fault, Place};

const TEXT: &str = "You have twelve euros left in your account.";
const APOLOGY: &str = "I am sorry, something went wrong. Could you say that again, please?";

/// The result of a turn with a fault.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// At most 3, because the pauses between attempts are random.
    requests: u64,
    heard: String,
    log: Vec<String>,
    pub failure: Option<Failure>,
    pub next_turn_is_answered: bool,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requests = if self.requests > 2 { "several".to_owned() } else { self.requests.to_string() };
        write!(f, "| {requests} | {} | {} |", self.heard.trim(), self.log.join("<br>"))
    }
}

pub(crate) async fn play(model: &str, place: Place, fault: Fault, stays: bool) -> Outcome {
    let is_over = Arc::new(AtomicBool::new(false));
    let (bedrock, summaries) =
        (bedrock(place, fault, stays, is_over.clone()), summary_bedrock(place, fault, is_over.clone()));
    let client = Client::from_conf(turn_client(bedrock.sdk_config()).build());
    let summary = Client::from_conf(summary_client(summaries.sdk_config()).build());
    let summarizer = ModelSummarizer::new(BedrockModel::for_summaries(summary, BedrockSettings::new(model)));
    let (keep, above) = if place == Place::InTheSummary { (1, 2) } else { (10, 100) };
    let policy = Policy::default().with_tokens(None).with_messages(above..=above + 1).with_keep_turns(keep);
    let builder = CallBuilder::new(BedrockModel::for_turns(client, BedrockSettings::new(model)))
        .system("You answer the phone of a bank.")
        .settings(CallSettings::default().without_playback_reports())
        .config(|config| config.with_policy(policy))
        .summarizer(summarizer);
    let has_tool = matches!(place, Place::InAToolCall | Place::InTheTool | Place::AfterTheTool);
    let call = if has_tool { builder.tool(tool(place, fault)).open() } else { builder.open() }.unwrap();

    is_over.store(true, Ordering::SeqCst);
    take_turn(&call, "Hello?").await;
    let before = call.conversation().read(|manager| manager.meta_messages().len());
    is_over.store(false, Ordering::SeqCst);
    let asked = bedrock.counters().requests;
    let (heard, end) = take_turn(&call, "What is my balance?").await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let requests = (bedrock.counters().requests - asked).min(3);
    let log = call
        .conversation()
        .read(|manager| manager.meta_messages().iter().skip(before).filter_map(|message| line(message)).collect());
    is_over.store(true, Ordering::SeqCst);
    let (_, next) = take_turn(&call, "And now?").await;
    let failure = match end {
        ReplyEnd::Failed(failure) => failure,
        _ => None,
    };
    let next_turn_is_answered = matches!(next, ReplyEnd::Complete(_));
    Outcome { requests, heard, log, failure, next_turn_is_answered }
}

async fn take_turn(call: &CallSession, said: &str) -> (String, ReplyEnd) {
    call.caller_said(said).unwrap();
    let mut reply = call.reply().unwrap();
    let mut text = String::new();
    while let Some(event) = reply.next().await {
        match event {
            ReplyEvent::Text(piece) => text.push_str(&piece),
            ReplyEvent::Ended(end) => {
                tokio::time::sleep(Duration::from_secs(1)).await;
                return (text.replace(APOLOGY, "[apology]").replace('\n', " "), end);
            }
            _ => {}
        }
    }
    panic!("a reply without an end");
}

fn line(message: &verbale::Message) -> Option<String> {
    let mut line = message.role().to_string();
    for content in message.contents().iter() {
        line.push(' ');
        match content {
            Content::Text(text) if text.as_str() == APOLOGY => line.push_str("[apology]"),
            Content::Text(text) => line.push_str(text.as_str().trim()),
            Content::ToolCall(_) => line.push_str("[call]"),
            Content::ToolResult(result) => {
                let outcome = match result.outcome() {
                    Ok(_) => "succeeded",
                    Err(error) => error.error_type().unwrap_or("failed"),
                };
                line.push_str(&format!("[result: {outcome}]"));
            }
            _ => line.push_str("[other]"),
        }
    }
    for mark in message.metadata().attributes() {
        line.push_str(&format!(" `{mark}`"));
    }
    (line != "user What is my balance?").then_some(line)
}

fn tool(place: Place, fault: Fault) -> Tool {
    let schema = Value::try_from(json!({"type": "object", "properties": {}})).unwrap();
    let spec = ToolSpec::new("balance", "Returns the balance.", schema).unwrap();
    Tool::raw(spec, move |_: Value, _: ToolContext| async move {
        match fault {
            _ if place != Place::InTheTool => Ok(vec![ResultContent::from("12 euros")]),
            Fault::Fails => Err(ToolError::new("no such account")),
            Fault::Panics => panic!("a fault of the tool"),
            Fault::Late => {
                tokio::time::sleep(Duration::from_secs(20)).await;
                Ok(vec![ResultContent::from("12 euros")])
            }
            _ => Ok(vec![ResultContent::from("x".repeat(500_000))]),
        }
    })
}

/// A Bedrock for turns: the fault comes once, or stays until it is over.
fn bedrock(place: Place, fault: Fault, stays: bool, is_over: Arc<AtomicBool>) -> FakeBedrock {
    let (has_called, has_failed) = (AtomicBool::new(false), AtomicBool::new(false));
    FakeBedrock::answering(move |_| {
        let is_fine = is_over.load(Ordering::SeqCst) || place == Place::InTheSummary;
        let may_fail = stays || !has_failed.load(Ordering::SeqCst);
        if is_fine || !may_fail {
            return ScriptedReply::text(TEXT);
        }
        let call = ScriptedReply::text("One moment.").tool_call("call_1", "balance", json!({}));
        if place == Place::AfterTheTool && !has_called.swap(true, Ordering::SeqCst) {
            return call;
        }
        has_failed.store(true, Ordering::SeqCst);
        match place {
            Place::BeforeTheFirstToken | Place::AfterTheTool => before_the_first_token(fault),
            Place::InText => within(ScriptedReply::text(TEXT), 4, fault),
            Place::InAToolCall => match fault {
                Fault::NoJson => ScriptedReply::default().tool_call("call_1", "balance", "{account}"),
                Fault::MaxTokens => {
                    ScriptedReply::default().tool_call("call_1", "balance", "{\"acc").stop(StopReason::MaxTokens)
                }
                fault => within(call, 6, fault),
            },
            Place::InTheTool | Place::InTheSummary => call,
        }
    })
}

fn summary_bedrock(place: Place, fault: Fault, is_over: Arc<AtomicBool>) -> FakeBedrock {
    FakeBedrock::answering(move |_| match place {
        Place::InTheSummary if !is_over.load(Ordering::SeqCst) => match fault {
            Fault::MaxTokens => ScriptedReply::text("The caller").stop(StopReason::MaxTokens),
            fault => before_the_first_token(fault),
        },
        _ => ScriptedReply::text("The caller asked for their balance."),
    })
}

fn before_the_first_token(fault: Fault) -> ScriptedReply {
    match fault {
        Fault::Throttled => ScriptedReply::refused("ThrottlingException"),
        Fault::Unavailable => ScriptedReply::refused("ServiceUnavailableException"),
        Fault::Denied => ScriptedReply::refused("AccessDeniedException"),
        Fault::Refused => ScriptedReply::validation("The model did not like this request."),
        Fault::Blank => ScriptedReply::text(" "),
        fault => within(ScriptedReply::text(TEXT), 1, fault),
    }
}

fn within(reply: ScriptedReply, events: usize, fault: Fault) -> ScriptedReply {
    match fault {
        Fault::Throttled => reply.exception_after(events, "ThrottlingException"),
        Fault::Unavailable => reply.exception_after(events, "ServiceUnavailableException"),
        Fault::Hangs => reply.hang_after(events),
        Fault::ConnectionCut => reply.cut_after(events),
        Fault::EndsEarly => reply.end_after(events),
        Fault::Damaged => reply.malformed_after(events),
        Fault::MaxTokens => reply.stop(StopReason::MaxTokens),
        Fault::Filtered => reply.stop(StopReason::ContentFiltered),
        other => panic!("{other:?} is no fault within an answer"),
    }
}
