//! Numbers in words.

use super::{Finding, LONGEST, is_noun};
use crate::memory::facts::language::{WORDS, begins_with};
use crate::memory::facts::tokens::{Token, is_and};

impl Finding<'_> {
    /// Returns the length of a number in words that begins here. A comma ends it, unless digits are on both sides, or it
    /// has three groups: "seven four, double two, oh", "zéro six, douze, trente-quatre".
    pub(super) fn number_words(&self, at: usize) -> usize {
        let first = self.number_group(at);
        if first == 0 {
            return 0;
        }
        let are_digits = |from: usize, length: usize| {
            self.tokens.iter().skip(from).take(length).all(|token| is_digit(token) || is_repeat(token))
        };
        let (mut length, mut groups) = (first, 1);
        // The length of the groups of digits alone.
        let mut digits = if are_digits(at, first) { first } else { 0 };
        while length < LONGEST {
            let next = at + length;
            let more = self.number_group(next);
            let last = more.checked_sub(1).and_then(|last| self.get(next + last));
            // "Four, two adults": the second number has its own noun.
            let counts = |last: &Token<'_>| !last.ends_clause && self.get(next + more).is_some_and(is_noun);
            if last.is_none_or(counts) || self.get(next).is_some_and(|token| token.is_first) {
                break;
            }
            if digits == length && are_digits(next, more) {
                digits += more;
            }
            (length, groups) = (length + more, groups + 1);
        }
        if groups > 2 { length } else { first.max(digits) }
    }

    /// Returns the length of a number in words without a comma that begins here.
    pub(super) fn number_group(&self, at: usize) -> usize {
        let repeats = self.get(at).is_some_and(is_repeat);
        if !self.get(at + usize::from(repeats)).is_some_and(is_number) {
            return 0;
        }
        let mut length = self.run(at, |token| is_number(token) || is_repeat(token));
        // "Vinte e três".
        let are_tens = |last: &Token<'_>| !last.ends_clause && WORDS.number(&last.lower).is_some_and(|last| last >= 20);
        while length < LONGEST
            && self.get(at + length - 1).is_some_and(are_tens)
            && self.get(at + length).is_some_and(|token| is_and(token) && !token.ends_clause)
            && self.get(at + length + 1).is_some_and(is_number)
        {
            length += 1 + self.run(at + length + 1, is_number);
        }
        length + self.decimals(at + length)
    }

    /// Returns the length of the number that follows the unit before `at`: "twelve pounds forty". One with a noun of its
    /// own is another number.
    pub(super) fn cents(&self, at: usize) -> usize {
        let length = if self.is_open_before(at) { self.number_group(at) } else { 0 };
        let has_noun = self.is_open_before(at + length) && self.get(at + length).is_some_and(is_noun);
        if has_noun { 0 } else { length }
    }

    /// Returns the length of what follows a number up to `at`: "point five", "and a half".
    fn decimals(&self, at: usize) -> usize {
        if !self.is_open_before(at) {
            return 0;
        }
        let fraction = begins_with(&WORDS.fractions, self.words.get(at..).unwrap_or_default()).unwrap_or(0);
        let is_sign = self.get(at).is_some_and(|sign| WORDS.decimals.contains(sign.lower.as_str()));
        let decimals = if is_sign && self.is_open_before(at + 1) { self.run(at + 1, is_number) } else { 0 };
        if decimals > 0 { 1 + decimals } else { fraction }
    }
}

fn is_number(token: &Token<'_>) -> bool {
    WORDS.is_number(&token.lower)
}

fn is_digit(token: &Token<'_>) -> bool {
    is_number(token) && WORDS.number(&token.lower).is_some_and(|digit| digit < 10)
}

fn is_repeat(token: &Token<'_>) -> bool {
    WORDS.repeats(&token.lower).is_some()
}
