//! `verbale show`: a call, for people, or the prompt of one of its turns.

mod at;

use std::io::Write;

use anstyle::{AnsiColor, Style};
use clap::Args;
use verbale::bedrock::BedrockMessage;
use verbale::log::{CallHeader, CallId, LoggedCall};
use verbale::message::{Attribute, MediaKind, Part, ResultContent, Timing, TurnRecord};
use verbale::{Content, Message, MessageWrapper, MessagesManager, Role, ToolCall, ToolResult};

use crate::command::json_line;
use crate::failure::{EXIT_STATUS, Failure};
use crate::log::LogArguments;
use crate::redact::Mask;
use crate::text::{count, place, texts_of, visible};
use crate::time::{lasting, since, utc};
use crate::turn::Turn;
use at::{At, last_memory};

/// Shows a call: who said what and when, what was not heard, the tools, the summaries, and what each turn took.
#[derive(Debug, Args)]
#[command(after_help = EXIT_STATUS)]
pub struct Arguments {
    /// The id of the call, as `verbale list` prints it.
    #[arg(value_name = "CALL")]
    call: String,

    /// Shows the prompt of a turn instead, rebuilt from the log: 3 is the last request of turn 3, 3.1 its first one.
    ///
    /// Says whether it has the hash of the prompt that was sent. If not, the exit status is 6.
    #[arg(long, value_name = "TURN[.REQUEST]")]
    at: Option<At>,

    #[command(flatten)]
    mask: Mask,

    #[command(flatten)]
    log: LogArguments,

    /// Prints the stored records instead, one JSON object for each, or the prompt as one object.
    #[arg(long)]
    pub json: bool,
}

/// Shows the call. Returns the exit status.
pub async fn run(arguments: Arguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let (call_id, call) = arguments.log.read(arguments.call).await?;
    if let Some(at) = arguments.at {
        let prompt = at.rebuild(&call_id, call, arguments.mask)?;
        return if arguments.json { prompt.json(out) } else { prompt.show(out) };
    }
    let call = arguments.mask.apply(call)?;
    if arguments.json {
        for record in &call.records {
            json_line(out, record)?;
        }
        return Ok(0);
    }
    let problems = call.problems.len();
    let header = call.header.clone();
    let started_ms = started_ms(&call);
    let memory = last_memory(&call_id, call.clone());
    let conversation: MessagesManager<BedrockMessage> = call.restore();
    Shown { out, started_ms, turns: &mut 0 }.call(&call_id, header.as_ref(), &conversation)?;
    if let Some((turn, memory)) = memory {
        writeln!(out, "\nmemory of the turns before the window, as the model got it in turn {turn}")?;
        for line in memory.as_str().lines() {
            writeln!(out, "  {}", visible(line))?;
        }
    }
    for left_out in conversation.left_out() {
        writeln!(out, "left out  {}: {}", place(left_out.position), visible(&left_out.reason))?;
    }
    if problems > 0 {
        writeln!(
            out,
            "{} could not be loaded; `verbale check {call_id}` says which",
            count(problems as u64, "content")
        )?;
    }
    Ok(0)
}

/// Returns the start of a call: of its header, or of its first message.
pub fn started_ms(call: &LoggedCall) -> i64 {
    let first = || call.records.first().and_then(|record| record.metadata().timing(Timing::Creation));
    call.header.as_ref().map(CallHeader::started_ms).or_else(first).unwrap_or_default()
}

/// Returns the lines of a message, which follows so many turns.
pub fn lines(message: &Message, started_ms: i64, turns: &mut u32) -> Result<String, Failure> {
    let mut out = Vec::new();
    Shown { out: &mut out, started_ms, turns }.message(message)?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

struct Shown<'a> {
    out: &'a mut dyn Write,
    started_ms: i64,
    /// The turns before the next message.
    turns: &'a mut u32,
}

