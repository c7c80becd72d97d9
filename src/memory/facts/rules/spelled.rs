//! Codes that the caller spells, and what the caller wants or refuses.

use super::Finding;
use crate::memory::facts::language::{WORDS, after, without};
use crate::memory::facts::tokens::{Token, tokens};
use crate::memory::facts::{Fact, LIMIT, WISH};
use crate::memory::one_line::one_line;
use crate::message::{Message, Role, Text};

/// The maximum length of a wish, refusal or constraint, in characters.
const LONGEST_WISH: usize = 110;
/// The minimum length of a wish, refusal or constraint that stands alone, in words.
const LEAST_CLAUSE: usize = 3;

impl Finding<'_> {
    /// Adds a code that the caller spells here, or continues from their last words.
    pub(super) fn spelled(&mut self, earlier: &[&Message]) {
        let mut at = 0;
        while at < self.tokens.len() {
            let spelled = self.spelled_from(at);
            let run = if spelled > 0 { spelled } else { self.run(at, is_piece) };
            let continued = if at == 0 && run == self.tokens.len() { spelled_before(earlier) } else { None };
            if spelled > 0 || (run > 0 && continued.is_some()) {
                let code: String = self.tokens.iter().skip(at).take(run).map(|token| token.text).collect();
                let slot = self.question.clone().unwrap_or_default();
                let mut fact = Fact::new(slot, continued.clone().unwrap_or_default() + &code, self.source);
                if let Some(before) = continued {
                    fact = fact.replacing(before);
                }
                self.facts.push(fact);
            }
            at += run.max(1);
        }
    }

    /// Returns the number of words from here on that spell a code: at least three letters or digits, or pieces of at
    /// least two letters. In a transcript without capitals, a code must have a digit and two letters, because some
    /// letters are words.
    pub(super) fn spelled_from(&self, at: usize) -> usize {
        let letters = |run: usize| {
            let words = self.tokens.iter().skip(at).take(run);
            words.filter(|token| token.text.contains(char::is_alphabetic)).count()
        };
        let run = self.run(at, is_piece);
        let single = self.run(at, |token| token.is_spelled());
        if run >= 3 && (single == run || letters(run) + 2 >= run.min(4)) {
            return run;
        }
        let run = self.run(at, |token| is_piece(token) || (token.is_word() && token.text.chars().count() == 1));
        if run >= 4 && letters(run) >= 2 && letters(run) < run { run } else { 0 }
    }

    /// Adds the clauses in which the caller wants, refuses or limits something. `asked` is the question before.
    pub(super) fn wishes(&mut self, asked: Option<&Message>) {
        let asked_for = |word: &String| {
            let texts = asked.into_iter().flat_map(|asked| asked.contents().texts());
            texts.flat_map(|text| tokens(text)).any(|token| token.lower == *word)
        };
        let mut start = 0;
        for end in 0..self.tokens.len() {
            let ends_sentence = |at: usize| self.get(at + 1).is_none_or(|token| token.is_first);
            // What follows must be long enough for a clause of its own.
            let is_long = || {
                end - start > 8
                    && self.get(end).is_some_and(|token| token.ends_clause)
                    && !(end + 1..end + LEAST_CLAUSE).any(ends_sentence)
            };
            if !ends_sentence(end) && !is_long() {
                continue;
            }
            let clause = self.tokens.get(start..=end).unwrap_or_default();
            let words: Vec<String> = clause.iter().map(|token| token.lower.replace('’', "'")).collect();
            start = end + 1;
            // "No insurance" is a refusal if insurance was offered, "no problem" is none.
            let is_answer = || words.len() == 2 && words.last().is_some_and(asked_for);
            let is_clause = words.len() >= LEAST_CLAUSE || is_answer();
            let says = |phrases| is_clause && after(phrases, &words).next().is_some();
            let has_limit = says(&WORDS.limits);
            let limits_anyway = || after(&WORDS.limits, &without(&WORDS.ignorance, &words)).next().is_some();
            let slot = match has_limit && limits_anyway() {
                true => Some(LIMIT),
                false => (has_limit || says(&WORDS.wishes)).then_some(WISH),
            };
            let Some(slot) = slot else { continue };
            // Phrases such as "I would like to" and "please" carry no meaning here.
            let is_limit = |word: &String| WORDS.limits.iter().any(|limit| limit.first() == Some(&word.as_str()));
            let is_empty = |word: &String| WORDS.stopwords.contains(word.as_str()) && !is_limit(word);
            let from = words.iter().take_while(|word| is_empty(word)).count();
            let until = words.len() - words.iter().rev().take_while(|word| is_empty(word)).count();
            let words: Vec<&str> = clause.get(from..until).unwrap_or_default().iter().map(|token| token.text).collect();
            let wish = one_line(&words.join(" "), LONGEST_WISH);
            if words.len() > 1 {
                self.facts.push(Fact::new(slot, wish, self.source));
            }
        }
    }
}

/// Returns the code that the caller spelled in their last words, if these consist of nothing else.
fn spelled_before(earlier: &[&Message]) -> Option<String> {
    let last = earlier.iter().rev().find(|message| message.role() == Role::User)?;
    let texts: Vec<&str> = last.contents().texts().map(Text::as_str).collect();
    let text = texts.last()?;
    let tokens = tokens(text);
    // A single number is a value of its own.
    let is_spelled = tokens.len() > 1 && tokens.iter().all(is_piece);
    is_spelled.then(|| tokens.iter().map(|token| token.text).collect())
}

/// Returns whether a word is a piece of a code: a letter, or a few digits.
fn is_piece(token: &Token<'_>) -> bool {
    let is_number = token.text.len() <= 4 && token.text.chars().all(|c| c.is_ascii_digit());
    token.is_spelled() || (is_number && !token.has_currency)
}
