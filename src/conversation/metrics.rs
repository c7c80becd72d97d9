//! [`CallMetrics`]: the metrics of a call, counted from its events.

use std::fmt;

use crate::model::Usage;
use crate::policy::TokenPrices;
use crate::turn::{CallEvent, ReplyEnd, SpeechId, SummaryOutcome, ToolOutcome};

/// The metrics of a call. Its `Display` is a report of several lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallMetrics {
    /// The number of turns.
    pub turns: u32,
    /// The number of barge-ins.
    pub barge_ins: u32,
    /// The number of replies that failed. In a live call, each ends with an apology.
    pub(crate) apologies: u32,
    /// The number of switches to another model before an answer.
    pub model_switches: u32,
    /// The number of tool calls.
    pub tool_calls: u32,
    /// The number of tool calls that failed.
    pub(crate) tools_failed: u32,
    /// The number of tool calls whose outcome is unknown.
    pub(crate) tools_unknown: u32,
    /// The number of summaries by the summarizer that were added to the conversation.
    pub summaries_applied: u32,
    /// The number of summaries that an extractive one replaced, because the summarizer failed or paused, or because the
    /// window was at its limit.
    pub(crate) summaries_replaced: u32,
    /// The number of summaries that were dropped, because they saved too little or because their messages had changed.
    pub(crate) summaries_dropped: u32,
    /// The tokens of all replies.
    pub usage: Usage,
    /// The tokens of all summaries, dropped ones included.
    pub summary_usage: Usage,
    /// The times from the end of the caller's words to the first words of the reply, in milliseconds, of the latest 64
    /// turns.
    pub response_gaps_ms: Vec<u32>,
    /// The times from each request to the first text of its answer, in milliseconds, of the latest 64 requests.
    pub first_tokens_ms: Vec<u32>,
    asked_to_repeat: u32,
    submitted: u64,
    not_submitted: u32,
    length_ms: Option<u32>,
    /// The latest replies, whose playback may still be reported, oldest first.
    replies: Vec<(SpeechId, Reply)>,
    /// The generated and the heard bytes of earlier replies.
    earlier: (u64, u64),
}

/// The number of replies whose playback may still be reported.
const LATEST: usize = 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Reply {
    generated_bytes: u32,
    /// `None` means that all of it counts as heard.
    heard_bytes: Option<u32>,
}

impl CallMetrics {
    /// Counts an event.
    pub(super) fn record(&mut self, event: &CallEvent) {
        match event {
            CallEvent::TurnStarted { .. } => self.turns += 1,
            CallEvent::ModelSwitched { .. } => self.model_switches += 1,
            CallEvent::FirstToken { after_ms, .. } => push_latest(&mut self.first_tokens_ms, *after_ms),
            CallEvent::FirstWords { after_ms, .. } => push_latest(&mut self.response_gaps_ms, *after_ms),
            CallEvent::ReplyEnded { end: ReplyEnd::AskedToRepeat, .. } => self.asked_to_repeat += 1,
            CallEvent::ReplyEnded { speech, end, generated_bytes } => {
                self.change_reply(*speech, |reply| reply.generated_bytes = *generated_bytes);
                self.apologies += u32::from(matches!(end, ReplyEnd::Failed(_)));
            }
            CallEvent::Used { usage } => self.usage += *usage,
            CallEvent::BargedIn => self.barge_ins += 1,
            CallEvent::Heard { speech, heard_bytes } => {
                self.change_reply(*speech, |reply| reply.heard_bytes = Some(*heard_bytes));
            }
            CallEvent::ToolCalled { .. } => self.tool_calls += 1,
            CallEvent::ToolFinished { outcome, .. } => match outcome {
                ToolOutcome::Succeeded | ToolOutcome::NotRun => {}
                ToolOutcome::Failed => self.tools_failed += 1,
                ToolOutcome::Unknown => self.tools_unknown += 1,
            },
            CallEvent::Silence { .. }
            | CallEvent::Repaired { .. }
            | CallEvent::OverBudget { .. }
            | CallEvent::ToolUnlogged { .. }
            | CallEvent::SameActPanicked { .. }
            | CallEvent::ResultReady { .. }
            | CallEvent::SummaryStarted { .. }
            | CallEvent::LogLevel { .. } => {}
            CallEvent::SummaryEnded { outcome, usage, .. } => {
                self.summary_usage += *usage;
                *match outcome {
                    SummaryOutcome::Applied => &mut self.summaries_applied,
                    SummaryOutcome::Replaced(_) => &mut self.summaries_replaced,
                    SummaryOutcome::Dropped(_) => &mut self.summaries_dropped,
                } += 1;
            }
            CallEvent::Submitted { records, is_complete } => {
                self.submitted += u64::from(*records);
                self.not_submitted += u32::from(!is_complete);
            }
            CallEvent::Closed { after_ms } => self.length_ms = Some(*after_ms),
        }
    }

