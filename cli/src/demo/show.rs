//! [`Show`]: the events of a call, for people.

use std::io::{self, Write};

use verbale::bedrock::BedrockMessage;
use verbale::message::ResultContent;
use verbale::{MessageWrapper, MessagesManager, Role, ToolResult};

use crate::demo::happening::{Happening, Observer};
use crate::demo::log::Costs;
use crate::demo::play::Ended;
use crate::demo::player::BargeIn;
use crate::demo::script::{Event, EventKind, Script};
use crate::text::{count, end_of, start_of, texts_of, visible};

/// Columns for the words in a line.
const WIDTH: usize = 100;
const BEFORE: usize = 28;
const SAID: usize = WIDTH - BEFORE;

/// Writes a line for each event, and at the end the whole conversation.
pub struct Show<W> {
    out: W,
    start_ms: i64,
}

impl<W: Write> Observer for Show<W> {
    fn observe(&mut self, happening: Happening<'_>) -> io::Result<()> {
        match happening {
            Happening::Begun { script, log } => self.begin(script, log),
            Happening::BrokenIn(barge_in) => self.broken_in(barge_in),
            Happening::Added { event, window } => self.added(event, window.len()),
            Happening::SummaryBegun { messages } => {
                self.note(&format!("{} are being summarized; the call goes on", count(messages as u64, "message")))
            }
            Happening::Summarized { summary, window, .. } => {
                let characters = texts_of(summary).chars().count();
                let left = count(window as u64, "message");
                self.note(&format!("summarized in {characters} characters; {left} left in the window"))
            }
            Happening::NotSummarized { why } => self.note(&format!("no summary: {why}")),
            Happening::Logged(_) => Ok(()),
            Happening::Ended(ended) => self.end(ended),
        }
    }
}

impl<W: Write> Show<W> {
    pub fn new(out: W) -> Self {
        Self { out, start_ms: 0 }
    }

    fn begin(&mut self, script: &Script, log: &str) -> io::Result<()> {
        self.start_ms = script.start_ms();
        writeln!(self.out, "{log}\n")?;
        writeln!(self.out, "   time  window  who        words (heard|unheard if the caller interrupted)")
    }

    fn added(&mut self, event: &Event, window: usize) -> io::Result<()> {
        let (who, said) = speaker_and_words(&event.kind);
        let time = self.time(event.start_ms);
        writeln!(self.out, "{time}  {window:>6}  {who:<10} {}", start_of(&said, SAID))
    }

    fn broken_in(&mut self, barge_in: &BargeIn) -> io::Result<()> {
        let (heard, unheard) = barge_in.heard_and_unheard();
        let unheard = start_of(unheard, SAID / 2);
        let heard = end_of(heard, SAID - "|".len() - unheard.chars().count());
        writeln!(self.out, "{}          {:<10} {heard}|{unheard}", self.time(barge_in.at_ms), "cut off")
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "{:17}-- {text}", "")
    }

    /// Formats the time since the call began.
    fn time(&self, at_ms: i64) -> String {
        let tenths = at_ms.saturating_sub(self.start_ms) / 100;
        format!("{:02}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
    }

    fn end(&mut self, ended: &Ended) -> io::Result<()> {
        let out = &mut self.out;
        writeln!(out, "\nThe conversation\n{}", ended.manager)?;
        summary(out, &ended.manager)?;
        cost(out, ended)?;
        writeln!(out, "\nwindows validated against Bedrock's rules: {}", ended.windows)?;
        let equal = if ended.restored_equal { "yes" } else { "NO" };
        writeln!(out, "restored manager equals the live one: {equal}")?;
        writeln!(
            out,
            "\nTo see summaries sooner, add --summarize-above 6; to see every request and record, --trace.\n\
             To play a call of your own, add its FILE; to keep the log, --db DIR (see --help)."
        )?;
        match &ended.show_again {
            Some(call) => writeln!(
                out,
                "To see the call in its log: verbale show {call}\n\
                 To see it as a page: verbale report {call} -o call.html"
            ),
            None => Ok(()),
        }
    }
}

/// Returns the speaker and the words.
fn speaker_and_words(kind: &EventKind) -> (&'static str, String) {
    match kind {
        EventKind::System(text) => ("system", text.as_str().to_owned()),
        EventKind::Caller(text) => ("user", text.as_str().to_owned()),
        EventKind::Agent { text, calls, .. } => {
            let calls = calls.iter().map(|call| {
                let arguments = serde_json::to_string(call.arguments()).unwrap_or_default();
                format!("-> {} {arguments}", call.name())
            });
            let parts: Vec<String> = text.iter().map(|text| text.as_str().to_owned()).chain(calls).collect();
            ("assistant", parts.join(" "))
        }
        EventKind::ToolResult(result) => ("user", format!("<- {} {}", result.name(), outcome(result))),
    }
}

fn outcome(result: &ToolResult) -> String {
    match result.outcome() {
        Err(error) => format!("failed: {}", error.message()),
        Ok(contents) if contents.is_empty() => "(nothing)".to_owned(),
        Ok(contents) => {
            let texts = contents.iter().map(|content| match content {
                ResultContent::Text(text) => text.as_str().to_owned(),
                other => format!("{other:?}"),
            });
            texts.collect::<Vec<_>>().join(" ")
        }
    }
}

fn summary(out: &mut impl Write, manager: &MessagesManager<BedrockMessage>) -> io::Result<()> {
    let Some(last) = manager.last_summary().map(MessageWrapper::message) else {
        return writeln!(out, "\nNo summary was made.");
    };
    let number = manager.meta_messages().iter().filter(|message| message.role() == Role::Summary).count();
    let text = texts_of(last);
    writeln!(out, "\nThe last summary, of {number}: {} characters", text.chars().count())?;
    for line in text.lines() {
        writeln!(out, "  {}", visible(line))?;
    }
    Ok(())
}

fn cost(out: &mut impl Write, ended: &Ended) -> io::Result<()> {
    let Ended { costs: Costs { written, header, read }, turns, .. } = ended;
    let a_turn = |units: f64| units / (*turns).max(1) as f64;
    writeln!(out, "\nWhat the log cost")?;
    writeln!(
        out,
        "  written    {}, {} write units: {:.1} and {:.1} a turn",
        count(written.requests, "request"),
        written.write_units,
        a_turn(written.requests as f64),
        a_turn(written.write_units)
    )?;
    writeln!(
        out,
        "  header     {}, {} write units: when the call is opened and closed",
        count(header.requests, "request"),
        header.write_units
    )?;
    writeln!(out, "  read back  {}, {} read units", count(read.requests, "request"), read.read_units)
}
