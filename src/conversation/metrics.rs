//! [`CallMetrics`]: what a call came to, added up from its events.

use std::collections::BTreeMap;
use std::fmt;

use super::prices::Prices;
use crate::model::Usage;
use crate::turn::{CallEvent, ReplyOutcome, SpeechId, SummaryOutcome, ToolOutcome};

/// What a call came to. Nothing is counted but by [`note`](Self::note). Printing it shows it to whoever debugs a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallMetrics {
    /// Turns that were started.
    pub turns: u32,
    /// How often the caller broke in.
    pub barge_ins: u32,
    /// How often the model had no answer and the caller heard an apology.
    pub apologies: u32,
    /// How often the caller was not understood, and asked to say it again.
    pub asked_to_repeat: u32,
    /// Tools that were called.
    pub tool_calls: u32,
    /// Tool calls that failed.
    pub tools_failed: u32,
    /// Tool calls of which nobody knows whether they acted.
    pub tools_unknown: u32,
    /// Summaries that stand in the conversation.
    pub summaries_applied: u32,
    /// Summaries in whose place the extractive one stands there.
    pub summaries_replaced: u32,
    /// Summaries that would have saved too little.
    pub summaries_skipped: u32,
    /// Summaries that came too late to be true.
    pub summaries_stale: u32,
    /// Records that the log's writer took over.
    pub submitted: u64,
    /// How often the log's writer did not take all.
    pub not_submitted: u32,
    /// The tokens of all replies.
    pub usage: Usage,
    /// The tokens of all summaries, stale ones too.
    pub summary_usage: Usage,
    /// How long the call was, once it is over, in milliseconds.
    pub length_ms: Option<u32>,
    /// From the end of the caller's speech to the first sentence of the reply.
    pub response_gaps: Durations,
    /// From asking the model to its first token.
    pub first_tokens: Durations,
    replies: BTreeMap<SpeechId, Reply>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reply {
    generated_bytes: u32,
    /// `None` is all of it.
    heard_bytes: Option<u32>,
}

impl CallMetrics {
    /// Takes an event in.
    pub fn note(&mut self, event: &CallEvent) {
        match event {
            CallEvent::TurnStarted { .. } => self.turns += 1,
            CallEvent::FirstToken { after_ms, .. } => self.first_tokens.0.push(*after_ms),
            CallEvent::FirstWords { after_ms, .. } => self.response_gaps.0.push(*after_ms),
            CallEvent::ReplyEnded { speech, outcome, generated_bytes } => {
                self.replies.entry(*speech).or_default().generated_bytes = *generated_bytes;
                self.apologies += u32::from(*outcome == ReplyOutcome::Failed);
            }
            CallEvent::Used { usage } => self.usage += *usage,
            CallEvent::AskedToRepeat { .. } => self.asked_to_repeat += 1,
            CallEvent::BargedIn => self.barge_ins += 1,
            CallEvent::Heard { speech, heard_bytes } => {
                self.replies.entry(*speech).or_default().heard_bytes = Some(*heard_bytes);
            }
            CallEvent::ToolCalled { .. } => self.tool_calls += 1,
            CallEvent::ToolFinished { outcome, .. } => match outcome {
                ToolOutcome::Succeeded | ToolOutcome::NotRun => {}
                ToolOutcome::Failed => self.tools_failed += 1,
                ToolOutcome::Unknown => self.tools_unknown += 1,
            },
            CallEvent::SummaryStarted { .. } => {}
            CallEvent::SummaryEnded { outcome, usage, .. } => {
                self.summary_usage += *usage;
                *match outcome {
                    SummaryOutcome::Applied => &mut self.summaries_applied,
                    SummaryOutcome::Replaced(_) => &mut self.summaries_replaced,
                    SummaryOutcome::Stale => &mut self.summaries_stale,
                    SummaryOutcome::Skipped => &mut self.summaries_skipped,
                } += 1;
            }
            CallEvent::Submitted { records } => self.submitted += u64::from(*records),
            CallEvent::NotSubmitted => self.not_submitted += 1,
            CallEvent::Closed { after_ms } => self.length_ms = Some(*after_ms),
        }
    }

    /// The text of all replies, in bytes.
    pub fn generated_bytes(&self) -> u64 {
        self.replies.values().map(|reply| u64::from(reply.generated_bytes)).sum()
    }

    /// What the caller heard of it, in bytes. A reply of which nobody told how much was heard is taken to be heard.
    pub fn heard_bytes(&self) -> u64 {
        let heard = |reply: &Reply| reply.heard_bytes.unwrap_or(u32::MAX).min(reply.generated_bytes);
        self.replies.values().map(|reply| u64::from(heard(reply))).sum()
    }