    /// Changes the entry of a reply, or adds it. Of too many replies, the oldest is added to the sums.
    fn change_reply(&mut self, speech: SpeechId, change: impl FnOnce(&mut Reply)) {
        if let Some((_, reply)) = self.replies.iter_mut().rfind(|(known, _)| *known == speech) {
            return change(reply);
        }
        if self.replies.len() == LATEST {
            let (_, oldest) = self.replies.remove(0);
            self.earlier.0 += u64::from(oldest.generated_bytes);
            self.earlier.1 += oldest.heard();
        }
        let mut reply = Reply::default();
        change(&mut reply);
        self.replies.push((speech, reply));
    }

    fn generated_bytes(&self) -> u64 {
        self.earlier.0 + self.replies.iter().map(|(_, reply)| u64::from(reply.generated_bytes)).sum::<u64>()
    }

    /// Returns how many bytes of the replies the caller heard. A reply counts as heard if its playback was neither
    /// reported nor estimated.
    fn heard_bytes(&self) -> u64 {
        self.earlier.1 + self.replies.iter().map(|(_, reply)| reply.heard()).sum::<u64>()
    }

    /// Returns the cost of all tokens, in micro-dollars. `turns` are the prices of the model that answers, and
    /// `summaries` those of the model that summarizes.
    pub fn cost(&self, turns: &TokenPrices, summaries: &TokenPrices) -> u64 {
        let millionths = turns.millionths(&self.usage).saturating_add(summaries.millionths(&self.summary_usage));
        u64::try_from(millionths.saturating_add(500_000) / 1_000_000).unwrap_or(u64::MAX)
    }
}

/// Adds a time, and removes the oldest one of too many, so that a long call takes no more memory than a short one.
fn push_latest(times: &mut Vec<u32>, after_ms: u32) {
    const LATEST_TIMES: usize = 64;
    if times.len() == LATEST_TIMES {
        times.remove(0);
    }
    times.push(after_ms);
}

impl Reply {
    fn heard(&self) -> u64 {
        u64::from(self.heard_bytes.unwrap_or(u32::MAX).min(self.generated_bytes))
    }
}

impl TokenPrices {
    /// Returns the cost in millionths of a micro-dollar.
    fn millionths(&self, usage: &Usage) -> u128 {
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        [
            (usage.input_tokens.saturating_sub(cached), self.input),
            (usage.cache_read_tokens, self.cache_read),
            (usage.cache_write_tokens, self.cache_write),
            (usage.output_tokens, self.output),
        ]
        .into_iter()
        .map(|(tokens, price)| u128::from(tokens) * u128::from(price))
        .fold(0, u128::saturating_add)
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
        writeln!(f, "\nresponse gap  {}", Percentiles(&self.response_gaps_ms))?;
        writeln!(f, "first token   {}", Percentiles(&self.first_tokens_ms))?;
        writeln!(f, "heard         {} of {} bytes", self.heard_bytes(), self.generated_bytes())?;
        if self.model_switches > 0 {
            writeln!(f, "models        switched {}", self.model_switches)?;
        }
        let Self { tool_calls, tools_failed, tools_unknown, .. } = self;
        writeln!(f, "tools         called {tool_calls}, failed {tools_failed}, unknown {tools_unknown}")?;
        let Self { summaries_applied, summaries_replaced, summaries_dropped, .. } = self;
        write!(f, "summaries     applied {summaries_applied}, replaced {summaries_replaced}, ")?;
        writeln!(f, "dropped {summaries_dropped}")?;
        writeln!(f, "tokens        {}", Tokens(&self.usage))?;
        writeln!(f, "  summaries   {}", Tokens(&self.summary_usage))?;
        write!(f, "log           records submitted {}, submissions refused {}", self.submitted, self.not_submitted)
    }
}

