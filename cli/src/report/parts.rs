//! [`Parts`]: the messages of a call as blocks of the timeline and rows of the transcript.

use std::collections::HashMap;

use verbale::conversation::ToolOutcome;
use verbale::message::{Attribute, Text, Timing, ToolCallId};
use verbale::{Content, Message, Role};

use super::chart::{Block, Mark};
use crate::show::{called, returned};
use crate::text::{start_of, visible};
use crate::time::since;
use crate::turns::{Numbered, is_fixed};

/// The columns of a text that a pointer or a screen reader shows. The transcript has all of it.
const TITLE: usize = 80;

/// A row of the transcript.
#[derive(Debug, Default)]
pub struct Row {
    /// The number of the message, in links.
    pub message: usize,
    pub is_first: bool,
    /// Whether the timeline shows its message.
    pub has_block: bool,
    /// The number of the first cause that names its message.
    pub cause: Option<usize>,
    pub at: String,
    pub who: &'static str,
    pub text: String,
    pub unheard: String,
    pub note: String,
}

#[derive(Default)]
pub struct Parts {
    pub blocks: Vec<Block>,
    pub marks: Vec<Mark>,
    pub rows: Vec<Row>,
    started_ms: i64,
    /// When the tools were called that have no result yet, and by which message.
    open: HashMap<ToolCallId, (i64, usize)>,
}

impl Parts {
    pub fn new(started_ms: i64) -> Self {
        Self { started_ms, ..Self::default() }
    }

