//! Codes that the caller spells, and what the caller wants or refuses.

use super::Finding;
use crate::memory::facts::language::{WORDS, after};
use crate::memory::facts::tokens::tokens;
use crate::memory::facts::{Fact, WISH};
use crate::memory::one_line::one_line;
use crate::message::{Message, Role, Text};

/// The maximum length of a wish, refusal or constraint, in characters.
const LONGEST_WISH: usize = 110;

impl Finding<'_> {
    /// Adds a code that the caller spells, alone or continued from their last words.
    pub(super) fn spelled(&mut self, earlier: &[&Message]) {
        let mut at = 0;
        while at < self.tokens.len() {
            let run = self.run(at, |token| {
                token.is_spelled() || (token.has_digit() && token.text.len() <= 4 && !token.has_currency)
            });
            let letters =
                self.tokens.iter().skip(at).take(run).filter(|token| token.text.contains(char::is_alphabetic)).count();
            let continued = if at == 0 && run == self.tokens.len() { spelled_before(earlier) } else { None };
            if (run >= 3 && letters + 2 >= run.min(4)) || (run > 0 && continued.is_some()) {
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

    /// Adds the clauses in which the caller wants, refuses or limits something.
    pub(super) fn wishes(&mut self) {
        let mut start = 0;
        for end in 0..self.tokens.len() {
            let ends_sentence = self.get(end + 1).is_none_or(|token| token.is_first);
            let is_long = end - start > 8 && self.get(end).is_some_and(|token| token.ends_clause);
            if !ends_sentence && !is_long {
                continue;
            }
            let clause = self.tokens.get(start..=end).unwrap_or_default();
            let words: Vec<String> = clause.iter().map(|token| token.lower.replace('’', "'")).collect();
            start = end + 1;
            let is_question = words.len() < 3;
            if !is_question && after(&WORDS.limits, &words).next().is_some() {
                let words: Vec<&str> = clause.iter().map(|token| token.text).collect();
                let fact = Fact::new(WISH, one_line(&words.join(" "), LONGEST_WISH), self.source);
                self.facts.push(fact);
            }
        }
    }
}

/// Returns the code that the caller spelled in their last words, if these were nothing else.
fn spelled_before(earlier: &[&Message]) -> Option<String> {
    let last = earlier.iter().rev().find(|message| message.role() == Role::User && !message.is_fake())?;
    let texts: Vec<&str> = last.contents().texts().map(Text::as_str).collect();
    let text = texts.last()?;
    let tokens = tokens(text);
    let is_spelled = !tokens.is_empty()
        && tokens.iter().all(|token| token.is_spelled() || token.has_digit() && token.text.len() <= 4);
    is_spelled.then(|| tokens.iter().map(|token| token.text).collect())
}
