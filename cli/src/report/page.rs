//! [`Page`]: what the page shows, ready for its template.

use askama::Template;
use verbale::bedrock::BedrockMessage;
use verbale::conversation::ToolOutcome;
use verbale::log::{CallHeader, CallId};
use verbale::message::{Text, Timing};
use verbale::{Content, Message, MessageWrapper, MessagesManager, Role};

use super::chart::{BARS_HEIGHT, Bars, Block, Timeline, Value};
use crate::show::{outcome, summaries};
use crate::text::{count, place, visible};
use crate::time::{lasting, since, utc};
use crate::turn::Turn;
use crate::why::{Cause, causes_of};

/// The page of a call.
#[derive(Debug, Template)]
#[template(path = "report.html")]
pub struct Page {
    call: String,
    /// Names and values for the head of the page.
    facts: Vec<(&'static str, String)>,
    timeline: Timeline,
    gaps: Bars,
    tokens: Bars,
    bars_height: f64,
    causes: Vec<(String, Cause)>,
    rows: Vec<Row>,
}

/// A row of the transcript.
#[derive(Debug)]
struct Row {
    /// The number of the message, in links.
    message: usize,
    is_first: bool,
    /// Whether the timeline shows its message.
    has_block: bool,
    at: String,
    who: &'static str,
    text: String,
    unheard: String,
    note: String,
}

#[derive(Default)]
struct Parts {
    blocks: Vec<Block>,
    rows: Vec<Row>,
    gaps: Vec<Value>,
    tokens: Vec<Value>,
    gaps_ms: Vec<i64>,
    /// When the caller had last spoken.
    asked_ms: Option<i64>,
}

impl Page {
    pub fn new(
        call_id: &CallId,
        header: Option<&CallHeader>,
        started_ms: i64,
        conversation: &MessagesManager<BedrockMessage>,
    ) -> Self {
        let mut parts = Parts::default();
        let messages = conversation.meta_messages().iter().map(MessageWrapper::message);
        for (index, message) in messages.enumerate().filter(|(_, message)| !message.is_fake()) {
            parts.message(index, message, started_ms);
        }
        let left_out = conversation.left_out().iter().map(|left| Row {
            message: 0,
            is_first: false,
            has_block: false,
            at: String::new(),
            who: "left out",
            text: format!("{}: {}", place(left.position), visible(&left.reason)),
            unheard: String::new(),
            note: String::new(),
        });
        parts.rows.extend(left_out);
        let causes = causes_of(conversation, started_ms);
        Self {
            call: call_id.to_string(),
            facts: facts(header, started_ms, &parts.gaps_ms),
            timeline: Timeline::new(parts.blocks, started_ms),
            gaps: Bars::new(parts.gaps, |most| lasting(most as i64)),
            tokens: Bars::new(parts.tokens, |most| format!("{most:.0}")),
            bars_height: BARS_HEIGHT,
            causes: causes.into_iter().map(|cause| (since(started_ms, cause.at_ms), cause)).collect(),
            rows: parts.rows,
        }
    }
}

impl Page {
    /// Returns a value of the head of the page, or an empty text.
    pub fn fact(&self, name: &str) -> &str {
        self.facts.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// Returns how many things went wrong.
    pub fn causes(&self) -> usize {
        self.causes.len()
    }
}

fn facts(header: Option<&CallHeader>, started_ms: i64, gaps_ms: &[i64]) -> Vec<(&'static str, String)> {
    let mut facts = vec![("started", format!("{} UTC", utc(started_ms)))];
    match header.map(CallHeader::call_end) {
        None => facts.push(("header", "none".to_owned())),
        Some(None) => facts.push(("state", "live".to_owned())),
        Some(Some(end)) => {
            facts.push(("lasted", lasting(end.at_ms.saturating_sub(started_ms))));
            facts.push(("ended", visible(&end.reason)));
            let messages = count(end.messages.into(), "message");
            facts.push(("stored", format!("{messages}, {}", summaries(end.summaries))));
        }
    }
    let mut sorted = gaps_ms.to_vec();
    sorted.sort_unstable();
    let of_hundred = |percent: usize| sorted.get((sorted.len() * percent / 100).min(sorted.len().saturating_sub(1)));
    if let (Some(median), Some(ninety), Some(longest)) = (of_hundred(50), of_hundred(90), sorted.last()) {
        let text = format!(
            "half within {}, 90% within {}, the slowest {}",
            lasting(*median),
            lasting(*ninety),
            lasting(*longest)
        );
        facts.push(("answers", text));
    }
    facts
}

impl Parts {
    fn message(&mut self, index: usize, message: &Message, started_ms: i64) {
        let timing = |timing| message.metadata().timing(timing);
        let created_ms = timing(Timing::Creation).unwrap_or(started_ms);
        let (first_row, first_block) = (self.rows.len(), self.blocks.len());
        match message.role() {
            Role::Summary => {
                let lines = message.contents().texts().flat_map(|text| text.as_str().lines());
                let text = lines.map(visible).collect::<Vec<_>>().join("\n");
                self.block(4, "summary", (created_ms, created_ms), index, "a summary");
                self.row(index, since(started_ms, created_ms), "summary", text);
            }
            Role::User if message.is_background() => {
                self.contents(index, message, "context", since(started_ms, created_ms), created_ms);
            }
            Role::User => self.user(index, message, started_ms),
            role => {
                let start_ms = timing(Timing::PlayStart).unwrap_or(created_ms);
                let who = if role == Role::System { "system" } else { "assistant" };
                self.contents(index, message, who, since(started_ms, start_ms), created_ms);
                if role == Role::Assistant {
                    self.speech(index, message, start_ms);
                }
            }
        }
        if let Some(turn) = message.metadata().turn().and_then(Turn::read) {
            turn.all().for_each(|turn| self.turn(index, turn, timing(Timing::PlayStart)));
        }
        let has_block = self.blocks.get_mut(first_block).map(|block| block.is_first = true).is_some();
        for (at, row) in self.rows.iter_mut().enumerate().skip(first_row) {
            (row.is_first, row.has_block) = (at == first_row, has_block);
        }
    }