    pub fn message<'t>(&mut self, index: usize, message: &Message, turns: impl Iterator<Item = &'t Numbered>) {
        let timing = |timing| message.metadata().timing(timing);
        let created_ms = timing(Timing::Creation).unwrap_or(self.started_ms);
        let (first_row, first_block) = (self.rows.len(), self.blocks.len());
        match message.role() {
            Role::Summary => {
                let lines = message.contents().texts().flat_map(|text| text.as_str().lines());
                let text = lines.map(visible).collect::<Vec<_>>().join("\n");
                self.block(4, "summary", (created_ms, created_ms), index, "a summary");
                self.row(index, created_ms, "summary", text);
            }
            Role::User if message.is_background() => self.contents(index, message, "context", created_ms),
            Role::User => self.user(index, message),
            Role::System => self.contents(index, message, "system", created_ms),
            _ => {
                let start_ms = timing(Timing::PlayStart).unwrap_or(created_ms);
                self.contents(index, message, "assistant", start_ms);
                self.speech(index, message, start_ms);
            }
        }
        turns.for_each(|turn| self.turn(index, turn));
        let has_block = self.blocks.get_mut(first_block).map(|block| block.is_first = true).is_some();
        for (at, row) in self.rows.iter_mut().enumerate().skip(first_row) {
            (row.is_first, row.has_block) = (at == first_row, has_block);
        }
    }

    /// Adds the tool calls without a result.
    pub fn end(&mut self) {
        for (at_ms, message) in std::mem::take(&mut self.open).into_values() {
            self.block(3, "failed", (at_ms, at_ms), message, "a tool without a result");
        }
    }

    fn user(&mut self, index: usize, message: &Message) {
        for part in message.parts() {
            let end_ms = part.timing(Timing::ListenEnd).unwrap_or_else(|| part.created_ms());
            let start_ms = part.timing(Timing::ListenStart).unwrap_or(end_ms);
            let texts: Vec<String> =
                part.contents().iter().filter_map(Content::as_text).map(|text| visible(text.as_str())).collect();
            if !texts.is_empty() {
                self.block(0, "caller", (start_ms, end_ms), index, &texts.join(" "));
                self.row(index, start_ms, "caller", texts.join(" "));
            }
            for result in part.contents().iter().filter_map(Content::as_result) {
                let class = match ToolOutcome::from(result) {
                    ToolOutcome::Succeeded => "done",
                    _ => "failed",
                };
                let text = returned(result);
                let called = self.open.remove(result.tool_call_id());
                let (called_ms, _) = called.unwrap_or((part.created_ms(), index));
                self.block(3, class, (called_ms, part.created_ms()), index, &text);
                self.row(index, part.created_ms(), "result", text);
            }
        }
    }

    fn contents(&mut self, index: usize, message: &Message, who: &'static str, at_ms: i64) {
        let said: String = message.contents().texts().map(Text::as_str).collect();
        if !said.is_empty() {
            let heard: String = message.heard_contents().texts().map(Text::as_str).collect();
            let unheard = said.strip_prefix(&heard).unwrap_or_default();
            let heard = message.heard_contents().texts().map(Text::as_str).collect::<Vec<_>>().join(" ");
            self.row(index, at_ms, who, visible(&heard));
            if let Some(row) = self.rows.last_mut() {
                row.unheard = visible(unheard.trim());
            }
        }
        let created_ms = message.metadata().timing(Timing::Creation).unwrap_or(at_ms);
        for call in message.contents().iter().filter_map(Content::as_tool_call) {
            self.open.insert(call.id().clone(), (created_ms, index));
            self.row(index, created_ms, "tool", called(call));
        }
    }

    /// The audio of a message: the heard part, and the rest if it was cut.
    fn speech(&mut self, index: usize, message: &Message, start_ms: i64) {
        let metadata = message.metadata();
        if is_fixed(message) {
            self.mark('F', start_ms, index, "a fixed sentence");
        }
        let Some(end_ms) = metadata.timing(Timing::PlayEnd) else { return };
        if metadata.has(Attribute::SpeechInterrupted) {
            self.mark('B', end_ms, index, "the caller interrupted");
        }
        let said: String = message.contents().texts().map(Text::as_str).collect();
        self.block(2, "heard", (start_ms, end_ms), index, &visible(&said));
        let heard = message.heard().map_or(said.len(), |heard| heard.bytes()).max(1);
        if heard < said.len() {
            let played_ms = end_ms.saturating_sub(start_ms) as f64;
            let rest_ms = played_ms * (said.len() - heard) as f64 / heard as f64;
            // Of a sentence of which little was heard, the length is not known well.
            let rest_ms = rest_ms.min(10_000.0) as i64;
            self.block(2, "unheard", (end_ms, end_ms.saturating_add(rest_ms)), index, "not heard");
        }
    }

    fn turn(&mut self, index: usize, Numbered { number, turn, .. }: &Numbered) {
        let end_ms = turn.start_ms.saturating_add(turn.took_ms);
        let answered = turn.requests.iter().find_map(|request| Some(request.after_ms + request.first_token_ms?));
        let thinking_ms = answered.map_or(end_ms, |after_ms| turn.start_ms.saturating_add(after_ms));
        let class = if turn.end == "complete" { "thinking" } else { "failed" };
        let title = format!("turn {number}, the model: {}", visible(&turn.end));
        self.block(1, class, (turn.start_ms, thinking_ms), index, &title);
        let (class, level) = match turn.log.as_deref() {
            None => ("done", "the log"),
            Some("spooled") => ("thinking", "the spool"),
            Some(_) => ("unheard", "only the memory of the service"),
        };
        let title = format!("turn {number}: at its end, {level} had everything until then");
        self.block(5, class, (turn.start_ms, end_ms), index, &title);
        for request in &turn.requests {
            let at_ms = turn.sent_ms(request);
            if let Some(failure) = &request.failure {
                self.mark('R', at_ms, index, &format!("turn {number}, a request failed: {}", visible(failure)));
            }
            for switch in &request.switches {
                self.mark('S', at_ms, index, &format!("turn {number}, another model: {}", visible(switch)));
            }
        }
        if let Some(row) = self.rows.last_mut() {
            let words = turn.words(*number);
            row.note = if row.note.is_empty() { words } else { format!("{}\n{words}", row.note) };
        }
    }

    fn mark(&mut self, letter: char, at_ms: i64, message: usize, title: &str) {
        self.marks.push(Mark { letter, at_ms, message, title: title.to_owned() });
    }

    fn block(&mut self, lane: usize, class: &'static str, (start_ms, end_ms): (i64, i64), message: usize, title: &str) {
        self.blocks.push(Block {
            lane,
            class,
            start_ms,
            end_ms: end_ms.max(start_ms),
            message,
            is_first: false,
            title: start_of(title, TITLE),
        });
    }

    fn row(&mut self, message: usize, at_ms: i64, who: &'static str, text: String) {
        self.rows.push(Row { message, at: since(self.started_ms, at_ms), who, text, ..Row::default() });
    }
}
