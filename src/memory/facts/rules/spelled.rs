//! Codes, numbers and e-mail addresses that somebody dictates.

use super::numbers::is_noun;
use super::{Finding, LONGEST, is_group};
use crate::memory::facts::language::{MailWords, WORDS};
use crate::memory::facts::tokens::{Token, tokens};
use crate::memory::facts::{Fact, FactSource};
use crate::message::{Message, Role, Text};

/// The minimum length of a whole code, in characters, after which a question asks for another one.
const LEAST_WHOLE: usize = 5;

impl Finding<'_> {
    /// Adds a code that the caller spells here, or continues from their last words.
    pub(super) fn spelled(&mut self, earlier: &[&Message]) {
        let mut at = 0;
        while at < self.tokens.len() {
            if let Some(groups) = self.dictated_groups(at) {
                at += groups;
                continue;
            }
            let spelled = self.spelled_from(at);
            let run = if spelled > 0 { spelled } else { self.run(at, |token| token.is_piece()) };
            let is_all = at == 0 && run == self.tokens.len();
            // "And the plate?" asks for another one.
            let is_next = |before: &String| self.question.is_none() || before.len() < LEAST_WHOLE;
            let continued = if is_all { spelled_before(earlier).filter(is_next) } else { None };
            if spelled > 0 || (run > 0 && continued.is_some()) {
                let code: String = self.tokens.iter().skip(at).take(run).map(|token| token.text).collect();
                let slot = Some(self.slot(at)).filter(|slot| !slot.is_empty());
                let slot = slot.or_else(|| self.question.clone()).unwrap_or_default();
                let mut fact = Fact::new(slot, continued.clone().unwrap_or_default() + &code, self.source);
                if let Some(before) = continued {
                    fact = fact.replacing(before);
                }
                let words = at..at + run;
                let is_correction = fact.replaces().is_none() && self.is_corrected(&words);
                self.push_corrected(fact, at, is_correction);
            }
            at += run.max(1);
        }
    }

    /// Like [`spelled_from`](Self::spelled_from), or 0 in words of the assistant.
    pub(super) fn spelled_by_caller(&self, at: usize) -> usize {
        if self.source == FactSource::Caller { self.spelled_from(at) } else { 0 }
    }

    /// Returns the number of words from here on that spell a code: at least three letters or digits, or pieces of at
    /// least two letters. In a transcript without capitals, a code must have a digit and two letters, because some
    /// letters are words.
    pub(super) fn spelled_from(&self, at: usize) -> usize {
        let letters = |run: usize| {
            let words = self.tokens.iter().skip(at).take(run);
            words.filter(|token| token.text.contains(char::is_alphabetic)).count()
        };
        // "HB 4 4 77 2", "98450 double 1, double 3, 2".
        let is_head = |token: &Token<'_>| {
            let is_group = token.is_word() && token.is_code() && is_group(token);
            !token.ends_clause && (is_group || (token.is_digits() && self.has_repeat(at + 1)))
        };
        let after_head = if self.get(at).is_some_and(is_head) { self.dictated(at + 1) } else { 0 };
        if after_head >= 3 {
            return 1 + after_head;
        }
        let run = self.dictated(at);
        let single = self.tokens.iter().skip(at).take(run).filter(|token| token.is_spelled()).count();
        let is_dictated = single == run || (run >= 4 && 2 * single > run);
        // "5 double 6".
        let digits: usize = self.tokens.iter().skip(at).take(run).map(|token| token.text.len()).sum();
        if run == 2 && single == run && digits > 2 {
            return run;
        }
        if run >= 3 && (is_dictated || letters(run) + 2 >= run.min(4)) {
            return run;
        }
        let run = self.run(at, |token| token.is_piece() || (token.is_word() && token.text.len() == 1));
        if run >= 4 && letters(run) >= 2 && letters(run) < run { run } else { 0 }
    }

    /// Returns the number of pieces of a code from here on. A comma ends it, unless another group of pieces follows:
    /// "0 1 7 2, 4 4 1".
    fn dictated(&self, at: usize) -> usize {
        let mut length = self.run(at, |token| token.is_piece());
        let has_repeat = self.has_repeat(at);
        let least = if has_repeat { 1 } else { 2 };
        while (least..LONGEST).contains(&length) && self.get(at + length).is_some_and(|token| !token.is_first) {
            let group = self.run(at + length, |token| token.is_piece());
            let goes_on = |token: &Token<'_>| token.is_dictated || (has_repeat && token.is_digits());
            let is_group = group >= 2 || (group == 1 && self.get(at + length).is_some_and(goes_on));
            // "4 4 1, 2 adults".
            let counts = self.is_open_before(at + length + group) && self.get(at + length + group).is_some_and(is_noun);
            if !is_group || counts {
                break;
            }
            length += group;
        }
        length
    }

    /// Returns whether "double" or "triple" repeats a digit in the groups of digits from here on.
    fn has_repeat(&self, at: usize) -> bool {
        let groups = self.tokens.iter().skip(at).take(LONGEST).enumerate();
        let mut digits = groups.take_while(|(at, token)| token.is_digits() && (*at == 0 || !token.is_first));
        digits.any(|(_, token)| token.is_dictated && token.text.len() > 1)
    }

    /// Returns the length of an e-mail address in words that begins here: `mia dot li at example dot org`.
    pub(super) fn spoken_mail(&self, at: usize) -> Option<usize> {
        let next = self.at_signs.get(self.at_signs.partition_point(|sign| *sign < at))?;
        let is_near = *next < at + LONGEST;
        WORDS.mails.iter().filter(|_| is_near).find_map(|words| self.spoken_mail_in(words, at))
    }

    fn spoken_mail_in(&self, words: &MailWords, at: usize) -> Option<usize> {
        // A comma is a pause: "anna, punto, rossi".
        let is_open = |at: usize| self.get(at + 1).is_some_and(|next| !next.is_first);
        let from = |at: usize| self.words.get(at..).unwrap_or_default();
        let at_sign = |at: usize| words.at(from(at)).filter(|length| is_open(at + length - 1));
        let sign = |at: usize| words.sign(from(at)).filter(|length| is_open(at + length - 1));
        let is_piece = |at: usize| {
            let follows_letter = at.checked_sub(1).and_then(|at| self.get(at)).is_some_and(|before| before.is_dictated);
            self.get(at).is_some_and(|token| {
                let is_letter = token.text.chars().count() == 1;
                is_letter || (token.is_word() && follows_letter) || token.is_digits()
            })
        };
        // The length of words with a sign between each two, or with letters and digits after one.
        let parts = |from: usize| {
            let mut length = usize::from(self.get(from).is_some() && sign(from).or_else(|| at_sign(from)).is_none());
            while (1..LONGEST).contains(&length) && is_open(from + length - 1) {
                let next = from + length;
                length += match sign(next) {
                    Some(sign) => sign + 1,
                    None if at_sign(next).is_none() && is_piece(next) => 1,
                    None => break,
                };
            }
            length
        };
        let name = parts(at);
        let domain = at + name + at_sign(at + name).filter(|_| name > 0)?;
        let end = domain + parts(domain);
        // "I am at home, dot com".
        let pauses = |from: usize, length: usize| {
            self.tokens.iter().skip(from).take(length).any(|token| token.ends_clause && !token.is_dictated)
        };
        let is_one = !pauses(at, end - at - 1) || pauses(at + name - 1, 2);
        (is_one && (domain..end).any(|at| words.dot(from(at)).is_some())).then_some(end - at)
    }
}

/// Returns the code that the caller spelled in their last words, if these consist of nothing else.
fn spelled_before(earlier: &[&Message]) -> Option<String> {
    let last = earlier.iter().rev().find(|message| message.role() == Role::User)?;
    let texts: Vec<&str> = last.contents().texts().map(Text::as_str).collect();
    let text = texts.last()?;
    let tokens = tokens(text);
    // A single number is a value of its own.
    let is_spelled = tokens.len() > 1 && tokens.iter().all(Token::is_piece);
    is_spelled.then(|| tokens.iter().map(|token| token.text).collect())
}