impl Shown<'_> {
    fn call(
        &mut self,
        id: &CallId,
        header: Option<&CallHeader>,
        conversation: &MessagesManager<BedrockMessage>,
    ) -> Result<(), Failure> {
        let strong = Style::new().bold();
        writeln!(self.out, "{strong}call {id}{strong:#}")?;
        self.field("started", &format!("{} UTC", utc(self.started_ms)))?;
        match header {
            None => self.field("header", "none: the call was never opened, or its header is not stored yet")?,
            Some(header) => self.header(header)?,
        }
        writeln!(self.out)?;
        for message in conversation.meta_messages() {
            self.message(message.message())?;
        }
        Ok(())
    }

    fn header(&mut self, header: &CallHeader) -> Result<(), Failure> {
        match header.call_end() {
            None => self.field("state", "live")?,
            Some(end) => {
                let lasted = lasting(end.at_ms.saturating_sub(header.started_ms()));
                self.field("ended", &format!("{} UTC, after {lasted}: {}", utc(end.at_ms), visible(&end.reason)))?;
                let counts = [count(end.messages.into(), "message"), summaries(end.summaries)].join(", ");
                self.field("stored", &counts)?;
            }
        }
        if let Some(tenant) = header.tenant() {
            self.field("tenant", &visible(tenant.as_str()))?;
        }
        if header.is_held() {
            self.field("hold", "yes: the call neither expires nor can be erased")?;
        }
        if let Some(at_s) = header.expires_at_s() {
            self.field("expires", &format!("{} UTC", utc(at_s.saturating_mul(1_000))))?;
        }
        if header.epoch() > 1 {
            self.field(
                "writer",
                &format!("{}, after {}", header.epoch(), count((header.epoch() - 1).into(), "takeover")),
            )?;
        }
        for (key, value) in header.attributes().iter() {
            self.field(&visible(key), &visible(&serde_json::to_string(value).unwrap_or_default()))?;
        }
        Ok(())
    }

    fn field(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{name:<8}  {value}")?)
    }

    fn message(&mut self, message: &Message) -> Result<(), Failure> {
        match message.role() {
            _ if message.is_fake() => return Ok(()),
            Role::Summary => self.summary(message)?,
            Role::User if message.contents().iter().any(|content| content.as_result().is_some()) => {
                self.contents(message)?;
            }
            Role::User if message.is_background() => self.background(message)?,
            Role::User => {
                for part in message.parts() {
                    self.part(part)?;
                }
            }
            _ => self.contents(message)?,
        }
        if let Some(turn) = message.metadata().turn() {
            self.turn(turn)?;
        }
        Ok(())
    }

    fn background(&mut self, message: &Message) -> Result<(), Failure> {
        let at_ms = message.metadata().timing(Timing::Creation).unwrap_or_default();
        self.labelled(at_ms, "context", AnsiColor::BrightBlack, &visible(&texts_of(message)))
    }

    fn part(&mut self, part: Part<'_>) -> Result<(), Failure> {
        let at_ms = part.timing(Timing::ListenStart).unwrap_or_else(|| part.created_ms());
        for content in part.contents() {
            self.content(at_ms, Role::User, content)?;
        }
        Ok(())
    }

    /// Shows the contents of a message, with the words that the caller did not hear in brackets.
    fn contents(&mut self, message: &Message) -> Result<(), Failure> {
        let metadata = message.metadata();
        let at_ms =
            metadata.timing(Timing::PlayStart).or_else(|| metadata.timing(Timing::Creation)).unwrap_or_default();
        if message.heard().is_none() {
            for content in message.contents().iter() {
                self.content(at_ms, message.role(), content)?;
            }
        } else {
            let said = texts_of(message);
            let heard: String = message.heard_contents().texts().map(|text| text.as_str()).collect();
            let unheard = said.strip_prefix(&heard).unwrap_or(&said).to_owned();
            let heard = message.heard_contents().texts().map(|text| text.as_str()).collect::<Vec<_>>().join(" ");
            let faint = Style::new().dimmed();
            let words = format!("{}{faint}[not heard: {}]{faint:#}", spaced(&visible(&heard)), visible(unheard.trim()));
            self.row(at_ms, message.role(), &words)?;
            for content in message.contents().iter().filter(|content| content.as_text().is_none()) {
                self.content(at_ms, message.role(), content)?;
            }
        }
        if metadata.has(Attribute::LlmInterrupted) {
            self.note("the model was stopped before it had ended")?;
        }
        Ok(())
    }

    fn content(&mut self, at_ms: i64, role: Role, content: &Content) -> Result<(), Failure> {
        match content {
            Content::Text(text) => self.row(at_ms, role, &visible(text.as_str())),
            Content::ToolCall(call) => self.labelled(at_ms, "tool", AnsiColor::Yellow, &called(call)),
            Content::ToolResult(result) => self.labelled(at_ms, "result", AnsiColor::Yellow, &returned(result)),
            Content::Media(media) if media.kind() == MediaKind::Document => self.row(at_ms, role, "(a document)"),
            Content::Media(_) => self.row(at_ms, role, "(an image, a sound or a video)"),
            _ => self.row(at_ms, role, "(a content of a newer version)"),
        }
    }

    fn summary(&mut self, message: &Message) -> Result<(), Failure> {
        let at_ms = message.metadata().timing(Timing::Creation).unwrap_or_default();
        let text = texts_of(message);
        let title = format!("of the messages up to number {}", message.position().seq());
        self.labelled(at_ms, "summary", AnsiColor::Magenta, &title)?;
        for line in text.lines() {
            self.note(&visible(line))?;
        }
        Ok(())
    }

    fn turn(&mut self, record: &TurnRecord) -> Result<(), Failure> {
        let Some(turn) = Turn::read(record) else { return Ok(()) };
        let faint = Style::new().dimmed();
        *self.turns += turn.left_out;
        for turn in turn.each() {
            *self.turns += 1;
            self.note(&format!("{faint}{}{faint:#}", turn.words(*self.turns)))?;
        }
        Ok(())
    }

    fn row(&mut self, at_ms: i64, role: Role, words: &str) -> Result<(), Failure> {
        let (who, colour) = match role {
            Role::User => ("caller", AnsiColor::Cyan),
            Role::Assistant => ("assistant", AnsiColor::Green),
            Role::System => ("system", AnsiColor::BrightBlack),
            _ => ("message", AnsiColor::White),
        };
        self.labelled(at_ms, who, colour, words)
    }

    fn labelled(&mut self, at_ms: i64, who: &str, colour: AnsiColor, words: &str) -> Result<(), Failure> {
        let style = colour.on_default();
        Ok(writeln!(self.out, "{}  {style}{who:<9}{style:#}  {words}", since(self.started_ms, at_ms))?)
    }

    fn note(&mut self, text: &str) -> Result<(), Failure> {
        Ok(writeln!(self.out, "{:20}{text}", "")?)
    }
}

