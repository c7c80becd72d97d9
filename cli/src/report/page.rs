//! [`Page`]: what the page shows, ready for its template.

use askama::Template;
use verbale::conversation::Conversation;
use verbale::log::{CallHeader, CallId, LoggedCall};
use verbale::{MessageWrapper, PlainMessage};

use super::chart::{BARS_HEIGHT, Bars, Timeline, Value};
use super::parts::{Parts, Row};
use super::prompts::{Memory, Prices, Prompts, dollars};
use crate::html::Served;
use crate::show::{started_ms, summaries};
use crate::text::{count, place, visible};
use crate::time::{lasting, since, utc};
use crate::turns::{Numbered, Turns, percentile};
use crate::why::{Cause, explain, slowest};

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
    memories: Vec<Memory>,
    /// When something went wrong, the message of the transcript that it is about, and what.
    causes: Vec<(String, Option<usize>, Cause)>,
    rows: Vec<Row>,
    /// The additions to the page if a server shows it.
    served: Option<Served>,
}

/// The data that the log does not have.
#[derive(Debug, Clone, Copy, Default)]
pub struct Known {
    pub prices: Option<Prices>,
    /// The maximum of tokens of a prompt.
    pub budget: Option<u64>,
}

impl Page {
    pub fn new(call_id: &CallId, call: LoggedCall, known: Known) -> Self {
        let (header, started_ms) = (call.header.clone(), started_ms(&call));
        let conversation = Conversation::from_manager(call_id.clone(), call.restore());
        let (turns, causes) = explain(&conversation, header.as_ref(), started_ms);
        let mut parts = Parts::new(started_ms);
        conversation.read(|manager| {
            let messages = manager.meta_messages().iter().map(PlainMessage::message);
            for (index, message) in messages.enumerate().filter(|(_, message)| !message.is_fake()) {
                parts.message(index, message, turns.0.iter().filter(|turn| turn.message == index));
            }
        });
        parts.end();
        for row in parts.rows.iter_mut().filter(|row| row.is_first) {
            row.cause = causes.iter().position(|cause| cause.message == Some(row.message));
        }
        let has_row = |index: &usize| parts.rows.iter().any(|row| row.is_first && row.message == *index);
        let link = |cause: &Cause| cause.message.filter(has_row);
        let causes = causes.into_iter().map(|cause| (since(started_ms, cause.at_ms), link(&cause), cause)).collect();
        conversation.read(|manager| {
            parts.rows.extend(manager.left_out().iter().map(|left| Row {
                who: "left out",
                text: format!("{}: {}", place(left.position), visible(&left.reason)),
                ..Row::default()
            }));
        });
        let prompts = Prompts::new(&conversation, &turns);
        let facts = facts(header.as_ref(), started_ms, &turns, &prompts, known.prices);
        let budget = known.budget.map(|budget| (budget as f64, "dashed", format!("the budget, {budget} tokens")));
        Self {
            call: call_id.to_string(),
            facts,
            timeline: Timeline::new(parts.blocks, parts.marks, started_ms),
            gaps: gaps(&turns),
            tokens: Bars::new(prompts.tokens, budget.into_iter().collect(), |most| format!("{most:.0}")),
            bars_height: BARS_HEIGHT,
            memories: prompts.memories,
            causes,
            rows: parts.rows,
            served: None,
        }
    }

    /// Makes it the page of a server, which knows what the log has of a live call.
    pub fn served(mut self, served: Served, log: Option<String>) -> Self {
        self.served = Some(served);
        self.facts.extend(log.map(|log| ("log", log)));
        self
    }

    /// Returns a value of the head of the page, or an empty text.
    pub fn fact(&self, name: &str) -> &str {
        self.facts.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
    }

    /// Returns how many things went wrong.
    pub fn causes(&self) -> usize {
        self.causes.len()
    }
}

fn gaps(turns: &Turns) -> Bars {
    let bar = |Numbered { number, gap, message, .. }: &Numbered| {
        let (waited_ms, title) = match gap {
            Some(gap) => (gap.length_ms(), format!("turn {number} answered after {}", lasting(gap.length_ms()))),
            None => (0, format!("turn {number} has no answer")),
        };
        Value { lower: waited_ms as f64, upper: 0.0, message: *message, title, is_after_cut: false }
    };
    let by_gap = turns.by_gap();
    let line = |percent: usize, class| {
        let (gap_ms, _) = percentile(&by_gap, percent)?;
        Some((gap_ms as f64, class, format!("{percent}% within {} ({class} line)", lasting(gap_ms))))
    };
    let lines = [line(50, "dashed"), line(90, "solid")].into_iter().flatten().collect();
    Bars::new(turns.0.iter().map(bar).collect(), lines, |most| lasting(most as i64))
}

fn facts(
    header: Option<&CallHeader>,
    started_ms: i64,
    turns: &Turns,
    prompts: &Prompts,
    prices: Option<Prices>,
) -> Vec<(&'static str, String)> {
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
    let gaps = turns.by_gap();
    let percent = |percent| percentile(&gaps, percent).map(|(gap_ms, _)| lasting(gap_ms));
    if let (Some(median), Some(ninety), Some((longest, turn))) = (percent(50), percent(90), slowest(turns)) {
        let slowest = format!("the slowest, turn {}, within {}", turn.number, lasting(longest));
        facts.push(("answers", format!("half within {median}, 90% within {ninety}, {slowest}")));
    }
    if prompts.usage.input_tokens > 0 {
        facts.push(("tokens", prompts.words()));
    }
    if let Some(prices) = prices {
        facts.push(("cost", dollars(prompts.cost(&prices))));
    }
    facts
}
