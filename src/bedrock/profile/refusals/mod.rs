//! The observed refusals of Bedrock: wording, date and source of each.
//!
//! [`validate`](crate::bedrock::validate()) uses these words, and the client recognizes them by a part that never
//! quotes the request. Sources are addresses without `https://`, most of them issues of `github.com`.

mod access_and_texts;
mod attachments_and_settings;
mod tools;

use access_and_texts::ACCESS_AND_TEXTS;
use attachments_and_settings::ATTACHMENTS_AND_SETTINGS;
use tools::TOOLS;

/// An observed refusal.
pub(in crate::bedrock) struct Refusal {
    /// The name of the rule.
    pub rule: &'static str,
    /// A part of Bedrock's message.
    pub part: &'static str,
    /// The date of the report, or an empty text if there is none.
    pub seen: &'static str,
    /// The report, or the documentation.
    pub source: &'static str,
    /// The advice to the operator, if the remedy is not sufficient.
    pub advice: &'static str,
    pub remedy: Remedy,
}

/// The change after which the client sends a refused request once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bedrock) enum Remedy {
    /// No change helps: the request cannot be sent.
    None,
    /// No change helps. An operator must fix the access to the model.
    Operator,
    /// The same request may succeed later, so the caller of the client retries.
    AskAgain,
    /// Ask for an answer in one piece.
    WithoutStreaming,
    WithoutCachePoints,
    /// Send tool calls and results as texts, and no tools.
    WithoutTools,
    /// Send tool calls and results as texts, and offer the tools.
    ToolsAsTexts,
}

const REPAIRED: &str = "`repair` prevents this; name a model with these rules in `BedrockSettings::with_base_model`";
const TOO_LONG: &str = "the prompt is too long for the model; summarize earlier";
const MESSAGE: &str = "docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html";

const fn seen(rule: &'static str, part: &'static str, seen: &'static str, source: &'static str) -> Refusal {
    Refusal { rule, part, seen, source, advice: REPAIRED, remedy: Remedy::WithoutTools }
}

/// A refusal without a dated report.
const fn documented(rule: &'static str, part: &'static str, source: &'static str) -> Refusal {
    seen(rule, part, "", source)
}

impl Refusal {
    const fn fixed_by(self, remedy: Remedy, advice: &'static str) -> Self {
        Self { remedy, advice, ..self }
    }

    const fn of_messages(self) -> Self {
        Self { remedy: Remedy::ToolsAsTexts, ..self }
    }

    const fn certain(self, advice: &'static str) -> Self {
        self.fixed_by(Remedy::None, advice)
    }
}

/// Returns all refusals. The first one whose part is in a message applies.
pub(in crate::bedrock) fn refusals() -> impl Iterator<Item = &'static Refusal> {
    ACCESS_AND_TEXTS.iter().chain(&TOOLS).chain(&ATTACHMENTS_AND_SETTINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_a_date_and_a_source() {
        let all: Vec<_> = refusals().collect();
        for (at, refusal) in all.iter().enumerate() {
            let date: Vec<_> = refusal.seen.split('-').filter_map(|part| part.parse::<u32>().ok()).collect();
            assert!(matches!(date[..], [] | [2024..=2026, 1..=12, 1..=31]), "{}", refusal.part);
            assert!(refusal.source.contains('/') && !refusal.source.starts_with("https"), "{}", refusal.part);
            assert!(all[..at].iter().all(|before| before.part != refusal.part), "{}", refusal.part);
        }
    }
}
