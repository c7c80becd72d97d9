//! Selects the facts to keep: the most important ones, newer ones first, up to the length of the summary.

use std::collections::HashSet;

use super::ExtractiveSummarizer;
use super::transcript::{ENOUGH, Fact, Speaker, Transcript};

/// The maximum share of tool calls and of the assistant's words in the first pass, in percent.
const SHARE_OF_TOOLS: usize = 55;
const SHARE_OF_ASSISTANT: usize = 30;
/// The bonus of the newest fact over the oldest, in percent.
const NEWER: u64 = 50;
/// The length of the separator between two clauses, ` … `.
pub(super) const GAP: usize = 3;

/// Returns, for each fact, whether it is kept.
pub(super) fn choose(transcript: &Transcript, settings: &ExtractiveSummarizer) -> Vec<bool> {
    let mut ranked: Vec<(u64, usize)> =
        transcript.facts.iter().enumerate().map(|(index, fact)| (priority(transcript, fact), index)).collect();
    ranked.sort_unstable_by_key(|rank| std::cmp::Reverse(*rank));

    let mut choice = Choice {
        transcript,
        kept: vec![false; transcript.facts.len()],
        known: HashSet::new(),
        of_turns: vec![0; transcript.turns.len()],
        of_tools: 0,
        of_assistant: 0,
        chars: 0,
        settings,
    };
    for shares in [Shares::Limited, Shares::Open] {
        for (_, index) in &ranked {
            choice.consider(*index, shares);
        }
    }
    if choice.chars == 0
        && let Some((_, index)) = ranked.first()
    {
        choice.keep(*index);
    }
    choice.kept
}

/// Ranks a fact by its points. Long facts rank lower, new ones higher.
fn priority(transcript: &Transcript, fact: &Fact) -> u64 {
    let turns = transcript.turns.len().max(1) as u64;
    let newness = 100 + NEWER * (fact.turn as u64 + 1) / turns;
    u64::from(fact.weight.points) * newness * 8 / (fact.chars as u64 + 60).isqrt()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shares {
    Limited,
    Open,
}

struct Choice<'a> {
    transcript: &'a Transcript,
    settings: &'a ExtractiveSummarizer,
    kept: Vec<bool>,
    /// The terms of the kept facts.
    known: HashSet<u64>,
    /// The characters of each turn, including its label.
    of_turns: Vec<usize>,
    of_tools: usize,
    of_assistant: usize,
    chars: usize,
}

impl Choice<'_> {
    fn consider(&mut self, index: usize, shares: Shares) {
        let Some(fact) = self.transcript.facts.get(index) else { return };
        if self.is_kept(index) || fact.weight.points < ENOUGH {
            return;
        }
        let question = fact.answers.filter(|question| !self.is_kept(*question));
        let asked = question.and_then(|question| self.transcript.facts.get(question)).map_or(0, |fact| self.cost(fact));
        let cost = self.cost(fact);
        let of_turn = self.of_turns.get(fact.turn).copied().unwrap_or_default() + cost;
        let fits = self.chars + cost + asked <= self.settings.max_chars
            && of_turn <= self.settings.most_of(self.transcript.speaker(fact));
        // Check the size first: it is cheaper, and few facts fit once the summary is nearly full.
        if !fits || !self.is_new(fact) {
            return;
        }
        let share = |percent| self.settings.max_chars * percent / 100;
        let is_fair = match self.transcript.speaker(fact) {
            Speaker::Tool => self.of_tools + cost <= share(SHARE_OF_TOOLS),
            Speaker::Assistant => self.of_assistant + cost <= share(SHARE_OF_ASSISTANT),
            _ => true,
        };
        if is_fair || shares == Shares::Open {
            self.keep(index);
            if let Some(question) = question {
                self.keep(question);
            }
        }
    }

    fn keep(&mut self, index: usize) {
        let Some(fact) = self.transcript.facts.get(index) else { return };
        let cost = self.cost(fact);
        self.chars += cost;
        if let Some(of_turn) = self.of_turns.get_mut(fact.turn) {
            *of_turn += cost;
        }
        match self.transcript.speaker(fact) {
            Speaker::Tool => self.of_tools += cost,
            Speaker::Assistant => self.of_assistant += cost,
            _ => {}
        }
        self.known
            .extend(self.transcript.terms.get(fact.terms.clone()).unwrap_or_default().iter().map(|term| term.hash));
        if let Some(kept) = self.kept.get_mut(index) {
            *kept = true;
        }
    }

    fn is_kept(&self, index: usize) -> bool {
        self.kept.get(index).copied().unwrap_or_default()
    }

    /// Returns `true` if at least a third of the fact is new.
    fn is_new(&self, fact: &Fact) -> bool {
        let terms = self.transcript.terms.get(fact.terms.clone()).unwrap_or_default();
        let all: u32 = terms.iter().map(|term| term.worth).sum();
        let new: u32 = terms.iter().filter(|term| !self.known.contains(&term.hash)).map(|term| term.worth).sum();
        new * 3 >= all && new > 0
    }

    /// Returns the maximum number of characters that [`super::write`] needs for the fact.
    fn cost(&self, fact: &Fact) -> usize {
        let is_first = self.of_turns.get(fact.turn).is_none_or(|chars| *chars == 0);
        // The label, two quotation marks, and a line break.
        let around = if is_first { self.transcript.speaker(fact).label().len() + 3 } else { GAP };
        fact.chars + around
    }
}
