//! Values that the caller does not want.

use std::ops::Range;

use super::Finding;
use super::corrections::{adds, is_negation, last_before};
use crate::memory::facts::Fact;
use crate::memory::facts::folded::form;
use crate::memory::facts::language::{WORDS, begins_with};

/// The maximum number of words between "instead of" and the value that the caller does not want.
const LONGEST_GAP: usize = 2;

impl Finding<'_> {
    /// Returns whether the caller does not want the value at a word: "instead of the blue one". `said` has the words of
    /// the value before it.
    pub(super) fn is_rejected(&self, said: &Range<usize>, at: usize) -> bool {
        let Some(range) = last_before(&self.rejections, at) else { return false };
        // Of "instead of Monday on Tuesday", only Monday is rejected.
        let (from, is_next) = if said.end > range.end { (said.end, true) } else { (range.end, false) };
        let between = self.tokens.get(from.saturating_sub(1)..at).unwrap_or_default();
        let Some((before, link)) = between.split_first() else { return false };
        link.len() <= LONGEST_GAP
            && !before.ends_clause
            && link.iter().all(|token| !token.ends_clause)
            && (!is_next || link.first().is_none_or(adds))
    }

    /// Returns the negation with which the caller refuses a value, without another one in its place: "not on Monday or
    /// Tuesday", "in Kiel nicht".
    pub(super) fn refusal(&self, said: &Range<usize>, words: &Range<usize>, fact: &Fact) -> Option<usize> {
        let between = self.tokens.get(said.end..words.start).unwrap_or_default();
        let is_listed = between.first().is_some_and(adds)
            && between.len() <= LONGEST_GAP
            && between.iter().all(|token| WORDS.is_stopword(&token.lower) && !token.ends_clause);
        if let Some((_, negation)) = self.latest_refusal.filter(|(end, _)| is_listed && *end == said.end) {
            return Some(negation);
        }
        // "No six one eight" may lack its comma.
        let is_reply = |at: usize| self.get(at).is_some_and(|token| WORDS.is_reply(&token.lower));
        let is_other = |at: usize| self.is_vague(at) || is_reply(at) && form(fact.value()).0;
        let refuses = |at: &usize| !is_other(*at);
        let after = self.get(words.end).filter(|token| {
            self.is_open_before(words.end) && is_negation(token) && token.ends_clause && !is_reply(words.end)
        });
        self.negation_before(words.start).filter(refuses).or(after.map(|_| words.end))
    }

    /// Returns whether a negation limits a number or says what the caller does not know: "no more than", "not sure".
    fn is_vague(&self, at: usize) -> bool {
        let begins = |phrases, from: usize| begins_with(phrases, self.words.get(from..).unwrap_or_default());
        let is_unknown = |from: usize| begins(&WORDS.ignorance, from).is_some_and(|length| from + length > at);
        begins(&WORDS.limits, at).is_some_and(|length| length > 1) || (at.saturating_sub(2)..=at).any(is_unknown)
    }

    /// Adds a value that the caller does not want. The last value of the same form in the sentence replaces it, or else
    /// the next one.
    pub(super) fn push_rejected(&mut self, rejected: Fact) {
        let wanted = (self.latest.1..self.facts.len()).rev().filter(|at| !self.refused.contains(at));
        let wanted = wanted.filter_map(|at| Some((at, self.facts.get(at)?)));
        let find = |is_like: fn(&Fact, &Fact) -> bool| {
            wanted.clone().find(|(_, fact)| is_like(fact, &rejected)).map(|(at, _)| at)
        };
        match find(has_form).or_else(|| find(is_as_numeric)).and_then(|at| self.facts.get_mut(at)) {
            Some(wanted) => {
                let before = rejected.value().to_owned();
                let wanted = std::mem::replace(wanted, rejected);
                self.facts.push(wanted.replacing(before));
            }
            None => {
                self.rejected = Some(self.facts.len());
                self.refused.insert(self.facts.len());
                self.facts.push(rejected);
            }
        }
    }

    /// Returns the value before in the sentence that this one replaces: "Instead of Monday, Tuesday".
    pub(super) fn take_rejected(&mut self, fact: &Fact) -> Option<String> {
        let at = self.rejected.filter(|at| *at >= self.latest.1 && self.refused.contains(at))?;
        let rejected = self.facts.get(at).filter(|rejected| is_as_numeric(rejected, fact))?;
        let value = rejected.value().to_owned();
        self.refused.remove(&at);
        self.rejected = None;
        Some(value)
    }

    /// Removes the values that the caller refuses, unless another value replaces them.
    pub(super) fn drop_refused(&mut self) {
        let refused = std::mem::take(&mut self.refused);
        let mut at = 0..;
        self.facts.retain(|_| at.next().is_some_and(|at| !refused.contains(&at)));
    }
}

fn has_form(one: &Fact, other: &Fact) -> bool {
    form(one.value()) == form(other.value())
}

/// Returns whether both values are numbers, or neither is: "4 chairs instead of 3".
fn is_as_numeric(one: &Fact, other: &Fact) -> bool {
    form(one.value()).0 == form(other.value()).0
}
