//! Short answers, which mean nothing without their question.

use std::ops::Range;

use super::{Finding, LONGEST, LONGEST_VALUE};
use crate::memory::facts::language::{WORDS, ranges};
use crate::memory::facts::tokens::{Token, tokens};
use crate::memory::facts::{Fact, LIMIT, WISH};
use crate::memory::one_line::one_line;
use crate::message::Contents;

/// The maximum length of an answer, in words.
const LONGEST_ANSWER: usize = 4;
/// How far from "or" an alternative can be, in words.
const NEAR: usize = 5;
/// The minimum number of words with a meaning of their own in a question that a bare yes or no answers.
const LEAST_QUESTION: usize = 2;
/// The maximum length of a question that is kept with its answer, in characters.
const LONGEST_QUESTION: usize = 100;

/// The last question of the assistant.
pub(super) struct Question<'a> {
    /// Without its question mark.
    text: &'a str,
    pub words: Vec<Token<'a>>,
    /// Whether it offers help, or asks whether the caller wants anything else.
    pub offers_help: bool,
}

impl Finding<'_> {
    /// Adds a short answer to a question: one of its alternatives, or a bare yes or no with the question. Returns whether
    /// the text is one.
    pub(super) fn answer(&mut self, question: &Question<'_>) -> bool {
        self.tokens.len() <= LONGEST_ANSWER && (self.alternative(&question.words) || self.bare_reply(question))
    }

    /// Adds "Window" if that answers "Aisle or window?".
    fn alternative(&mut self, question: &[Token<'_>]) -> bool {
        let chosen = if question.iter().any(offers) { self.chosen(0..self.tokens.len(), question) } else { None };
        self.facts.extend(chosen.clone());
        chosen.is_some()
    }

    /// Adds the alternatives of the last offer that clauses of a longer answer consist of: "Post. Who do I mark it for?".
    /// The offer need not be a question.
    pub(super) fn alternatives(&mut self, asked: &Contents) {
        let said: Vec<Token<'_>> = asked.texts().flat_map(|text| tokens(text.as_str())).collect();
        let Some(or) = said.iter().rposition(offers) else { return };
        let end = said.len().min(or + NEAR + 1);
        let Some(near) = said.get(or.saturating_sub(NEAR)..end) else { return };
        let mut start = 0;
        for at in 0..self.tokens.len().min(LONGEST) {
            if self.get(at).is_some_and(|token| token.ends_clause) {
                let chosen = self.chosen(start..at + 1, near);
                let is_new = |fact: &Fact| !self.facts.iter().any(|known| known.value() == fact.value());
                self.facts.extend(chosen.filter(is_new));
                start = at + 1;
            }
        }
    }

    /// Returns the alternative among the offered words that a clause chooses, if it says nothing else.
    fn chosen(&self, clause: Range<usize>, offered: &[Token<'_>]) -> Option<Fact> {
        let clause = self.tokens.get(clause)?;
        let means = |token: &Token<'_>| !WORDS.is_stopword(&token.lower) && !WORDS.is_reply(&token.lower);
        let is_offered = |token: &Token<'_>| {
            (token.is_word() || token.number().is_some())
                && offered.iter().any(|offered| offered.lower == token.lower.trim_end_matches("'s"))
        };
        let first = clause.iter().position(means)?;
        let words = clause.get(first..=clause.iter().rposition(means)?)?;
        let own = words.iter().filter(|token| means(token));
        let refuses = clause.iter().any(|token| WORDS.negations.contains(token.lower.as_str()));
        let is_choice = !refuses && own.clone().count() <= 2 && own.clone().all(is_offered);
        let text = || words.iter().map(|token| token.text).collect::<Vec<_>>().join(" ");
        is_choice.then(|| Fact::new("", one_line(text().trim_end_matches("'s"), LONGEST_VALUE), self.source))
    }

    /// Adds the words of a short answer to an open question, if they have no other value: "By card.", "The second one."
    /// Returns whether the text is such an answer.
    pub(super) fn choice(&mut self, question: &Question<'_>) -> bool {
        let is_open = question.words.iter().any(|token| WORDS.questions.contains(token.lower.as_str()));
        let refuses = |token: &Token<'_>| {
            let word = token.lower.as_str();
            WORDS.negations.contains(word) || WORDS.is_reply(word) || WORDS.questions.contains(word)
        };
        if !self.facts.is_empty()
            || !is_open
            || question.offers_help
            || self.tokens.iter().take(2 * LONGEST_ANSWER).any(refuses)
            || ranges(&WORDS.ignorance, &self.words).next().is_some()
        {
            return false;
        }
        let farewells: Vec<Range<usize>> = ranges(&WORDS.farewells, &self.words).collect();
        let has_meaning = |(at, token): (usize, &Token<'_>)| {
            let is_number = token.number().is_some() && !WORDS.articles.contains(token.lower.as_str());
            let is_farewell = farewells.iter().any(|farewell| farewell.contains(&at));
            (!WORDS.is_stopword(&token.lower) || is_number) && !is_farewell
        };
        let short = self.tokens.get(..2 * LONGEST_ANSWER).unwrap_or(self.tokens);
        let meaning: Vec<usize> =
            short.iter().enumerate().filter(|entry| has_meaning(*entry)).map(|(at, _)| at).collect();
        let Some(last) = meaning.last().filter(|last| **last < LONGEST_ANSWER) else { return false };
        // Two clauses say more than a choice.
        let ends = |at: &usize| at != last && self.get(*at).is_some_and(|token| token.ends_clause);
        if meaning.iter().any(ends) || self.tokens.len() > short.len() {
            return false;
        }
        let slot = self.question.clone().unwrap_or_default();
        self.add_as(&slot, 0, last + 1);
        true
    }

    /// Adds "Do you want insurance? No". "Anything else? No" decides nothing.
    fn bare_reply(&mut self, question: &Question<'_>) -> bool {
        let Some((reply, rest)) = self.tokens.split_first() else { return false };
        let is_bare = WORDS.is_reply(&reply.lower) && rest.iter().all(|token| WORDS.is_stopword(&token.lower));
        let meaning = question.words.iter().filter(|word| !WORDS.is_stopword(&word.lower)).count();
        let is_short = question.text.chars().count() <= LONGEST_QUESTION;
        if !is_bare || !is_short || meaning < LEAST_QUESTION || question.offers_help {
            return false;
        }
        let slot = if WORDS.refusals.contains(reply.lower.as_str()) { LIMIT } else { WISH };
        let value = one_line(&format!("{}? {}", question.text, reply.text), LONGEST_QUESTION + 20);
        self.facts.push(Fact::new(slot, value, self.source));
        true
    }
}

impl<'a> Question<'a> {
    /// Returns the last question of a message.
    pub fn of(asked: &'a Contents) -> Option<Self> {
        let text = last_question(asked.texts().last()?)?;
        let words = tokens(text);
        let lower: Vec<String> = words.iter().map(|token| token.lower.clone()).collect();
        let offers_help = ranges(&WORDS.closings, &lower).next().is_some();
        Some(Self { text, words, offers_help })
    }
}

/// Returns whether a word offers alternatives: "or".
fn offers(token: &Token<'_>) -> bool {
    WORDS.alternatives.contains(token.lower.as_str())
}

/// Returns the last question of a text, without its question mark.
fn last_question(text: &str) -> Option<&str> {
    let end = text.rfind('?')?;
    let start = text.get(..end)?.rfind(['.', '!', '?', '\n']).map_or(0, |at| at + 1);
    text.get(start..end).map(|question| question.trim_matches([' ', '¿']))
}