    fn user(&mut self, index: usize, message: &Message, started_ms: i64) {
        for part in message.parts() {
            let end_ms = part.timing(Timing::ListenEnd).unwrap_or_else(|| part.created_ms());
            let start_ms = part.timing(Timing::ListenStart).unwrap_or(end_ms);
            let texts: Vec<String> =
                part.contents().iter().filter_map(Content::as_text).map(|text| visible(text.as_str())).collect();
            if !texts.is_empty() {
                self.asked_ms = Some(end_ms);
                self.block(0, "caller", (start_ms, end_ms), index, &texts.join(" "));
                self.row(index, since(started_ms, start_ms), "caller", texts.join(" "));
            }
            for result in part.contents().iter().filter_map(Content::as_result) {
                let class = match ToolOutcome::from(result) {
                    ToolOutcome::Succeeded => "done",
                    _ => "failed",
                };
                let text = format!("{}: {}", visible(result.name().as_str()), outcome(result));
                self.block(3, class, (part.created_ms(), part.created_ms()), index, &text);
                self.row(index, since(started_ms, part.created_ms()), "result", text);
            }
        }
    }

    fn contents(&mut self, index: usize, message: &Message, who: &'static str, at: String, created_ms: i64) {
        let said: String = message.contents().texts().map(Text::as_str).collect();
        if !said.is_empty() {
            let heard: String = message.heard_contents().texts().map(Text::as_str).collect();
            let unheard = said.strip_prefix(&heard).unwrap_or_default();
            let heard = message.heard_contents().texts().map(Text::as_str).collect::<Vec<_>>().join(" ");
            let unheard = visible(unheard.trim());
            self.row(index, at.clone(), who, visible(&heard));
            if let Some(row) = self.rows.last_mut() {
                row.unheard = unheard;
            }
        }
        for call in message.contents().iter().filter_map(Content::as_tool_call) {
            let arguments = serde_json::to_string(call.arguments()).unwrap_or_default();
            let text = format!("{} {}", visible(call.name().as_str()), visible(&arguments));
            self.block(3, "call", (created_ms, created_ms), index, &text);
            self.row(index, at.clone(), "tool", text);
        }
    }

    /// The audio of a message: the heard part, and the rest if it was cut.
    fn speech(&mut self, index: usize, message: &Message, start_ms: i64) {
        let Some(end_ms) = message.metadata().timing(Timing::PlayEnd) else { return };
        let said: String = message.contents().texts().map(Text::as_str).collect();
        self.block(2, "heard", (start_ms, end_ms), index, &visible(&said));
        let heard = message.heard().map_or(said.len(), |heard| heard.len()).max(1);
        if heard < said.len() {
            let played_ms = end_ms.saturating_sub(start_ms) as f64;
            let rest_ms = played_ms * (said.len() - heard) as f64 / heard as f64;
            // Of a sentence of which little was heard, the length is not known well.
            let rest_ms = rest_ms.min(10_000.0) as i64;
            self.block(2, "unheard", (end_ms, end_ms.saturating_add(rest_ms)), index, "not heard");
        }
    }

    fn turn(&mut self, index: usize, turn: &Turn, played_ms: Option<i64>) {
        let first_ms = turn.first_token_ms();
        let end_ms = turn.start_ms.saturating_add(turn.took_ms);
        let thinking_ms = first_ms.map_or(end_ms, |first_ms| turn.start_ms.saturating_add(first_ms));
        let class = if turn.end == "complete" { "thinking" } else { "failed" };
        self.block(1, class, (turn.start_ms, thinking_ms), index, &format!("the model: {}", visible(&turn.end)));
        let gap_ms = match (self.asked_ms, first_ms) {
            (Some(asked_ms), Some(_)) => played_ms.unwrap_or(thinking_ms).max(thinking_ms).saturating_sub(asked_ms),
            _ => turn.took_ms,
        };
        let gap_ms = gap_ms.clamp(0, 120_000);
        self.gaps_ms.push(gap_ms);
        self.gaps.push((gap_ms as f64, 0.0, index, format!("answered after {}", lasting(gap_ms))));
        // Of several requests, the last one has the longest prompt.
        if let Some((request, input)) = turn.requests.iter().rev().find_map(|request| Some((request, request.input?))) {
            let cached = request.cache_read.min(input);
            let title = format!("{input} tokens, {cached} of them cached");
            self.tokens.push((cached as f64, (input - cached) as f64, index, title));
        }
        if let Some(row) = self.rows.last_mut() {
            row.note = turn.words();
        }
    }

    fn block(&mut self, lane: usize, class: &'static str, (start_ms, end_ms): (i64, i64), message: usize, title: &str) {
        self.blocks.push(Block {
            lane,
            class,
            start_ms,
            end_ms: end_ms.max(start_ms),
            message,
            is_first: false,
            title: title.to_owned(),
        });
    }

    fn row(&mut self, message: usize, at: String, who: &'static str, text: String) {
        self.rows.push(Row {
            message,
            is_first: false,
            has_block: false,
            at,
            who,
            text,
            unheard: String::new(),
            note: String::new(),
        });
    }
}