    /// What its tokens cost, in micro-dollars.
    pub fn cost(&self, prices: &Prices) -> u64 {
        let turns = prices.turns.millionths(&self.usage);
        let millionths = turns.saturating_add(prices.summaries.millionths(&self.summary_usage));
        u64::try_from(millionths.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
    }
}

/// Durations that were measured, in milliseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Durations(Vec<u32>);

/// How durations spread, in milliseconds: exact, and each one that was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Percentiles {
    /// How many there are.
    pub count: usize,
    /// Half of them are not longer.
    pub p50_ms: u32,
    /// Nine of ten are not longer.
    pub p90_ms: u32,
    /// None is longer.
    pub max_ms: u32,
}

impl Durations {
    /// How they spread; `None` where there are none. O(n log n) in their number.
    pub fn spread(&self) -> Option<Percentiles> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let rank = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).checked_sub(1)?).copied();
        Some(Percentiles { count: sorted.len(), p50_ms: rank(50)?, p90_ms: rank(90)?, max_ms: rank(100)? })
    }
}

impl fmt::Display for Durations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spread() {
            Some(Percentiles { count, p50_ms, p90_ms, max_ms }) => {
                write!(f, "p50 {p50_ms} ms, p90 {p90_ms} ms, max {max_ms} ms ({count} measured)")
            }
            None => f.write_str("not measured"),
        }
    }
}

impl fmt::Display for CallMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { turns, barge_ins, apologies, asked_to_repeat, .. } = self;
        write!(f, "call          turns {turns}, barge-ins {barge_ins}, apologies {apologies}, ")?;
        write!(f, "asked to repeat {asked_to_repeat}")?;
        if let Some(length_ms) = self.length_ms {
            write!(f, ", {}.{:03} s long", length_ms / 1_000, length_ms % 1_000)?;
        }
        writeln!(f, "\nresponse gap  {}", self.response_gaps)?;
        writeln!(f, "first token   {}", self.first_tokens)?;
        writeln!(f, "heard         {} of {} bytes", self.heard_bytes(), self.generated_bytes())?;
        let Self { tool_calls, tools_failed, tools_unknown, .. } = self;
        writeln!(f, "tools         called {tool_calls}, failed {tools_failed}, unknown {tools_unknown}")?;
        let Self { summaries_applied, summaries_replaced, summaries_skipped, summaries_stale, .. } = self;
        write!(f, "summaries     applied {summaries_applied}, replaced {summaries_replaced}, ")?;
        writeln!(f, "skipped {summaries_skipped}, stale {summaries_stale}")?;
        writeln!(f, "tokens        {}", Tokens(&self.usage))?;
        writeln!(f, "  summaries   {}", Tokens(&self.summary_usage))?;
        write!(f, "log           records handed over {}, not all taken {}", self.submitted, self.not_submitted)
    }
}

struct Tokens<'a>(&'a Usage);

