//! Faults of the model, a tool and the summary at each place of a turn, over the real SDK and a strict fake Bedrock:
//! what the caller hears, what is logged, and that the next turn is valid. The result is `docs/faults.md`.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "helpers of tests")]

mod scene;

use std::fmt::Write;

use scene::{Outcome, play};
use verbale::model::Failure;

/// A model of each family, and one that the profiles do not know.
const MODELS: [&str; 5] = [
    "eu.anthropic.claude-sonnet-5",
    "eu.amazon.nova-lite-v1:0",
    "us.meta.llama4-maverick-17b-instruct-v1:0",
    "mistral.mistral-large-2407-v1:0",
    "any.other-model-v1:0",
];

/// The place of a fault in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    BeforeTheFirstToken,
    InText,
    InAToolCall,
    InTheTool,
    AfterTheTool,
    InTheSummary,
}

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Throttled,
    Unavailable,
    Denied,
    Refused,
    Hangs,
    ConnectionCut,
    EndsEarly,
    Damaged,
    Blank,
    MaxTokens,
    Filtered,
    NoJson,
    Fails,
    Panics,
    Late,
    TooLarge,
}

impl Place {
    const ALL: [Self; 6] = [
        Self::BeforeTheFirstToken,
        Self::InText,
        Self::InAToolCall,
        Self::InTheTool,
        Self::AfterTheTool,
        Self::InTheSummary,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::BeforeTheFirstToken => "Before the first token",
            Self::InText => "In the text",
            Self::InAToolCall => "In a tool call",
            Self::InTheTool => "In the tool",
            Self::AfterTheTool => "In the answer after the tool",
            Self::InTheSummary => "In the summary",
        }
    }

    fn faults(self) -> &'static [(Fault, bool)] {
        use Fault::*;
        // The second value: whether the fault stays.
        match self {
            Self::BeforeTheFirstToken => &[
                (Throttled, false),
                (Throttled, true),
                (Unavailable, false),
                (Unavailable, true),
                (Denied, true),
                (Refused, false),
                (Refused, true),
                (Hangs, false),
                (ConnectionCut, false),
                (ConnectionCut, true),
                (EndsEarly, false),
                (Damaged, false),
                (Blank, false),
            ],
            Self::InText => &[
                (Throttled, false),
                (Unavailable, false),
                (Hangs, false),
                (ConnectionCut, false),
                (EndsEarly, false),
                (Damaged, false),
                (MaxTokens, false),
                (Filtered, false),
            ],
            Self::InAToolCall => &[
                (Throttled, false),
                (Hangs, false),
                (ConnectionCut, false),
                (EndsEarly, false),
                (Damaged, false),
                (MaxTokens, false),
                (Filtered, false),
                (NoJson, false),
                (NoJson, true),
            ],
            Self::InTheTool => &[(Fails, false), (Panics, false), (Late, false), (TooLarge, false)],
            Self::AfterTheTool => &[
                (Throttled, false),
                (Throttled, true),
                (Denied, true),
                (Refused, false),
                (Refused, true),
                (Hangs, false),
                (ConnectionCut, false),
                (Blank, false),
            ],
            Self::InTheSummary => &[(Throttled, true), (Denied, true), (Hangs, true), (Blank, true), (MaxTokens, true)],
        }
    }
}

fn name(fault: Fault, stays: bool) -> String {
    let name = match fault {
        Fault::Throttled => "throttled",
        Fault::Unavailable => "unavailable",
        Fault::Denied => "access denied",
        Fault::Refused => "refused for an unknown reason",
        Fault::Hangs => "hangs",
        Fault::ConnectionCut => "connection cut",
        Fault::EndsEarly => "ends without a stop",
        Fault::Damaged => "damaged event",
        Fault::Blank => "blank answer",
        Fault::MaxTokens => "length limit",
        Fault::Filtered => "content filter",
        Fault::NoJson => "arguments are not JSON",
        Fault::Fails => "returns an error",
        Fault::Panics => "panics",
        Fault::Late => "misses its deadline",
        Fault::TooLarge => "returns 500 KB",
    };
    if stays { format!("{name}, for good") } else { name.to_owned() }
}

#[test]
fn table_of_faults_is_true_for_every_family() {
    let mut table = String::from(include_str!("head.md"));
    for place in Place::ALL {
        writeln!(table, "\n## {}\n", place.name()).unwrap();
        table.push_str("| fault | requests | the caller hears | the log has |\n| --- | --- | --- | --- |\n");
        for (fault, stays) in place.faults() {
            let outcomes = MODELS.map(|model| (model, outcome(model, place, *fault, *stays)));
            let (_, first) = &outcomes[0];
            writeln!(table, "| {} {first}", name(*fault, *stays)).unwrap();
            for (model, outcome) in outcomes[1..].iter().filter(|(_, outcome)| outcome.to_string() != first.to_string())
            {
                writeln!(table, "| … `{model}` {outcome}").unwrap();
            }
        }
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/faults.md");
    if std::env::var_os("FAULT_TABLE").is_some_and(|value| value == "write") {
        std::fs::write(path, &table).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert!(written == table, "docs/faults.md is out of date; FAULT_TABLE=write writes it:\n{table}");
}

fn outcome(model: &str, place: Place, fault: Fault, stays: bool) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let outcome = runtime.block_on(play(model, place, fault, stays));
    assert!(outcome.next_turn_is_answered, "{model}: after {fault:?} {place:?}, the next turn fails: {outcome:?}");
    // A deadline may pass, but no request may be invalid.
    assert!(!matches!(outcome.failure, Some(Failure::Invalid(_))), "{model}: {outcome:?}");
    outcome
}