/// Returns a number of summaries.
pub fn summaries(number: u32) -> String {
    if number == 1 { "1 summary".to_owned() } else { format!("{number} summaries") }
}

fn spaced(words: &str) -> String {
    if words.is_empty() { String::new() } else { format!("{} ", words.trim_end()) }
}

/// Returns a tool and its arguments on one line.
pub fn called(call: &ToolCall) -> String {
    let arguments = serde_json::to_string(call.arguments()).unwrap_or_default();
    format!("{} {}", visible(call.name().as_str()), visible(&arguments))
}

/// Returns a tool, and what it returned or why it failed, on one line.
pub fn returned(result: &ToolResult) -> String {
    format!("{}: {}", visible(result.name().as_str()), outcome(result))
}

fn outcome(result: &ToolResult) -> String {
    match result.outcome() {
        Err(error) => {
            let kind = error.error_type().map_or_else(String::new, |kind| format!(" ({})", visible(kind)));
            format!("failed{kind}: {}", visible(error.message()))
        }
        Ok(contents) if contents.is_empty() => "done".to_owned(),
        Ok(contents) => {
            let texts = contents.iter().map(|content| match content {
                ResultContent::Text(text) => visible(text.as_str()),
                other => visible(&serde_json::to_string(other).unwrap_or_default()),
            });
            texts.collect::<Vec<_>>().join(" ")
        }
    }
}