struct Percentiles<'a>(&'a [u32]);

impl Percentiles<'_> {
    /// Returns p50, p90 and the maximum, by nearest rank.
    fn ranks(&self) -> Option<[u32; 3]> {
        let mut sorted = self.0.to_vec();
        sorted.sort_unstable();
        let rank = |percent: usize| sorted.get((sorted.len() * percent).div_ceil(100).checked_sub(1)?).copied();
        Some([rank(50)?, rank(90)?, rank(100)?])
    }
}

impl fmt::Display for Percentiles<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ranks() {
            Some([p50, p90, max]) => {
                write!(f, "p50 {p50} ms, p90 {p90} ms, max {max} ms ({} measured)", self.0.len())
            }
            None => f.write_str("not measured"),
        }
    }
}

struct Tokens<'a>(&'a Usage);

impl fmt::Display for Tokens<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Usage { input_tokens, cache_read_tokens, cache_write_tokens, output_tokens } = self.0;
        write!(f, "{input_tokens} in ({cache_read_tokens} read from the cache, {cache_write_tokens} written to it), ")?;
        write!(f, "{output_tokens} out")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::ToolCallId;
    use crate::model::{Failure, StopReason};

    fn usage(input: u64, read: u64, write: u64, output: u64) -> Usage {
        Usage { input_tokens: input, cache_read_tokens: read, cache_write_tokens: write, output_tokens: output }
    }

    fn of(events: impl IntoIterator<Item = CallEvent>) -> CallMetrics {
        let mut metrics = CallMetrics::default();
        events.into_iter().for_each(|event| metrics.record(&event));
        metrics
    }

    #[test]
    fn times_of_a_long_call_are_those_of_the_latest_turns() {
        let metrics = of((0..200).map(|after_ms| CallEvent::FirstWords { speech: SpeechId(1), after_ms }));
        assert_eq!(metrics.response_gaps_ms, (136..200).collect::<Vec<_>>());
    }

    fn tool_finished(outcome: ToolOutcome) -> CallEvent {
        CallEvent::ToolFinished { id: ToolCallId::new("call_1").unwrap(), outcome, after_ms: 90 }
    }

    #[test]
    fn replies_of_a_long_call_are_summed_up() {
        let ended = |number| CallEvent::ReplyEnded {
            speech: SpeechId(number),
            end: ReplyEnd::Complete(StopReason::EndTurn),
            generated_bytes: 100,
        };
        let heard = |number| CallEvent::Heard { speech: SpeechId(number), heard_bytes: 30 };
        let metrics = of((0..400).flat_map(|number| [ended(number), heard(number)]).chain((400..403).map(ended)));
        assert_eq!((metrics.generated_bytes(), metrics.heard_bytes()), (40_300, 12_300));
        assert!(metrics.replies.len() <= LATEST);
    }

    /// Every kind of event, at least once.
    fn a_call() -> Vec<CallEvent> {
        let (first, second) = (SpeechId(1), SpeechId(2));
        let summary = |outcome, usage| CallEvent::SummaryEnded { outcome, after_ms: 2_000, usage, removed: 0 };
        vec![
            CallEvent::TurnStarted { speech: first },
            CallEvent::ModelSwitched { speech: first, from: "one".into(), to: "two".into(), reason: "throttled" },
            CallEvent::FirstToken { speech: first, after_ms: 300 },
            CallEvent::FirstWords { speech: first, after_ms: 640 },
            CallEvent::ToolCalled { id: ToolCallId::new("call_1").unwrap() },
            tool_finished(ToolOutcome::Succeeded),
            tool_finished(ToolOutcome::Failed),
            tool_finished(ToolOutcome::Unknown),
            tool_finished(ToolOutcome::Unknown),
            tool_finished(ToolOutcome::NotRun),
            CallEvent::ReplyEnded { speech: first, end: ReplyEnd::Complete(StopReason::EndTurn), generated_bytes: 100 },
            CallEvent::Used { usage: usage(1_000, 600, 100, 50) },
            CallEvent::Submitted { records: 2, is_complete: true },
            CallEvent::SummaryStarted { messages: 6 },
            CallEvent::TurnStarted { speech: second },
            CallEvent::FirstToken { speech: second, after_ms: 200 },
            CallEvent::FirstWords { speech: second, after_ms: 1_200 },
            CallEvent::BargedIn,
            CallEvent::Heard { speech: second, heard_bytes: 70 },
            CallEvent::ReplyEnded { speech: second, end: ReplyEnd::Failed(None), generated_bytes: 80 },
            CallEvent::Used { usage: usage(1_000, 0, 0, 40) },
            CallEvent::Heard { speech: second, heard_bytes: 20 },
            summary(SummaryOutcome::Applied, usage(500, 0, 0, 90)),
            summary(SummaryOutcome::STALE, usage(500, 0, 0, 80)),
            summary(SummaryOutcome::Replaced(Some(Failure::Throttled)), usage(0, 0, 0, 0)),
            summary(SummaryOutcome::Replaced(None), usage(0, 0, 0, 0)),
            summary(SummaryOutcome::SKIPPED, usage(0, 0, 0, 0)),
            CallEvent::ReplyEnded { speech: SpeechId(3), end: ReplyEnd::AskedToRepeat, generated_bytes: 30 },
            CallEvent::Submitted { records: 0, is_complete: false },
            CallEvent::Submitted { records: 7, is_complete: true },
            CallEvent::Closed { after_ms: 61_042 },
        ]
    }

    #[test]
    fn metrics_of_a_call_count_every_event() {
        insta::assert_snapshot!(of(a_call()), @"
        call          turns 2, barge-ins 1, apologies 1, asked to repeat 1, 61.042 s long
        response gap  p50 640 ms, p90 1200 ms, max 1200 ms (2 measured)
        first token   p50 200 ms, p90 300 ms, max 300 ms (2 measured)
        heard         120 of 180 bytes
        models        switched 1
        tools         called 1, failed 1, unknown 2
        summaries     applied 1, replaced 2, dropped 2
        tokens        2000 in (600 read from the cache, 100 written to it), 90 out
          summaries   1000 in (0 read from the cache, 0 written to it), 170 out
        log           records submitted 9, submissions refused 1
        ");
        insta::assert_snapshot!(CallMetrics::default(), @"
        call          turns 0, barge-ins 0, apologies 0, asked to repeat 0
        response gap  not measured
        first token   not measured
        heard         0 of 0 bytes
        tools         called 0, failed 0, unknown 0
        summaries     applied 0, replaced 0, dropped 0
        tokens        0 in (0 read from the cache, 0 written to it), 0 out
          summaries   0 in (0 read from the cache, 0 written to it), 0 out
        log           records submitted 0, submissions refused 0
        ");
    }

    #[test]
    fn cost_uses_the_prices_of_cached_tokens() {
        let turns = TokenPrices::new(3_000_000, 15_000_000).with_cache(300_000, 3_750_000);
        let summaries = TokenPrices::new(1_000_000, 5_000_000);
        // 1,300 plain, 600 read from the cache, 100 for it, 90 out; and 1,000 in, 170 out.
        let free = TokenPrices::default();
        let expected = 3_900 + 180 + 375 + 1_350 + 1_000 + 850;
        assert_eq!(of(a_call()).cost(&turns, &summaries), expected);
        assert_eq!(of(a_call()).cost(&free, &free), 0);
        // Half a micro-dollar is rounded up.
        let cost = |metrics: &CallMetrics, input| metrics.cost(&TokenPrices::new(input, 0), &free);
        let one = CallMetrics { usage: usage(1, 0, 0, 0), ..CallMetrics::default() };
        assert_eq!([499_999, 500_000].map(|price| cost(&one, price)), [0, 1]);
        let absurd = CallMetrics { usage: usage(u64::MAX, 0, 0, 0), ..CallMetrics::default() };
        assert_eq!(cost(&absurd, u64::MAX), u64::MAX);
    }

    #[test]
    fn percentiles_use_the_nearest_rank() {
        let ranks = |durations: Vec<u32>| Percentiles(&durations).ranks();
        assert_eq!(ranks(vec![]), None);
        assert_eq!(ranks(vec![7]), Some([7, 7, 7]));
        assert_eq!(ranks((1..=10).rev().collect()), Some([5, 9, 10]));
        assert_eq!(ranks((1..=11).collect()), Some([6, 10, 11]));
        assert_eq!(ranks((1..=1_000).collect()), Some([500, 900, 1_000]));
    }
}
