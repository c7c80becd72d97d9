//! Whether a value corrects another one, or is the wrong one itself.

use std::ops::Range;

use super::{Finding, LONGEST};
use crate::memory::facts::folded::form;
use crate::memory::facts::language::{WORDS, ranges};
use crate::memory::facts::tokens::Token;
use crate::memory::facts::{Fact, FactSource};

/// The maximum number of words between a wrong value and the right one: "not the eighth, but on the ninth".
const LONGEST_LINK: usize = 4;
/// The maximum number of words before and after a value that a "no" denies: "No, it is 93 at the end".
const LONGEST_REST: usize = 3;

impl Finding<'_> {
    /// Adds a value with its words.
    pub(super) fn push(&mut self, slot: &str, value: String, words: Range<usize>) {
        let fact = Fact::new(slot.to_owned(), value, self.source);
        let sentence = self.sentence(words.start);
        if self.latest.0 != sentence {
            self.latest = (sentence, self.facts.len());
        }
        let said = std::mem::replace(&mut self.said, words.clone());
        if self.source != FactSource::Caller {
            return self.facts.push(fact);
        }
        let negated = self.negated(&words, &fact);
        self.contrasts.extend(negated);
        if negated.is_some() || self.is_rejected(&said, words.start) {
            return self.push_rejected(fact);
        }
        if let Some((negation, wrong)) = self.contrast(&said, &words, &fact) {
            self.contrasts.insert(negation);
            self.refused.remove(&(self.facts.len().saturating_sub(1)));
            return self.facts.push(fact.replacing(wrong));
        }
        if let Some(rejected) = self.take_rejected(&fact) {
            return self.facts.push(fact.replacing(rejected));
        }
        if let Some(negation) = self.refusal(&said, &words, &fact) {
            self.refusals.insert(negation);
            self.latest_refusal = Some((words.end, negation));
            self.refused.insert(self.facts.len());
            return self.facts.push(fact);
        }
        // In German, any noun looks like a name.
        let is_noun = || !fact.value().contains(|c: char| c == ' ' || c.is_numeric()) && self.capitalises_nouns();
        let is_correction = self.is_corrected(&words) && !is_noun();
        self.push_corrected(fact, words.start, is_correction);
    }

    /// Adds a value that may correct another one. Two values after one correction do not replace each other.
    pub(super) fn push_corrected(&mut self, fact: Fact, at: usize, is_correction: bool) {
        let sentence = self.sentence(at);
        let is_first = is_correction && self.corrected.replace(sentence) != Some(sentence);
        // The empty text leaves it to the table to find the earlier value.
        self.facts.push(if is_first { fact.replacing("") } else { fact });
    }

    /// Returns whether the sentence announces a correction before the words, or denies what the assistant said.
    pub(super) fn is_corrected(&self, words: &Range<usize>) -> bool {
        let sentence = self.sentence(words.start);
        last_before(&self.corrections, words.start).is_some_and(|range| range.start >= sentence)
            || self.is_denial(sentence, words)
    }

    /// Returns whether the caller's first sentence is a "no" with little more than a value: "No, six one eight."
    fn is_denial(&self, sentence: usize, words: &Range<usize>) -> bool {
        let denies = |token: &Token<'_>| token.ends_clause && WORDS.refusals.contains(token.lower.as_str());
        let before = self.tokens.get(sentence + 1..words.start).unwrap_or_default();
        self.may_deny
            && sentence == 0
            && self.get(sentence).is_some_and(denies)
            && before.len() <= LONGEST_REST
            && before.iter().all(|token| WORDS.is_stopword(&token.lower))
            && (words.end..=words.end + LONGEST_REST).any(|end| self.get(end).is_none_or(|token| token.is_first))
    }

    /// Returns the negation that says that a value is not the right one, but the one directly before: "58, not 85".
    fn negated(&self, words: &Range<usize>, fact: &Fact) -> Option<usize> {
        let (last, before) = (self.facts.last()?, words.start.checked_sub(2)?);
        let [end, negation] = self.tokens.get(before..words.start)? else { return None };
        let is_wrong = !negation.ends_clause && is_negation(negation) && is_like(last, end, fact);
        (is_wrong && !self.is_condition(before + 1)).then_some(before + 1)
    }

    /// Returns the negation that says that the last value is wrong, and that value: "not the eighth, the ninth",
    /// "el ocho no, el nueve".
    fn contrast(&self, said: &Range<usize>, words: &Range<usize>, fact: &Fact) -> Option<(usize, String)> {
        let last = self.facts.last()?;
        let end =
            said.end.checked_sub(1).and_then(|end| self.get(end)).filter(|end| last.value().ends_with(end.text))?;
        // "Not on the twelfth, on the nineteenth of May".
        let is_day = || is_day(last.value()) && form(fact.value()).3;
        if form(last.value()) != form(fact.value()) && !is_day() {
            return None;
        }
        let between = self.tokens.get(said.end..words.start).filter(|between| between.len() <= LONGEST_LINK)?;
        let has_negation = between.first().is_some_and(|token| token.ends_clause && is_negation(token));
        let link = between.get(usize::from(has_negation)..)?;
        let is_contrast = |token: &Token<'_>| WORDS.contrasts.contains(token.lower.as_str());
        let is_empty = |token: &Token<'_>| WORDS.is_stopword(&token.lower) && !is_negation(token) && !adds(token);
        let is_apart = has_negation || end.ends_clause || link.iter().any(is_contrast);
        if !is_apart || !link.iter().all(|token| is_contrast(token) || is_empty(token)) {
            return None;
        }
        let negation = if has_negation { Some(said.end) } else { self.negation_before(said.start) };
        Some((negation?, last.value().to_owned()))
    }

    /// Returns the negation of the value at a word. "Not before noon" negates no value.
    pub(super) fn negation_before(&self, at: usize) -> Option<usize> {
        let is_limit = |word: &str| WORDS.limits.iter().any(|limit| *limit == [word]);
        let is_empty = |token: &Token<'_>| WORDS.is_stopword(&token.lower) && !is_limit(&token.lower);
        let before = (at.saturating_sub(LONGEST_REST)..at).rev().filter_map(|at| Some((at, self.get(at)?)));
        let mut before = before.take_while(|(_, token)| !token.ends_clause);
        let negation = before.find(|(_, token)| is_negation(token) || !is_empty(token));
        negation.filter(|(at, token)| is_negation(token) && !self.is_condition(*at)).map(|(at, _)| at)
    }

    /// Returns whether a word is part of a condition, which denies nothing: "if not", "si ce n'est pas".
    pub(super) fn is_condition(&self, at: usize) -> bool {
        let before = self.tokens.get(at.saturating_sub(LONGEST_REST)..at).unwrap_or_default();
        let mut clause = before.iter().rev().take_while(|token| !token.ends_clause);
        clause.any(|token| WORDS.conditions.contains(token.lower.as_str()))
    }

    pub(super) fn capitalises_nouns(&self) -> bool {
        WORDS.capitalises_nouns(self.words.iter().map(String::as_str))
    }

    /// Returns where the sentence of a word begins, or a word before it in a longer sentence.
    pub(super) fn sentence(&self, at: usize) -> usize {
        let earliest = at.saturating_sub(LONGEST);
        (earliest..=at).rev().find(|start| self.get(*start).is_some_and(|token| token.is_first)).unwrap_or(earliest)
    }
}

