//! [`ExtractiveSummarizer`]: a summary without a model, of what was said itself.
//!
//! The summary before and the messages since become one row of turns (`transcript`), cleaned (`clean`) and cut into
//! clauses (`clauses`); tool calls become a line each (`tools`, `fields`). Each clause is weighed (`weight`, `lexicon`, `hash`),
//! and the weightiest are kept (`choice`), in the order of the call.

mod choice;
mod clauses;
mod clean;
mod fields;
mod hash;
mod lexicon;
mod tools;
mod transcript;
mod weight;

use crate::manager::Summarizing;
use crate::model::{Summarizer, SummaryFuture};
use transcript::{Speaker, Transcript};

/// Says that there was nothing to say; never taken over into the next summary.
const NOTHING: &str = "(nothing of note was said)";

/// Makes a summary without a model: offline, deterministic, in less than a millisecond for a usual call.
///
/// It picks the clauses that hold facts (outcomes of tool calls first; then numbers, amounts, dates, ids, names; what the
/// caller wants; what was promised or is still asked) and tells who said them, a line for each turn:
///
/// ```text
/// caller: "My user ID is mia_li_3668."
/// tool: book_reservation failed: "Error: payment amount does not add up, total price is 305, but paid 255"
/// assistant: "what is the source account"
/// caller: "checking account"
/// ```
///
/// The next summary reads these lines as it reads messages, so that facts are carried on for as long as they are among
/// the weightiest, and nothing nests. The words of a caller stand between quotation marks, on one line, without control
/// or bidi characters: they cannot pass for another's. A clause that says nothing new is left out.
///
/// The words by which it knows wishes and promises are English; in other languages numbers, ids, names and dates with
/// digits are known all the same. It never fails, and its text is never blank.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtractiveSummarizer {
    max_chars: usize,
    max_turn_chars: usize,
}

/// 1,200 characters, at most 300 of them from one turn.
impl Default for ExtractiveSummarizer {
    fn default() -> Self {
        Self { max_chars: 1_200, max_turn_chars: 300 }
    }
}

/// Of a summary; the longest clause with all around it is shorter.
const LEAST_CHARS: usize = 200;

impl ExtractiveSummarizer {
    /// The same with another length of the summary, in characters: 200 or more.
    #[must_use]
    pub fn with_max_chars(mut self, chars: usize) -> Self {
        self.max_chars = chars.max(LEAST_CHARS);
        self
    }

    /// The same with another bound on what one turn of the caller or the assistant takes up of it, in characters, so
    /// that a long speech does not crowd out the rest: 200 or more.
    #[must_use]
    pub fn with_max_turn_chars(mut self, chars: usize) -> Self {
        self.max_turn_chars = chars.max(LEAST_CHARS);
        self
    }

    /// The summary. Never blank, and never longer than it may be. O(n log n) in what was said.
    pub fn summary(&self, summarizing: &Summarizing) -> String {
        let transcript = Transcript::of(summarizing);
        let kept = choice::choose(&transcript, self);
        write(&transcript, &kept)
    }

    /// How much one turn takes up at most.
    fn most_of(&self, speaker: Speaker) -> usize {
        match speaker {
            // A whole summary, written by somebody else, is one turn.
            Speaker::Earlier => self.max_turn_chars.max(self.max_chars * 2 / 3),
            _ => self.max_turn_chars,
        }
    }
}

impl Summarizer for ExtractiveSummarizer {
    fn summarize<'a>(&'a self, summarizing: &'a Summarizing) -> SummaryFuture<'a> {
        Box::pin(std::future::ready(Ok(self.summary(summarizing).into())))
    }
}

/// The kept facts in the order of the call, those of one turn on one line.
fn write(transcript: &Transcript, kept: &[bool]) -> String {
    let mut text = String::new();
    let mut quote = "";
    let mut last: Option<(usize, usize)> = None;
    for (index, fact) in transcript.facts.iter().enumerate().filter(|(index, _)| kept.get(*index) == Some(&true)) {
        let clause = transcript.clause(fact);
        match last {
            Some((turn, before)) if turn == fact.turn => {
                let goes_on = before + 1 == index;
                text.push_str(match goes_on {
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
