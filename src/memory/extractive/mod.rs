//! [`ExtractiveSummarizer`]: selects the summary from the words of the call, without a model.
//!
//! `transcript` turns the previous summary and the new messages into a list of turns. `clean` and `clauses` split their
//! text into clauses, and `tools` and `fields` write one line per tool call. `weight`, `lexicon` and `hash` score each
//! clause, and `choice` keeps the best ones, in the order of the call.

mod choice;
mod clauses;
mod clean;
mod fields;
mod hash;
mod lexicon;
mod tools;
mod transcript;
mod weight;

use super::BYTES_PER_TOKEN;
use crate::manager::Summarizing;
use crate::model::{Summarizer, SummaryFuture};
use crate::policy::Tokens;
use transcript::{Speaker, Transcript};

/// The text of a summary without facts. It is not copied into the next summary.
const NOTHING: &str = "(nothing of note was said)";

/// A summarizer without a model: offline, deterministic, and faster than a millisecond for a usual call.
///
/// It selects the clauses that hold the most important facts: outcomes of tool calls; then numbers, amounts, dates, ids
/// and names; then wishes, promises and open questions. It writes them in the order of the call, one line per turn with
/// its speaker:
///
/// ```text
/// caller: "My customer number is K-3668."
/// tool: order_part failed: "Error: the part is sold out until June 3"
/// assistant: "what is the source account"
/// caller: "checking account"
/// ```
///
/// The next summary reads these lines like messages, so a fact stays as long as it is among the most important ones,
/// and summaries do not nest. A caller's words are quoted, on one line, and without control or bidi characters, so they
/// cannot imitate another speaker. A clause without new facts is left out.
///
/// Wishes and promises are recognized in English only; numbers, ids, names and dates with digits in any language. It never
/// fails, and its text is never blank.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtractiveSummarizer {
    max_chars: usize,
    /// The maximum length if the covered words are long.
    most_chars: usize,
    /// Whether the calls of tools are left out, since a memory lists them.
    is_of_talk: bool,
}

/// 1,200 characters, at most 300 of them for one turn.
impl Default for ExtractiveSummarizer {
    fn default() -> Self {
        Self { max_chars: 1_200, most_chars: 1_200, is_of_talk: false }
    }
}

/// The maximum length of one turn in a summary. It keeps a long speech from displacing everything else.
const MAX_TURN_CHARS: usize = 300;

/// A summary takes at most one in this many of the covered characters, if the memory has room for more than the usual
/// length.
const SHARE: usize = 4;

/// The minimum length of a summary. The longest clause with its speaker is shorter.
#[cfg(test)]
const LEAST_CHARS: usize = 200;

impl ExtractiveSummarizer {
    /// Sets the maximum length of the summary, in characters; at least 200.
    #[cfg(test)]
    fn with_max_chars(self, chars: usize) -> Self {
        let chars = chars.max(LEAST_CHARS);
        Self { max_chars: chars, most_chars: chars, ..self }
    }

    /// Creates a summarizer whose longest summary fills a memory of this size.
    pub(crate) fn for_memory(memory: Tokens) -> Self {
        Self::within(usize::try_from(memory.get()).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN))
    }

    /// Creates a summarizer of the talk, without tool calls, which the memory lists. Its summary of a long talk has at most
    /// this many characters.
    pub(crate) fn within(room: usize) -> Self {
        Self { most_chars: room, is_of_talk: true, ..Self::default() }
    }

    /// Returns the summary. It is never blank and never longer than its maximum. O(n log n) in the length of the text.
    pub fn summary(&self, summarizing: &Summarizing) -> String {
        let transcript = Transcript::of(summarizing, self.is_of_talk);
        let covered: usize =
            summarizing.messages().flat_map(|message| message.contents().texts()).map(|text| text.len()).sum();
        let max_chars = (covered / SHARE).min(self.most_chars).max(self.max_chars);
        let kept = choice::choose(&transcript, &Self { max_chars, ..*self });
        write(&transcript, &kept)
    }

    /// Returns the maximum length of one turn.
    fn most_of(&self, speaker: Speaker) -> usize {
        match speaker {
            // A summary by another summarizer is one turn.
            Speaker::Earlier => MAX_TURN_CHARS.max(self.max_chars * 2 / 3),
            _ => MAX_TURN_CHARS,
        }
    }
}

impl Summarizer for ExtractiveSummarizer {
    fn summarize<'a>(&'a self, summarizing: &'a Summarizing) -> SummaryFuture<'a> {
        Box::pin(std::future::ready(Ok(self.summary(summarizing).into())))
    }
}

/// Writes the kept facts in the order of the call, one line per turn.
fn write(transcript: &Transcript, kept: &[bool]) -> String {
    let mut text = String::new();
    let mut quote = "";
    let mut last: Option<(usize, usize)> = None;
    for (index, fact) in transcript.facts.iter().enumerate().filter(|(index, _)| kept.get(*index) == Some(&true)) {
        let clause = transcript.clause(fact);
        match last {
            Some((turn, before)) if turn == fact.turn => {
                let is_next = before + 1 == index;
                text.push_str(match is_next {
                    true if text.ends_with(['.', '!', '?']) => " ",
                    true => "; ",
                    false => " … ",
                });
            }
            _ => {
                text.push_str(quote);
                if last.is_some() {
                    text.push('\n');
                }
                let speaker = transcript.speaker(fact);
                quote = if speaker.is_quoted() { "\"" } else { "" };
                text.push_str(speaker.label());
                text.push_str(quote);
            }
        }
        text.push_str(&clause);
        last = Some((fact.turn, index));
    }
    text.push_str(quote);
    if text.is_empty() { NOTHING.to_owned() } else { text }
}

#[cfg(test)]
mod tests;
