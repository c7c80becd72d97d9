//! The wishes, refusals and constraints of the caller.

use super::Finding;
use crate::memory::facts::language::{WORDS, after, begins_with, without};
use crate::memory::facts::tokens::{Token, tokens};
use crate::memory::facts::{Fact, LIMIT, WISH};
use crate::memory::one_line::one_line;
use crate::message::Message;

/// The maximum length of a wish, refusal or constraint, in characters.
const LONGEST_WISH: usize = 110;
/// The minimum length of a wish, refusal or constraint that stands alone, in words.
const LEAST_CLAUSE: usize = 3;

impl Finding<'_> {
    /// Adds the clauses in which the caller wants, refuses or limits something. `asked` is the question before.
    pub(super) fn wishes(&mut self, asked: Option<&Message>) {
        let asked_for = |word: &String| {
            let texts = asked.into_iter().flat_map(|asked| asked.contents().texts());
            texts.flat_map(|text| tokens(text)).any(|token| token.lower == *word)
        };
        let mut start = 0;
        for end in 0..self.tokens.len() {
            let ends_sentence = |at: usize| self.get(at + 1).is_none_or(|token| token.is_first);
            // The rest must be long enough for a clause of its own.
            let is_long = || {
                end - start > 8
                    && self.get(end).is_some_and(|token| token.ends_clause)
                    && !(end + 1..end + LEAST_CLAUSE).any(ends_sentence)
            };
            if !ends_sentence(end) && !is_long() {
                continue;
            }
            let clause = self.tokens.get(start..=end).unwrap_or_default();
            let said: Vec<String> = clause.iter().map(|token| token.lower.replace('’', "'")).collect();
            let announced = announcement(clause, &said);
            let (clause, words) =
                (clause.get(announced..).unwrap_or_default(), said.get(announced..).unwrap_or_default());
            let first = start + announced;
            // "Not the eighth, the ninth" limits nothing, and neither does the Italian "mai" in "12 mai".
            let is_date = |at: usize| at.checked_sub(1).is_some_and(|before| self.date(before).is_some());
            let limiting = words.iter().enumerate().filter(|(at, word)| {
                let is_month = || WORDS.months.contains(word.as_str()) && is_date(first + at);
                let is_condition = || WORDS.negations.contains(word.as_str()) && self.is_condition(first + at);
                !self.contrasts.contains(&(first + at)) && !is_month() && !is_condition()
            });
            let limiting: Vec<String> = limiting.map(|(_, word)| word.clone()).collect();
            start = end + 1;
            // "No insurance" is a refusal if insurance was offered, "no problem" is none.
            let is_answer = || words.len() == 2 && words.last().is_some_and(asked_for);
            let refuses = || (first..=end).any(|at| self.refusals.contains(&at));
            let is_clause = said.len() >= LEAST_CLAUSE || is_answer() || refuses();
            let says = |phrases| is_clause && after(phrases, words).next().is_some();
            // "No, that's all, bye" refuses nothing.
            if without(&WORDS.farewells, words).iter().all(|word| WORDS.is_stopword(word)) {
                continue;
            }
            let has_limit = is_clause && after(&WORDS.limits, &limiting).next().is_some();
            let limits_anyway = || after(&WORDS.limits, &without(&WORDS.ignorance, &limiting)).next().is_some();
            let slot = match has_limit && limits_anyway() {
                true => Some(LIMIT),
                false => (has_limit || says(&WORDS.wishes)).then_some(WISH),
            };
            let Some(slot) = slot else { continue };
            // Phrases such as "I would like to" and "please" carry no meaning here.
            let is_limit = |word: &String| WORDS.limits.iter().any(|limit| limit.first() == Some(&word.as_str()));
            let is_empty = |word: &String| WORDS.stopwords.contains(word.as_str()) && !is_limit(word);
            // "Next Tuesday" is another day than "Tuesday".
            let is_day = |at: usize| self.day(first + at).is_some();
            let from = words.iter().enumerate().take_while(|(at, word)| is_empty(word) && !is_day(*at)).count();
            let until = words.len() - words.iter().rev().take_while(|word| is_empty(word)).count();
            let words: Vec<&str> = clause.get(from..until).unwrap_or_default().iter().map(|token| token.text).collect();
            let wish = one_line(&words.join(" "), LONGEST_WISH);
            if words.len() > 1 {
                self.facts.push(Fact::new(slot, wish, self.source));
            }
        }
    }
}

/// Returns the number of words in which a clause greets, answers or announces a correction: "No, I mean" refuses nothing.
fn announcement(clause: &[Token<'_>], words: &[String]) -> usize {
    let begins = |phrases, from: usize| begins_with(phrases, words.get(from..).unwrap_or_default());
    let correction = |from: usize| begins(&WORDS.corrections, from);
    let mut from = 0;
    while let Some(token) = clause.get(from) {
        let is_pause = token.ends_clause && WORDS.is_stopword(&token.lower);
        let is_reply = WORDS.is_reply(&token.lower) && correction(from + 1).is_some();
        let corrects = correction(from).filter(|_| begins(&WORDS.limits, from).is_none());
        let word = (is_pause || is_reply).then_some(1);
        let Some(length) = begins(&WORDS.farewells, from).or(corrects).or(word) else { break };
        from += length;
    }
    from
}