/// Returns the places of the phrases that announce a correction.
pub(super) fn announced(tokens: &[Token<'_>], words: &[String], rejections: &[Range<usize>]) -> Vec<Range<usize>> {
    // The "instead" of "instead of" announces no correction.
    let is_part = |range: &Range<usize>| {
        let next = rejections.partition_point(|rejection| rejection.end <= range.start);
        rejections.get(next).is_some_and(|rejection| rejection.start <= range.start)
    };
    // "No, es el 12" corrects, "no es el 12" does not.
    let has_pause = |range: &Range<usize>| {
        let first = tokens.get(range.start);
        first.is_none_or(|first| first.ends_clause || range.len() == 1 || !WORDS.is_reply(&first.lower))
    };
    // "Actually, the 6th is fine and so is the 8th", "actually yes".
    let additions: Vec<Range<usize>> = ranges(&WORDS.additions, words).collect();
    let adds = |range: &Range<usize>| {
        let next = tokens.get(range.end);
        let agrees = |next: &Token<'_>| WORDS.is_reply(&next.lower) && !WORDS.refusals.contains(next.lower.as_str());
        let sentence = tokens.iter().skip(range.end).take(LONGEST).take_while(|token| !token.is_first).count();
        let addition = additions.get(additions.partition_point(|addition| addition.start < range.end));
        next.is_some_and(|next| !next.is_first && agrees(next))
            || addition.is_some_and(|addition| addition.end <= range.end + sentence)
    };
    let corrects = |range: &Range<usize>| !is_part(range) && has_pause(range) && !adds(range);
    ranges(&WORDS.corrections, words).filter(corrects).collect()
}

pub(super) fn is_negation(token: &Token<'_>) -> bool {
    WORDS.negations.contains(token.lower.as_str())
}

/// Returns whether a word adds another value.
pub(super) fn adds(token: &Token<'_>) -> bool {
    WORDS.conjunctions.contains(token.lower.as_str())
}

/// Returns whether a value is a day of a month, such as `eighth` and `12th`.
fn is_day(value: &str) -> bool {
    let lower = value.to_lowercase();
    let digits = lower.trim_end_matches(|c: char| !c.is_ascii_digit());
    let number = digits.parse().ok().or_else(|| Some(WORDS.number_parts(&lower)?.iter().sum()));
    !lower.contains(' ') && number.is_some_and(|day: u32| (1..=31).contains(&day))
}

/// Returns whether the last value ends with a word, and has the form of another one.
fn is_like(last: &Fact, end: &Token<'_>, fact: &Fact) -> bool {
    last.value().ends_with(end.text) && form(last.value()) == form(fact.value())
}

/// Returns the last range that ends before a word or at it.
pub(super) fn last_before(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    ranges.get(..ranges.partition_point(|range| range.end <= at))?.last()
}
