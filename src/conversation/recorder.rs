//! [`MetricsObserver`]: counts the events of calls with the `metrics` crate.

use std::time::Duration;

use metrics::{counter, histogram};

use crate::log::CallId;
use crate::turn::{CallEvent, Observer, ReplyEnd, SummaryOutcome, ToolOutcome};

/// Counts the events of calls with the [`metrics`](https://docs.rs/metrics) crate, whose recorder the service chooses, for
/// example one for Prometheus. One observer serves all calls.
///
/// `docs/telemetry.md` lists the names. No label contains the id of a call or words of it.
///
/// ```
/// use verbale::call::CallBuilder;
/// use verbale::conversation::MetricsObserver;
/// use verbale::testing::ScriptedModel;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let call = CallBuilder::new(ScriptedModel::default()).observer(MetricsObserver).open()?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct MetricsObserver;

impl Observer for MetricsObserver {
    fn observe(&self, _: &CallId, event: &CallEvent) {
        match event {
            CallEvent::TurnStarted { .. } => counter!("verbale_turns_total").increment(1),
            CallEvent::ModelSwitched { reason, .. } => {
                counter!("verbale_model_switches_total", "reason" => *reason).increment(1);
            }
            CallEvent::FirstToken { after_ms, .. } => seconds("verbale_first_token_seconds", *after_ms),
            CallEvent::FirstWords { after_ms, .. } => seconds("verbale_response_gap_seconds", *after_ms),
            CallEvent::ReplyEnded { end, .. } => {
                counter!("verbale_replies_total", "end" => end_word(end)).increment(1);
            }
            CallEvent::Used { usage } => {
                for (kind, tokens) in [
                    ("input", usage.input_tokens),
                    ("output", usage.output_tokens),
                    ("cache_read", usage.cache_read_tokens),
                    ("cache_write", usage.cache_write_tokens),
                ] {
                    counter!("verbale_tokens_total", "kind" => kind).increment(tokens);
                }
            }
            CallEvent::Silence { is_filled, .. } => {
                let filled = if *is_filled { "true" } else { "false" };
                counter!("verbale_silences_total", "filled" => filled).increment(1);
            }
            CallEvent::BargedIn => counter!("verbale_barge_ins_total").increment(1),
            CallEvent::ToolCalled { .. } => counter!("verbale_tool_calls_total").increment(1),
            CallEvent::ToolFinished { outcome, after_ms, .. } => {
                counter!("verbale_tool_results_total", "outcome" => outcome_word(*outcome)).increment(1);
                seconds("verbale_tool_seconds", *after_ms);
            }
            CallEvent::ToolUnlogged { .. } => counter!("verbale_tools_unlogged_total").increment(1),
            CallEvent::SameActPanicked { .. } => counter!("verbale_same_act_panics_total").increment(1),
            CallEvent::ResultReady { .. } => counter!("verbale_results_ready_total").increment(1),
            CallEvent::SummaryEnded { outcome, after_ms, usage, removed } => {
                counter!("verbale_summaries_total", "outcome" => summary_word(outcome)).increment(1);
                seconds("verbale_summary_seconds", *after_ms);
                for (kind, tokens) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
                    counter!("verbale_summary_tokens_total", "kind" => kind).increment(tokens);
                }
                counter!("verbale_summary_sentences_removed_total").increment((*removed).into());
            }
            CallEvent::Repaired { repairs } => counter!("verbale_repairs_total").increment((*repairs).into()),
            CallEvent::OverBudget { .. } => counter!("verbale_over_budget_total").increment(1),
            CallEvent::Submitted { records, is_complete } => {
                counter!("verbale_records_submitted_total").increment((*records).into());
                if !is_complete {
                    counter!("verbale_submissions_refused_total").increment(1);
                }
            }
            CallEvent::LogLevel { durability } => {
                counter!("verbale_log_levels_total", "level" => durability.word()).increment(1);
            }
            CallEvent::Closed { after_ms } => seconds("verbale_call_seconds", *after_ms),
            CallEvent::Heard { .. } | CallEvent::SummaryStarted { .. } => {}
        }
    }
}

fn seconds(name: &'static str, ms: u32) {
    histogram!(name).record(Duration::from_millis(ms.into()).as_secs_f64());
}

fn end_word(end: &ReplyEnd) -> &'static str {
    match end {
        ReplyEnd::Complete(_) => "complete",
        ReplyEnd::Interrupted => "interrupted",
        ReplyEnd::Failed(_) => "failed",
        ReplyEnd::AskedToRepeat => "asked_to_repeat",
    }
}

fn outcome_word(outcome: ToolOutcome) -> &'static str {
    match outcome {
        ToolOutcome::Succeeded => "succeeded",
        ToolOutcome::Failed => "failed",
        ToolOutcome::NotRun => "not_run",
        ToolOutcome::Unknown => "unknown",
    }
}

fn summary_word(outcome: &SummaryOutcome) -> &'static str {
    match outcome {
        SummaryOutcome::Applied => "applied",
        SummaryOutcome::Replaced(_) => "replaced",
        SummaryOutcome::Dropped(reason) => reason,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use metrics_util::debugging::{DebugValue, DebuggingRecorder};

    use super::*;
    use crate::message::ToolCallId;
    use crate::model::Usage;

    #[test]
    fn documentation_names_each_metric_and_no_other() {
        let names = |text: &'static str| -> BTreeSet<&'static str> {
            let words = text.split(|c: char| !(c.is_ascii_lowercase() || c == '_'));
            words.filter(|word| word.starts_with(concat!("verbale", "_"))).collect()
        };
        assert_eq!(names(include_str!("recorder.rs")), names(include_str!("../../docs/telemetry.md")));
    }

    #[test]
    fn events_are_counted_by_name_and_label() {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        let usage = Usage { input_tokens: 120, output_tokens: 7, ..Usage::default() };
        let id = || ToolCallId::new("c1").unwrap();
        metrics::with_local_recorder(&recorder, || {
            let call = CallId::new("CA1").unwrap();
            for event in [
                CallEvent::BargedIn,
                CallEvent::Used { usage },
                CallEvent::Used { usage },
                CallEvent::ToolFinished { id: id(), outcome: ToolOutcome::Unknown, after_ms: 15_000 },
                CallEvent::Closed { after_ms: 61_500 },
            ] {
                MetricsObserver.observe(&call, &event);
            }
        });
        let mut lines: Vec<String> = snapshotter
            .snapshot()
            .into_vec()
            .into_iter()
            .map(|(key, _, _, value)| {
                let labels: Vec<String> =
                    key.key().labels().map(|label| format!("{}={}", label.key(), label.value())).collect();
                let value = match value {
                    DebugValue::Counter(count) => count.to_string(),
                    DebugValue::Histogram(values) => format!("{values:?}"),
                    DebugValue::Gauge(value) => value.to_string(),
                };
                format!("{}{{{}}} {value}", key.key().name(), labels.join(","))
            })
            .collect();
        lines.sort();
        insta::assert_snapshot!(lines.join("\n"), @"
        verbale_barge_ins_total{} 1
        verbale_call_seconds{} [61.5]
        verbale_tokens_total{kind=cache_read} 0
        verbale_tokens_total{kind=cache_write} 0
        verbale_tokens_total{kind=input} 240
        verbale_tokens_total{kind=output} 14
        verbale_tool_results_total{outcome=unknown} 1
        verbale_tool_seconds{} [15.0]
        ");
    }
}
