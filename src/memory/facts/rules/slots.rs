//! The slot of a value: the words before it, the question that it answers, and whether it corrects another one.

use std::ops::Range;

use super::answers::last_question;
use super::{Finding, LONGEST};
use crate::memory::facts::folded::form;
use crate::memory::facts::language::WORDS;
use crate::memory::facts::tokens::{Token, tokens};
use crate::memory::facts::{Fact, FactSource};
use crate::memory::one_line::one_line;
use crate::message::Message;

impl Finding<'_> {
    /// Adds a value that begins at a word.
    pub(super) fn push(&mut self, slot: &str, value: String, at: usize) {
        let fact = Fact::new(slot.to_owned(), value, self.source);
        let sentence = self.sentence(at);
        if self.latest.0 != sentence {
            self.latest = (sentence, self.facts.len());
        }
        if self.source == FactSource::Caller && (self.is_rejected(at) || self.is_negated(at, &fact)) {
            return self.push_rejected(fact);
        }
        // In German, any noun looks like a name. Two values after one correction do not replace each other.
        let is_noun = || !fact.value().contains(|c: char| c == ' ' || c.is_numeric()) && self.capitalises_nouns();
        let is_correction = self.source == FactSource::Caller
            && self.is_corrected(at)
            && !is_noun()
            && self.corrected.replace(sentence) != Some(sentence);
        // The empty text leaves it to the table to find the earlier value.
        self.facts.push(if is_correction { fact.replacing("") } else { fact });
    }

    /// Adds a value that the caller does not want. The last value of the same form in the sentence replaces it.
    fn push_rejected(&mut self, rejected: Fact) {
        let said = self.facts.iter_mut().skip(self.latest.1);
        match said.filter(|fact| form(fact.value()) == form(rejected.value())).last() {
            Some(wanted) => {
                let before = rejected.value().to_owned();
                let wanted = std::mem::replace(wanted, rejected);
                self.facts.push(wanted.replacing(before));
            }
            None => self.facts.push(rejected),
        }
    }

    /// Returns whether the sentence announces a correction before the word.
    fn is_corrected(&self, at: usize) -> bool {
        last_before(&self.corrections, at).is_some_and(|range| range.start >= self.sentence(at))
    }

    /// Returns whether the caller does not want the value at a word: "instead of the blue one".
    fn is_rejected(&self, at: usize) -> bool {
        last_before(&self.rejections, at).is_some_and(|range| {
            let between = self.tokens.get(range.end..at).unwrap_or_default();
            between.len() < 3 && between.iter().all(|token| !token.ends_clause)
        })
    }

    /// Returns whether the value at a word is not the right one, but the one directly before: "58, not 85".
    fn is_negated(&self, at: usize, fact: &Fact) -> bool {
        let (Some(last), Some(before)) = (self.facts.last(), at.checked_sub(2)) else { return false };
        let [end, negation] = self.tokens.get(before..at).unwrap_or_default() else { return false };
        !negation.ends_clause
            && WORDS.negations.contains(negation.lower.as_str())
            && last.value().ends_with(end.text)
            && form(last.value()) == form(fact.value())
    }

    pub(super) fn capitalises_nouns(&self) -> bool {
        WORDS.capitalises_nouns(self.words.iter().map(String::as_str))
    }

    /// Returns where the sentence of a word begins, or a word before it in a longer sentence.
    fn sentence(&self, at: usize) -> usize {
        let earliest = at.saturating_sub(LONGEST);
        (earliest..=at).rev().find(|start| self.get(*start).is_some_and(|token| token.is_first)).unwrap_or(earliest)
    }

    /// Returns the nouns directly before a word, or else what the assistant asked for.
    pub(super) fn slot(&self, at: usize) -> String {
        let mut nouns: Vec<&str> = Vec::new();
        let mut skipped = 0;
        for before in (at.saturating_sub(4)..at).rev() {
            let Some(token) = self.get(before) else { break };
            let is_stop = WORDS.is_stopword(&token.lower);
            if is_stop
                && nouns.is_empty()
                && skipped < 2
                && !token.ends_clause
                && ["is", "are", "ist", "es", "est", "è", "é", "number", "nummer"].contains(&token.lower.as_str())
            {
                skipped += 1;
                continue;
            }
            let is_cue = WORDS.corrections.iter().flatten().any(|word| *word == token.lower);
            let is_stop = is_stop || is_cue;
            let is_label = token.is_label && nouns.is_empty();
            if is_stop || !token.is_word() || (token.ends_clause && !is_label) || nouns.len() == 2 {
                break;
            }
            nouns.push(WORDS.without_article(&token.lower));
        }
        nouns.reverse();
        if nouns.is_empty()
            && let Some(question) = &self.question
            && self.tokens.len() <= 12
        {
            return question.clone();
        }
        one_line(&nouns.join(" "), 30)
    }
}

/// Returns the last range that ends before a word or at it.
fn last_before(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    ranges.get(..ranges.partition_point(|range| range.end <= at))?.last()
}

/// Returns what the last question of a message asks for: the nouns before its question mark.
pub(super) fn question(message: &Message) -> Option<String> {
    let heard = message.heard_contents();
    let tokens = tokens(last_question(heard.texts().last()?)?);
    let is_noun = |token: &&Token<'_>| token.is_word() && !WORDS.is_stopword(&token.lower);
    let possessive = tokens
        .iter()
        .position(|token| ["your", "ihre", "ihr", "su", "votre", "sua", "suo", "seu"].contains(&token.lower.as_str()));
    let from = possessive.map_or(0, |at| at + 1);
    let nouns: Vec<&str> = match possessive {
        Some(_) => tokens
            .get(from..)?
            .iter()
            .take_while(is_noun)
            .take(3)
            .map(|token| WORDS.without_article(&token.lower))
            .collect(),
        None => {
            let mut last: Vec<&str> = tokens
                .iter()
                .rev()
                .take_while(is_noun)
                .take(2)
                .map(|token| WORDS.without_article(&token.lower))
                .collect();
            last.reverse();
            last
        }
    };
    (!nouns.is_empty()).then(|| one_line(&nouns.join(" "), 30))
}