impl fmt::Display for Tokens<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usage { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens } = self.0;
        write!(f, "{input_tokens} in ({cache_read_tokens} from the cache, {cache_write_tokens} for it), ")?;
        write!(f, "{output_tokens} out")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::TokenPrices;
    use crate::message::ToolCallId;
    use crate::turn::SummaryFailure;

    fn usage(input: u64, read: u64, write: u64, output: u64) -> Usage {
        Usage { input_tokens: input, cache_read_tokens: read, cache_write_tokens: write, output_tokens: output }
    }

    fn of(events: impl IntoIterator<Item = CallEvent>) -> CallMetrics {
        let mut totals = CallMetrics::default();
        events.into_iter().for_each(|event| totals.note(&event));
        totals
    }

    fn tool_finished(outcome: ToolOutcome) -> CallEvent {
        CallEvent::ToolFinished { id: ToolCallId::new("call_1").unwrap(), outcome, after_ms: 90 }
    }

    /// Every kind of event, at least once.
    fn a_call() -> Vec<CallEvent> {
        let (first, second) = (SpeechId(1), SpeechId(2));
        let summary = |outcome, usage| CallEvent::SummaryEnded { outcome, after_ms: 2_000, usage };
        vec![
            CallEvent::TurnStarted { speech: first },
            CallEvent::FirstToken { speech: first, after_ms: 300 },
            CallEvent::FirstWords { speech: first, after_ms: 640 },
            CallEvent::ToolCalled { id: ToolCallId::new("call_1").unwrap() },
            tool_finished(ToolOutcome::Succeeded),
            tool_finished(ToolOutcome::Failed),
            tool_finished(ToolOutcome::Unknown),
            tool_finished(ToolOutcome::Unknown),
            tool_finished(ToolOutcome::NotRun),
            CallEvent::ReplyEnded { speech: first, outcome: ReplyOutcome::Complete, generated_bytes: 100 },
            CallEvent::Used { usage: usage(1_000, 600, 100, 50) },
            CallEvent::Submitted { records: 2 },
            CallEvent::SummaryStarted { messages: 6 },
            CallEvent::TurnStarted { speech: second },
            CallEvent::FirstToken { speech: second, after_ms: 200 },
            CallEvent::FirstWords { speech: second, after_ms: 1_200 },
            CallEvent::BargedIn,
            CallEvent::Heard { speech: second, heard_bytes: 70 },
            CallEvent::ReplyEnded { speech: second, outcome: ReplyOutcome::Failed, generated_bytes: 80 },
            CallEvent::Used { usage: usage(1_000, 0, 0, 40) },
            CallEvent::Heard { speech: second, heard_bytes: 20 },
            summary(SummaryOutcome::Applied, usage(500, 0, 0, 90)),
            summary(SummaryOutcome::Stale, usage(500, 0, 0, 80)),
            summary(SummaryOutcome::Replaced(Some(SummaryFailure::Blank)), usage(0, 0, 0, 0)),
            summary(SummaryOutcome::Replaced(None), usage(0, 0, 0, 0)),
            summary(SummaryOutcome::Skipped, usage(0, 0, 0, 0)),
            CallEvent::AskedToRepeat { speech: SpeechId(3) },
            CallEvent::NotSubmitted,
            CallEvent::Submitted { records: 7 },
            CallEvent::Closed { after_ms: 61_042 },
        ]
    }

    #[test]
    fn a_call_adds_up() {
        insta::assert_snapshot!(of(a_call()), @"
        call          turns 2, barge-ins 1, apologies 1, asked to repeat 1, 61.042 s long
        response gap  p50 640 ms, p90 1200 ms, max 1200 ms (2 measured)
        first token   p50 200 ms, p90 300 ms, max 300 ms (2 measured)
        heard         120 of 180 bytes
        tools         called 1, failed 1, unknown 2
        summaries     applied 1, replaced 2, skipped 1, stale 1
        tokens        2000 in (600 from the cache, 100 for it), 90 out
          summaries   1000 in (0 from the cache, 0 for it), 170 out
        log           records handed over 9, not all taken 1
        ");
        insta::assert_snapshot!(CallMetrics::default(), @"
        call          turns 0, barge-ins 0, apologies 0, asked to repeat 0
        response gap  not measured
        first token   not measured
        heard         0 of 0 bytes
        tools         called 0, failed 0, unknown 0
        summaries     applied 0, replaced 0, skipped 0, stale 0
        tokens        0 in (0 from the cache, 0 for it), 0 out
          summaries   0 in (0 from the cache, 0 for it), 0 out
        log           records handed over 0, not all taken 0
        ");
    }

    #[test]
    fn cached_tokens_have_prices_of_their_own() {
        let turns = TokenPrices { input: 3_000_000, cache_read: 300_000, cache_write: 3_750_000, output: 15_000_000 };
        let summaries = TokenPrices { input: 1_000_000, output: 5_000_000, ..TokenPrices::default() };
        // 1,300 plain, 600 from the cache, 100 for it, 90 out; and 1,000 in, 170 out.
        let expected = 3_900 + 180 + 375 + 1_350 + 1_000 + 850;
        assert_eq!(of(a_call()).cost(&Prices { turns, summaries }), expected);
        assert_eq!(of(a_call()).cost(&Prices::default()), 0);
        // Half a micro-dollar is rounded up.
        let prices = |input| Prices { turns: TokenPrices { input, ..TokenPrices::default() }, ..Prices::default() };
        let one = CallMetrics { usage: usage(1, 0, 0, 0), ..CallMetrics::default() };
        assert_eq!([499_999, 500_000].map(|price| one.cost(&prices(price))), [0, 1]);
        let absurd = CallMetrics { usage: usage(u64::MAX, 0, 0, 0), ..CallMetrics::default() };
        assert_eq!(absurd.cost(&prices(u64::MAX)), u64::MAX);
    }

    #[test]
    fn a_spread_is_of_what_was_measured() {
        let spread =
            |durations: Vec<u32>| Durations(durations).spread().map(|s| (s.count, s.p50_ms, s.p90_ms, s.max_ms));
        assert_eq!(spread(vec![]), None);
        assert_eq!(spread(vec![7]), Some((1, 7, 7, 7)));
        assert_eq!(spread((1..=10).rev().collect()), Some((10, 5, 9, 10)));
        assert_eq!(spread((1..=11).collect()), Some((11, 6, 10, 11)));
        assert_eq!(spread((1..=1_000).collect()), Some((1_000, 500, 900, 1_000)));
    }
}
